"""A node's share of hooks and clean-up: finds what is due and passes it to threads.

Claims, rescues and the web interface never wait for any of it, however long an application's hook
takes.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Final

from horae.domain.elapsed import Elapsed
from horae.domain.jobs import JobId, KeptFor
from horae.guarded_log import guarded_log
from horae.resource_shortage import try_start
from horae.runtime.settling.cleaning import CleaningPlan, DeletionPace
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import HookTiming
from horae.storage.engine import Database, read_clock
from horae.storage.jobs import EVER
from horae.storage.nodes import clock
from horae.types.hooks import Hooks, HookThreads

log = guarded_log("horae.runtime")

REPORTED_SURPLUS: Final = 60.0
"""Seconds; a smaller step of the database's clock is not worth a line in the log."""


class HookService:
    """Calls owed hooks and deletes old jobs."""

    def __init__(
        self,
        database: Database,
        hooks: Hooks,
        keep_seconds: float,
        timing: HookTiming,
        pace: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """`pace`: the factor by which its pauses grow, because other nodes search as well."""
        self._pace = pace
        self._database, self._hooks = database, hooks
        self._keep_seconds, self._timing = keep_seconds, timing
        self._threads = HookThreads(hooks)
        self._plan = CleaningPlan(timing, time.monotonic())
        self._elapsed, self._observing = Elapsed(), threading.Lock()
        self._closed = threading.Event()
        self._cleaning: dict[tuple[str, KeptFor], threading.Thread] = {}
        self._orphans_at = time.monotonic() + timing.orphans_after
        self._due = asyncio.Event()
        self._unavailable = ThrottledWarning()

    def wake(self) -> None:
        """Look for owed hooks now: a job that ended here owes one.

        Called on the node's loop.
        """
        self._due.set()

    def call_soon(self, job_id: JobId, error: BaseException | None) -> None:
        """Call the hook that a job owes, an `on_error` hook with the exception of its body."""
        if error is not None:
            self._hooks.remember(job_id, error)
        self.wake()

    async def run(self) -> None:
        """Call hooks and delete jobs until cancelled."""
        with self._unavailable.guard("cannot read the database's clock: %s"):
            await self._database.in_service(partial(self._surplus, 0.0))
        while True:
            await self._call_due()
            parts = self._hooks.kept_for(self._keep_seconds)
            for (name, kept), oldest in list(self._plan.due(parts, time.monotonic())):
                self._clean(name, kept, oldest)
            if time.monotonic() >= self._orphans_at:
                # Large values to which no job refers are deleted on a thread, once a day.
                self._orphans_at = time.monotonic() + self._timing.orphans_every * self._pace()
                try_start(
                    threading.Thread(target=self._delete_orphans, name="horae-orphans", daemon=True)
                )
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timing.look_every * self._pace()):
                    await self._due.wait()

    async def finish(self, within: float) -> None:
        """Call the hooks of the node's last jobs, and wait a moment for them; other nodes call the
        rest.

        `within`: seconds that are left; none if the database has not answered while results had to
        be written.
        """
        wait = min(self._timing.stop_wait, within)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._call_due()
                await self._database.in_service(partial(self._threads.close, wait))
        self.close()

    def close(self) -> None:
        """Call no more hooks, and delete no more jobs."""
        self._closed.set()
        self._threads.close(0.0)

    async def _call_due(self) -> None:
        def find() -> dict[str, int]:
            self._threads.look()
            return self._hooks.due()

        self._due.clear()
        due: dict[str, int] = {}
        with self._unavailable.guard("cannot read which hooks are owed: %s"):
            due = await self._database.in_service(find)
            self._unavailable.settle()
        for name, count in due.items():
            self._threads.call_due(name, count)

    def _clean(self, name: str, kept: KeptFor, oldest: float) -> None:
        """Delete jobs of one part on a thread, unless the last deletion there still runs."""
        before = self._cleaning.get((name, kept))
        if before is not None and before.is_alive():
            self._plan.failed((name, kept))
            log.warning(
                "the last clean-up of %s is still running", f"type {name}" if name else "jobs"
            )
            return
        clean = partial(self._remove, name, kept, oldest)
        thread = threading.Thread(target=clean, name=f"horae-clean-{name}", daemon=True)
        if try_start(thread):
            self._cleaning[name, kept] = thread
        else:
            self._plan.failed((name, kept))
            log.warning("a clean-up is postponed, because the system has no thread left for it")

    def _delete_orphans(self) -> None:
        with log.guard("large values without a job stay for another day: %s"):
            now = datetime.now(UTC)  # noqa: TID251 - what was written days before is old
            if removed := self._hooks.delete_orphans(now):
                log.info("%d large values without a job were deleted", removed)

    def _remove(self, name: str, kept: KeptFor, oldest: float) -> None:
        # It rests only in the first half of the time until the next one, and so ends in time.
        pace = DeletionPace(time.monotonic(), self._plan.pause(kept) / 2)
        removed = 0
        with log.guard("a clean-up failed and will be repeated: %s"):
            surplus = self._surplus(kept.seconds)
            longer = kept._replace(seconds=min(kept.seconds + surplus, EVER))
            for gone in self._hooks.remove(name, longer, min(oldest + surplus, EVER)):
                removed += gone
                if self._closed.wait(pace.rest(time.monotonic())):
                    break
                if self._surplus(kept.seconds) > surplus:
                    self._plan.failed((name, kept))
                    break
            if removed:
                log.info("%d ended jobs were deleted", removed)
            return
        self._plan.failed((name, kept))

    def _surplus(self, seconds: float) -> float:
        """Read the database's clock; return by how many seconds it overstates such an age.

        A clock that is set forward, perhaps by mistake, must not delete anything early.
        """
        now = self._database.autocommit(read_clock)
        with self._observing:
            at = clock()
            was_set = self._elapsed.observe(now, at)
            surplus = self._elapsed.surplus(seconds, at)
        if was_set and surplus > REPORTED_SURPLUS:
            log.warning(
                "the database's clock was set forward; jobs that ended before are deleted %.0f s"
                " later by that clock",
                surplus,
            )
        return surplus
