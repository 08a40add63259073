"""The methods of `Jobs` that change stored jobs: cancel, retry, reschedule, delete, clean up."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import partial

from horae.client.changes import LoggedChange, recorded
from horae.client.jobs import filters
from horae.client.jobs.creating import create_once, repetition_of
from horae.client.jobs.filters import owner_of
from horae.client.jobs.methods.base import WORK, JobsBase, is_new
from horae.domain.jobs import EVERYBODY, Job, JobId, JobState, Whose
from horae.domain.names import foreign_id
from horae.domain.times import Duration
from horae.errors import InvalidRequest, JobNotDeletable, JobNotReschedulable, JobNotRetryable
from horae.storage.jobs import owed_hooks, reading, rescheduling
from horae.storage.outcomes import deletion
from horae.storage.schedules import retrying
from horae.types.options import StartOptions
from horae.wakeup import Hint, HintKind


class ChangesJobs(JobsBase):
    """The methods that change jobs which exist."""

    def cancel(self, job_id: int, *, owner: Whose = EVERYBODY, by: str | None = None) -> Job:
        """Cancel the job; stop its body and discard its work.

        The job has the final state `cancelled` when this returns. Cancelling twice is no error.
        Raises `JobNotCancellable` for a finished or failed job, `JobDoesNotExist`.
        """
        if by is not None:
            foreign_id("by", by)
        job = self._stored(job_id, owner)
        if job.state is JobState.CANCELLED:
            return job
        return self._canceller.cancel(job, by or owner_of(owner))

    def retry(self, job_id: int, *, owner: Whose = EVERYBODY) -> Job:
        """Start a new job with the parameters and options of a failed or cancelled one, which stays
        as it ended.

        A second call returns the job that the first one started, or raises `JobNotRetryable`, which
        names it, if that job failed or was cancelled too. The retry of a run of a schedule is a run
        by hand for the same nominal time: it raises `ScheduleIsRunning` if another run blocks it.
        Raises what `start` raises.
        """
        job = self._hooks.with_parameters(self._stored(job_id, owner))
        if job.state not in (JobState.FAILED, JobState.CANCELLED):
            raise JobNotRetryable(job.id, job.state)
        kind = self._registry.get(job.type)
        options = StartOptions(
            owner=job.owner,
            priority=job.priority,
            queue=job.queue,
            max_attempts=job.max_attempts,
            meta=job.meta,
            tags=job.tags,
            backoff=self._database.autocommit(reading.backoff, job.id),
            expires=_expiry_of(job),
        )
        # A backend may run the type by now; then it has no limits by key.
        limits = self._database.autocommit(reading.limits, job.id) if kind.address is None else None
        new = repetition_of(job, kind, options, limits)
        change = LoggedChange(
            "job.retry",
            str(job.id),
            after=lambda _, created: {"job": created[0].id},
            actor=owner_of(owner),
        )
        repeat = partial(retrying.retry, of=job, create=partial(create_once, new=new))
        create = recorded(repeat, change, changed=is_new)

        def retried() -> Job:
            created, new_run = self._database.transact(create)
            if created.state in (JobState.FAILED, JobState.CANCELLED):
                raise JobNotRetryable(job.id, job.state, retried_as=created.id)
            if new_run and created.schedule_id is not None:
                self._wakeup.send(Hint(HintKind.SCHEDULES, (JobId(created.schedule_id),)))
            self._wakeup.send(WORK)
            return created

        return self._until_done(retried)

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
            raise InvalidRequest("name the new time: run_at or delay")
        when = StartOptions(run_at=run_at, delay=delay)
        job = self._stored(job_id, owner)
        change = LoggedChange(
            "job.reschedule",
            str(job.id),
            lambda _: {"run_at": job.run_at},
            lambda _, moved: {"run_at": moved[0].run_at},
            owner_of(owner),
        )
        move = recorded(rescheduling.reschedule_one, change, changed=bool)
        moved = self._database.transact(move, job.id, when.run_at, when.delay_seconds)
        if not moved:
            raise JobNotReschedulable(job.id, self._stored(job_id, owner).state)
        self._wakeup.send(WORK)
        return moved[0]

    def delete(self, job_id: int, *, owner: Whose = EVERYBODY, without_hooks: bool = False) -> bool:
        """Delete an ended job after calling its `before_delete`; return whether it is gone.

        False if its type is not registered here: then the first node that knows the type calls the
        hook and deletes it. `without_hooks` deletes it at once and calls no hook. Raises
        `JobNotDeletable`, `JobDoesNotExist`.
        """
        job = self._stored(job_id, owner)
        if job.occupied:
            raise JobNotDeletable(job.id, job.state)
        seen = {"type": job.type, "state": job.state, "owner": job.owner}
        change = LoggedChange(
            "job.delete", str(job.id), before=lambda _: seen, actor=owner_of(owner)
        )
        if not without_hooks and self._registry.find(job.type) is None:
            self._database.transact(
                recorded(owed_hooks.request_deletion, change, changed=bool), job.id
            )
            return False
        if not without_hooks:
            self._hooks.delete(job)
        if not self._database.transact(
            recorded(deletion.delete_jobs, change, changed=bool), [job.id]
        ):
            self._stored(job_id, owner)
            raise JobNotDeletable(job.id, job.state)
        return True

    def clean_up(self, older_than: Duration | None = None, *, unknown: Collection[str] = ()) -> int:
        """Delete jobs that ended longer ago than `older_than`, each after its `before_delete`;
        return their number.

        Without `older_than` each job is kept as long as its type says, or the settings if the type
        says nothing. Jobs of types that are not registered here are left to programs that know
        their hooks, except for the types named in `unknown`: their jobs are deleted without a hook.
        """
        keep = filters.kept_seconds(older_than, self._keep)
        forgotten = [name for name in unknown if name not in self._registry.by_name]
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


def _expiry_of(job: Job) -> timedelta | None:
    """Return how long the job could wait once it was due, for its retry; None: as its type says."""
    wait = timedelta(0) if job.expires_at is None else job.expires_at - job.run_at
    return wait if wait > timedelta(0) else None
