"""What callers read of jobs and groups."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from inspect import formatannotation
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import TypeAdapter, ValidationError

from horae.client.jobs import filters
from horae.client.jobs.explaining import explain
from horae.client.jobs.filters import owner_of
from horae.client.jobs.live_reports import live_percentages, with_live_reports
from horae.client.jobs.searching import SEARCH_TIME, search_for
from horae.domain.jobs import (
    EVERYBODY,
    LEFT_OUT,
    LEVELS,
    Group,
    GroupId,
    Job,
    JobId,
    JobState,
    LogPage,
    Query,
    Whose,
    Why,
    check_level,
    place_of,
    progress_of,
)
from horae.domain.storable import LARGEST_ID
from horae.errors import (
    GroupDoesNotExist,
    InvalidRequest,
    JobDoesNotExist,
    JobError,
    JobFailed,
    JobWasCancelled,
)
from horae.live import LiveStore
from horae.quoting import quoted
from horae.storage.engine import Database, Reads
from horae.storage.jobs import JobFilter, PastAttempt, logs, reading
from horae.storage.jobs.groups import groups
from horae.storage.jobs.limits import weight_of
from horae.storage.jobs.search import find_by_end, searching
from horae.storage.jobs.waiting_reason import waiting_reason
from horae.types import Registry, of_kind
from horae.types.parameters.large_values import open_value

T = TypeVar("T")
Attempts: TypeAlias = list[PastAttempt]
MOST_AT_ONCE: Final = 10_000
"""Maximum number of log lines that one call returns."""
READ_AT_ONCE: Final = 500
"""Number of members that one statement reads."""
MOST_COUNTED: Final = 10_000
"""Maximum number of jobs in each state that are counted for a query."""
COUNTING_TIME: Final = 1.0
"""Seconds for which the jobs that meet a query are counted, over all states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """When a call is cut short or refused, to protect the memory and the time of the caller."""

    listed_bytes: int = 16 * 1024 * 1024
    """Bytes of JSON in one list of jobs; values that would exceed it are left out."""
    uncounted_jobs: int = 100_000
    """Maximum number of jobs from an iterator in one call, because an iterator may have no end."""
    contention: timedelta = timedelta(seconds=3)
    """How long a call is repeated before `DatabaseBusy`; most transactions take milliseconds."""


USUAL: Final = JobLimits()


@dataclass(frozen=True, slots=True)
class JobPage:
    """One page of a list; `next` is the cursor of the following one, None on the last."""

    jobs: list[Job]
    next: str | None


@dataclass(frozen=True, slots=True)
class JobCount:
    """A number of jobs; `complete`: there are not more of them."""

    count: int
    complete: bool


