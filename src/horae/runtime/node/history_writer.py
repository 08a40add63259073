"""Writes the history: one bucket every ten seconds, by whichever node comes first.

A node that wrote the last bucket comes first again, and the others find it written with one short
read. If the writer dies, another one writes the same bucket a few seconds later.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final

from horae.domain.history import (
    LENGTHS,
    Ended,
    Gauges,
    Seen,
    behind_since,
    bucket_of,
    next_bucket,
    seconds_until_next,
)
from horae.runtime.node.node_status import living, look
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import HistoryTiming
from horae.storage.engine import Database
from horae.storage.history import OpenWork, QueueSettings, counting, writing
from horae.storage.nodes import NodeView

_LENGTH: Final = timedelta(seconds=LENGTHS[0].seconds)
_NO_SETTINGS: Final = QueueSettings(paused=False, concurrency_limit=None, backend=None)


class HistoryWriter:
    """One node's share in the history."""

    def __init__(self, database: Database, timing: HistoryTiming, rng: Random) -> None:
        self._database, self._timing, self._rng = database, timing, rng
        self._wrote_last = False
        self._seen: Seen | None = None
        self._seen_at = self._look_at = 0.0
        self._unavailable = ThrottledWarning()

    async def run(self) -> None:
        """Write buckets until cancelled."""
        while True:
            pause = self._timing.retry
            with self._unavailable.guard("the history is not written for now: %s"):
                pause = await self._database.in_service(self.write_next)
                self._unavailable.settle()
            await asyncio.sleep(pause)

    def write_next(self) -> float:
        """Write a bucket if one is over; return after how many seconds to come again."""
        database = self._database
        saw_nothing = self._seen is not None and not self._seen.queues
        found = database.autocommit(writing.progress, asked=saw_nothing)
        start = next_bucket(found.reached, found.now)
        if start is None:
            return self._until_next(found.now)
        until = start + _LENGTH
        ended = database.autocommit(counting.ended, start, until)
        is_latest = next_bucket(until, found.now) is None
        idle = not found.any_open and not ended.queues
        seen = self._look(ended, idle=idle) if is_latest else None
        bucket = bucket_of(ended, seen)
        behind = dict(found.behind)
        if seen is not None:
            behind = behind_since(found.behind, bucket.queues.by_name, until)
        self._wrote_last = database.transact(writing.write, found, start, bucket, behind)
        if not self._wrote_last:
            return self._rng.uniform(*self._timing.others_turn)
        return self._until_next(found.now) if is_latest else 0.0

    def _until_next(self, now: datetime) -> float:
        turn = self._timing.writers_turn if self._wrote_last else self._timing.others_turn
        return seconds_until_next(now) + self._rng.uniform(*turn)

    def _look(self, ended: Ended, *, idle: bool) -> Seen | None:
        """Look at the open jobs and the nodes.

        What was seen before is used for a while if a look takes long, or nothing is open as then.
        """
        now = time.monotonic()
        before = self._seen if now < self._seen_at + self._timing.seen_for else None
        if now < self._look_at or (idle and before is not None and not before.queues):
            return before
        work = self._database.autocommit(counting.open_work)
        self._seen = seen_in(work, living(look(self._database)), ended)
        self._seen_at = time.monotonic()
        self._look_at = self._seen_at + (self._seen_at - now) * self._timing.look_rest
        return self._seen


@dataclass(slots=True)
class _Load:
    waiting: int = 0
    lateness: float = 0.0
    used: int = 0

    def gauges(self, slots: int | None) -> Gauges:
        return Gauges(
            waiting=self.waiting, lateness=self.lateness, slots=slots, slots_used=self.used
        )


def seen_in(work: OpenWork, alive: Sequence[NodeView], ended: Ended) -> Seen:
    """Return what is seen of the open jobs, and the slots for what has jobs or had some lately."""
    everything = _Load()
    by_queue, by_type = defaultdict[str, _Load](_Load), defaultdict[str, _Load](_Load)
    for due in work.due:
        is_paused = work.everything_is_paused or work.settings.get(due.queue, _NO_SETTINGS).paused
        for load in (everything, by_queue[due.queue], by_type[due.type]):
            load.waiting += due.count
            if not is_paused:
                load.lateness = max(load.lateness, due.oldest)
    for held in work.held:
        for load in (everything, by_queue[held.queue], by_type[held.type]):
            load.used += held.count
    workers = [view for view in alive if view.is_worker or view.is_backend_worker]
    return Seen(
        everything.gauges(_slots(workers)),
        {
            name: by_queue[name].gauges(_slots_of_queue(name, work, workers))
            for name in {*by_queue, *ended.queues}
        },
        {
            name: by_type[name].gauges(_slots(view for view in workers if view.knows(name)))
            for name in {*by_type, *ended.types}
        },
    )


def _slots(nodes: Iterable[NodeView]) -> int:
    return sum(view.concurrency for view in nodes)


def _slots_of_queue(name: str, work: OpenWork, workers: Sequence[NodeView]) -> int:
    settings = work.settings.get(name, _NO_SETTINGS)
    slots = _slots(
        view
        for view in workers
        if view.serves(name) or (view.is_backend_worker and settings.backend in (view.queues or ()))
    )
    limit = settings.concurrency_limit
    return slots if limit is None else min(slots, limit)
