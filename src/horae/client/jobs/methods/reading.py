"""The methods of `Jobs` that read jobs and wait for their ends."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter

from horae.client.jobs import filters
from horae.client.jobs.filters import before_cursor, owner_of, possible_ids, wanted_states
from horae.client.jobs.live_reports import with_live_reports
from horae.client.jobs.methods.base import JobsBase
from horae.client.jobs.searching import SEARCH_TIME, search_for
from horae.client.jobs.waiting import of_job, until_ended
from horae.domain.jobs import (
    EVERYBODY,
    LEFT_OUT,
    LEVELS,
    Job,
    JobId,
    JobState,
    LogPage,
    Query,
    Whose,
    check_level,
    place_of,
)
from horae.errors import InvalidRequest, JobFailed, JobWasCancelled
from horae.quoting import quoted
from horae.storage.jobs import JobFilter, PastAttempt, logs, reading
from horae.storage.jobs.limits import weight_of
from horae.storage.jobs.search import Search, searching
from horae.storage.jobs.waiting_reason import waiting_reason
from horae.types import Timeout, of_kind, seconds_of

Attempts: TypeAlias = list[PastAttempt]
MOST_AT_ONCE: Final = 10_000
"""Maximum number of log lines that one call returns."""


@dataclass(frozen=True, slots=True)
class JobPage:
    """One page of a list; `next` is the cursor of the following one, None on the last."""

    jobs: list[Job]
    next: str | None


class ReadsJobs(JobsBase):
    """The methods that read jobs."""

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
        limit: int = 100,
        cursor: str | None = None,
    ) -> JobPage:
        """List jobs, newest first; long values are `LEFT_OUT`.

        None is no filter, `[]` matches nothing.

        With `ids` all of them are returned, whatever the `limit`. `query`: terms that the jobs must
        all meet, such as `"type:import* params.customer_id:4711 -state:finished"`; a page of it may
        have fewer jobs than `limit`, even none, if there was not enough time to search all jobs;
        its `next` goes on from there.
        """
        limit = filters.page_length(limit)
        wanted = JobFilter(
            states=wanted_states(states),
            types=filters.names_of("types", types),
            ids=possible_ids(ids),
            queues=filters.names_of("queues", queues),
            owner=owner_of(owner),
            before=before_cursor(cursor),
            schedule_id=filters.possible_id(schedule_id),
            group_id=filters.possible_id(group_id, "group_id"),
            most_bytes=self.limits.listed_bytes,
            limit=None if ids is not None else limit + 1,
        )
        search = search_for(query, self._registry)
        if search is not None or (ids is None and wanted.may_be_rare):
            return self._searched(wanted, search, limit if ids is None else len(ids))
        found = self._reads.autocommit(reading.page, wanted)
        more = ids is None and len(found) > limit
        page = with_live_reports(self._live, found[:limit] if more else found)
        return JobPage(list(page), str(page[-1].id) if more else None)

    def _searched(self, wanted: JobFilter, search: Search | None, limit: int) -> JobPage:
        seconds = None if search is None else SEARCH_TIME
        found = self._reads.autocommit(
            searching.find, wanted, search, limit=limit + 1, seconds=seconds
        )
        shown = JobFilter(ids=found.ids[:limit], limit=None, most_bytes=wanted.most_bytes)
        page = with_live_reports(self._live, self._reads.autocommit(reading.page, shown))
        if len(found.ids) > limit:
            return JobPage(list(page), str(found.ids[limit - 1]))
        return JobPage(list(page), None if found.reached is None else str(found.reached))

    def waiting_reason(self, job_id: int, *, owner: Whose = EVERYBODY) -> str | None:
        """Return in one sentence why a pending job has not started; None for other jobs.

        Raises `JobDoesNotExist`.
        """
        return self._database.autocommit(waiting_reason, self._stored(job_id, owner))

    def weight(self, job_id: int, *, owner: Whose = EVERYBODY) -> int:
        """Return how much the job counts under the limits of its type. Raises `JobDoesNotExist`."""
        return self._database.autocommit(weight_of, self._stored(job_id, owner).id)

    def attempts(self, job_id: int, *, owner: Whose = EVERYBODY) -> Attempts:
        """Return the attempts of the job with their outcomes, oldest first."""
        return self._database.autocommit(reading.attempts, self._stored(job_id, owner).id)

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
        job = self._stored(job_id, owner)
        found = self._database.autocommit(logs.read, job.id, place, LEVELS[level], limit + 1)
        lines = found[:limit]
        dropped = self._database.autocommit(logs.dropped, job.id)
        return LogPage(
            lines, dropped, lines[-1].cursor if lines else after, more=len(found) > limit
        )

    def count(self) -> Mapping[JobState, int]:
        """Return the number of jobs in each state."""
        return self._reads.autocommit(reading.counts)

    def wait(self, job_id: int, *, timeout: Timeout | None = None, owner: Whose = EVERYBODY) -> Any:
        """Wait until the job has ended, and return its result.

        `timeout`: a timedelta or a text such as `"30s"`; None waits without a limit. Raises
        `WaitTimeout`, `JobFailed`, `JobWasCancelled`, `JobDoesNotExist`.
        """
        seconds = seconds_of("timeout", timeout)
        self._stored(job_id, owner)
        until_ended(self.waits, self._wakeup, of_job(JobId(job_id)), seconds)
        return self.result_of(self._stored(job_id, owner))

    def result_of(self, job: Job) -> Any:
        """Return the result of an ended job in its annotated type.

        Raises `JobFailed`, `JobWasCancelled`.
        """
        if job.result is LEFT_OUT:
            job = self._stored(job.id, EVERYBODY)
        match job.state:
            case JobState.FAILED:
                raise JobFailed(job.id, job.error or "", job.human_readable_error or "")
            case JobState.CANCELLED:
                raise JobWasCancelled(job.id)
            case _:
                kind = self._registry.find(job.type)
                annotated: Any = None if kind is None else kind.returns
                if annotated in (Any, None):
                    return job.result
                adapter: TypeAdapter[Any] = TypeAdapter(annotated)
                return adapter.validate_python(job.result)
