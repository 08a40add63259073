"""Fires the schedules that are due: a heap holds the next starts, and each batch is fired in one
transaction.

A ring divides the schedules into partitions and tells which nodes own each. It only saves work:
whichever node tries to fire a schedule, the locked row and the database's clock decide whether it
is enabled, idle and due. A node remembers only what its partitions have due within the next minute
or so, so that its cost does not grow with the number of schedules (ADR 0006). A schedule whose job
runs stays in the heap for its next nominal time: the run may have ended on another node, and an
attempt that comes too early changes nothing and learns the right time.
"""

import asyncio
import heapq
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from random import Random

from horae.domain.cluster import Ring
from horae.domain.jobs import NodeId
from horae.guarded_log import guarded_log
from horae.runtime.signals import Signals
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import ControllerTiming
from horae.storage.engine import Database, is_transient
from horae.storage.nodes import nodes
from horae.storage.schedules import AppliedPlan, PlannedFire, bulk_firing, firing

log = guarded_log("horae.runtime")


class Controller:
    """Fires the schedules of the partitions that one node owns."""

    def __init__(
        self,
        database: Database,
        node: NodeId,
        signals: Signals,
        timing: ControllerTiming,
        rng: Random,
    ) -> None:
        self._database, self._node, self._signals, self._timing, self._rng = (
            database,
            node,
            signals,
            timing,
            rng,
        )
        self._partitions: frozenset[int] = frozenset()
        self._first_owned: frozenset[int] = frozenset()
        self._members: tuple[NodeId, ...] = ()
        self._heap: list[tuple[float, int, int]] = []
        self._overdue: list[tuple[int, float, int]] = []
        self._due: dict[int, float] = {}
        self._adopted: dict[int, float] = {}
        self._changed: set[int] = set()
        self._planned: dict[int, PlannedFire | None] = {}
        self._unavailable = ThrottledWarning()
        self._wake = asyncio.Event()
        self._reload_at = self._ring_at = self._plan_at = 0.0
        self._stopping = self._reloading = False
        signals.schedules_changed.connect(self.reread)
        signals.runs_ended.connect(self._learn)

    def reread(self, ids: Collection[int] = ()) -> None:
        """Read these schedules again at once, or all of them if none are named.

        Called on the node's loop.
        """
        self._changed.update(ids)
        if not ids:
            self._reload_at = 0.0
        self._wake.set()

    def adopt(self, ids: Collection[int]) -> None:
        """Own schedules created by this node until the next reload: others do not know them."""
        self._adopted.update(dict.fromkeys(ids, time.monotonic() + self._timing.reload))
        self.reread(ids)

    def stop(self) -> None:
        """Fire no more, and let `run` end."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Fire until stopped."""
        while not self._stopping:
            try:
                await self._read()
                await self._fire_due()
                await self._plan_ahead()
            except Exception as error:  # noqa: BLE001 - schedules are tried again, whatever failed
                self._reload_at = 0.0  # what was not read, or has left the heap, is read again
                self._unavailable.warn("schedules wait for the database: %s", error)
                await asyncio.sleep(self._rng.uniform(0.3, 1.0))
                continue
            self._unavailable.settle()
            now = time.monotonic()
            until = min(
                self._ring_at,
                self._reload_at,
                self._heap[0][0] if self._heap else now + self._timing.ring_every,
            )
            with suppress(TimeoutError):
                async with asyncio.timeout(max(until - now, 0.0)):
                    await self._wake.wait()
            self._wake.clear()

    async def _read(self) -> None:
        """Read the ring and the schedules that are due to be read."""
        now = time.monotonic()
        if now >= self._ring_at:
            await self._read_ring()
            self._ring_at = now + self._timing.ring_every
        if now >= self._reload_at:
            self._reload_at = now + self._timing.reload * self._rng.uniform(0.9, 1.0)
            self._reloading = True
            try:
                await self._reload()
            finally:
                self._reloading = False
        if self._changed:
            changed, self._changed = self._changed, set()
            before = time.monotonic()
            for item in await self._database.autocommit_async(
                firing.due_among, changed, self._timing.horizon
            ):
                if item.partition in self._partitions or item.id in self._adopted:
                    self._planned.pop(item.id, None)
                    delay = 0.0 if item.id in self._adopted else self._owner_delay(item.partition)
                    self._remember(item.id, item.priority, before + item.due_in + delay)

    async def _read_ring(self) -> None:
        members = tuple(await self._database.autocommit_async(nodes.schedulers)) or (self._node,)
        if members != self._members:
            self._members = members
            known = self._node in members
            ring = Ring(members if known else (self._node,))
            self._partitions = ring.partitions_of(self._node)
            self._first_owned = ring.first_owned_by(self._node)
            self._reload_at = 0.0

    async def _reload(self) -> None:
        """Read what is due before the next reload, and replace the heap."""
        before = time.monotonic()
        self._adopted = {
            schedule_id: until for schedule_id, until in self._adopted.items() if until > before
        }
        self._changed = set(self._adopted)
        due = await self._database.autocommit_async(
            firing.due, self._partitions, self._timing.horizon
        )
        self._due, self._heap, self._overdue = {}, [], []
        for item in due:
            self._remember(
                item.id, item.priority, before + item.due_in + self._owner_delay(item.partition)
            )
        self._planned = {key: planned for key, planned in self._planned.items() if key in self._due}

    async def _fire_due(self) -> None:
        try:
            while (batch := self._take_due(time.monotonic())) and not self._stopping:
                if self._overdue:
                    self._signals.burst_over.clear()
                # A burst on PostgreSQL is fired as two halves at once: one is prepared while the
                # other commits.
                in_halves = self._overdue and not self._database.is_file
                half = -(-len(batch) // 2) if in_halves else len(batch)
                await asyncio.gather(
                    *(self._fire_part(part) for part in (batch[:half], batch[half:]) if part)
                )
        finally:
            self._signals.burst_over.set()

    async def _plan_ahead(self) -> None:
        """Compute next starts in advance if many schedules are due soon, and none is due yet."""
        now = time.monotonic()
        if now < self._plan_at:
            return
        self._plan_at = now + self._timing.plan_every
        until = now + self._timing.plan_within
        soon = [key for key, due in self._due.items() if due <= until and key not in self._planned]
        if len(soon) < self._timing.burst:
            return
        room = min(len(soon), self._timing.most_planned - len(self._planned))
        for start in range(0, room, self._timing.burst):
            batch = soon[start : start + self._timing.burst]
            self._planned.update(
                await self._database.autocommit_async(bulk_firing.plan_ahead, batch)
            )
            if self._wake.is_set() or (self._heap and self._heap[0][0] <= time.monotonic()):
                self._plan_at = 0.0
                return

    async def _fire_part(self, batch: Sequence[int]) -> None:
        """Fire the planned schedules of a batch by their plans, and then the others.

        Schedules that are too early by the database's clock are put back. Those that have changed
        since are read again: usually another node has fired them, and locking them just to find
        that out would delay that node.
        """
        planned = {key: item for key in batch if (item := self._planned.pop(key, None)) is not None}
        decided: list[AppliedPlan] = []
        rest = [key for key in batch if key not in planned]
        if planned:
            try:
                fired = await self._database.transact_async(
                    bulk_firing.fire, list(planned.values()), self._node
                )
            except Exception as error:
                if is_transient(error):
                    raise
                log.warning(
                    "%d schedules cannot be fired as planned and are read again: %s",
                    len(planned),
                    error,
                )
                rest = list(batch)
            else:
                for early in fired.not_yet_due:
                    self._planned[early.id] = planned.pop(early.id)
                    self._remember(early.id, early.priority, early.read_at + early.due_in)
                decided += fired.applied
                if changed := planned.keys() - {result.schedule.id for result in fired.applied}:
                    self.reread(changed)
        if rest:
            decided += await self._fire(rest)
        for result in decided:
            self._plan_next(result)
        self._signals.decided.send(decided)

    async def _fire(self, batch: Sequence[int]) -> Sequence[AppliedPlan]:
        """Fire all in one transaction, or else one at a time, so that none blocks the others."""
        try:
            return await self._database.transact_async(firing.fire, batch, self._node)
        except Exception as error:
            if is_transient(error):
                raise
            if len(batch) > 1:
                return [
                    result for schedule_id in batch for result in await self._fire([schedule_id])
                ]
            log.exception(
                "schedule %d cannot be fired; it is tried again after the next reload", batch[0]
            )
            return []

    def _take_due(self, now: float) -> list[int]:
        """Return what is due now, the highest priority first; the rest of a burst follows later."""
        before = len(self._overdue)
        while self._heap and self._heap[0][0] <= now:
            due, priority, schedule_id = heapq.heappop(self._heap)
            self._overdue.append((priority, due, schedule_id))
        if len(self._overdue) > before:
            self._overdue.sort(reverse=True)
        batch: list[int] = []
        while self._overdue and len(batch) < self._timing.batch:
            _, due, schedule_id = self._overdue.pop()
            if self._due.get(schedule_id) == due:  # unchanged since it entered the heap
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
            # A run lasts longer than its interval: check again after half an interval, to see its
            # end in time.
            due_in = max(
                self._timing.shortest_retry, (row.next_start - row.started_at).total_seconds() / 2
            )
        if due_in <= self._timing.horizon:
            due = result.read_at + max(due_in, 0.0) + self._owner_delay(row.partition)
            self._remember(row.id, row.priority, due)

    def _owner_delay(self, partition: int) -> float:
        """Return how long the second owner waits for the first one to fire."""
        return 0.0 if partition in self._first_owned else self._timing.second_owner

    def _remember(self, schedule_id: int, priority: int, due: float) -> None:
        self._due[schedule_id] = due
        heapq.heappush(self._heap, (due, -priority, schedule_id))

    def _learn(self, decided: Iterable[AppliedPlan]) -> None:
        """Note the next starts of schedules whose runs have ended, without reading them."""
        for result in decided:
            if result.schedule.partition in self._partitions or result.schedule.id in self._adopted:
                self._plan_next(result)
                if self._reloading:  # the rows that are being read may be older than these starts
                    self._changed.add(result.schedule.id)
        self._wake.set()
