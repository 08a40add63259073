"""Whether throughput stays constant: with many ended jobs, many pending jobs, or an old open transaction."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator

import psycopg

from benchmarks.drains import CONCURRENCY
from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Ground, Grounds, Scale
from benchmarks.running import PAUSE, run_until

TIMES = 25
"""How many times as many jobs the table contains as are run."""
CHUNK = 10_000
"""Jobs that are created in one statement."""
FLAT = Budget("ratio at least", 0.9)
"""Throughput with a full table against that with an empty one."""
UNTOUCHED = Budget("ratio at least", 0.95)
"""Throughput under an old transaction against that without one."""
Laden = Callable[[Ground, int], contextlib.AbstractContextManager[None]]


def flatness(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure each case beside the same work on an empty table, in turns."""
    figures: list[Figure] = []
    for ground in grounds:
        figures.append(_beside_empty(ground, scale, "ended jobs", _ended, FLAT))
        figures.append(_beside_empty(ground, scale, "waiting jobs", _waiting, FLAT))
        if ground.name == "PostgreSQL":
            figures.append(
                _beside_empty(ground, scale, "claimed under a transaction", _held, UNTOUCHED)
            )
    return figures


def _beside_empty(ground: Ground, scale: Scale, what: str, laden: Laden, budget: Budget) -> Figure:
    empty, full = list[float](), list[float]()
    lying, jobs = scale.jobs * TIMES, scale.jobs * 5
    for _ in range(scale.rounds):
        ground.clear()
        empty.append(_rate(ground, jobs))
        ground.clear()
        with laden(ground, lying):
            full.append(_rate(ground, jobs))
    ground.clear()
    note = f"{jobs:,} jobs; the raw side is Horae on an empty table"
    return Figure(
        f"{lying:,} {what}",
        ground.name,
        "jobs/s",
        Samples.of(full),
        Samples.of(empty),
        budget,
        note,
    )


def _rate(ground: Ground, jobs: int) -> float:
    """Start jobs and run as many. Return the jobs per second until the last of them has begun."""
    _start(ground, jobs)
    ground.application.reset()

    async def begun() -> float:
        began = time.perf_counter()
        while ground.application.begun < jobs:  # noqa: ASYNC110 - an event would be one more thing for each body to do
            await asyncio.sleep(PAUSE)
        return jobs / (time.perf_counter() - began)

    return run_until(ground, begun, CONCURRENCY)


def _start(ground: Ground, jobs: int) -> None:
    for beginning in range(0, jobs, CHUNK):
        ground.application.horae.jobs.start_many(
            ground.application.noop, [{}] * min(CHUNK, jobs - beginning)
        )


@contextlib.contextmanager
def _ended(ground: Ground, jobs: int) -> Iterator[None]:
    _start(ground, jobs)
    ground.raw.end_all()
    yield


@contextlib.contextmanager
def _waiting(ground: Ground, jobs: int) -> Iterator[None]:
    _start(ground, jobs)
    yield


@contextlib.contextmanager
def _held(ground: Ground, jobs: int) -> Iterator[None]:
    """End as many jobs as usual while another transaction, as of a long report, keeps their old rows visible."""
    with psycopg.connect(ground.url.replace("+psycopg", "")) as reader:
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.execute("SELECT 1 FROM horae_jobs")
        _start(ground, jobs)
        ground.raw.end_all()
        yield
        reader.rollback()
