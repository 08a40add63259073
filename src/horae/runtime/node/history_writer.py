"""Writes the history: one bucket every ten seconds, by whichever node comes first.

A node that wrote the last bucket comes first again, and the others find it written with one short
read. If the writer dies, another one writes the same bucket a few seconds later.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
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
from horae.storage.history import OpenWork, counting, writing
from horae.storage.nodes import NodeView

_LENGTH: Final = timedelta(seconds=LENGTHS[0].seconds)


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
        found = database.autocommit(writing.progress)
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


def seen_in(work: OpenWork, alive: Sequence[NodeView], ended: Ended) -> Seen:
    """Return what is seen of the open jobs, and the slots for what has jobs or had some lately."""
    waiting_in, waiting_of = defaultdict[str, int](int), defaultdict[str, int](int)
    late_in, late_of = defaultdict[str, float](float), defaultdict[str, float](float)
    used_in, used_of = defaultdict[str, int](int), defaultdict[str, int](int)
    for due in work.due:
        waiting_in[due.queue] += due.count
        waiting_of[due.type] += due.count
        settings = work.settings.get(due.queue)
        if not work.everything_is_paused and not (settings and settings.paused):
            late_in[due.queue] = max(late_in[due.queue], due.oldest)
            late_of[due.type] = max(late_of[due.type], due.oldest)
    for held in work.held:
        used_in[held.queue] += held.count
        used_of[held.type] += held.count
    workers = [view for view in alive if view.is_worker or view.is_backend_worker]
    queues = {*waiting_in, *used_in, *ended.queues}
    types = {*waiting_of, *used_of, *ended.types}
    return Seen(
        Gauges(
            waiting=sum(waiting_in.values()),
            lateness=max(late_in.values(), default=0.0),
            slots=_slots(workers),
            slots_used=sum(used_in.values()),
        ),
        {
            name: Gauges(
                waiting=waiting_in[name],
                lateness=late_in[name],
                slots=_slots_of_queue(name, work, workers),
                slots_used=used_in[name],
            )
            for name in queues
        },
        {
            name: Gauges(
                waiting=waiting_of[name],
                lateness=late_of[name],
                slots=_slots(view for view in workers if view.knows(name)),
                slots_used=used_of[name],
            )
            for name in types
        },
    )


def _slots(nodes: Iterable[NodeView]) -> int:
    return sum(view.concurrency for view in nodes)


def _slots_of_queue(name: str, work: OpenWork, workers: Sequence[NodeView]) -> int:
    settings = work.settings.get(name)
    backend = None if settings is None else settings.backend
    slots = _slots(
        view
        for view in workers
        if view.serves(name)
        or (view.is_backend_worker and backend is not None and backend in (view.queues or ()))
    )
    limit = None if settings is None else settings.concurrency_limit
    return slots if limit is None else min(slots, limit)
