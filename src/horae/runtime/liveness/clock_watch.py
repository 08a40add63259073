"""Watches the database's clock, by which jobs and schedules wait, and adapts them to a step back.

Jobs that had come due before are due at once, and intervals are counted from now. Other schedules
wait until the clock has caught up, because their times until then are decided.
"""

import time
from typing import Final

from horae.domain.elapsed import Elapsed
from horae.domain.times import EPOCH, MICROSECOND
from horae.guarded_log import guarded_log
from horae.runtime.signals import Signals
from horae.storage.engine import Database, read_clock
from horae.storage.engine.sqlite import opening
from horae.storage.jobs import premature
from horae.storage.schedules import clock_setbacks

log = guarded_log("horae.runtime")

_NAMED: Final = 5
"""Maximum number of schedules that one line of the log names."""


class ClockWatch:
    """Watches the clock on behalf of one node; `batch`: rows that one statement changes."""

    def __init__(self, database: Database, signals: Signals, batch: int) -> None:
        self._database, self._signals, self._batch = database, signals, batch
        self.elapsed = Elapsed()
        """How long ago moments of this clock were, whatever it was set to since."""
        self._jobs_may_wait = False
        self._schedules_may_wait = True  # the clock may have been set while no node ran

    async def look(self) -> None:
        """Compare the clock with this process's; if it was set back, adapt due times."""
        if self._database.is_file:  # the clock of SQLite is that of this process
            now = EPOCH + opening.now() * MICROSECOND
        else:
            now = await self._database.autocommit_async(read_clock)
        if self.elapsed.observe(now, time.monotonic()):
            self._jobs_may_wait = self._schedules_may_wait = True
            self._signals.schedules_changed.send(())
        if self._jobs_may_wait:
            await self._make_jobs_due()
            self._jobs_may_wait = False
        if self._schedules_may_wait:
            await self._pull_in_schedules()
            self._schedules_may_wait = False

    async def _make_jobs_due(self) -> None:
        made = self._batch
        while made == self._batch:
            made = await self._database.autocommit_async(premature.make_due, self._batch)
            if made:
                log.warning(
                    "%d jobs waited for a moment before the database's clock was set back; they"
                    " are due now",
                    made,
                )

    async def _pull_in_schedules(self) -> None:
        """Restart intervals by the clock, and name schedules that wait until it catches up."""
        last = pulled_in = 0
        while ids := await self._database.autocommit_async(
            clock_setbacks.counted_ahead, last, self._batch
        ):
            last = ids[-1]
            if applied := await self._database.transact_async(clock_setbacks.pull_in, ids):
                pulled_in += len(applied)
                self._signals.runs_ended.send(applied)
        if pulled_in:
            log.warning(
                "the database's clock was set back: %d intervals are counted from now", pulled_in
            )
        if waiting := await self._database.autocommit_async(clock_setbacks.waiting):
            named = ", ".join(f"{each.name} until {each.next_start}" for each in waiting[:_NAMED])
            log.warning(
                "the database's clock was set back: %d schedules wait, as their times until then"
                " are decided: %s%s",
                len(waiting),
                named,
                ", …" if len(waiting) > _NAMED else "",
            )
