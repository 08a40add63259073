"""Sends messages about jobs that another system runs, such as Celery, once they are committed and
due.

The row of the job decides, and a message is only a hint. A job is marked as sent first, so that a
crash before the message leaves it marked: from time to time the dispatcher compares how many jobs
are marked with how many messages wait there, and sends again what has been lost. Any number of
nodes may dispatch: each takes rows that no other has locked.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from random import Random

from horae.runtime.components import Components
from horae.runtime.signals import Signals
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import DispatcherTiming
from horae.storage.engine.threads import Threads
from horae.storage.jobs import dispatching
from horae.storage.jobs.dispatching import Dispatched, SentJobs, SentScope
from horae.types.backends import Message
from horae.types.routes import Place, Routes


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
        """`pace`: how many times as long it may wait between two rounds, because other nodes
        dispatch as well.
        """
        self._database, self._registry = components.database, components.registry
        self._queue_backends, self._wakeup = components.queue_backends, components.wakeup
        self._timing, self._rng, self._pace = timing, rng, pace
        self._wake = asyncio.Event()
        self._compare_at = self._limits_at = self._limits_from = time.monotonic()
        self._held_back = False
        self._pause = timing.failing.shortest
        self._failed: set[Place] = set()
        self._warnings: dict[Place, ThrottledWarning] = defaultdict(ThrottledWarning)
        self._unavailable = ThrottledWarning()
        signals.work.connect(self._work)
        signals.ended_elsewhere.connect(self._ended)

    async def run(self) -> None:
        """Dispatch until cancelled; may be called again after an error."""
        thread = Threads(
            1, "horae-dispatch"
        )  # its own: a broker that does not answer must not delay other services
        try:
            while True:
                # Before the round: what becomes due during it belongs to the next one
                self._wake.clear()
                more = await self._round(thread)
                await self._rest(more=more)
        finally:
            thread.shutdown(wait=False)

    def _work(self) -> None:
        self._look_soon()
        self._wake.set()

    def _ended(self) -> None:
        if self._held_back:
            self._look_soon()

    def _look_soon(self) -> None:
        """Look at the queues with a limit in the next round, or else once the rest after the last
        look is over.
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

    async def _round(self, thread: Threads) -> bool:
        """Send what is due; return whether there may be more."""
        if not self._has_routes() and time.monotonic() < self._compare_at:
            return False
        try:
            more = await asyncio.get_running_loop().run_in_executor(thread, self.dispatch)
        except Exception as error:  # noqa: BLE001 - the database may be unavailable for a while
            if self._has_routes():  # else nothing waits for it, and other services report the same
                self._unavailable.warn("no jobs can be sent to other systems: %s", error)
            return False
        self._unavailable.settle()
        return more

    def _has_routes(self) -> bool:
        """Return whether this application has jobs that another system runs; most have none."""
        return bool(Routes(self._registry, self._queue_backends))

    async def _rest(self, *, more: bool) -> None:
        if not self._has_routes():
            await asyncio.sleep(self._timing.without_backends)
            return
        if self._failed:
            await asyncio.sleep(self._pause * self._rng.uniform(0.75, 1.25))
            self._pause = self._timing.failing.after(self._pause)
            return
        self._pause = self._timing.failing.shortest
        if more:
            return
        try:
            async with asyncio.timeout(
                self._timing.poll * self._pace() * self._rng.uniform(0.75, 1.25)
            ):
                await self._wake.wait()
        except TimeoutError:
            pass

    def dispatch(self) -> bool:
        """Send one batch, and again what was lost if it is time to compare; return whether there
        may be more.
        """
        routes, now = Routes(self._registry, self._queue_backends), time.monotonic()
        batch = 1 if self._failed else self._timing.batch
        sent = self._send_due(routes, batch, now) if routes else []
        if now >= self._compare_at:
            every = self._timing.compare_every if routes else self._timing.compare_seldom
            self._compare_at = now + every * self._rng.uniform(0.75, 1.25)
            self._compare(routes)
        return len(sent) >= batch

    def _send_due(self, routes: Routes, batch: int, now: float) -> list[Dispatched]:
        sent = self._database.transact(dispatching.send, routes.scope, batch)
        if now >= self._limits_at:
            sent += self._send_limited(routes.scope, batch)
        self._failed = self._deliver(sent, routes)
        return sent

    def _send_limited(self, scope: SentScope, batch: int) -> list[Dispatched]:
        """Send what limits allow; note whether jobs wait for that, so that the ends of others are
        of interest.
        """
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

    def _deliver(self, sent: Iterable[Dispatched], routes: Routes) -> set[Place]:
        """Send the messages; return the places that do not accept them, whose jobs are no longer
        marked as sent.
        """
        by_place: dict[Place, list[Message]] = defaultdict(list)
        for job in sent:
            if (place := routes.place_of(job.type, job.queue)) is not None:
                by_place[place].append(Message(job.id, self._time_limit(job)))
        failed: set[Place] = set()
        for place, messages in by_place.items():
            system, destination = place
            try:
                self._registry.backends[system].send(destination, messages)
            except Exception as error:  # noqa: BLE001 - each transport has errors of its own
                failed.add(place)
                self._warnings[place].warn(
                    "queue %s of %s accepts no messages: %s", destination, system, error
                )
                # Some may have arrived: their workers find the jobs unmarked and leave them to the
                # next message.
                self._database.transact(
                    dispatching.take_back, [message.job_id for message in messages]
                )
            else:
                self._warnings[place].settle()
        return failed

    def _time_limit(self, job: Dispatched) -> float | None:
        """Return after how many seconds the other system may kill the process of a job that holds
        the interpreter.

        Before that, the process itself ends the body, or another node fails the job.
        """
        kind = self._registry.find(job.type)
        if kind is None:
            return None
        soft = kind.time_limits.soft
        seconds = (
            job.max_runtime
            if job.max_runtime is not None
            else None
            if soft is None
            else soft.total_seconds()
        )
        if seconds is None:
            return None
        return seconds + kind.time_limits.grace.total_seconds() + self._timing.kill_after

    def _compare(self, routes: Routes) -> None:
        """Send again what was lost, and take back what no other system runs any more."""
        counts, oldest = Counter[Place](), Counter[Place]()
        for entry in self._database.autocommit(dispatching.sent_jobs):
            place = routes.place_of(entry.type, entry.queue)
            if place is None:
                self._take_back_unrouted(entry)
            else:
                counts[place] += entry.number
                oldest[place] = max(oldest[place], int(entry.oldest))
        for place, count in counts.items():
            if oldest[place] >= self._timing.lost_after and place not in self._failed:
                self._send_lost(routes, place, count)

    def _send_lost(self, routes: Routes, place: Place, count: int) -> None:
        """Send again as many messages as are missing there, for the jobs whose last message is the
        oldest.

        Messages that workers have received but not begun count as missing: a worker that is free
        may run the job first.
        """
        system, destination = place
        try:
            missing = count - self._registry.backends[system].waiting(destination)
        except Exception as error:  # noqa: BLE001 - as for a message
            self._warnings[place].warn(
                "queue %s of %s cannot be read: %s", destination, system, error
            )
            return
        # Messages of other applications in the same queue may hide that some are missing, but not
        # for ever.
        after = self._timing.lost_after if missing > 0 else self._timing.lost_for_certain
        left = missing if missing > 0 else count
        scope = routes.scope_of(place)
        while left > 0:
            limit = min(left, self._timing.batch)
            lost = self._database.transact(
                partial(dispatching.send_again, seconds=after), scope, limit=limit
            )
            if self._deliver(lost, routes) or len(lost) < limit:
                return
            left -= len(lost)

    def _take_back_unrouted(self, entry: SentJobs) -> None:
        """Leave jobs to Horae's nodes again that were sent by an earlier version of this
        application.
        """
        if self._registry.find(entry.type) is not None and entry.queue not in self._queue_backends:
            self._database.transact(dispatching.take_back_of, entry.type, entry.queue)
