"""What callers do with jobs: start, read, change, group and wait for them.

Each verb checks, runs a function of a Connection, and sends a hint after the commit.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from inspect import formatannotation
from itertools import chain, islice
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args, overload

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection
from typing_extensions import Unpack

from horae.client.changes import LoggedChange, is_requested, with_entry
from horae.client.jobs import filters
from horae.client.jobs.body_waits import BodyWaits
from horae.client.jobs.bulk_order import BulkFilter, BulkOrder, Deletion, Rescheduling, bulk_order
from horae.client.jobs.cancelling import JobCanceller
from horae.client.jobs.creating import (
    INSERTED_AT_ONCE,
    Batch,
    Member,
    MemberParser,
    NewJob,
    NewJobs,
    RunsInline,
    SharedInserts,
    add_to_open,
    create,
    create_chain,
    create_group,
    create_many,
    create_once,
    create_plain,
    job_of,
    new_job,
    new_jobs,
    observed,
    once,
    refusal_of_session,
    repetition_of,
    run_retries,
    take_batch,
    with_meta_of,
    with_retries,
)
from horae.client.jobs.explaining import explain
from horae.client.jobs.filters import owner_of
from horae.client.jobs.live_reports import live_percentages, with_live_reports
from horae.client.jobs.searching import SEARCH_TIME, search_for
from horae.client.jobs.typed_starts import Within, typed_start
from horae.client.jobs.waiting import of_group, of_job, until_ended
from horae.domain.jobs import (
    BULK_TYPE,
    EVERYBODY,
    LEFT_OUT,
    LEVELS,
    BulkAction,
    BulkPreview,
    Claim,
    Group,
    GroupId,
    GroupState,
    Job,
    JobId,
    JobState,
    LogPage,
    OnFailure,
    Query,
    Whose,
    Why,
    check_level,
    place_of,
    progress_of,
)
from horae.domain.names import foreign_id, owner_id
from horae.domain.storable import LARGEST_ID
from horae.domain.times import Duration
from horae.errors import (
    DatabaseBusy,
    GroupDoesNotExist,
    GroupNotCancellable,
    InvalidRequest,
    JobDoesNotExist,
    JobError,
    JobFailed,
    JobNotDeletable,
    JobNotReschedulable,
    JobNotRetryable,
    JobWasCancelled,
)
from horae.live import LiveStore
from horae.quoting import quoted
from horae.sentences import SentenceCode
from horae.storage.engine import (
    Database,
    Reads,
    SameDatabase,
    conflicts_as_busy,
    read_clock,
    repeatable,
)
from horae.storage.engine.after_commit import after_commit
from horae.storage.jobs import JobFilter, PastAttempt, logs, owed_hooks, reading, rescheduling
from horae.storage.jobs.groups import groups
from horae.storage.jobs.limits import weight_of
from horae.storage.jobs.search import bulk, find_by_end, searching
from horae.storage.jobs.waiting_reason import waiting_reason
from horae.storage.outcomes import FollowUps, deletion, follow_ups
from horae.storage.schedules import retrying
from horae.types import JobTypeReference, Observer, Registry, Starting, Timeout, of_kind, seconds_of
from horae.types.groups import GroupCanceller
from horae.types.hooks import Hooks
from horae.types.large_values import open_value
from horae.types.options import NO_OPTIONS, StartOptions, check_batch, options_in
from horae.wakeup import Hint, HintKind, WakeupChannel, work

T = TypeVar("T")
Attempts: TypeAlias = list[PastAttempt]
JobIds: TypeAlias = list[JobId]
StartedJobs: TypeAlias = list[Job[Any]]
Created: TypeAlias = list[T]
OnFailureText: TypeAlias = Literal["continue", "cancel"]
WORK: Final = work()
MOST_AT_ONCE: Final = 10_000
"""Maximum number of log lines that one call returns."""
ATOMIC: Final = 10_000
"""Maximum number of members that are inserted in one transaction.

