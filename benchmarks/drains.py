"""Draining a backlog of no-op jobs by one node in one process."""

import time
from typing import Any

from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Ground, Grounds, Scale
from benchmarks.running import drain
from horae.types.function import JobFunction

BATCHES = (100, 200, 500, 1000)
"""Jobs in one batch of the raw loop; the fastest size counts."""
CONCURRENCY = 10
"""Slots of the node."""
BESIDE_BARE_LOOP = Budget("ratio at least", 0.55)
BESIDE_COROUTINES = Budget("ratio at least", 0.9)
BESIDE_PLAIN_JOBS = Budget("ratio at least", 0.95)
BESIDE_POSTGRESQL = Budget("ratio at least", 0.8)


def coroutines(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure coroutine functions beside a raw loop that claims and completes batches of the best size."""
    bare: dict[str, dict[int, list[float]]] = {
        ground.name: {size: [] for size in BATCHES} for ground in grounds
    }
    ours: dict[str, list[float]] = {ground.name: [] for ground in grounds}
    for _ in range(scale.rounds):
        for ground in grounds:
            for size in BATCHES:
                bare[ground.name][size].append(_bare(ground, scale.jobs, size))
            ours[ground.name].append(_drained(ground, scale.jobs, ground.application.noop))
    figures = [_beside_bare(name, ours[name], bare[name], scale.jobs) for name in ours]
    return [*figures, _beside(figures[1], figures[0])] if len(figures) > 1 else figures


def functions(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure functions, which run on threads, beside coroutines; both take turns."""
    figures: list[Figure] = []
    for ground in grounds:
        application = ground.application
        on_threads: list[float] = []
        coroutines: list[float] = []
        for _ in range(scale.rounds):
            on_threads.append(_drained(ground, scale.jobs, application.noop_function))
            coroutines.append(_drained(ground, scale.jobs, application.noop))
        both = Samples.of(on_threads), Samples.of(coroutines)
        note = "the raw side is coroutines"
        figures.append(
            Figure("drain, functions", ground.name, "jobs/s", *both, BESIDE_COROUTINES, note)
        )
    return figures


def groups(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure how fast a group ends, beside as many plain jobs; alternately, so that both have the same neighbours."""
    figures: list[Figure] = []
    for ground in grounds:
        noop = ground.application.noop
        plain: list[float] = []
        grouped: list[float] = []
        for _ in range(scale.rounds):
            plain.append(_drained(ground, scale.jobs, noop))
            grouped.append(_drained_group(ground, scale.jobs, noop))
        note = f"{scale.jobs:,} members; the raw side is as many plain jobs"
        both = Samples.of(grouped), Samples.of(plain)
        figures.append(
            Figure("drain, a group", ground.name, "jobs/s", *both, BESIDE_PLAIN_JOBS, note)
        )
    return figures


def _drained_group(ground: Ground, jobs: int, job_type: JobFunction[[], Any]) -> float:
    ground.clear()
    ground.application.horae.jobs.start_group([(job_type, {})] * jobs)
    return drain(ground, jobs, CONCURRENCY)


def _beside(ours: Figure, theirs: Figure) -> Figure:
    name, note = (
        f"drain, {ours.database} beside {theirs.database}",
        f"the raw side is Horae on {theirs.database}",
    )
    return Figure(name, ours.database, ours.unit, ours.horae, theirs.horae, BESIDE_POSTGRESQL, note)


def _beside_bare(
    database: str, ours: list[float], bare: dict[int, list[float]], jobs: int
) -> Figure:
    best = max(bare, key=lambda size: Samples.of(bare[size]).median)
    budget = BESIDE_BARE_LOOP if database == "PostgreSQL" else None
    note = f"{jobs:,} jobs; bare loop by {best}"
    raw = Samples.of(bare[best])
    return Figure("drain, coroutines", database, "jobs/s", Samples.of(ours), raw, budget, note)


def _bare(ground: Ground, jobs: int, size: int) -> float:
    ground.clear()
    ground.raw.fill(jobs)
    began = time.perf_counter()
    while ids := ground.raw.claim(size):
        ground.raw.complete(ids)
    return jobs / (time.perf_counter() - began)


def _drained(ground: Ground, jobs: int, job_type: JobFunction[[], Any]) -> float:
    ground.clear()
    ground.application.horae.jobs.start_many(job_type, [{}] * jobs)
    return drain(ground, jobs, CONCURRENCY)
