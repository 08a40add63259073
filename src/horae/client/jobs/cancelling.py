"""Cancels jobs: updates the row and stores the request to the body, so that no cancel is lost."""

from collections.abc import Callable
from copy import copy
from functools import partial

from horae.client.changes import LoggedChange, recorded
from horae.client.jobs.creating import TryAgain
from horae.client.jobs.live_reports import with_live_reports
from horae.domain.jobs import Job, JobId, JobState
from horae.errors import DatabaseBusy, JobDoesNotExist, JobNotCancellable
from horae.live import CancelRequest, LiveStore
from horae.storage.engine import Database
from horae.storage.jobs import ON_CANCELLED, reading
from horae.storage.outcomes import FollowUps, cancelling
from horae.types.groups import GroupCanceller
from horae.types.hooks import Hooks, HookThreads
from horae.wakeup import Hint, HintKind, WakeupChannel


class JobCanceller:
    """Cancels jobs that the caller has read, and asks their bodies to stop."""

    def __init__(
        self, database: Database, live: LiveStore, wakeup: WakeupChannel, hooks: Hooks
    ) -> None:
        self._database, self._live, self._wakeup, self._hooks = database, live, wakeup, hooks
        self._groups = GroupCanceller(database, live, wakeup)
        self._call_hook: Callable[[JobId, str], None] = hooks.call_here
        self._may_wait = True

    def without_waiting(self) -> "JobCanceller":
        """Return a copy for coroutines; see `Jobs.without_waiting`."""
        twin = copy(self)
        threads = HookThreads(self._hooks)
        twin._may_wait = False  # noqa: SLF001 - its own
        twin._call_hook = lambda _job_id, type_name: threads.call_due(type_name)  # noqa: SLF001
        return twin

    def cancel(self, job: Job, who: str | None) -> Job:
        """Cancel a job for `who` and return it in its state afterwards.

        Raises `JobNotCancellable`, `JobDoesNotExist`.

        The row is updated first, so no body is stopped by a cancel that fails or cannot be
        recorded. The exception: on SQLite the body's own transaction may hold the lock that the
        update needs. Then the request is stored beside the row first; the body reads it, rolls back
        and releases the lock.
        """
        seen = {"state": job.state}
        change = LoggedChange(
            "job.cancel", str(job.id), lambda _: seen, lambda *_: {"state": JobState.CANCELLED}, who
        )
        cancel = recorded(cancelling.cancel, change, changed=lambda job: job is not None)
        shown = with_live_reports(self._live, [job])[0]
        owed = self._hooks.owes(job.type, ON_CANCELLED)
        followed = FollowUps()
        try:
            cancelled = self._database.transact_at_once(
                cancel, job.id, who, shown, owed=owed, followed=followed
            )
        except DatabaseBusy as error:
            if job.state is JobState.STARTED:
                self._request_cancel(job.id, who)

            def wait() -> Job | None:
                return self._database.transact(
                    cancel, job.id, who, shown, owed=owed, followed=followed
                )

            rest = partial(self._cancel_after_waiting, job, who, wait, followed)
            if not self._may_wait:
                raise TryAgain(error, rest) from error
            return rest()
        return self._cancelled(job, who, cancelled, followed)

    def _cancel_after_waiting(
        self, job: Job, who: str | None, cancel: Callable[[], Job | None], followed: FollowUps
    ) -> Job:
        try:
            cancelled = cancel()
        except BaseException:
            self._live.forget([job.id])
            raise
        return self._cancelled(job, who, cancelled, followed)

    def _cancelled(
        self, job: Job, who: str | None, cancelled: Job | None, followed: FollowUps
    ) -> Job:
        """Notify the body and the waiting callers after the update; None: the job had ended or is
        gone.
        """
        if cancelled is None:
            return self._not_cancelled(job.id)
        self._groups.act_on(followed)
        if cancelled.node_id is None:
            self._live.forget([job.id])
            self._call_hook(job.id, job.type)
        else:
            self._request_cancel(job.id, who)
        self._wakeup.send(Hint(HintKind.ENDED, (job.id,)))
        if (
            cancelled.schedule_id is not None and cancelled.node_id is None
        ):  # the run of its schedule has ended with it
            self._wakeup.send(Hint(HintKind.SCHEDULES, (JobId(cancelled.schedule_id),)))
        return cancelled

    def _request_cancel(self, job_id: JobId, who: str | None) -> None:
        self._live.request_cancel(job_id, CancelRequest(who))
        self._wakeup.send(Hint(HintKind.CANCEL, (job_id,)))

    def _not_cancelled(self, job_id: JobId) -> Job:
        job = self._database.autocommit(reading.get, job_id)
        if job is None:
            raise JobDoesNotExist(job_id)
        if not job.occupied:  # a request of another caller may be on its way to an occupied job
            self._live.forget([job_id])
        if job.state is not JobState.CANCELLED:
            raise JobNotCancellable(job_id, job.state)
        return job
