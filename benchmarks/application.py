"""The application that is measured: job types that do nothing or very little."""

import itertools
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from horae import Horae, JobContext, Limit

RATES = (50, 500, 2000)
"""Starts per second of the limits; the burst of each is a tenth."""


class Measured:
    """An application on one database that counts the bodies it has run."""

    def __init__(self, url: str, **settings: Any) -> None:
        self.horae = Horae(url, **settings)
        self._counter = itertools.count(1)
        self.begun = 0
        self.progress_rates: SimpleQueue[float] = SimpleQueue()
        self.stamped: Callable[[int], object] = _drop
        self.begins: Callable[[float], object] = _drop
        self.begin = self.horae.job(name="begin")(self._begin)
        self.noop = self.horae.job(name="noop")(self._noop)
        self.noop_function = self.horae.job(name="noop_function")(self._noop_function)
        self.stamp = self.horae.job(name="stamp")(self._stamp)
        self.limited = {
            rate: self.horae.job(
                name=f"limited_{rate}", limits=[Limit(rate=f"{rate}/s", burst=rate // 10)]
            )(self._noop)
            for rate in RATES
        }
        self.by_key = self.horae.job(
            name="by_key", limits=[Limit(rate="1/d", burst=1, key="{key}")]
        )(self._by_key)
        self.count_to = self.horae.job(name="count_to")(self._count_to)

    def reset(self) -> None:
        """Reset the counters."""
        self._counter, self.begun = itertools.count(1), 0

    async def _begin(self) -> None:
        self.begins(time.time())

    async def _noop(self) -> None:
        self.begun = next(self._counter)

    async def _by_key(self, key: int) -> None:
        del key

    def _noop_function(self) -> None:
        self.begun = next(self._counter)  # unlike +=, this is exact with threads

    async def _stamp(self, asked_at: int) -> None:
        self.stamped(time.monotonic_ns() - asked_at)

    def _count_to(self, job: JobContext, total: int) -> None:
        progress = job.progress.child(100, total)
        began = time.perf_counter()
        for _ in range(total):
            progress.increment()
        self.progress_rates.put(total / (time.perf_counter() - began))


def _drop(_moment: float) -> None:
    """Ignore the hint."""
