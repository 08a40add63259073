"""Ends the work of a node: gives bodies time, orders them to stop, and writes their results."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from horae.domain.jobs import NodeId
from horae.guarded_log import guarded_log
from horae.runtime.bodies import Interrupted, RunMonitor, stop_attempts
from horae.runtime.claims import Workers
from horae.runtime.settling import Settler
from horae.runtime.signals import Signals
from horae.runtime.timing import ShutdownTiming
from horae.sentences import counted

LISTED: Final = 50
"""Maximum number of jobs that a line of the log names."""

log = guarded_log("horae.runtime")


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Ends the bodies of a node and writes their results."""

    node: NodeId
    worker: Workers
    settler: Settler
    run_monitor: RunMonitor
    signals: Signals
    timing: ShutdownTiming

    async def run(
        self,
        working: Sequence[asyncio.Task[None]],
        settling: asyncio.Task[None],
        grace: float,
        settled_by: float,
    ) -> None:
        """Let bodies run on for `grace` seconds, then stop them; wait for results until
        `settled_by`.

        `working` and `settling` are tasks that have been told to end, but may hang while the
        database does not answer.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        if working:
            await asyncio.wait(working, timeout=max(grace, self.timing.last_words))
        await self._await_bodies(max(grace - (loop.time() - began), 0.0))
        if self.worker.running:
            stop_attempts(list(self.worker.running.values()), Interrupted)
            with suppress(TimeoutError):
                async with asyncio.timeout(self.timing.told_within):
                    await self.run_monitor.record_orders(list(self.worker.running.values()))
            await self._await_bodies(self.timing.last_words)
        for attempt in list(self.worker.running.values()):
            attempt.kill()
        await self._await_bodies(self.timing.last_words / 2)
        self.worker.give_up()
        self.settler.close()
        await asyncio.wait([settling], timeout=settled_by - loop.time())
        if unsettled := [claim.id for claim in self.settler.unsettled]:
            log.error(
                "node %s stops although the results of %s could not be written, because the"
                " database does not answer; another node will find these jobs unfinished: %s",
                self.node,
                counted(len(unsettled), "job"),
                ", ".join(map(str, unsettled[:LISTED])) + (", …" * (len(unsettled) > LISTED)),
            )

    async def _await_bodies(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while self.worker.running:
                    self.signals.emptied.clear()
                    await self.signals.emptied.wait()
        except TimeoutError:
            running = counted(len(self.worker.running), "job")
            log.warning("%s did not end within %g s", running, round(seconds, 1))
