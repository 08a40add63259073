"""Whether throughput stays constant: with many ended jobs, many to delete, many pending ones, or an old transaction."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg

from benchmarks.application import Measured
from benchmarks.drains import CONCURRENCY
from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Ground, Grounds, Scale
from benchmarks.running import PAUSE, run_until
from horae.types.function import JobFunction

TIMES = 25
"""How many times as many jobs the table contains as are run."""
CHUNK = 10_000
"""Jobs that are created in one statement."""
FLAT = Budget("ratio at least", 0.9)
"""Throughput with a full table against that with an empty one."""
UNTOUCHED = Budget("ratio at least", 0.95)
"""Throughput under an old transaction against that without one."""
Laden = Callable[[Ground, int], contextlib.AbstractContextManager[Ground]]
"""Fills the tables, and yields what the measured node is to run on."""


def flatness(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure each case beside the same work on an empty table, in turns."""
    figures: list[Figure] = []
    for ground in grounds:
        figures.append(_beside_empty(ground, scale, "ended jobs", _ended, FLAT))
        figures.append(_beside_empty(ground, scale, "jobs to delete", _to_delete, FLAT))
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
        with laden(ground, lying) as filled:
            full.append(_rate(filled, jobs))
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
    _start(ground, jobs, ground.application.noop)
    ground.application.reset()

    async def begun() -> float:
        began = time.perf_counter()
        while ground.application.begun < jobs:  # noqa: ASYNC110 - an event would be one more thing for each body to do
            await asyncio.sleep(PAUSE)
        return jobs / (time.perf_counter() - began)

    return run_until(ground, begun, CONCURRENCY)


async def _nothing() -> None:
    """Do nothing."""


def _start(ground: Ground, jobs: int, job_type: JobFunction[[], Any]) -> None:
    for beginning in range(0, jobs, CHUNK):
        ground.application.horae.jobs.start_many(job_type, [{}] * min(CHUNK, jobs - beginning))


@contextlib.contextmanager
def _ended(ground: Ground, jobs: int) -> Iterator[Ground]:
    _start(ground, jobs, ground.application.noop)
    ground.raw.end_all()
    yield ground


@contextlib.contextmanager
def _to_delete(ground: Ground, jobs: int) -> Iterator[Ground]:
    """End jobs that a node deletes from its first second on, while it runs others."""
    application = Measured(ground.url)
    with contextlib.closing(application.horae):
        kept_briefly = application.horae.job(name="kept_briefly", keep="1s")(_nothing)
        filled = replace(ground, application=application)
        _start(filled, jobs, kept_briefly)
        ground.raw.end_all()
        yield filled


@contextlib.contextmanager
def _waiting(ground: Ground, jobs: int) -> Iterator[Ground]:
    _start(ground, jobs, ground.application.noop)
    yield ground


@contextlib.contextmanager
def _held(ground: Ground, jobs: int) -> Iterator[Ground]:
    """End as many jobs as usual while another transaction, as of a long report, keeps their old rows visible."""
    with psycopg.connect(ground.url.replace("+psycopg", "")) as reader:
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.execute("SELECT 1 FROM horae_jobs")
        _start(ground, jobs, ground.application.noop)
        ground.raw.end_all()
        yield ground
        reader.rollback()
