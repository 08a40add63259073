"""Check limits by key: no more attempts at a time, and no more starts in a period, than the jobs were created under.

A limit that was changed at run time, or that newer code declares with other numbers, is left out: which numbers were in
force at a moment is not recorded. Starts that were used up by jobs that never began are unknown, and only allow fewer.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from typing import Any

from sqlalchemy import Connection

from horae.client.invariants.finding import Findings, Invariant, shown
from horae.domain.limits.numbers import LimitNumbers
from horae.quoting import quoted
from horae.storage.engine.dialect import EPOCH, MICROSECOND
from horae.storage.jobs.limits.own_limits import own_limits
from horae.storage.operations import invariants


@dataclass(slots=True)
class _Bucket:
    """What was started under one key; `tokens` of a rate in units of a start divided by its period.

    `weight`: of what is in `running`, or in `starts`.
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
        filled = most if self.tokens is None else min(most, self.tokens + amount * (moment - self.at))
        self.tokens, self.at = filled - weight * period, moment
        return self.tokens < 0


def check(connection: Connection, findings: Findings, since: datetime) -> None:
    """Check the limits that jobs were created under."""
    changed = {row.name for row in invariants.stream(connection, invariants.CHANGED_LIMITS)}
    numbers: dict[str, LimitNumbers] = {}
    buckets: dict[tuple[str, str], _Bucket] = {}
    found: dict[tuple[str, str], Any] = {}
    for row in invariants.stream(connection, invariants.KEY_LIMITED, since=since):
        for name, key, weight, given in _limits_in(row.limits):
            if numbers.setdefault(name, given) != given:
                changed.add(name)
            if name in changed:
                continue
            bucket = buckets.setdefault((name, key), _Bucket(given))
            if bucket.is_exceeded(row.started_at, row.finished_at, weight) and (name, key) not in found:
                found[name, key] = row
    for (name, key), row in found.items():
        if name not in changed:
            under = f" for key {quoted(key)}" if key else ""
            what = f"job {row.id} started at {shown(row.started_at)}"
            text = f"limit {quoted(name)} allows {numbers[name].text}{under}, but {what} was one too many"
            findings.add(Invariant.LIMITS, text, job=row.id)


def _limits_in(stored: str) -> Iterator[tuple[str, str, int, LimitNumbers]]:
    """Yield name, key, weight and numbers of the limits of a job; nothing for what cannot be read."""
    weight, entries = own_limits(stored)
    for name, key, numbers in entries:
        with suppress(AttributeError, TypeError, ValueError):
            yield name, key, weight, LimitNumbers.from_json(numbers)
