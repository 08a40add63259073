"""Check limits: those of queues, pauses among them, and those by key."""

import json
import math
from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from itertools import chain, groupby
from typing import Any, Final

from horae.client.audit.finding import Audit, Invariant, show
from horae.client.audit.jobs import IN_ONE_TRANSACTION
from horae.client.audit.known_rules import ONE_CHANGE
from horae.domain.limits import LimitNumbers
from horae.domain.times import EPOCH, MICROSECOND
from horae.quoting import quoted
from horae.storage.engine import EARLIEST, LATEST
from horae.storage.jobs.limits.own_limits import own_limits
from horae.storage.operations import invariants

_LIMIT: Final = "concurrency_limit"


def check_queues(audit: Audit) -> None:
    """Check that no queue had more attempts at a time than it allowed when the last one began."""
    changes: dict[str, list[tuple[datetime, int | None]]] = defaultdict(list)
    for row in audit.stream(invariants.LIMIT_CHANGES):
        before = row.before if isinstance(row.before, dict) else {}
        if row.action == "queue.reset" and _LIMIT not in before:
            continue  # the entry changed other settings
        changes[row.target].append((row.at, before.get(_LIMIT)))
    current = {row.name: row.concurrency_limit for row in audit.stream(invariants.LIMITS)}
    rows = audit.stream(invariants.LIMITED, since=audit.since)
    for queue, attempts in groupby(rows, key=lambda row: row.queue):
        starts = [EARLIEST, *(at for at, _ in changes[queue]), LATEST]
        limits = [*(before for _, before in changes[queue]), current.get(queue)]
        spans = list(zip(starts[:-1], starts[1:], limits, strict=True))
        found: Any = None
        running: list[tuple[datetime, int]] = []
        for attempt in attempts:
            while running and running[0][0] <= attempt.started_at:
                heappop(running)
            heappush(running, (attempt.finished_at, attempt.id))
            around = attempt.started_at - ONE_CHANGE, attempt.started_at + ONE_CHANGE
            # The largest limit in force around the start; a queue without one allowed all.
            limit = max(
                math.inf if allowed is None else allowed
                for start, end, allowed in spans
                if start <= around[1] and end >= around[0]
            )
            if found is None and len(running) > limit:
                found = (attempt, limit, sorted(job for _, job in running))
        if found is not None:
            attempt, limit, jobs = found
            named = ", ".join(map(str, jobs[:10]))
            audit.add(
                Invariant.LIMITS,
                f"queue {queue} allowed {limit} jobs at a time, but at {show(attempt.started_at)}"
                f" jobs {named} ran",
                queue=queue,
            )


def check_pauses(audit: Audit) -> None:
    """Check that no live node has claimed from a queue since it was paused.

    Earlier pauses are no longer known. A node that has ended may have been a process that ran a job
    with `sync=True`, which a pause does not affect.
    """
    workers = {node.id for node in audit.workers}
    attempts = audit.stream(invariants.ATTEMPTS_WHILE_PAUSED)
    for row in chain(attempts, audit.stream(invariants.STARTED_WHILE_PAUSED)):
        if row.node_id in workers and row.started_at > row.paused_at + IN_ONE_TRANSACTION:
            audit.add(
                Invariant.LIMITS,
                f"node {row.node_id} began job {row.id} at {show(row.started_at)}, although queue"
                f" {row.queue} has been paused since {show(row.paused_at)}",
                job=row.id,
                queue=row.queue,
            )


