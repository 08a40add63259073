"""A steady load for nodes, and the rate at which its jobs end: before a fault, during it, and after it."""

import sqlite3
import time
from bisect import bisect_right
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Final

import psycopg
from sqlalchemy import make_url

from horae import Horae
from tests.harness.background import Background
from tests.harness.server_faults import administer

SAMPLE: Final = 0.2
"""Seconds between two readings of how many jobs have ended."""
FEED: Final = 0.1
"""Seconds between two checks whether more jobs are needed."""
MAIN_QUEUE: Final = "default"
"""The queue whose jobs make up the load; others may have jobs that do not count."""
ENDED: Final = (
    f"SELECT count(*) FROM horae_jobs WHERE finished_at IS NOT NULL AND queue = '{MAIN_QUEUE}'"
)
PENDING: Final = (
    f"SELECT count(*) FROM horae_jobs WHERE state = 'pending' AND queue = '{MAIN_QUEUE}'"
)
WINDOWS: Final = (1.0, 3.0)
"""Seconds after a moment over which the rate must be high, so that results that had waited are not taken for it."""


class Rates(Background):
    """How many jobs had ended at which moment, read from outside with a connection of its own."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._moments: list[float] = []
        self._counts: list[int] = []

    def between(self, begin: float, end: float) -> float:
        """Return the jobs that ended per second, from one moment to another."""
        return (self._at(end) - self._at(begin)) / (end - begin)

    def recovered(self, since: float, wanted: float) -> float | None:
        """Return the seconds after a moment until a rate was reached and kept; None if it was not."""
        last = self._moments[-1] - WINDOWS[-1]
        for moment in [since, *(moment for moment in self._moments if since < moment <= last)]:
            if moment <= last and self._is_high(moment, wanted):
                return moment - since
        return None

    def _is_high(self, moment: float, wanted: float) -> bool:
        inner, outer = moment + WINDOWS[0], moment + WINDOWS[1]
        return self.between(moment, outer) >= wanted and self.between(inner, outer) >= wanted

    def _at(self, moment: float) -> int:
        index = bisect_right(self._moments, moment)
        return self._counts[index - 1] if index else 0

    def work(self) -> None:
        """Read, and connect again whenever the connection is lost."""
        while not self.done.is_set():
            with suppress(psycopg.Error, sqlite3.Error):
                self._sample()
            self.done.wait(SAMPLE)

    def _sample(self) -> None:
        with closing(self._connect()) as connection:
            while not self.done.wait(SAMPLE):
                found = connection.execute(ENDED).fetchone()
                self._moments.append(time.monotonic())
                self._counts.append(0 if found is None else int(found[0]))

    def _connect(self) -> "sqlite3.Connection | psycopg.Connection":
        url = make_url(self._url)
        if url.get_backend_name() == "sqlite":
            return sqlite3.connect(
                f"file:{url.database}?mode=ro", uri=True, check_same_thread=False
            )
        return administer(self._url)


class Feeder(Background):
    """Keeps so many jobs pending that no slot of the nodes is free, whatever errors its calls raise."""

    def __init__(self, horae: Horae, *, seconds: float, backlog: int) -> None:
        """`seconds`: how long each body takes."""
        super().__init__()
        self._horae, self._seconds, self._backlog = horae, seconds, backlog
        self.errors = Counter[str]()

    def work(self) -> None:
        """Start jobs, and count the errors."""
        while not self.done.wait(FEED):
            try:
                self._feed()
            except Exception as error:  # noqa: BLE001 - what callers are shown during a fault; reported with the figures
                self.errors[type(error).__name__] += 1

    def _feed(self) -> None:
        pending = self._horae.components.database.autocommit(
            lambda connection: int(connection.exec_driver_sql(PENDING).scalar_one())
        )
        if pending < self._backlog:
            self._horae.jobs.start_many("once_async", [{"seconds": self._seconds}] * self._backlog)


@dataclass(frozen=True)
class Recovery:
    """The rates around one fault, and how long the nodes took to recover."""

    before: float
    during: float
    after: float
    seconds: float | None

    def __str__(self) -> str:
        took = "NOT RECOVERED" if self.seconds is None else f"{self.seconds:.1f} s"
        return f"{self.before:6.1f} {self.during:6.1f} {self.after:6.1f}  {took:>8}"


def until_recovered(rates: Rates, since: float, wanted: float, within: float) -> float | None:
    """Wait until a rate is reached and kept; return the seconds since `since`, or None after `within`."""
    deadline = time.monotonic() + within
    while (found := rates.recovered(since, wanted)) is None and time.monotonic() < deadline:
        time.sleep(SAMPLE)
    return found
