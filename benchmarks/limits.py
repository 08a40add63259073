"""Limits by key: the rate that is reached under a rate limit, and what jobs that are held back cost other jobs."""

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, delete, select, text

from benchmarks.application import RATES
from benchmarks.drains import CONCURRENCY
from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Ground, Grounds, Scale
from benchmarks.running import PAUSE, run_until
from horae.storage.jobs.limit_tables import buckets, lane_buckets, lanes
from horae.storage.jobs.limits import filing
from horae.storage.jobs.tables import job_attempts

BURST: Final = 10
"""By how much the starts that a limit allows at once are fewer than those that it allows in a second."""
SETTLED: Final = 0.5
"""Seconds after the first start from which the rate is measured: until then the burst is used up."""
REACHED: Final = Budget("ratio at least", 0.99)
"""The achieved rate against the limit."""
UNTOUCHED: Final = Budget("ratio at least", 0.9)
"""Throughput of plain jobs beside jobs that are held back, against that without them."""
TIMES: Final = 5
"""How many times as many jobs are held back as are run, each under a key of its own."""
CHUNK: Final = 10_000
"""Jobs that are created in one statement."""
# As if a job of each key had just started: to run them would take minutes, and leave the same rows.
HOLD_LANES: Final = "UPDATE horae_lanes SET held_by = (SELECT bucket_id FROM horae_lane_buckets WHERE lane_id = horae_lanes.id)"
CLOSE_BUCKETS: Final = (
    "UPDATE horae_limit_buckets SET waiting = :yes, opens_at = :later, fresh_at = :later"
)


def limits(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure the rate under a limit, and plain jobs beside those that a limit holds back."""
    figures: list[Figure] = []
    for ground in grounds:
        figures += [_rate(ground, scale, rate) for rate in RATES]
        figures.append(_beside_held_back(ground, scale))
    return figures


def _rate(ground: Ground, scale: Scale, rate: int) -> Figure:
    burst = rate // BURST
    jobs = burst + rate * scale.share(5000)
    reached = [_reached(ground, rate, jobs) for _ in range(scale.rounds)]
    note = f"{jobs:,} jobs, burst {burst}; the raw side is the limit"
    name = f"rate under {rate:,}/s"
    return Figure(
        name, ground.name, "jobs/s", Samples.of(reached), Samples.of([rate]), REACHED, note
    )


def _reached(ground: Ground, rate: int, jobs: int) -> float:
    """Return the starts per second once the limit holds jobs back, by the clock of the database.

    Raises if there are more in any window than the limit allows.
    """
    _clear(ground)
    application = ground.application
    application.reset()
    application.horae.jobs.start_many(application.limited[rate], [{}] * jobs)

    async def begun() -> float:
        while application.begun < jobs or ground.raw.held():  # noqa: ASYNC110
            await asyncio.sleep(PAUSE)
        return 0

    run_until(ground, begun, CONCURRENCY)
    database = application.horae.components.database
    found = database.autocommit(
        lambda connection: list(connection.scalars(select(job_attempts.c.started_at)))
    )
    moments: list[float] = sorted(moment.timestamp() for moment in found)
    _check_windows(moments, rate)
    after = [moment for moment in moments if moment > moments[0] + SETTLED]
    return sum(moment > after[0] for moment in after) / (after[-1] - after[0])


def _check_windows(moments: Sequence[float], rate: int) -> None:
    """Raise if more jobs than rate x window + burst started in any window of a tenth of a second or of a second."""
    for window in (0.1, 1.0):
        first = 0
        for last, moment in enumerate(moments):
            while moment - moments[first] > window:
                first += 1
            if last - first + 1 > rate * window + rate // BURST + 1e-6:
                raise AssertionError(f"{last - first + 1} starts within {window} s exceed {rate}/s")


def _beside_held_back(ground: Ground, scale: Scale) -> Figure:
    alone, beside = list[float](), list[float]()
    held = scale.jobs * TIMES
    for _ in range(scale.rounds):
        _clear(ground)
        alone.append(_drained(ground, scale.jobs))
        _clear(ground)
        _hold_back(ground, held)
        beside.append(_drained(ground, scale.jobs))
    _clear(ground)
    name, note = (
        f"drain beside {held:,} held back",
        f"as many keys; the raw side is {scale.jobs:,} jobs without them",
    )
    return Figure(
        name, ground.name, "jobs/s", Samples.of(beside), Samples.of(alone), UNTOUCHED, note
    )


def _drained(ground: Ground, jobs: int) -> float:
    """Run plain jobs; of those that are held back none is waited for."""
    application = ground.application
    application.horae.jobs.start_many(application.noop, [{}] * jobs)
    application.reset()

    async def begun() -> float:
        began = time.perf_counter()
        while application.begun < jobs:  # noqa: ASYNC110 - an event would be one more thing for each body to do
            await asyncio.sleep(PAUSE)
        return jobs / (time.perf_counter() - began)

    return run_until(ground, begun, CONCURRENCY)


def _hold_back(ground: Ground, jobs: int) -> None:
    application = ground.application
    for beginning in range(0, jobs, CHUNK):
        numbers = range(beginning, min(jobs, beginning + CHUNK))
        application.horae.jobs.start_many(
            application.by_key, [{"key": number} for number in numbers]
        )
    database = application.horae.components.database
    while database.transact(filing.file):
        pass
    database.transact(_mark_as_held_back)
    ground.raw.analyze()


def _mark_as_held_back(connection: Connection) -> None:
    tomorrow = time.time_ns() // 1000 + 86_400_000_000
    connection.execute(text(HOLD_LANES))
    connection.execute(text(CLOSE_BUCKETS), {"yes": True, "later": tomorrow})


def _clear(ground: Ground) -> None:
    ground.clear()
    ground.application.horae.components.database.transact(_forget_lanes)


def _forget_lanes(connection: Connection) -> None:
    for table in (lane_buckets, lanes, buckets):
        connection.execute(delete(table))
