"""What callers do with jobs. Each verb checks, runs a function of a Connection, and sends a hint after the commit."""

from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import TypeAdapter
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from horae.client.changes import Change, is_requested, recorded
from horae.client.jobs import creation, filters
from horae.client.jobs.cancelling import JobCanceller
from horae.client.jobs.contention import RunsAttempt, once, with_retries
from horae.client.jobs.creation import Creation
from horae.client.jobs.filters import before_cursor, owner_of, possible_ids, wanted_states
from horae.client.jobs.inline import RunsInline, retried_inline
from horae.client.jobs.limits import USUAL, JobLimits
from horae.client.jobs.live_reports import with_live_reports
from horae.client.jobs.waiting import until_ended
from horae.domain.backoff import Backoff
from horae.domain.jobs.job import LEFT_OUT, Claim, Job, JobId, JobState
from horae.domain.jobs.owner import EVERYBODY, Whose
from horae.domain.names import foreign_id
from horae.domain.times.duration import Duration
from horae.errors import (
    InvalidRequest,
    JobDoesNotExist,
    JobFailed,
    JobNotDeletable,
    JobNotRetryable,
    JobWasCancelled,
    quoted,
)
from horae.live.store import LiveStore
from horae.storage.engine.after_commit import after_commit
from horae.storage.engine.database import Database, conflicts_as_busy
from horae.storage.engine.same_database import SameDatabase
from horae.storage.jobs import owed_hooks, reading
from horae.storage.jobs.reading import Attempt, JobFilter
from horae.storage.outcomes import deletion
from horae.types.arguments import LARGEST_ID, Timeout, of_kind, seconds_of
from horae.types.hooks.hooks import Hooks
from horae.types.registry import JobTypeReference, Registry
from horae.types.start_options import OnDuplicate, StartOptions
from horae.wakeup.channel import Hint, HintKind, WakeupChannel

Within: TypeAlias = Session | Connection
Attempts: TypeAlias = list[Attempt]
T = TypeVar("T")
WORK: Final = Hint(HintKind.WORK)


@dataclass(frozen=True, slots=True)
class JobPage:
    """One page of a list; `next` is the cursor of the following one, None on the last."""

    jobs: list[Job]
    next: str | None


