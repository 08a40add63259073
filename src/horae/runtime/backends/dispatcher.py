"""Sends messages about jobs that a backend runs, once they are committed and due.

The row of the job decides, and a message is only a hint. A job is marked as sent first, so that a
crash before the message leaves it marked: from time to time the dispatcher compares how many jobs
are marked with how many messages wait there, and sends again what has been lost. Any number of
nodes may dispatch: each takes rows that no other has locked.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from random import Random

from horae.domain.jobs import SentScope
from horae.runtime.components import Components
from horae.runtime.signals import Signals
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import DispatcherTiming
from horae.storage.engine import Threads
from horae.storage.jobs import Dispatched, dispatching
from horae.types import Destination, Message, Routes


class Dispatcher:
    """Dispatches on behalf of one node."""

    def __init__(
        self,
        components: Components,
        signals: Signals,
        timing: DispatcherTiming,
        rng: Random,
        pace: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """`pace`: the factor by which its pauses grow, because other nodes dispatch as well."""
        self._database, self._registry = components.database, components.registry
        self._queue_backends, self._wakeup = components.registry.queue_backends, components.wakeup
        self._timing, self._rng, self._pace = timing, rng, pace
        self._wake = asyncio.Event()
        self._compare_at = self._limits_at = self._limits_from = time.monotonic()
        self._held_back = False
        self._pause = timing.failing.shortest
        self._failed: set[Destination] = set()
        self._warnings: dict[Destination, ThrottledWarning] = defaultdict(ThrottledWarning)
        self._unavailable = ThrottledWarning()
        signals.work.connect(self._check_limited_soon)
        signals.work.connect(self._wake.set)
        signals.ended_elsewhere.connect(self._hear_of_ends)

    async def run(self) -> None:
        """Dispatch until cancelled; may be called again after an error."""
        # A thread of its own: a broker that does not answer must not delay other services.
        thread = Threads(1, "horae-dispatch")
        loop, timing = asyncio.get_running_loop(), self._timing
        try:
            while True:
                # The event is cleared before the round: what becomes due during it belongs to the
                # next one.
                self._wake.clear()
                more = False
                if self._has_routes() or time.monotonic() >= self._compare_at:
                    # Without routes nothing waits, and other services report that the database is
                    # away.
                    guard = self._unavailable.guard("no jobs can be sent to backends: %s")
                    with guard if self._has_routes() else suppress(Exception):
                        more = await loop.run_in_executor(thread, self.dispatch)
                        self._unavailable.settle()
                jitter = self._rng.uniform(0.75, 1.25)
                if not self._has_routes():
                    await asyncio.sleep(timing.without_backends)
                elif self._failed:
                    await asyncio.sleep(self._pause * jitter)
                    self._pause = timing.failing.after(self._pause)
                else:
                    self._pause = timing.failing.shortest
                    if not more:
                        with suppress(TimeoutError):
                            async with asyncio.timeout(timing.poll * self._pace() * jitter):
                                await self._wake.wait()
        finally:
            thread.shutdown(wait=False)

    def dispatch(self) -> bool:
        """Send one batch, and repeat lost messages if it is time to compare; return whether to go
        on.
        """
        routes, now = Routes(self._registry, self._queue_backends), time.monotonic()
        batch = 1 if self._failed else self._timing.batch
        sent: list[Dispatched] = []
        if routes:
            sent += self._database.transact(dispatching.send, routes.scope, batch)
            if now >= self._limits_at:
                sent += self._send_limited(routes.scope, batch)
            self._failed = self._deliver(sent, routes)
        if now >= self._compare_at:
            every = self._timing.compare_every if routes else self._timing.compare_seldom
            self._compare_at = now + every * self._rng.uniform(0.75, 1.25)
            self._compare(routes)
        return len(sent) >= batch

    def _has_routes(self) -> bool:
        """Return whether this application has jobs that a backend runs; most have none."""
        return bool(Routes(self._registry, self._queue_backends))

    def _hear_of_ends(self) -> None:
        if self._held_back:
            self._check_limited_soon()

    def _check_limited_soon(self) -> None:
        """Check the limited queues in the next round, or as soon as the minimum pause since the
        last check has passed.
        """
        now = time.monotonic()
        at = max(now, self._limits_from)
        if at >= self._limits_at:
            return
        self._limits_at = at
        if at > now:
            asyncio.get_running_loop().call_later(at - now, self._wake.set)
        else:
            self._wake.set()

    def _send_limited(self, scope: SentScope, batch: int) -> list[Dispatched]:
        """Send what limits allow; note whether jobs wait for the ends of others under a limit."""
        began = time.monotonic()
        self._limits_at = began + self._timing.limits_every * self._pace()
        due = self._database.autocommit(dispatching.limited_and_due, scope)
        sent: list[Dispatched] = []
        for queue, room in due.items():
            if room > 0:
                sent += self._database.transact(
                    partial(dispatching.send_limited, queue=queue), scope, batch
                )
        self._held_back = bool(due)
        if due and not self._wakeup.connected:
            self._limits_at = began + self._timing.poll
        now = time.monotonic()
        self._limits_from = now + self._timing.limits_rest * (now - began)
        return sent

    def _deliver(self, sent: Iterable[Dispatched], routes: Routes) -> set[Destination]:
        """Send the messages; return the destinations that refused them, and unmark their jobs."""
        by_destination: dict[Destination, list[Message]] = defaultdict(list)
        for job in sent:
            if (destination := routes.find(job.type, job.queue)) is not None:
                by_destination[destination].append(Message(job.id, self._time_limit(job)))
        failed: set[Destination] = set()
        for destination, messages in by_destination.items():
            backend, queue = destination
            warning = self._warnings[destination]
            with warning.guard("queue %s of %s accepts no messages: %s", queue, backend):
                self._registry.backends[backend].send(queue, messages)
                warning.settle()
                continue
            failed.add(destination)
            # Some may have arrived: their workers find the jobs unmarked and leave them to the next
            # message.
            self._database.transact(
                dispatching.withdraw_messages, [message.job_id for message in messages]
            )
        return failed

    def _time_limit(self, job: Dispatched) -> float | None:
        """Return after how many seconds the backend may kill the process of a hanging job.

        Before that, the process itself ends the body, or another node fails the job.
        """
        kind = self._registry.find(job.type)
        if kind is None:
            return None
        limits, seconds = kind.time_limits, job.max_runtime
        if seconds is None:
            if limits.soft is None:
                return None
            seconds = limits.soft.total_seconds()
        return seconds + limits.grace.total_seconds() + self._timing.kill_after

    def _compare(self, routes: Routes) -> None:
        """Send lost messages again, and leave to Horae's nodes what no backend runs any more."""
        counts, oldest = Counter[Destination](), Counter[Destination]()
        for entry in self._database.autocommit(dispatching.sent_jobs):
            destination = routes.find(entry.type, entry.queue)
            if destination is not None:
                counts[destination] += entry.number
                oldest[destination] = max(oldest[destination], int(entry.oldest))
            elif (
                self._registry.find(entry.type) is not None
                and entry.queue not in self._queue_backends
            ):  # an earlier version of this application may have sent jobs
                self._database.transact(dispatching.withdraw_messages_of, entry.type, entry.queue)
        for destination, count in counts.items():
            if oldest[destination] >= self._timing.lost_after and destination not in self._failed:
                self._send_lost(routes, destination, count)

    def _send_lost(self, routes: Routes, destination: Destination, count: int) -> None:
        """Send as many messages again as are missing there, for the jobs whose last message is
        oldest.

        Messages that workers have received but not begun count as missing: a worker that is free
        may run the job first.
        """
        backend, queue = destination
        missing, is_known = 0, False
        with self._warnings[destination].guard("queue %s of %s cannot be read: %s", queue, backend):
            missing = count - self._registry.backends[backend].depth(queue)
            is_known = True
        if not is_known:
            return
        # Messages of other applications in the queue may hide for a while that some are missing.
        after = self._timing.lost_after if missing > 0 else self._timing.lost_for_certain
        left = missing if missing > 0 else count
        scope = routes.scope_of(destination)
        while left > 0:
            limit = min(left, self._timing.batch)
            lost = self._database.transact(
                partial(dispatching.send_again, seconds=after), scope, limit=limit
            )
            if self._deliver(lost, routes) or len(lost) < limit:
                return
            left -= len(lost)
