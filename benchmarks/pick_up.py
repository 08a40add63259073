"""The latency of an idle node in another process, from the call that starts a job to the first line of its body."""

import random
import time

from benchmarks.figures import Budget, Figure, Samples, percentile
from benchmarks.ground import Ground, Grounds, Scale
from benchmarks.running import node_process
from horae.runtime.timing import WorkerTiming

MEDIAN = {"PostgreSQL": Budget("at most", 2), "SQLite": Budget("at most", 3)}
TAIL = Budget("at most", 8)
PATIENCE = 30
"""Seconds after which a measurement has failed."""
NANOSECONDS = 1e6
"""Nanoseconds in a millisecond."""


def pick_up(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Start jobs at moments spread over a poll period, on an otherwise idle node."""
    figures: list[Figure] = []
    for ground in grounds:
        ground.clear()
        milliseconds = _latencies(ground, scale.share(200))
        note = f"{len(milliseconds)} jobs"
        for name, share, budget in (("p50", 0.5, MEDIAN[ground.name]), ("p99", 0.99, TAIL)):
            value = Samples.of([percentile(milliseconds, share)])
            figures.append(Figure(f"pick-up, {name}", ground.name, "ms", value, None, budget, note))
    return figures


def _latencies(ground: Ground, count: int) -> list[float]:
    pauses = [WorkerTiming().poll_with_hints * (step + 0.5) / count for step in range(count)]
    random.Random(0).shuffle(pauses)
    jobs, stamp = ground.application.horae.jobs, ground.application.stamp
    found: list[float] = []
    with node_process(ground.url) as node:
        for pause in (0.5, *pauses):  # the first job is a warm-up
            time.sleep(pause)
            jobs.start(stamp, asked_at=time.monotonic_ns())
            if not node.poll(PATIENCE):
                raise TimeoutError(f"no node took the job within {PATIENCE} s")
            found.append(node.recv() / NANOSECONDS)
    return found[1:]