A larger one would hold SQLite's write lock for so long that nodes lose contact with their database.
"""
READ_AT_ONCE: Final = 500
"""Number of members that one statement reads."""
SHOWN: Final = 10
"""Number of jobs that a preview of many changes shows."""
MOST_COUNTED: Final = 10_000
"""Maximum number of jobs in each state that are counted for a query."""
COUNTING_TIME: Final = 1.0
"""Seconds for which the jobs that meet a query are counted, over all states."""
PREVIEW_TIME: Final = 5.0
"""Maximum number of seconds for which a preview counts."""


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


class Jobs:
    """Start, watch and cancel jobs. See `AsyncJobs` for coroutines."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        live: LiveStore,
        wakeup: WakeupChannel,
        *,
        keep: timedelta,
        inline: Callable[[], RunsInline] | None = None,
        limits: JobLimits = USUAL,
        observers: Sequence[Observer[Starting]] = (),
    ) -> None:
        """`inline` makes what runs jobs in this thread, at the first start with `sync`.

        `observers`: what observes the calls that start jobs.
        """
        self._database, self._registry, self._live, self._wakeup = database, registry, live, wakeup
        self._keep, self._inline, self.limits = keep, inline, limits
        self.may_wait = True
        self.reads: Reads = database
        self.inserts = SharedInserts(database, wakeup)
        self.observers = observers
        self._same_database = SameDatabase(database)
        self._hooks = Hooks(database, registry)
        self.waits = BodyWaits(database, live)
        self._groups = GroupCanceller(database, live, wakeup)
        self.canceller = JobCanceller(database, live, wakeup, self._hooks, self._groups)

    def listing_from(self, reads: Reads) -> "Jobs":
        """Return a client whose lists are read from `reads`; all else stays on the database."""
        other = copy(self)
        other.reads = reads
        return other

    def without_waiting(self) -> "Jobs":
        """Return a client for coroutines, which must not occupy the few threads of the database.

        It raises `TryAgain` instead of waiting for another transaction, and calls `on_cancelled` on
        other threads.
        """
        other = copy(self)
        other.may_wait = False
        return other

    @typed_start
    def start(
        self,
        job_type: JobTypeReference,
        /,
        *by_position: Any,
        session: Within | None = None,
        sync: bool = False,
        **keywords: Any,
    ) -> Job:
        """Create a job; a node runs it.

        The keywords are the options of `StartOptions`; others are the job's parameters.

        `session`: create it in the caller's transaction, so that it exists if and only if that
        commits. `sync`: run it in this thread, under the same rules and with its retries, and
        return it when it has ended; it is still pending only if its next attempt is due in more
        than a minute, which is left to the nodes. `unique`, `unique_key`: refuse the start, return
        the existing job or replace it, if there is one already. `debounce`: move the pending job
        that an earlier call has started, and give it these parameters. `after`: jobs that must end
        before it may start; see `StartOptions`. `expires`: fail the job if it has not begun by
        then. Raises `InvalidParameters`, `MaxJobCountExceeded`, `DuplicateJob`, `JobDoesNotExist`
        for a job of `after`, or what `prepare_values` and `after_creation` raise; nothing is left
        then.
        """
        options, values = options_in(keywords)
        if by_position:
            values = self.named(job_type, by_position, values)
        return self.create(job_type, values, options, session=session, sync=sync)

    def named(
        self, job_type: JobTypeReference, by_position: Sequence[Any], values: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return all parameters of a call by their names. Raises `InvalidRequest`."""
        return self._registry.resolve(job_type).named(by_position, values)

    def create(
        self,
        job_type: JobTypeReference,
        values: Mapping[str, Any],
        options: StartOptions,
        *,
        session: Within | None = None,
        sync: bool = False,
    ) -> Job:
        """Create a job as `start` does; parameters and options are separate, so that names cannot
        clash.
        """
        if not self.observers:
            return self.create_unobserved(job_type, values, options, session=session, sync=sync)
        with observed(self.observers, self._registry.resolve(job_type), options) as starting:
            options = with_meta_of(starting, options)
            job = self.create_unobserved(job_type, values, options, session=session, sync=sync)
            starting.ids = (job.id,)
        return job

    def create_unobserved(
        self,
        job_type: JobTypeReference,
        values: Mapping[str, Any],
        options: StartOptions,
        *,
        session: Within | None = None,
        sync: bool = False,
    ) -> Job:
        """Create a job as `create` does, for a caller that has told observers of it."""
        new = new_job(self._registry.resolve(job_type), options, values)
        if sync:
            return self._run_here(new, session)

        if session is None:
            return self.insert(new)

        def insert_within() -> Job:
            with conflicts_as_busy():
                job, _ = create(self._within(session), new)
            after_commit(session, partial(self._wakeup.send, WORK))
            return job

        return self._until_done(insert_within)

    def insert(self, new: NewJob) -> Job:
        """Create a job that was checked, in a transaction of its own."""

        def insert() -> Job:
            # In the transaction of another library, an INSERT is no commit that could be shared.
            if not new.is_plain or is_requested() or self._database.joined() is not None:
                job, _ = self._database.transact(with_entry(create, changed=_is_new), new)
            elif new.is_free:
                return job_of(new.row, self.inserts.insert([new.row])[0])
            else:
                job = self._database.autocommit(create_plain, new)
            self._wakeup.send(WORK)
            return job

        return self._until_done(insert)

    def start_many(
        self,
        job_type: JobTypeReference,
        values: Iterable[Mapping[str, Any]],
        /,
        *,
        session: Within | None = None,
        owner: str | None = None,
        options: StartOptions | None = None,
    ) -> JobIds:
        """Create one job for each mapping of parameters, all or none; return their ids in order.

        `owner`: the owner of all of them; `options`: the other options, which apply to all as well;
        with `after` each of them waits for these jobs.
        """
        options = options or NO_OPTIONS
        of_kind("options", options, StartOptions, "StartOptions")
        if owner is not None:
            if options.owner not in (None, owner):
                raise InvalidRequest(
                    f"owner is {quoted(owner)}, and {quoted(options.owner)} in options; name it"
                    " once"
                )
            options = replace(options, owner=owner)
        kind = self._registry.resolve(job_type)
        given = take_batch(values, self.limits.uncounted_jobs)
        check_batch(kind, options, len(given))
        with observed(self.observers, kind, options, count=len(given)) as starting:
            options = with_meta_of(starting, options)
            if not given:
                return []
            # A job that is compared with those before it, or waits, is created by itself.
            alone = kind.uniqueness is not None or options.after
            each_new = new_jobs(kind, options, given) if alone else []
            batch = NewJobs(kind, options)
            if not alone:
                batch.extend(given, "values")

            def create_all(connection: Connection) -> JobIds:
                if alone:
                    return [create(connection, new)[0].id for new in each_new]
                return create_many(connection, batch)

            starting.ids = ids = self._insert(create_all, session)
        return ids

    def _insert(
        self,
        insert: Callable[[Connection], Created[T]],
        session: Within | None,
        hint: Hint | None = None,
    ) -> Created[T]:
        """Create jobs in the caller's transaction or an own one, and notify nodes once it has
        committed.

        `hint`: what nodes are told, by default the number of the jobs.
        """

        def attempt() -> Created[T]:
            if session is None:
                created = self._database.transact(insert)
                self._wakeup.send(hint or work(len(created)))
                return created
            connection = self._within(session)
            # The rows of a blocked attempt must not stay when it is repeated.
            with conflicts_as_busy(), repeatable(connection):
                created = insert(connection)
            after_commit(session, partial(self._wakeup.send, hint or work(len(created))))
            return created

        return self._until_done(attempt)

    def _until_done(self, operation: Callable[[], T]) -> T:
        if self.may_wait:
            return with_retries(operation, self.limits.contention)
        return once(operation)

    def _run_here(self, new: NewJob, session: Within | None) -> Job:
        """Create a job and run it in this thread."""
        waits_for = {
            "other jobs (after)": new.after is not None,
            "the session's commit": session is not None,
            "later calls (debounce)": new.is_debounced,
        }
        for what, must_wait in waits_for.items():
            if must_wait:
                raise InvalidRequest(
                    f"sync=True runs the job at once, so it cannot wait for {what}"
                )
        if new.row.limits is not None:
            raise InvalidRequest(
                f"sync=True runs the job at once, and the limits of job type {new.row.type!r}"
                " may not allow that"
            )
        assert self._inline is not None  # only the client inside a bulk job has none
        inline = self._inline()
        inline.join()

        def create_and_claim(connection: Connection) -> tuple[Job, Claim | None]:
            job, is_created = create(connection, new)
            return job, inline.claim(connection, job.id) if is_created else None

        def run() -> Job:
            job, claim = inline.claim_by(
                lambda: self._database.transact(create_and_claim),
                lambda created: created[1],
            )
            if claim is None:  # there is an active job with the same key
                return self.get(job.id)
            inline.run(claim)
            read = partial(self.get, job.id)
            ended = run_retries(self.waits, self._wakeup, inline, read)
            self._hooks.remove_ended(ended)
            return ended

        return self._until_done(run)

    def _within(self, session: Within) -> Connection:
        connection = session
        if not isinstance(session, Connection):
            from sqlalchemy.orm import Session, scoped_session

            if isinstance(session, Session | scoped_session):
                connection = session.connection()
        if not isinstance(connection, Connection):
            raise refusal_of_session(connection, "a Session or a Connection of SQLAlchemy")
        self._same_database.check(connection)
        self._database.adopt(connection)
        return connection

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

    @overload
    def wait(
        self, job_id: Job[T], *, timeout: Timeout | None = None, owner: Whose = EVERYBODY
    ) -> T: ...
    @overload
    def wait(
        self, job_id: int, *, timeout: Timeout | None = None, owner: Whose = EVERYBODY
    ) -> Any: ...
    def wait(
        self, job_id: Job[Any] | int, *, timeout: Timeout | None = None, owner: Whose = EVERYBODY
    ) -> Any:
        """Wait until the job, or the one with this id, has ended, and return its result.

        `timeout`: a timedelta or a text such as `"30s"`; None waits without a limit. Raises
        `WaitTimeout`, `JobFailed`, `JobWasCancelled`, `JobDoesNotExist`.
        """
        seconds = seconds_of("timeout", timeout)
        wanted = job_id.id if isinstance(job_id, Job) else JobId(job_id)
        self._read(wanted, owner)
        until_ended(self.waits, self._wakeup, of_job(wanted), seconds)
        return self.result_of(self._read(wanted, owner))

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

    def cancel(self, job_id: int, *, owner: Whose = EVERYBODY, by: str | None = None) -> Job:
        """Cancel the job; stop its body and discard its work.

        The job has the final state `cancelled` when this returns. Cancelling twice is no error.
        Raises `JobNotCancellable` for a finished or failed job, `JobDoesNotExist`.
        """
        if by is not None:
            foreign_id("by", by)
        job = self._read(job_id, owner)
        if job.state is JobState.CANCELLED:
            return job
        return self.canceller.cancel(job, by or owner_of(owner), may_wait=self.may_wait)

    def retry(self, job_id: int, *, owner: Whose = EVERYBODY) -> Job:
        """Start a new job with the parameters and options of a failed or cancelled one, which stays
        as it ended.

        A second call returns the job that the first one started, or raises `JobNotRetryable`, which
        names it, if that job failed or was cancelled too. The retry of a run of a schedule is a run
        by hand for the same nominal time: it raises `ScheduleIsRunning` if another run blocks it.
        Raises what `start` raises.
        """
        job = self._hooks.with_parameters(self._read(job_id, owner))
        if job.state not in (JobState.FAILED, JobState.CANCELLED):
            raise JobNotRetryable(job.id, job.state)
        kind = self._registry.get(job.type)
        could_wait = timedelta(0) if job.expires_at is None else job.expires_at - job.run_at
        options = StartOptions(
            owner=job.owner,
            priority=job.priority,
            queue=job.queue,
            max_attempts=job.max_attempts,
            meta=job.meta,
            tags=job.tags,
            backoff=self._database.autocommit(reading.backoff, job.id),
            expires=could_wait if could_wait > timedelta(0) else None,
        )
        # A backend may run the type by now; then it has no limits by key.
        limits = self._database.autocommit(reading.limits, job.id) if kind.address is None else None
        with observed(self.observers, kind, options, repeated=job) as starting:
            new = repetition_of(job, kind, with_meta_of(starting, options), limits)
            again = self._repeat(job, new, owner)
            starting.ids = (again.id,)
        return again

    def _repeat(self, job: Job, new: NewJob, owner: Whose) -> Job:
        """Create the job that repeats one that has ended, unless there is one already."""
        change = LoggedChange(
            "job.retry",
            str(job.id),
            after=lambda _, created: {"job": created[0].id},
            actor=owner_of(owner),
        )
        repeat = partial(retrying.retry, of=job, create=partial(create_once, new=new))
        create = with_entry(repeat, change, changed=_is_new)

        def retry() -> Job:
            created, new_run = self._database.transact(create)
            if created.state in (JobState.FAILED, JobState.CANCELLED):
                raise JobNotRetryable(job.id, job.state, retried_as=created.id)
            if new_run and created.schedule_id is not None:
                self._wakeup.send(Hint(HintKind.SCHEDULES, (JobId(created.schedule_id),)))
            self._wakeup.send(WORK)
            return created

        return self._until_done(retry)

    def reschedule(
        self,
        job_id: int,
        *,
        run_at: datetime | None = None,
        delay: Duration | None = None,
        owner: Whose = EVERYBODY,
    ) -> Job:
        """Make a pending job due at `run_at`, or at `delay` from now; its expiry moves with it.

        Raises `JobNotReschedulable` for a job that is not pending, `JobDoesNotExist`,
        `InvalidRequest`.
        """
        if run_at is None and delay is None:
            raise InvalidRequest(
                "name the new time: run_at or delay", SentenceCode.VALUE_RUN_AT_OR_DELAY
            )
        when = StartOptions(run_at=run_at, delay=delay)
        job = self._read(job_id, owner)
        change = LoggedChange(
            "job.reschedule",
            str(job.id),
            lambda _: {"run_at": job.run_at},
            lambda _, moved: {"run_at": moved[0].run_at},
            owner_of(owner),
        )
        move = with_entry(rescheduling.reschedule_one, change, changed=bool)
        moved = self._database.transact(move, job.id, when.run_at, when.delay_seconds)
        if not moved:
            raise JobNotReschedulable(job.id, self._read(job_id, owner).state)
        self._wakeup.send(WORK)
        return moved[0]

    def delete(self, job_id: int, *, owner: Whose = EVERYBODY, without_hooks: bool = False) -> bool:
        """Delete an ended job after calling its `before_delete`; return whether it is gone.

        False if its type is not registered here: then the first node that knows the type calls the
        hook and deletes it. `without_hooks` deletes it at once and calls no hook. Raises
        `JobNotDeletable`, `JobDoesNotExist`.
        """
        job = self._read(job_id, owner)
        if job.occupied:
            raise JobNotDeletable(job.id, job.state)
        seen = {"type": job.type, "state": job.state, "owner": job.owner}
        change = LoggedChange(
            "job.delete", str(job.id), before=lambda _: seen, actor=owner_of(owner)
        )
        if not without_hooks and self._registry.find(job.type) is None:
            self._database.transact(
                with_entry(owed_hooks.request_deletion, change, changed=bool), job.id
            )
            return False
        if not without_hooks:
            self._hooks.delete(job)
        large = self._hooks.large_values_of([job.id])
        gone = self._database.transact(
            with_entry(deletion.delete_jobs, change, changed=bool), [job.id]
        )
        if not gone:
            self._read(job_id, owner)
            raise JobNotDeletable(job.id, job.state)
        self._hooks.delete_large_values(large, gone)
        return True

    def clean_up(self, older_than: Duration | None = None, *, unknown: Collection[str] = ()) -> int:
        """Delete jobs that ended longer ago than `older_than`, each after its `before_delete`;
        return their number.

        Without `older_than` each job is kept as long as its type says, or the settings if the type
        says nothing. Jobs of types that are not registered here are left to programs that know
        their hooks, except for the types named in `unknown`: their jobs are deleted without a hook.
        """
        keep = filters.kept_seconds(older_than, self._keep)
        names = filters.names_of("unknown", unknown) or ()
        forgotten = [name for name in names if name not in self._registry.by_name]
        return self._hooks.clean_up(keep, by_type=older_than is None) + self._hooks.forget(
            forgotten, keep
        )

    def left_over(self, older_than: Duration | None = None) -> Mapping[str, int]:
        """Return how many jobs of each type `clean_up` leaves to programs that know the type."""
        keep = filters.kept_seconds(older_than, self._keep)
        found = self._database.autocommit(
            owed_hooks.leftover_jobs, list(self._registry.runnable), keep
        )
        return {item.type: item.past_keeping for item in found if item.past_keeping}

    def start_group(
        self,
        members: Iterable[Member],
        /,
        *,
        then: Member | None = None,
        on_failure: OnFailureText = "continue",
        owner: str | None = None,
        options: StartOptions | None = None,
        session: Within | None = None,
        counted: bool = False,
    ) -> Group:
        """Start jobs as a group, and a job that runs once all of them have ended.

        A member is `(job_type, parameters)`, or has `StartOptions` as a third element; `options`
        are those of the others. `then` is written like a member; it runs exactly once, and at once
        if there are no members. `on_failure`: whether the group goes on after a member failed or
        was cancelled (`"continue"`), or is cancelled with `then` (`"cancel"`). Up to 10,000
        members, or within `session`, all or none are created; more are inserted in batches, and may
        begin before the last ones are inserted. `counted`: the `max_count` that public types have
        by default holds for the members, as for jobs that users start one by one. Raises what
        `start` raises.
        """
        if on_failure not in get_args(OnFailureText):
            raise InvalidRequest(
                f"on_failure {quoted(on_failure)}: expected 'continue' or 'cancel'"
            )
        if owner is not None:
            owner_id(owner)
        with observed(self.observers, None, options or NO_OPTIONS, count=None) as starting:
            parser = MemberParser(
                self._registry, owner, options, in_batch=not counted, starting=starting
            )
            last = None if then is None else parser.then(then)
            batches = parser.batches(members)
            start = partial(create_group, owner=owner, on_failure=OnFailure(on_failure), then=last)
            first = list(islice(batches, ATOMIC // INSERTED_AT_ONCE))
            if session is not None:
                # Not repeated: rows of a blocked try would stay in the caller's transaction.
                connection = self._within(session)
                with conflicts_as_busy():
                    created = start(connection, batches=chain(first, batches))
                    group = groups.get(connection, created)
                after_commit(session, partial(self._wakeup.send, work(None)))
                assert group is not None
                return group
            rest = next(batches, None)

            def insert() -> Group:
                group_id = self._database.transact(start, batches=first, complete=rest is None)
                if rest is not None:
                    self._insert_rest(group_id, rest, batches)
                self._wakeup.send(work(None))
                return self.get_group(group_id)

            return self._until_done(insert)

    def chain(
        self,
        links: Iterable[Member],
        /,
        *,
        owner: str | None = None,
        options: StartOptions | None = None,
        session: Within | None = None,
    ) -> StartedJobs:
        """Start jobs of which each begins after the one before it has finished; all or none.

        A link is written like a member of a group: a job type, `(job_type, parameters)`, or with
        `StartOptions` as a third element; `options` are those of the others. A job type that
        declares an argument as `Previous[…]` gets the result of the job before. If a job fails or
        is cancelled, those after it are cancelled, unless their `on_dependency_failure` says
        otherwise. Returns the jobs in order. Raises what `start` raises.
        """
        if owner is not None:
            owner_id(owner)
        with observed(self.observers, None, options or NO_OPTIONS, count=None) as starting:
            parser = MemberParser(self._registry, owner, options, in_batch=False, starting=starting)
            # Only the first of them may start at once.
            jobs = self._insert(partial(create_chain, links=parser.chain(links)), session, WORK)
            starting.ids = tuple(job.id for job in jobs)
            return jobs

    def add_to_group(
        self,
        group_id: int,
        members: Iterable[Member],
        /,
        *,
        options: StartOptions | None = None,
        owner: Whose = EVERYBODY,
        session: Within | None = None,
        held: tuple[JobId, int] | None = None,
    ) -> JobIds:
        """Add members while the group is open, all or none; return their ids in order.

        `held`: a member and its lease; members are added only while a node runs it under that
        lease. Raises `GroupNotOpen`.
        """
        with observed(self.observers, None, options or NO_OPTIONS, count=None) as starting:
            batches = self.parse_members(group_id, members, options, owner, starting)
            add = partial(add_to_open, group_id=GroupId(group_id), batches=batches, held=held)
            starting.ids = ids = self._insert(add, session)
        return ids

    def parse_members(
        self,
        group_id: int,
        members: Iterable[Member],
        options: StartOptions | None = None,
        owner: Whose = EVERYBODY,
        starting: Starting | None = None,
    ) -> Sequence[Batch]:
        """Parse and check members that are to be added to a group."""
        group = self._read_group(group_id, owner)
        parser = MemberParser(self._registry, group.owner, options, starting=starting)
        return tuple(parser.batches(members))

    def group_of(self, job_id: JobId) -> GroupId | None:
        """Return the group that a job is a member of, or runs after."""
        return self._database.autocommit(groups.of_job, job_id)

    def get_group(self, group_id: int, *, owner: Whose = EVERYBODY) -> Group:
        """Return the group; its progress is its members' mean. Raises `GroupDoesNotExist`."""
        group = self._read_group(group_id, owner)
        running = self._database.autocommit(groups.running, group.id) if group.unfinished else ()
        reported = live_percentages(self._live, running)
        return replace(group, progress_percentage=progress_of(group, reported))

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

    def wait_for_group(
        self, group_id: int, *, timeout: Timeout | None = None, owner: Whose = EVERYBODY
    ) -> Group:
        """Wait until all members and `then` have ended; return the group.

        Raises `WaitTimeout`, `GroupDoesNotExist`.
        """
        seconds = seconds_of("timeout", timeout)
        group = self._read_group(group_id, owner)
        until_ended(self.waits, self._wakeup, of_group(group.id), seconds)
        return self.get_group(group_id, owner=owner)

    def cancel_group(
        self, group_id: int, *, owner: Whose = EVERYBODY, by: str | None = None
    ) -> Group:
        """Cancel the members that have not ended, and `then`. Cancelling twice is no error.

        Raises `GroupNotCancellable` if all of them have ended, `GroupDoesNotExist`.
        """
        if by is not None:
            foreign_id("by", by)
        group = self._read_group(group_id, owner)
        who = by or owner_of(owner)
        if group.state is not GroupState.ENDED:
            self._cancel_open(group, who)
            group = self.get_group(group_id, owner=owner)
        if group.state is GroupState.ENDED:
            # Only the job after the members may not have ended. The last member may also have ended
            # just before the cancel.
            then_id = group.then_id
            then = None if then_id is None else self._database.autocommit(reading.get, then_id)
            if then is None or then.ended:
                raise GroupNotCancellable(group.id)
            self.canceller.cancel(then, who, may_wait=self.may_wait)
            group = self.get_group(group_id, owner=owner)
        return group

    def _cancel_open(self, group: Group, who: str | None) -> None:
        change = LoggedChange(
            "group.cancel", str(group.id), lambda _: {"state": group.state}, actor=who
        )
        cancel = with_entry(
            follow_ups.cancel_group, change, changed=lambda result: result is not None
        )
        try:
            cancelled = self._database.transact_at_once(cancel, group.id, who)
        except DatabaseBusy:
            self._groups.request_cancels(group.id, who)
            cancelled = self._database.transact(cancel, group.id, who)
        if cancelled is not None:
            self._groups.act_on(FollowUps(cancelled[1].released, cancelled[1].ended))
        self._groups.cancel_members(group.id)

    def _insert_rest(
        self, group_id: GroupId, batch: Batch | None, batches: Iterator[Batch]
    ) -> None:
        """Insert the rest of a large group, each batch in a transaction of its own."""
        with ExitStack() as on_error:
            on_error.callback(
                lambda: self._cancel_open(
                    self._read_group(group_id, EVERYBODY), "the error that ended its creation"
                )
            )
            while batch is not None:
                add = partial(add_to_open, group_id=group_id, batches=[batch], by_starter=True)
                with_retries(partial(self._database.transact, add), self.limits.contention)
                self._wakeup.send(work(None))
                batch = next(batches, None)
            on_error.pop_all()
        self._database.transact(follow_ups.end_inserting, group_id)

    def _read_group(self, group_id: int, whose: Whose) -> Group:
        owner = owner_of(whose)
        of_kind("group id", group_id, int, "a whole number")
        known = abs(group_id) <= LARGEST_ID
        group = self._database.autocommit(groups.get, GroupId(group_id)) if known else None
        if group is None or (owner is not None and group.owner != owner):
            raise GroupDoesNotExist(group_id)
        return group

    @overload
    def cancel_many(
        self, *, preview: Literal[True], **which: Unpack[BulkFilter]
    ) -> BulkPreview: ...
    @overload
    def cancel_many(
        self, *, preview: Literal[False] = False, **which: Unpack[BulkFilter]
    ) -> Job: ...
    def cancel_many(
        self, *, preview: bool = False, **which: Unpack[BulkFilter]
    ) -> Job | BulkPreview:
        """Cancel the pending and started jobs that meet the filter.

        Raises `InvalidRequest`, also for no filter.
        """
        return self._change_many(bulk_order(BulkAction.CANCEL, which), preview=preview)

    @overload
    def retry_many(self, *, preview: Literal[True], **which: Unpack[BulkFilter]) -> BulkPreview: ...
    @overload
    def retry_many(
        self, *, preview: Literal[False] = False, **which: Unpack[BulkFilter]
    ) -> Job: ...
    def retry_many(
        self, *, preview: bool = False, **which: Unpack[BulkFilter]
    ) -> Job | BulkPreview:
        """Retry the failed and cancelled jobs that meet the filter and were not retried already."""
        return self._change_many(bulk_order(BulkAction.RETRY, which), preview=preview)

    @overload
    def delete_many(self, *, preview: Literal[True], **which: Unpack[Deletion]) -> BulkPreview: ...
    @overload
    def delete_many(self, *, preview: Literal[False] = False, **which: Unpack[Deletion]) -> Job: ...
    def delete_many(self, *, preview: bool = False, **which: Unpack[Deletion]) -> Job | BulkPreview:
        """Delete the ended jobs that meet the filter, each after its `before_delete`."""
        without_hooks = which.pop("without_hooks", False)
        return self._change_many(
            bulk_order(BulkAction.DELETE, which, without_hooks=without_hooks), preview=preview
        )

    @overload
    def reschedule_many(
        self, *, preview: Literal[True], **which: Unpack[Rescheduling]
    ) -> BulkPreview: ...
    @overload
    def reschedule_many(
        self, *, preview: Literal[False] = False, **which: Unpack[Rescheduling]
    ) -> Job: ...
    def reschedule_many(
        self, *, preview: bool = False, **which: Unpack[Rescheduling]
    ) -> Job | BulkPreview:
        """Make all pending jobs that meet the filter due at `run_at`, or at `delay` from now."""
        run_at, delay = which.pop("run_at", None), which.pop("delay", None)
        if (run_at is None) == (delay is None):
            raise InvalidRequest(
                "name the new time of the jobs: either run_at or delay",
                SentenceCode.VALUE_RUN_AT_OR_DELAY,
            )
        given = StartOptions(run_at=run_at, delay=delay)
        when = given.run_at
        if when is None:
            after = timedelta(seconds=given.delay_seconds or 0.0)
            when = self._database.autocommit(read_clock) + after
        return self._change_many(
            bulk_order(BulkAction.RESCHEDULE, which, run_at=when), preview=preview
        )

    def _change_many(self, order: BulkOrder, *, preview: bool) -> Job | BulkPreview:
        search = order.search(self._registry, self._database, None)
        also = bulk.CHANGEABLE[order.action]
        if preview:
            wanted = order.filter_before(None)
            count, complete = self._database.autocommit(
                searching.count, wanted, search, seconds=PREVIEW_TIME, also=also
            )
            found = self._database.autocommit(
                searching.find, wanted, search, limit=SHOWN, seconds=PREVIEW_TIME, also=also
            )
            named = JobFilter(ids=found.ids, limit=None, most_bytes=self.limits.listed_bytes)
            jobs = self._database.autocommit(reading.page, named)
            return BulkPreview(count, complete, jobs)
        kind = self._registry.get(BULK_TYPE)
        values = order.model_dump(mode="json", exclude_none=True)
        new = new_job(kind, StartOptions(owner=order.owner), {"order": values})
        shown = {
            name: value
            for name, value in values.items()
            if name not in ("action", "by", "technical")
        }
        change = LoggedChange(
            f"jobs.{order.action}_many",
            "jobs",
            after=lambda _, created: {"job": created[0].id, **shown},
            actor=order.by or order.owner,
        )
        job, _ = self._database.transact(with_entry(create, change, changed=_is_new), new)
        self._wakeup.send(WORK)
        return job


def _is_new(created: tuple[Job, bool]) -> bool:
    """Return whether a creation made a job, instead of finding the one with its unique key."""
    return created[1]
