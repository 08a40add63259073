"""Creating jobs: one committed insert after another, and ten thousand in one statement."""

import asyncio
import time
from collections.abc import Callable

from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Ground, Grounds, Scale

Work = Callable[[Ground, int], None]

SINGLE = {"PostgreSQL": Budget("ratio at least", 0.8), "SQLite": Budget("ratio at least", 0.7)}
BATCH = Budget("ratio at least", 0.7)
SHARED = Budget("ratio at least", 10.0)
CALLERS = 1000
"""Coroutines that start jobs at the same time."""
SLICES = 20
"""Turns into which the inserts of one round are divided."""


def single(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure starting jobs one by one, each committed, beside an insert of an equivalent row."""
    count = scale.share(20)
    sides = [
        _side_by_side(ground, scale.rounds, count, SLICES, (_start, _insert)) for ground in grounds
    ]
    return [
        _figure("single inserts", count, ground, side, SINGLE[ground.name])
        for ground, side in zip(grounds, sides, strict=True)
    ]


def batch(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure starting half of the jobs at once, beside one statement with as many rows."""
    count = scale.share(2)
    sides = [
        _side_by_side(ground, scale.rounds, count, 1, (_start_many, _insert_many))
        for ground in grounds
    ]
    return [
        _figure("batch insert", count, ground, side, BATCH)
        for ground, side in zip(grounds, sides, strict=True)
    ]


def shared(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure many coroutines that start jobs at the same time, beside one that starts as many."""
    count = scale.share(4)
    sides = [
        _side_by_side(ground, scale.rounds, count, 1, (_start_at_once, _start_in_turn))
        for ground in grounds
    ]
    return [
        _figure(f"starts of {CALLERS:,} tasks beside one", count, ground, side, SHARED)
        for ground, side in zip(grounds, sides, strict=True)
    ]


def _figure(
    name: str, count: int, ground: Ground, sides: tuple[Samples, Samples], budget: Budget
) -> Figure:
    return Figure(name, ground.name, "jobs/s", *sides, budget, f"{count:,} jobs a round")


def _side_by_side(
    ground: Ground, rounds: int, count: int, turns: int, sides: tuple[Work, Work]
) -> tuple[Samples, Samples]:
    """Return the jobs per second of both, in short turns, so that load on the machine affects both alike."""
    found: tuple[list[float], list[float]] = [], []
    share = -(-count // turns)
    for round_ in range(rounds + 1):
        ground.clear()
        spent = [0.0, 0.0]
        for turn in range(2 * turns):
            side = (turn + round_) % 2
            began = time.perf_counter()
            sides[side](ground, share)
            spent[side] += time.perf_counter() - began
        for side in (0, 1):
            found[side].append(share * turns / spent[side])
    return Samples.of(found[0][1:]), Samples.of(found[1][1:])  # the first round is a warm-up


def _start(ground: Ground, count: int) -> None:
    jobs, noop = ground.application.horae.jobs, ground.application.noop
    for _ in range(count):
        jobs.start(noop)


def _insert(ground: Ground, count: int) -> None:
    for _ in range(count):
        ground.raw.insert()


def _start_at_once(ground: Ground, count: int) -> None:
    horae, noop = ground.application.horae, ground.application.noop

    async def start_share(share: int) -> None:
        for _ in range(share):
            await horae.aio.jobs.start(noop)

    async def start_all() -> None:
        async with asyncio.TaskGroup() as callers:
            for _ in range(CALLERS):
                callers.create_task(start_share(max(count // CALLERS, 1)))

    asyncio.run(start_all())


def _start_in_turn(ground: Ground, count: int) -> None:
    horae, noop = ground.application.horae, ground.application.noop

    async def start_all() -> None:
        for _ in range(count):
            await horae.aio.jobs.start(noop)

    asyncio.run(start_all())


def _start_many(ground: Ground, count: int) -> None:
    ground.application.horae.jobs.start_many(ground.application.noop, [{}] * count)


def _insert_many(ground: Ground, count: int) -> None:
    ground.raw.insert_many(count)
