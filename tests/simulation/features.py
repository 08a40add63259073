"""Jobs with limits by key, turns of owners, groups, jobs after others, unique, counted, debounced, expiring, snoozing jobs.

Most seeds start some of them beside the plain jobs of `application`. `feature_invariants` checks them.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from random import Random
from typing import Any, Final, cast

from horae import Group, JobContext, Limit, Snooze, StartOptions, Unique
from horae.client.jobs import AsyncBodyGroup, BodyGroup, Jobs
from horae.types import Attempt
from tests.simulation import world
from tests.simulation.application import SOON, Recorded, Unlucky, app, dice, pause
from tests.simulation.operations import Operation

KEYS: Final = 2
"""Keys of limits and unique jobs, so that several jobs share one."""
OWNERS: Final = 3
FAIR_QUEUE: Final = "fair"
MOST_COUNTED: Final = 2
"""Active jobs of the type `counted` that each owner may have."""
SNOOZES: Final = 2
"""How often `snoozing` asks for another run."""


@app.job(max_count=None, max_attempts=2, backoff=SOON, limits=[Limit(concurrency=1, key="{key}")])
async def keyed(job: JobContext, key: int) -> None:
    """Run alone among the jobs with its key."""
    del key
    with Recorded(job):
        await pause(dice(job).uniform(0.05, 0.6))


@app.job(max_count=None, max_attempts=2, backoff=SOON, limits=[Limit(rate="2/s", key="{key}")])
async def metered(job: JobContext, key: int) -> None:
    """Start at a limited rate among the jobs with its key."""
    del key
    with Recorded(job):
        pass


@app.job(max_count=None, limits=[Limit(rate="3/2s", window="sliding")])
async def windowed(job: JobContext) -> None:
    """Start at most so often in any period."""
    with Recorded(job):
        pass


@app.job(max_count=None, queue=FAIR_QUEUE)
async def shared(job: JobContext) -> None:
    """Wait for the turn of the owner."""
    with Recorded(job):
        await pause(dice(job).uniform(0.05, 0.3))


@app.job(max_count=None)
async def snoozing(job: JobContext) -> None:
    """Ask twice to be run again, which uses up no attempt."""
    with Recorded(job):
        log = world.current().surroundings.bodies
        if sum(entry.job == job.id and entry.what == "begin" for entry in log) <= SNOOZES:
            raise Snooze("200ms")


@app.job(max_count=None, unique=Unique(by=("key",), on_duplicate="return"))
async def single(job: JobContext, key: int) -> None:
    """Be the only active job with its key."""
    del key
    with Recorded(job):
        await pause(dice(job).uniform(0.1, 1.0))


@app.job(max_count=MOST_COUNTED)
async def counted(job: JobContext) -> None:
    """Be one of few active jobs of an owner."""
    with Recorded(job):
        await pause(dice(job).uniform(0.1, 1.0))


@app.job(max_count=None, debounce="400ms")
async def settled(job: JobContext, key: int) -> None:
    """Run once after several calls."""
    del key
    with Recorded(job):
        pass


@app.job(max_count=None, expires="800ms")
async def expiring(job: JobContext) -> None:
    """Begin soon or never."""
    with Recorded(job):
        await pause(dice(job).uniform(0.0, 0.5))


@app.job(max_count=None, max_attempts=2, backoff=SOON)
async def member(job: JobContext, *, adds: int = 0) -> int:
    """Be a part of a group, fail now and then, and perhaps add other members."""
    with Recorded(job):
        await pause(dice(job).uniform(0.0, 0.6))
        if dice(job).random() < 0.2:
            raise Unlucky
        if adds:
            await job.async_group.add([("member", {})] * adds)
    return job.id


@app.job(max_count=None)
async def combined(job: JobContext) -> None:
    """Run after the members of a group."""
    with Recorded(job):
        pass


@app.job(max_count=None)
async def successor(job: JobContext) -> None:
    """Run after other jobs."""
    with Recorded(job):
        pass


class GroupsOfProcess:
    """Finds the groups of jobs by the client of the process in which the body runs."""

    def of_body(self, attempt: Attempt) -> BodyGroup:
        """Return the group for a body on a thread."""
        return BodyGroup(world.current().running.process.jobs, attempt)

    def of_coroutine(self, attempt: Attempt) -> AsyncBodyGroup:
        """Return the group for a coroutine."""
        process = world.current().running.process
        return AsyncBodyGroup(process.jobs, process.aio, attempt)


for _job_type in app.registry.by_name.values():
    # In place of the clients that would open the database of `app`.
    _job_type.clients = cast("Any", GroupsOfProcess())


def _starts(jobs: Jobs, operation: Operation) -> list[int]:
    return [jobs.start(operation.name, key=operation.number % KEYS).id]


def _many(jobs: Jobs, operation: Operation) -> list[int]:
    """Start jobs of one key in two lanes, so that nodes decide about one limit at the same time."""
    values = [{"key": operation.number % KEYS} for _ in range(operation.number)]
    urgent = StartOptions(priority=1)
    return [
        *jobs.start_many(operation.name, values[::2]),
        *jobs.start_many(operation.name, values[1::2], options=urgent),
    ]


def _later(jobs: Jobs, operation: Operation) -> list[int]:
    return [jobs.start(operation.name, delay=timedelta(seconds=operation.number)).id]


def _plain(jobs: Jobs, operation: Operation) -> list[int]:
    return list(jobs.start_many(operation.name, [{} for _ in range(operation.number)]))


def _turns(jobs: Jobs, operation: Operation) -> list[int]:
    owner = f"owner {operation.number % OWNERS}"
    return list(jobs.start_many("shared", [{} for _ in range(1 + operation.number)], owner=owner))


def _counted(jobs: Jobs, operation: Operation) -> list[int]:
    return [jobs.start("counted", owner=f"owner {operation.number}").id]


def start_group(jobs: Jobs, operation: Operation) -> Group:
    """Start a group with so many members, the first of which adds others."""
    members: Sequence[Any] = [
        ("member", {"adds": 2 * (each == 0)}) for each in range(operation.number)
    ]
    failure: Any = "cancel" if operation.number % 2 else "continue"
    return jobs.start_group(members, then="combined", on_failure=failure)


ACTS: Final[Mapping[str, Callable[[Jobs, Operation], list[int]]]] = {
    "start keyed": _starts,
    "start many keyed": _many,
    "start many": _plain,
    "start later": _later,
    "start in turns": _turns,
    "start counted": _counted,
}
"""Calls that start jobs; each returns those that were created, which others may cancel."""


def features_of(rng: Random, active: float) -> list[Operation]:
    """Draw what callers start; nothing for a third of the seeds."""
    if rng.random() < 1 / 3:
        return []
    draws: Sequence[Callable[[float], list[Operation]]] = (
        lambda at: [
            Operation(at, "start many keyed", rng.choice(("keyed", "metered")), rng.randint(2, 4))
        ],
        lambda at: [Operation(at, "start many", "windowed", rng.randint(2, 5))],
        lambda at: [
            Operation(at + 0.3 * each, "start many", "limited", rng.randint(2, 3))
            for each in range(2)
        ],
        lambda at: [
            Operation(at, "start in turns", "shared", 6),
            Operation(at + 0.05, "start in turns", "shared", 1),
        ],
        lambda at: [Operation(at, "start many", "snoozing", 1)],
        lambda at: [
            Operation(at + rng.uniform(0, 0.5), "start keyed", "single", rng.randint(0, 1))
            for _ in range(4)
        ],
        lambda at: [
            Operation(at + rng.uniform(0, 1), "start keyed", "settled", rng.randint(0, 1))
            for _ in range(4)
        ],
        lambda at: [Operation(at, "start many", "expiring", rng.randint(1, 4))],
        lambda at: [
            Operation(at + rng.uniform(0, 1), "start counted", "counted", rng.randint(0, 1))
            for _ in range(5)
        ],
        lambda at: [
            Operation(at, "start group", "member", rng.randint(1, 4)),
            *[
                Operation(at + rng.uniform(0.1, 2), "cancel group", number=rng.randint(0, 3))
                for _ in range(at < 1.5)
            ],
        ],
        lambda at: [
            Operation(at, "start after", "successor", rng.randint(0, 30)) for _ in range(2)
        ],
    )
    return [
        each
        for draw in rng.sample(draws, rng.choice((1, 2, 3)))
        for each in draw(rng.uniform(0.0, active - 1.5))
    ]
