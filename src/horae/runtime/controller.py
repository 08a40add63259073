"""Fires what is due: a heap of the near future, a ring that says whose it is, one transaction for all that is due now.

The ring only saves work. Whoever tries, the locked row decides whether the schedule is enabled, idle and due by the
database's clock. A node keeps in mind only what its partitions have due within the next minute or so, so that its cost
does not grow with the number of schedules (ADR 0006). A schedule that executes stays in the heap for its next nominal
time: a run may have ended elsewhere, and an attempt that comes too early changes nothing and learns.
"""

import asyncio
import heapq
import logging
import time
from collections.abc import Collection, Iterable, Sequence
from random import Random

from horae.domain.cluster.ring import Ring
from horae.domain.jobs.job import NodeId
from horae.runtime.signals import Signals
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import ControllerTiming
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.engine.failures import is_transient
from horae.storage.operations import nodes
from horae.storage.schedules import bulk_firing, firing
from horae.storage.schedules.bulk_firing import PlannedFire
from horae.storage.schedules.plan_writing import AppliedPlan

log = logging.getLogger("horae.runtime")


class Controller:
    """One node's share of the schedules."""

    def __init__(
        self, database: Database, node: NodeId, signals: Signals, timing: ControllerTiming, rng: Random
    ) -> None:
        self._database, self._node, self._signals, self._timing, self._rng = database, node, signals, timing, rng
        self._partitions: frozenset[int] = frozenset()
        self._first: frozenset[int] = frozenset()
        self._members: tuple[NodeId, ...] = ()
        self._heap: list[tuple[float, int, int]] = []
        self._crowd: list[tuple[int, float, int]] = []
        self._due: dict[int, float] = {}
        self._adopted: dict[int, float] = {}
        self._asked: set[int] = set()
        self._planned: dict[int, PlannedFire | None] = {}
        self._away = ThrottledWarning()
        self._wake = asyncio.Event()
        self._reload_at = self._ring_at = self._ahead_at = 0.0
        self._stopping = self._reloading = False
        signals.schedules_changed.connect(self.hint)
        signals.runs_ended.connect(self._learn)

    def hint(self, ids: Collection[int] = ()) -> None:
        """These schedules have changed, or all may have: look at once. Called on the node's loop."""
        self._asked.update(ids)
        if not ids:
            self._reload_at = 0.0
        self._wake.set()

    def adopt(self, ids: Collection[int]) -> None:
        """Own these as well for a while: this node created them, and others may not know them before they reload."""
        self._adopted.update(dict.fromkeys(ids, time.monotonic() + self._timing.reload))
        self.hint(ids)

    def stop(self) -> None:
        """Fire nothing more; `run` ends."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Fire until stopped."""
        while not self._stopping:
            try:
                await self._look()
                await self._fire_due()
                await self._plan_ahead()
            except Exception as error:  # noqa: BLE001 - the database may be away for a while; the node stays
                self._away.warn("schedules wait for the database: %s", error)
                await asyncio.sleep(self._rng.uniform(0.3, 1.0))
                continue
            self._away.settle()
            await self._sleep()

    async def _look(self) -> None:
        """Read what must be read. Whatever fails is read again: nothing may wait for the next minute because of it."""
        now = time.monotonic()
        if now >= self._ring_at:
            await self._look_at_ring()
            self._ring_at = now + self._timing.ring_every
        if now >= self._reload_at:
            self._reload_at = now + self._timing.reload * self._rng.uniform(0.9, 1.0)
            self._reloading = True
            try:
                await self._reload()
            except BaseException:
                self._reload_at = 0.0
                raise
            finally:
                self._reloading = False
        if self._asked:
            asked, self._asked = self._asked, set()
            try:
                await self._ask(asked)
            except BaseException:
                self._asked |= asked
                raise

    async def _ask(self, ids: Collection[int]) -> None:
        before = time.monotonic()
        for item in await self._database.autocommit_async(firing.due_among, ids, self._timing.horizon):
            if item.partition in self._partitions or item.id in self._adopted:
                self._planned.pop(item.id, None)
                grace = 0.0 if item.id in self._adopted else self._grace(item.partition)
                self._put(item.id, item.priority, before + item.due_in + grace)

    async def _look_at_ring(self) -> None:
        members = tuple(await self._database.autocommit_async(nodes.schedulers)) or (self._node,)
        if members != self._members:
            self._members = members
            known = self._node in members
            ring = Ring(members if known else (self._node,))
            self._partitions = ring.partitions_of(self._node)
            self._first = frozenset(item for item in self._partitions if ring.owners(item)[0] == self._node)
            self._reload_at = 0.0

    async def _reload(self) -> None:
        """What is due before the next reload, from here on."""
        before = time.monotonic()
        self._adopted = {schedule_id: until for schedule_id, until in self._adopted.items() if until > before}
        self._asked = set(self._adopted)
        due = await self._database.autocommit_async(firing.due, self._partitions, self._timing.horizon)
        self._due, self._heap, self._crowd = {}, [], []
        for item in due:
            self._put(item.id, item.priority, before + item.due_in + self._grace(item.partition))
        self._planned = {key: planned for key, planned in self._planned.items() if key in self._due}

    async def _fire_due(self) -> None:
        try:
            while (batch := self._take_due(time.monotonic())) and not self._stopping:
                if self._crowd:
                    self._signals.burst_over.clear()
                await self._fire_batch(batch)
        except BaseException:
            self._reload_at = 0.0  # the batch has left the heap
            raise
        finally:
            self._signals.burst_over.set()

    async def _fire_batch(self, batch: Sequence[int]) -> None:
        """In two halves side by side where the database can: while the one is committed the other is worked at."""
        half = -(-len(batch) // 2) if self._crowd and self._database.dialect == POSTGRESQL else len(batch)
        await asyncio.gather(*(self._fire_part(part) for part in (batch[:half], batch[half:]) if part))

    async def _fire_part(self, batch: Sequence[int]) -> None:
        decided, rest = await self._fire_planned(batch)
        decided = [*decided, *(await self._fire(rest) if rest else ())]
        for result in decided:
            self._plan_next(result)
        self._signals.decided.send(decided)

    async def _plan_ahead(self) -> None:
        """Decide about a crowd that is due soon while there is time: nothing has come due yet."""
        now = time.monotonic()
        if now < self._ahead_at:
            return
        self._ahead_at = now + self._timing.plan_every
        until = now + self._timing.plan_within
        soon = [key for key, due in self._due.items() if due <= until and key not in self._planned]
        room = min(len(soon), self._timing.most_planned - len(self._planned)) if len(soon) >= self._timing.burst else 0
        for start in range(0, room, self._timing.burst):
            batch = soon[start : start + self._timing.burst]
            self._planned.update(await self._database.autocommit_async(bulk_firing.plan_ahead, batch))
            if self._wake.is_set() or (self._heap and self._heap[0][0] <= time.monotonic()):
                self._ahead_at = 0.0
                return

    async def _fire_planned(self, batch: Sequence[int]) -> tuple[Sequence[AppliedPlan], Sequence[int]]:
        """Fire what is still as it was planned; answers what was not.

        What is too early by the database's clock is put off. What has changed is asked for: mostly a rival has fired
        it, and to lock a crowd only to see that would hold the rival up.
        """
        planned = {key: item for key in batch if (item := self._planned.pop(key, None)) is not None}
        if not planned:
            return (), batch
        try:
            fired = await self._database.transact_async(bulk_firing.fire, list(planned.values()), self._node)
        except Exception as error:
            if is_transient(error):
                raise
            log.warning("%d schedules cannot be fired as planned, and are looked at again: %s", len(planned), error)
            return (), batch
        for early in fired.not_yet_due:
            self._planned[early.id] = planned[early.id]
            self._put(early.id, early.priority, early.read_at + early.due_in)
        done = {result.schedule.id for result in fired.applied}.union(early.id for early in fired.not_yet_due)
        if changed := planned.keys() - done:
            self.hint(changed)
        return fired.applied, [key for key in batch if key not in planned]

    async def _fire(self, batch: Sequence[int]) -> Sequence[AppliedPlan]:
        """One transaction for all; if it cannot be, one for each, so that no schedule stops another."""
        try:
            return await self._database.transact_async(firing.fire, batch, self._node)
        except Exception as error:
            if is_transient(error):
                raise
            if len(batch) > 1:
                return [result for schedule_id in batch for result in await self._fire([schedule_id])]
            log.exception("schedule %d cannot be fired; it is tried again with the next reload", batch[0])
            return []

    def _take_due(self, now: float) -> list[int]:
        """What is due now, the highest priority first; the rest of a crowd with the next batch."""
        before = len(self._crowd)
        while self._heap and self._heap[0][0] <= now:
            due, priority, schedule_id = heapq.heappop(self._heap)
            self._crowd.append((priority, due, schedule_id))
        if len(self._crowd) > before:
            self._crowd.sort(reverse=True)
        batch: list[int] = []
        while self._crowd and len(batch) < self._timing.batch:
            _, due, schedule_id = self._crowd.pop()
            if self._due.get(schedule_id) == due:  # else it was planned anew since
                del self._due[schedule_id]
                batch.append(schedule_id)
        return batch

    def _plan_next(self, result: AppliedPlan) -> None:
        row = result.schedule
        self._planned.pop(row.id, None)
        if row.next_start is None or result.unreadable:
            return
        due_in = (row.next_start - row.now).total_seconds()
        if due_in <= 0 and row.started_at is not None:
            # A run outlasts its interval: half of that is soon enough to see its end before the next start.
            due_in = max(self._timing.shortest_retry, (row.next_start - row.started_at).total_seconds() / 2)
        if due_in <= self._timing.horizon:
            self._put(row.id, row.priority, result.read_at + max(due_in, 0.0) + self._grace(row.partition))

    def _grace(self, partition: int) -> float:
        """Let the first owner go first: the second is there in case it does not."""
        return 0.0 if partition in self._first else self._timing.second_owner

    def _put(self, schedule_id: int, priority: int, due: float) -> None:
        self._due[schedule_id] = due
        heapq.heappush(self._heap, (due, -priority, schedule_id))

    def _learn(self, decided: Iterable[AppliedPlan]) -> None:
        """Runs of these schedules have ended here: their next start is known without asking."""
        for result in decided:
            if result.schedule.partition in self._partitions or result.schedule.id in self._adopted:
                self._plan_next(result)
                if self._reloading:  # what is being read may be older
                    self._asked.add(result.schedule.id)
        self._wake.set()

    async def _sleep(self) -> None:
        now = time.monotonic()
        until = min(self._ring_at, self._reload_at, self._heap[0][0] if self._heap else now + self._timing.ring_every)
        try:
            async with asyncio.timeout(max(until - now, 0.0)):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()
