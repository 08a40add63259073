"""Cancels jobs and groups: a cancel is in their rows and requested from bodies, so none is lost."""

from contextlib import ExitStack

from sqlalchemy import Connection

from horae.client.changes import LoggedChange, with_entry
from horae.client.jobs.creating import TryAgain
from horae.client.jobs.live_reports import with_live_reports
from horae.domain.jobs import Group, Job, JobId, JobState
from horae.errors import DatabaseBusy, JobDoesNotExist, JobNotCancellable
from horae.guarded_log import guarded_log
from horae.live import CancelRequest, LiveStore
from horae.storage.engine import Database
from horae.storage.jobs import ON_CANCELLED, reading
from horae.storage.outcomes import CancelledJob, FollowUps, cancelling, follow_ups
from horae.types.group_cancelling import GroupCanceller
from horae.types.hooks import Hooks, HookThreads
from horae.wakeup import Hint, HintKind, WakeupChannel

log = guarded_log("horae.jobs")


class JobCanceller:
    """Cancels jobs and groups that the caller has read, and asks their bodies to stop."""

    def __init__(
        self,
        database: Database,
        live: LiveStore,
        wakeup: WakeupChannel,
        hooks: Hooks,
    ) -> None:
        self._database, self._live, self._wakeup, self._hooks = database, live, wakeup, hooks
        self._groups = GroupCanceller(database, live, wakeup)
        self._hook_threads = HookThreads(hooks)

    def cancel(self, job: Job, who: str | None, *, may_wait: bool = True) -> Job:
        """Cancel a job for `who` and return it in its state afterwards.

        `may_wait` False: raise `TryAgain` instead of waiting for another transaction, and call
        `on_cancelled` on other threads. Raises `JobNotCancellable`, `JobDoesNotExist`.

        The row is updated first, so no body is stopped by a cancel that fails or cannot be
        recorded. The exception: on SQLite the body's own transaction may hold the lock that the
        update needs. Then the request is stored beside the row first; the body reads it, rolls back
        and releases the lock.
        """
        seen = {"state": job.state}
        change = LoggedChange(
            "job.cancel", str(job.id), lambda _: seen, lambda *_: {"state": JobState.CANCELLED}, who
        )
        statement = with_entry(cancelling.cancel, change, changed=lambda found: found is not None)
        shown = with_live_reports(self._live, [job])[0]
        owed = self._hooks.owes(job.type, ON_CANCELLED)

        def cancel(connection: Connection) -> CancelledJob | None:
            return statement(connection, job.id, who, shown, owed=owed)

        def cancel_after_waiting() -> Job:
            with ExitStack() as on_error:
                on_error.callback(self._live.forget, [job.id])
                cancelled = self._database.transact(cancel)
                on_error.pop_all()
            return self._act_on(job, who, cancelled, may_wait=may_wait)

        try:
            cancelled = self._database.transact_at_once(cancel)
        except DatabaseBusy as error:
            if job.state is JobState.STARTED:
                self._request_cancel(job.id, who)
            if not may_wait:
                raise TryAgain(error, cancel_after_waiting) from error
            return cancel_after_waiting()
        return self._act_on(job, who, cancelled, may_wait=may_wait)

    def cancel_group(self, group: Group, who: str | None) -> None:
        """Cancel the members of an open group that have not ended, and the job after them."""
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

    def _act_on(
        self, job: Job, who: str | None, found: CancelledJob | None, *, may_wait: bool
    ) -> Job:
        """Notify the body and the waiting callers after the update; None: the job had ended or is
        gone.
        """
        if found is None:
            now = self._database.autocommit(reading.get, job.id)
            if now is None:
                raise JobDoesNotExist(job.id)
            if not now.occupied:  # another caller's request may be on its way to an occupied job
                self._live.forget([job.id])
            if now.state is not JobState.CANCELLED:
                raise JobNotCancellable(job.id, now.state)
            return now
        cancelled = found.job
        self._groups.act_on(found.follow_ups)
        # The cancel is final, whatever the live store says.
        with log.guard("job %d is cancelled, but its live state is not: %s", job.id):
            if cancelled.node_id is None:
                self._live.forget([job.id])
            else:
                self._request_cancel(job.id, who)
        if cancelled.node_id is None:
            if may_wait:
                self._hooks.call_here(job.id, job.type)
            else:
                self._hook_threads.call_due(job.type)
        self._wakeup.send(Hint(HintKind.ENDED, (job.id,)))
        if cancelled.schedule_id is not None and cancelled.node_id is None:
            # The run of its schedule has ended with it.
            self._wakeup.send(Hint(HintKind.SCHEDULES, (JobId(cancelled.schedule_id),)))
        return cancelled

    def _request_cancel(self, job_id: JobId, who: str | None) -> None:
        self._live.request_cancel(job_id, CancelRequest(who))
        self._wakeup.send(Hint(HintKind.CANCEL, (job_id,)))