@dataclass(slots=True)
class _Bucket:
    """What was started under one key; `tokens` of a rate in units of a start divided by its period.

    `weight`: the total weight of the attempts in `running`, or of those in `starts`.
    """

    numbers: LimitNumbers
    running: list[tuple[datetime, int]] = field(default_factory=list[tuple[datetime, int]])
    starts: deque[tuple[int, int]] = field(default_factory=deque[tuple[int, int]])
    weight: int = 0
    tokens: int | None = None
    at: int = 0

    def is_exceeded(self, started: datetime, finished: datetime, weight: int) -> bool:
        """Add an attempt; return whether it was one too many."""
        if not self.numbers.is_rate:
            while self.running and self.running[0][0] <= started:
                self.weight -= heappop(self.running)[1]
            heappush(self.running, (finished, weight))
            self.weight += weight
            return self.weight > (self.numbers.concurrency or 0)
        moment = (started - EPOCH) // MICROSECOND
        amount, period = self.numbers.amount or 0, self.numbers.period or 1
        if self.numbers.window == "sliding":
            while self.starts and self.starts[0][0] <= moment - period:
                self.weight -= self.starts.popleft()[1]
            self.starts.append((moment, weight))
            self.weight += weight
            return self.weight > amount
        most = (self.numbers.burst or 0) * period
        filled = (
            most if self.tokens is None else min(most, self.tokens + amount * (moment - self.at))
        )
        self.tokens, self.at = filled - weight * period, moment
        return self.tokens < 0


@dataclass(slots=True)
class _Limits:
    """What the kept jobs show of all limits.

    `changed`: the limits whose numbers were not the same all the time.
    """

    changed: set[str]
    numbers: dict[str, LimitNumbers] = field(default_factory=dict[str, LimitNumbers])
    first_start: dict[str, datetime] = field(default_factory=dict[str, datetime])
    buckets: dict[tuple[str, str], _Bucket] = field(default_factory=dict[tuple[str, str], _Bucket])
    found: dict[tuple[str, str], Any] = field(default_factory=dict[tuple[str, str], Any])

    def add(self, row: Any) -> None:
        """Add an attempt, or a job without any; attempts are added in the order of their starts."""
        weight, entries = own_limits(row.limits)
        for name, key, numbers in entries:
            try:
                given = LimitNumbers.from_json(numbers)
            except (AttributeError, TypeError, ValueError):
                continue  # any program that may start jobs can write this
            if self.numbers.setdefault(name, given) != given:
                self.changed.add(name)
            if name in self.changed or row.started_at is None:
                continue
            self.first_start.setdefault(name, row.started_at)
            bucket = self.buckets.setdefault((name, key), _Bucket(given))
            if (
                bucket.is_exceeded(row.started_at, row.finished_at, weight)
                and (name, key) not in self.found
            ):
                self.found[name, key] = row


def check_keys(audit: Audit) -> None:
    """Check that no more attempts ran at a time, and no more started in a period, than the limits
    by key allow that the jobs were created under.

    A limit that was changed at run time, or that newer code declares with other numbers, is left
    out, because the numbers in force at a moment are not recorded. Starts that were used up by jobs
    that never began are unknown, and only allow fewer.
    """
    seen = _Limits({row.name for row in audit.stream(invariants.CHANGED_LIMITS)})
    for row in audit.stream(invariants.KEY_LIMITED, since=audit.since):
        seen.add(row)
    for (name, key), row in seen.found.items():
        if name not in seen.changed:
            what = f"job {row.id} started at {show(row.started_at)}"
            audit.add(
                Invariant.LIMITS,
                f"limit {quoted(name)} allows {seen.numbers[name].text}{_under(key)}, but {what}"
                " was one too many",
                job=row.id,
            )
    for row in audit.stream(invariants.BUCKETS):
        name = row.limit_name
        if name not in seen.first_start or name in seen.changed:
            continue
        # A bucket holds at most a burst, if its numbers have not changed.
        numbers, first_start = seen.numbers[name], seen.first_start[name]
        try:
            level, at, period = map(int, json.loads(row.state))
        except (OverflowError, TypeError, ValueError):
            continue
        is_known = period and at >= (first_start - EPOCH) // MICROSECOND
        burst = (numbers.burst or 1) * period
        if numbers.window == "bucket" and is_known and level > burst:
            audit.add(
                Invariant.LIMITS,
                f"limit {quoted(name)} allows {numbers.text}{_under(row.key)}, but"
                f" {level / period:.0f} starts are stored as free",
            )


def _under(key: str) -> str:
    return f" for key {quoted(key)}" if key else ""
