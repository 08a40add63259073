"""What callers do with jobs: start, read, change, group and wait for them.

Each verb checks, runs a function of a Connection, and sends a hint after the commit.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Literal, TypeVar, overload

from typing_extensions import Unpack

from horae.client.changes import LoggedChange, with_entry
from horae.client.jobs import filters
from horae.client.jobs.bulk_order import BulkFilter, BulkOrder, Deletion, Rescheduling, bulk_order
from horae.client.jobs.creating import (
    NewJob,
    RunsInline,
    create,
    create_once,
    new_job,
    observed,
    repetition_of,
    with_meta_of,
)
from horae.client.jobs.filters import owner_of
from horae.client.jobs.job_reads import USUAL, JobLimits
from horae.client.jobs.job_starts import WORK, JobStarts, is_new
from horae.client.jobs.waiting import of_group, of_job, until_ended
from horae.domain.jobs import (
    BULK_TYPE,
    EVERYBODY,
    BulkAction,
    BulkPreview,
    Group,
    GroupState,
    Job,
    JobId,
    JobState,
    Whose,
)
from horae.domain.names import foreign_id
from horae.domain.times import Duration
from horae.errors import (
    GroupNotCancellable,
    InvalidRequest,
    JobNotDeletable,
    JobNotReschedulable,
    JobNotRetryable,
)
from horae.live import LiveStore
from horae.sentences import SentenceCode
from horae.storage.engine import Database, Reads, read_clock
from horae.storage.jobs import JobFilter, owed_hooks, reading, rescheduling
from horae.storage.jobs.search import bulk, searching
from horae.storage.outcomes import deletion
from horae.storage.schedules import retrying
from horae.types import Observer, Registry, Starting, Timeout, seconds_of
from horae.types.options import StartOptions
from horae.wakeup import Hint, HintKind, WakeupChannel

T = TypeVar("T")
SHOWN: Final = 10
"""Number of jobs that a preview of many changes shows."""
PREVIEW_TIME: Final = 5.0
"""Maximum number of seconds for which a preview counts."""


class Jobs(JobStarts):
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
        super().__init__(
            database, registry, live, wakeup, inline=inline, limits=limits, observers=observers
        )
        self._keep = keep

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
            self.canceller.cancel_group(group, who)
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
        create = with_entry(repeat, change, changed=is_new)

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
        asked = {"kept_seconds": keep, "unknown": forgotten}
        change = LoggedChange("jobs.clean_up", "ended jobs", after=lambda *_: asked)
        self._database.transact(with_entry(lambda _: None, change))
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
        """Create the job that changes these jobs, or show a few of them as a preview."""
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
        job, _ = self._database.transact(with_entry(create, change, changed=is_new), new)
        self._wakeup.send(WORK)
        return job
