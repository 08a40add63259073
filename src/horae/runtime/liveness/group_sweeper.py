"""Completes what a dead process left undone for groups and for jobs that wait for others."""

from typing import Final

from horae.guarded_log import guarded_log
from horae.runtime.components import Components
from horae.storage.jobs.groups import groups
from horae.storage.outcomes import follow_ups
from horae.types.group_cancelling import GroupCanceller

INSERTING_FOR: Final = 600.0
"""Seconds without further members after which the call that starts a large group counts as dead."""
ABANDONED: Final = "the process that started the group, which ended before all members were created"

log = guarded_log("horae.runtime")


class GroupSweeper:
    """Sweeps on behalf of one node."""

    def __init__(self, components: Components) -> None:
        self._database = components.database
        self._canceller = GroupCanceller(self._database, components.live, components.wakeup)

    def sweep(self) -> None:
        """Report ends that were not reported when written, and cancel more of cancelled groups."""
        found = self._database.autocommit(groups.find_unsettled, INSERTING_FOR)
        if found.unreported:
            self._canceller.act_on(self._database.transact(follow_ups.report_late, 500))
        for group_id in found.abandoned:
            log.warning("group %d is cancelled: its creation was not completed", group_id)
            cancelled = self._database.transact(follow_ups.cancel_group, group_id, ABANDONED)
            if cancelled is not None:
                self._canceller.act_on(cancelled[1])
        for group_id in (*found.cancelled, *found.abandoned):
            self._canceller.cancel_members(group_id)

    def forget_ended(self, seconds: float) -> None:
        """Delete groups that ended longer ago than this and whose jobs are deleted."""
        self._database.transact(groups.forget_ended, seconds)