class Jobs:
    """Start, watch, cancel jobs. See `AsyncJobs` for coroutines."""

    def __init__(  # noqa: PLR0913 - the parts of an application
        self, database: Database, registry: Registry, live: LiveStore, wakeup: WakeupChannel, *,
        keep: timedelta, inline: RunsInline, limits: JobLimits = USUAL,
    ) -> None:  # fmt: skip
        self._database, self._registry, self._live, self._wakeup = database, registry, live, wakeup
        self._keep, self._inline, self.limits = keep, inline, limits
        self._same_database = SameDatabase(database)
        self._hooks = Hooks(database, registry)
        self._run_attempt: RunsAttempt = partial(with_retries, bound=limits.contention)
        self._canceller = JobCanceller(database, live, wakeup, self._hooks)

    def start(  # noqa: PLR0913 - the options of a job
        self, job_type: JobTypeReference, /, *, session: Within | None = None, owner: str | None = None,
        run_at: datetime | None = None, delay: Duration | None = None, priority: int | None = None,
        queue: str | None = None, unique_key: str | None = None, on_duplicate: OnDuplicate = "refuse",
        max_attempts: int | None = None, backoff: Backoff | None = None, meta: Mapping[str, Any] | None = None,
        sync: bool = False, **values: Any,
    ) -> Job:  # fmt: skip
        """Create a job; a node runs it. Other named arguments are the job's parameters.

        `session`: create it in the caller's transaction, so that it exists if and only if that commits. `sync`: run it
        in this thread, under the same rules and with its retries, and return it when it has ended; it is still pending
        only if its next attempt is due in more than a minute, which is left to the nodes. Raises `InvalidParameters`,
        `MaxJobCountExceeded`, `DuplicateJob`, or what `prepare_values` and `after_creation` raise; nothing is left
        then.
        """
        options = StartOptions(
            owner=owner, run_at=run_at, delay=delay, priority=priority, queue=queue, unique_key=unique_key,
            on_duplicate=on_duplicate, max_attempts=max_attempts, backoff=backoff, meta=meta,
        )  # fmt: skip
        return self.create(job_type, values, options, session=session, sync=sync)

    def create(
        self, job_type: JobTypeReference, values: Mapping[str, Any], options: StartOptions, *,
        session: Within | None = None, sync: bool = False,
    ) -> Job:  # fmt: skip
        """Create a job as `start` does; parameters and options are separate, so that no name can clash."""
        wanted = creation.checked(self._registry.resolve(job_type), options, values)
        if sync:
            return self._start_inline(wanted, session)
        if session is not None:
            return self._within_caller_s(session, partial(creation.create, wanted=wanted))[0]
        if wanted.is_plain and not is_requested():
            job = self._database.autocommit(creation.create_plain, wanted)
        else:
            job, _ = self._alone(partial(recorded(creation.create, changed=_is_new), wanted=wanted))
        self._wakeup.send(WORK)
        return job

    def start_many(
        self, job_type: JobTypeReference, values: Iterable[Mapping[str, Any]], /, *, session: Within | None = None,
        owner: str | None = None, options: StartOptions | None = None,
    ) -> list[JobId]:  # fmt: skip
        """Create one job for each mapping of parameters, in one statement, all or none; their ids in order.

        `owner`: the owner of all of them; `options` has the other options, which apply to all as well.
        """
        options = options or StartOptions()
        of_kind("options", options, StartOptions, "StartOptions")
        if owner is not None:
            if options.owner not in (None, owner):
                raise InvalidRequest(f"owner is {quoted(owner)}, and {quoted(options.owner)} in options; name it once")
            options = replace(options, owner=owner)
        if options.unique_key is not None:
            raise InvalidRequest("unique_key names one job; start_many starts many")
        kind = self._registry.resolve(job_type)
        given = creation.counted(values, self.limits)
        stored = [creation.stored_parameters(kind, options.owner, item) for item in given]
        if not stored:
            return []
        template = Creation(kind, creation.new_job(kind, options, None), {}, stored[0])
        insert = partial(creation.create_many, template=template, stored=stored, values=given)
        if session is not None:
            return self._within_caller_s(session, insert)
        ids = self._alone(insert)
        self._wakeup.send(WORK)
        return ids

    def get(self, job_id: int, *, owner: Whose = EVERYBODY) -> Job:
        """Return the job with its live label and percentage. Raises `JobDoesNotExist`, also for another owner's job."""
        return with_live_reports(self._live, [self._stored(job_id, owner)])[0]

    def list(  # noqa: PLR0913 - the filters of a list
        self, *, states: Iterable[str] | None = None, types: Collection[str] | None = None,
        ids: Collection[int] | None = None, queues: Collection[str] | None = None, owner: Whose = EVERYBODY,
        schedule_id: int | None = None, limit: int = 100, cursor: str | None = None,
    ) -> JobPage:  # fmt: skip
        """List jobs, newest first; long values are `LEFT_OUT`. None is no filter, `[]` matches nothing.

        With `ids` all of them are returned, whatever the `limit`.
        """
        limit = filters.page_length(limit)
        wanted = JobFilter(
            states=wanted_states(states), types=filters.names_of("types", types), ids=possible_ids(ids),
            queues=filters.names_of("queues", queues), owner=owner_of(owner), before=before_cursor(cursor),
            schedule_id=filters.possible_id(schedule_id), most_bytes=self.limits.listed_bytes,
            limit=None if ids is not None else limit + 1,
        )  # fmt: skip
        found = self._database.autocommit(reading.page, wanted)
        more = ids is None and len(found) > limit
        page = with_live_reports(self._live, found[:limit] if more else found)
        return JobPage(list(page), str(page[-1].id) if more else None)

    def attempts(self, job_id: int, *, owner: Whose = EVERYBODY) -> Attempts:
        """Return how each attempt of the job ended, oldest first."""
        return self._database.autocommit(reading.attempts, self._stored(job_id, owner).id)

    def count(self) -> Mapping[JobState, int]:
        """Return the number of jobs in each state."""
        return self._database.autocommit(reading.counts)

    def wait(self, job_id: int, *, timeout: Timeout | None = None, owner: Whose = EVERYBODY) -> Any:
        """Wait until the job has ended, and return its result.

        `timeout`: a timedelta or a text such as `"30s"`; None waits without a limit. Raises `WaitTimeout`, `JobFailed`,
        `JobWasCancelled`, `JobDoesNotExist`.
        """
        seconds = seconds_of("timeout", timeout)
        self._stored(job_id, owner)
        until_ended(self._database, self._wakeup, JobId(job_id), seconds)
        return self.result_of(self._stored(job_id, owner))

    def result_of(self, job: Job) -> Any:
        """Return the result of an ended job in its annotated type. Raises `JobFailed`, `JobWasCancelled`."""
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

    def cancel(self, job_id: int, *, owner: Whose = EVERYBODY, by: str | None = None) -> Job:
        """Cancel the job: it is `cancelled`, a final state, when this returns; its body is stopped, its work discarded.

        Cancelling twice is no error. Raises `JobNotCancellable` for a finished or failed job, `JobDoesNotExist`.
        """
        if by is not None:
            foreign_id("by", by)
        job = self._stored(job_id, owner)
        if job.state is JobState.CANCELLED:
            return job
        return self._canceller.cancel(job, by or owner_of(owner))

    def retry(self, job_id: int, *, owner: Whose = EVERYBODY) -> Job:
        """Start a new job with the parameters and options of a failed or cancelled one, which stays as it ended.

        A second call returns the job that the first one started, or raises `JobNotRetryable`, which names it, if that
        job failed or was cancelled too. Raises what `start` raises.
        """
        job = self._hooks.with_parameters(self._stored(job_id, owner))
        if job.state not in (JobState.FAILED, JobState.CANCELLED):
            raise JobNotRetryable(job.id, job.state)
        kind = self._registry.get(job.type)
        options = StartOptions(
            owner=job.owner, priority=job.priority, queue=job.queue, unique_key=job.unique_key,
            max_attempts=job.max_attempts, meta=job.meta,
            backoff=self._database.autocommit(reading.backoff, job.id),
        )  # fmt: skip
        stored = kind.parameters.restore(job.params)
        new = replace(creation.new_job(kind, options, stored.text), retry_of=job.id, max_runtime=job.max_runtime)
        wanted = Creation(kind, new, stored.row or job.params or {}, stored)
        change = Change(
            "job.retry", str(job.id), after=lambda _, created: {"job": created[0].id}, actor=owner_of(owner)
        )
        create = recorded(creation.create_once, change, changed=_is_new)
        created, _ = self._alone(partial(create, wanted=wanted))
        if created.state in (JobState.FAILED, JobState.CANCELLED):
            raise JobNotRetryable(job.id, job.state, retried_as=created.id)
        self._wakeup.send(WORK)
        return created

    def delete(self, job_id: int, *, owner: Whose = EVERYBODY, without_hooks: bool = False) -> bool:
        """Delete an ended job after calling its `before_delete`; return whether it is gone.

        False if its type is not registered here: then the first node that knows the type calls the hook and deletes it.
        `without_hooks` deletes it at once and calls no hook. Raises `JobNotDeletable`,
        `JobDoesNotExist`.
        """
        job = self._stored(job_id, owner)
        if job.occupied:
            raise JobNotDeletable(job.id, job.state)
        seen = {"type": job.type, "state": job.state, "owner": job.owner}
        change = Change("job.delete", str(job.id), before=lambda _: seen, actor=owner_of(owner))
        if not without_hooks and self._registry.find(job.type) is None:
            self._database.transact(recorded(owed_hooks.request_deletion, change, changed=bool), job.id)
            return False
        if not without_hooks:
            self._hooks.delete(job)
        if not self._database.transact(recorded(deletion.delete_jobs, change, changed=bool), [job.id]):
            self._stored(job_id, owner)
            raise JobNotDeletable(job.id, job.state)
        return True

    def clean_up(self, older_than: Duration | None = None, *, unknown: Collection[str] = ()) -> int:
        """Delete jobs that ended longer ago than `older_than`, each after its `before_delete`; return their number.

        Jobs of types that are not registered here are left to programs that know their hooks, except for the types
        named in `unknown`: their jobs are deleted without a hook.
        """
        keep = filters.kept_seconds(older_than, self._keep)
        forgotten = [name for name in unknown if name not in self._registry.by_name]
        return self._hooks.clean_up(keep) + self._hooks.forget(forgotten, keep)

    def left_over(self, older_than: Duration | None = None) -> Mapping[str, int]:
        """Return the number of jobs of each type that `clean_up` leaves to programs that know the type."""
        keep = filters.kept_seconds(older_than, self._keep)
        found = self._database.autocommit(owed_hooks.leftover_jobs, list(self._registry.by_name), keep)
        return {item.type: item.past_keeping for item in found if item.past_keeping}

    def without_waiting(self) -> "Jobs":
        """Return a copy for coroutines, which must not occupy the few threads of the database.

        It raises `TryAgain` instead of waiting for another transaction, and calls `on_cancelled` on other threads.
        """
        twin = copy(self)
        twin._run_attempt = once  # noqa: SLF001 - its own
        twin._canceller = self._canceller.without_waiting()  # noqa: SLF001 - its own
        return twin

    def _alone(self, insert: Callable[[Connection], T]) -> T:
        return self._run_attempt(partial(self._database.transact, insert))

    def _within_caller_s(self, session: Within, insert: Callable[[Connection], T]) -> T:
        connection = self._within(session)

        def attempt() -> T:
            with conflicts_as_busy():
                created = insert(connection)
            after_commit(session, partial(self._wakeup.send, WORK))
            return created

        return self._run_attempt(attempt)

    def _start_inline(self, wanted: Creation, session: Within | None) -> Job:
        if session is not None:
            raise InvalidRequest("sync=True runs the job at once, so it cannot wait for the session's commit")
        self._inline.join()
        create = partial(self._alone, partial(self._create_and_claim, wanted=wanted))
        job, claim = self._inline.claimed(create, lambda created: created[1])
        if claim is None:  # an active job with the same key
            return self.get(job.id)
        self._inline.run(claim)
        return retried_inline(self._database, self._wakeup, self._inline, partial(self.get, job.id))

    def _create_and_claim(self, connection: Connection, wanted: Creation) -> tuple[Job, Claim | None]:
        job, new = creation.create(connection, wanted)
        return job, self._inline.claim(connection, job.id) if new else None

    def _within(self, session: Within) -> Connection:
        connection = session.connection() if isinstance(session, Session) else session
        of_kind("session", connection, Connection, "a Session or a Connection of SQLAlchemy")
        self._same_database.check(connection)
        self._database.adopt(connection)
        return connection

    def _stored(self, job_id: int, whose: Whose) -> Job:
        owner = owner_of(whose)
        of_kind("job id", job_id, int, "a whole number")
        job = self._database.autocommit(reading.get, JobId(job_id)) if abs(job_id) <= LARGEST_ID else None
        if job is None or (owner is not None and job.owner != owner):
            raise JobDoesNotExist(job_id)
        return job


def _is_new(created: tuple[Job, bool]) -> bool:
    return created[1]
