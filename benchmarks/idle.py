"""The cost of an idle node: statements per second, counted here and by the server."""

import asyncio
import time
from functools import partial

from sqlalchemy import Engine, event

from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Ground, Grounds, Scale
from benchmarks.raw import RawPostgres
from benchmarks.running import run_until

BUDGET = Budget("at most", 2)
SETTLING = 2.0
"""Seconds after the start that do not count, and that the server's statistics may be late."""


def idle(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Count the statements of all engines in this process while one idle node runs."""
    seconds = scale.share(1000, least=1)
    figures: list[Figure] = []
    for ground in grounds:
        ground.clear()
        reported: list[float] = []
        counted = run_until(ground, partial(_count, ground, seconds, reported), concurrency=10)
        note = f"over {seconds} s" + "".join(
            f"; {rate:.2g} transactions/s by the server" for rate in reported
        )
        figures.append(
            Figure("idle node", ground.name, "queries/s", Samples.of([counted]), None, BUDGET, note)
        )
    return figures


async def _count(ground: Ground, seconds: int, reported: list[float]) -> float:
    count = 0

    def one_more(*_: object) -> None:
        nonlocal count
        count += 1

    await asyncio.sleep(SETTLING)
    before = await _transactions(ground)
    event.listen(Engine, "before_cursor_execute", one_more)
    began = time.perf_counter()
    await asyncio.sleep(seconds)
    rate = count / (time.perf_counter() - began)
    event.remove(Engine, "before_cursor_execute", one_more)
    after = await _transactions(ground)
    if before is not None and after is not None:
        reported.append(
            (after[0] - before[0] - 1) / (after[1] - before[1])
        )  # minus one: this query itself
    return rate


async def _transactions(ground: Ground) -> tuple[int, float] | None:
    if not isinstance(ground.raw, RawPostgres):
        return None
    return ground.raw.transactions(), time.perf_counter()
