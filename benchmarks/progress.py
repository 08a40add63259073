"""The cost of a progress call that publishes nothing, alone and within a running job."""

import asyncio
import time

from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Ground, Grounds, Scale
from benchmarks.running import run_until
from horae.domain.jobs.progress import Progress

BUDGET = Budget("at least", 1_000_000)
CALLS_PER_JOB = 10
"""Progress calls for each job of the scale."""


def progress(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure steps that change no percentage, and a loop in a body whose progress is published."""
    calls = scale.jobs * CALLS_PER_JOB
    alone = Samples.of([_alone(calls) for _ in range(scale.rounds)])
    figures = [Figure("progress call, nothing to publish", "-", "calls/s", alone, None, BUDGET)]
    for ground in grounds:
        ground.clear()
        rates = Samples.of([_inside(ground, calls) for _ in range(scale.rounds)])
        figures.append(Figure("progress call, in a running job", ground.name, "calls/s", rates))
    return figures


def _alone(calls: int) -> float:
    increment = Progress(calls * 100, on_change=lambda *_: None, checkpoint=lambda: None).increment
    increment()
    began = time.perf_counter()
    for _ in range(calls):
        increment()
    return calls / (time.perf_counter() - began)


def _inside(ground: Ground, calls: int) -> float:
    application = ground.application
    application.horae.jobs.start(application.count_to, total=calls)

    async def counted() -> float:
        return await asyncio.to_thread(application.progress_rates.get)

    return run_until(ground, counted, concurrency=1)
