"""Cancels the members of groups, and notifies nodes and callers after jobs have ended."""

from horae.domain.jobs import GroupId, JobId
from horae.guarded_log import guarded_log
from horae.live import CancelRequest, LiveStore
from horae.storage.engine import Database
from horae.storage.jobs.groups import groups
from horae.storage.outcomes import FollowUps, follow_ups
from horae.wakeup import Hint, HintKind, WakeupChannel, work

log = guarded_log("horae.jobs")


class GroupCanceller:
    """Cancels members of groups in batches, and asks the bodies among them to stop."""

    def __init__(self, database: Database, live: LiveStore, wakeup: WakeupChannel) -> None:
        self._database, self._live, self._wakeup = database, live, wakeup

    def act_on(self, followed: FollowUps) -> None:
        """Send hints and cancel members of groups after a committed transaction ended jobs."""
        if followed.released:
            self._wakeup.send(work(len(followed.released)))
        if followed.ended:
            self._wakeup.send(Hint(HintKind.ENDED, tuple(job.id for job in followed.ended)))
        for group_id in followed.cancelled:
            self.cancel_members(group_id)

    def cancel_members(self, group_id: GroupId) -> None:
        """Cancel the members of a cancelled group that have not ended."""
        group = self._database.autocommit(groups.get, group_id)
        if group is None:
            return
        after: JobId | None = JobId(0)
        while after is not None:
            members, followed, after = self._database.transact(
                follow_ups.cancel_members,
                group_id,
                group.cancelled_by,
                after=after,
                limit=500,
            )
            running = tuple(member.id for member in members if member.running)
            # The rows are changed, and tell the bodies somewhat later.
            with log.guard("the bodies of group %d are not asked to stop: %s", group_id):
                for job_id in running:
                    self._live.request_cancel(job_id, CancelRequest(group.cancelled_by))
            if running:
                self._wakeup.send(Hint(HintKind.CANCEL, running))
            if members:
                self._wakeup.send(Hint(HintKind.ENDED, tuple(member.id for member in members)))
            self.act_on(followed)

    def request_cancels(self, group_id: GroupId, by: str | None) -> None:
        """Ask the running members to stop before their rows are changed.

        On SQLite a body's own transaction may hold the lock that this change needs.
        """
        for job in self._database.autocommit(groups.running, group_id):
            self._live.request_cancel(job.id, CancelRequest(by))