class JobReads:
    """Read jobs and groups."""

    def __init__(
        self, database: Database, registry: Registry, live: LiveStore, limits: JobLimits
    ) -> None:
        self._database, self._registry, self._live, self.limits = database, registry, live, limits
        self.reads: Reads = database

    def get(self, job_id: int, *, owner: Whose = EVERYBODY) -> Job:
        """Return the job with its live label and percentage.

        Raises `JobDoesNotExist`, also for another owner's job.
        """
        return with_live_reports(self._live, [self._read(job_id, owner)])[0]

    def _read(self, job_id: int, whose: Whose) -> Job:
        owner = owner_of(whose)
        of_kind("job id", job_id, int, "a whole number, as in job.id")
        job = (
            self._database.autocommit(reading.get, JobId(job_id))
            if abs(job_id) <= LARGEST_ID
            else None
        )
        if job is None or (owner is not None and job.owner != owner):
            raise JobDoesNotExist(job_id)
        return job

    def list(  # noqa: PLR0913 - the filters of a list
        self,
        *,
        states: Iterable[str] | None = None,
        types: Collection[str] | None = None,
        ids: Collection[int] | None = None,
        queues: Collection[str] | None = None,
        owner: Whose = EVERYBODY,
        schedule_id: int | None = None,
        group_id: int | None = None,
        query: str | Query | None = None,
        oldest_first: bool = False,
        by_end: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> JobPage:
        """List jobs, newest first unless `oldest_first`; long values are `LEFT_OUT`.

        `by_end`: list the jobs that have ended, the last end first unless `oldest_first`.

        None is no filter, `[]` matches nothing.

        With `ids` all of them are returned, whatever the `limit`. `query`: terms that the jobs must
        all meet, such as `"type:import* params.customer_id:4711 -state:finished"`; a page of it may
        have fewer jobs than `limit`, even none, if there was not enough time to search all jobs;
        its `next` goes on from there.
        """
        limit = filters.page_length(limit)
        place = None if by_end else filters.place_of_cursor(cursor)
        wanted = JobFilter(
            states=filters.wanted_states(states),
            types=filters.names_of("types", types),
            ids=filters.possible_ids(ids),
            queues=filters.names_of("queues", queues),
            owner=owner_of(owner),
            before=None if oldest_first else place,
            after=place if oldest_first else None,
            schedule_id=filters.possible_id(schedule_id),
            group_id=filters.possible_id(group_id, "group_id"),
            most_bytes=self.limits.listed_bytes,
            limit=None if ids is not None else limit + 1,
        )
        search = search_for(query, self._registry, self.reads)
        if by_end:
            ended = self.reads.autocommit(
                find_by_end,
                wanted,
                search,
                limit=limit + 1,
                seconds=SEARCH_TIME,
                behind=filters.end_place_of_cursor(cursor),
                first_ended_first=oldest_first,
            )
            shown = [place.id for place in ended.places[:limit]]
            last = ended.places[limit - 1] if len(ended.places) > limit else ended.reached
            following = None if last is None else filters.cursor_of_end(last)
        elif search is not None or oldest_first or (ids is None and wanted.may_be_rare):
            limit = limit if ids is None else len(ids)
            matching = self.reads.autocommit(
                searching.find,
                wanted,
                search,
                limit=limit + 1,
                seconds=None if search is None else SEARCH_TIME,
                oldest_first=oldest_first,
            )
            shown = matching.ids[:limit]
            reached = matching.ids[limit - 1] if len(matching.ids) > limit else matching.reached
            following = None if reached is None else str(reached)
        else:
            found = self.reads.autocommit(reading.page, wanted)
            more = ids is None and len(found) > limit
            page = with_live_reports(self._live, found[:limit] if more else found)
            return JobPage(list(page), str(page[-1].id) if more else None)
        named = JobFilter(ids=shown, limit=None, most_bytes=wanted.most_bytes)
        whole = with_live_reports(self._live, self.reads.autocommit(reading.page, named))
        read = {job.id: job for job in whole}
        return JobPage([read[job_id] for job_id in shown if job_id in read], following)

    def waiting_reason(self, job_id: int, *, owner: Whose = EVERYBODY) -> str | None:
        """Return in one sentence why a pending job has not started; None for other jobs.

        Raises `JobDoesNotExist`.
        """
        return self._database.autocommit(waiting_reason, self._read(job_id, owner))

    def why(self, job_id: int, *, owner: Whose = EVERYBODY) -> Why:
        """Return why the job has not started, or what has become of it: the reason that decides
        first, its place, an estimate of its start, and until when.

        Raises `JobDoesNotExist`.
        """
        return explain(self._database, self._registry, self._live, self.get(job_id, owner=owner))

    def weight(self, job_id: int, *, owner: Whose = EVERYBODY) -> int:
        """Return how much the job counts under the limits of its type. Raises `JobDoesNotExist`."""
        return self._database.autocommit(weight_of, self._read(job_id, owner).id)

    def attempts(self, job_id: int, *, owner: Whose = EVERYBODY) -> Attempts:
        """Return the attempts of the job with their outcomes, oldest first."""
        return self._database.autocommit(reading.attempts, self._read(job_id, owner).id)

    def logs(
        self,
        job_id: int,
        *,
        after: str | None = None,
        limit: int = 1000,
        level: str = "debug",
        owner: Whose = EVERYBODY,
    ) -> LogPage:
        """Return log lines of all attempts of the job, the oldest first.

        `after`: the cursor of an earlier answer or line, to continue there; `level`: the lowest
        level to return. Lines appear within a second after they were logged; on SQLite those of a
        body in a transaction appear after its end. Raises `JobDoesNotExist`, `InvalidRequest`.
        """
        check_level(level)
        of_kind("limit", limit, int, "a whole number")
        if not 1 <= limit <= MOST_AT_ONCE:
            raise InvalidRequest(
                f"limit is {quoted(limit)}, expected a number from 1 to {MOST_AT_ONCE}"
            )
        place = place_of(after)
        job = self._read(job_id, owner)
        found = self._database.autocommit(logs.read, job.id, place, LEVELS[level], limit + 1)
        lines = found[:limit]
        dropped = self._database.autocommit(logs.count_dropped, job.id)
        return LogPage(
            lines, dropped, lines[-1].cursor if lines else after, more=len(found) > limit
        )

    def count(self) -> Mapping[JobState, int]:
        """Return the number of jobs in each state."""
        return self.reads.autocommit(reading.counts)

    def count_matching(
        self, query: str | Query | None = None, *, owner: Whose = EVERYBODY
    ) -> Mapping[JobState, JobCount]:
        """Return the number of jobs in each state that meet a query, up to 10,000 of each.

        Without time to count all of them, within a second, the numbers are those found until then.
        """
        search = search_for(query, self._registry, self.reads)
        counts = self.reads.autocommit(
            searching.count_by_state,
            owner_of(owner),
            search,
            seconds=COUNTING_TIME,
            most=MOST_COUNTED,
        )
        return {state: JobCount(*counted) for state, counted in counts.items()}

    def result_of(self, job: Job[T]) -> T:
        """Return the result of an ended job in its annotated type.

        Raises `JobFailed`, `JobWasCancelled`, or `JobError` if the result is not of that type.
        """
        if job.result is LEFT_OUT:
            job = self._read(job.id, EVERYBODY)
        match job.state:
            case JobState.FAILED:
                raise JobFailed(job.id, job.error or "", job.human_readable_error or "")
            case JobState.CANCELLED:
                raise JobWasCancelled(job.id)
            case _:
                kind = self._registry.find(job.type)
                annotated: Any = None if kind is None else kind.returns
                stored: Any = open_value(self._registry.files, job.result)
                if annotated not in (Any, None):
                    try:
                        stored = TypeAdapter(annotated).validate_python(stored)
                    except ValidationError as error:
                        [problem, *_] = error.errors(include_input=False)
                        raise JobError(
                            f"job {job.id} has finished, but its result is no"
                            f" {formatannotation(annotated)}, which {job.type} promises:"
                            f" {problem['msg']}; jobs.get({job.id}).result has it as it was stored"
                        ) from None  # its text repeats the result
                result: T = stored
                return result

    def group_of(self, job_id: JobId) -> GroupId | None:
        """Return the group that a job is a member of, or runs after."""
        return self._database.autocommit(groups.of_job, job_id)

    def get_group(self, group_id: int, *, owner: Whose = EVERYBODY) -> Group:
        """Return the group; its progress is its members' mean. Raises `GroupDoesNotExist`."""
        group = self._read_group(group_id, owner)
        running = self._database.autocommit(groups.running, group.id) if group.unfinished else ()
        reported = live_percentages(self._live, running)
        return replace(group, progress_percentage=progress_of(group, reported))

    def _read_group(self, group_id: int, whose: Whose) -> Group:
        owner = owner_of(whose)
        of_kind("group id", group_id, int, "a whole number")
        known = abs(group_id) <= LARGEST_ID
        group = self._database.autocommit(groups.get, GroupId(group_id)) if known else None
        if group is None or (owner is not None and group.owner != owner):
            raise GroupDoesNotExist(group_id)
        return group

    def members(
        self, group_id: int, *, owner: Whose = EVERYBODY, finished: bool = False
    ) -> Iterator[Job]:
        """Yield the members in the order of their addition, reading them in batches.

        `finished`: yield only those that have finished.
        """
        group = self._read_group(group_id, owner)

        def read() -> Iterator[Job]:
            after = JobId(0)
            while True:
                page = self._database.autocommit(
                    groups.members, group.id, after=after, limit=READ_AT_ONCE, finished=finished
                )
                yield from with_live_reports(self._live, page)
                if len(page) < READ_AT_ONCE:
                    return
                after = page[-1].id

        return read()

    def results_of_group(self, group_id: int, *, owner: Whose = EVERYBODY) -> Iterator[Any]:
        """Yield the results of the members that have finished, in their annotated types."""
        return map(self.result_of, self.members(group_id, owner=owner, finished=True))
