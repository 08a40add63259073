"""Fifty nodes on one server: how much they ask for while there is nothing to do, and for a single job."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest

from horae import Horae
from horae.domain.cluster.liveness import LivenessLimits
from horae.domain.jobs.job import NodeId
from horae.runtime.node.node import Node
from horae.storage.engine.database import Database
from horae.storage.nodes import nodes
from tests.harness.applications import application, counted_statements
from tests.harness.figures import figure
from tests.harness.nodes import signals_of, statements_a_second, until, until_state
from tests.harness.waiting import Record

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]

SIZE = 50
WATCHED = 4.0
"""Seconds in which the statements of the idle fleet are counted."""
MOST_IDLE = 2.0
"""Statements of an idle node in a second, its heartbeat included."""
MOST_CLAIMS = 10
"""Claims for one job: about four, and fifty if each node responded to the hint."""


@pytest.fixture
def producer(database: Database) -> Iterator[Horae]:
    """The application in a process that runs no node."""
    with application(database) as producer:

        @producer.job
        async def work() -> None: ...

        yield producer


@asynccontextmanager
async def fleet(horae: Horae) -> AsyncGenerator[list[Node]]:
    """Fifty nodes of one application that know each other."""

    @horae.job
    async def work() -> None: ...

    members = [horae.node(concurrency=1) for _ in range(SIZE)]
    async with asyncio.TaskGroup() as group:
        try:
            for first in range(
                0, SIZE, 10
            ):  # not all at once: they share the connections of one process
                for member in members[first : first + 10]:
                    group.create_task(member.run())
                for member in members[first : first + 10]:
                    await member.ready.wait()
            for member in members:
                signals_of(member).node_suspected.send()  # read anew which others there are
            await until(
                lambda: all(
                    vars(vars(each)["_incarnation"])["_peers"].pace() > 1.0 for each in members
                ),
                60,
            )
            yield members
        finally:
            for member in members:
                member.stop()


@pytest.mark.slow
@pytest.mark.nightly
async def test_fifty_nodes_ask_little_and_few_respond_to_a_hint(
    horae: Horae, producer: Horae
) -> None:
    async with fleet(horae):
        with counted_statements(horae) as statements:
            await run_one(producer)
            claims = [await claims_for(producer, statements) for _ in range(5)]
            ran_on = await nodes_of_batch(producer, 3 * SIZE)
            await until_idle(statements)
            rates = [await statements_a_second(horae, WATCHED) for _ in range(3)]
        each_second = (
            min(rates) / SIZE + 1 / LivenessLimits().beat
        )  # on a busy machine heartbeats are late, and nodes ask why
    figure(
        f"a fleet of {SIZE}: {each_second:.2f} statements/s of an idle node; claims for one job each: {claims}"
    )
    assert each_second <= MOST_IDLE
    assert sorted(claims)[2] <= MOST_CLAIMS
    assert len(ran_on) > SIZE / 5  # a hint for many jobs wakes many


async def run_one(producer: Horae) -> None:
    job = await producer.aio.jobs.start("work")
    await until_state(producer, job.id, "finished")


async def claims_for(producer: Horae, statements: Record[str]) -> int:
    """Return how many claims the nodes make for one job while all of them are idle."""
    await until_idle(statements)
    statements.clear()
    await run_one(producer)
    return claims_among(statements)


async def until_idle(statements: Record[str]) -> None:
    """Wait until few nodes poll: for some seconds after work each of them looks whether there is more."""

    async def is_idle() -> bool:
        statements.clear()
        began = time.monotonic()
        await until(lambda: time.monotonic() > began + 1.0)
        return claims_among(statements) < SIZE / 4

    await until(is_idle, 60)


def claims_among(statements: Record[str]) -> int:
    return sum(each.startswith("WITH due") for each in statements)


async def nodes_of_batch(producer: Horae, size: int) -> set[NodeId | None]:
    """Return the nodes that run the jobs of one batch."""
    ids = producer.jobs.start_many("work", [{} for _ in range(size)])
    for job_id in ids:
        await until_state(producer, job_id, "finished")
    return {attempt.node_id for job_id in ids for attempt in producer.jobs.attempts(job_id)}


async def test_only_schedulers_are_on_the_ring(horae: Horae, database: Database) -> None:
    members = [
        horae.node(roles=roles) for roles in (("worker",), ("scheduler",), ("worker", "scheduler"))
    ]
    async with asyncio.TaskGroup() as group:
        for member in members:
            group.create_task(member.run())
        for member in members:
            await member.ready.wait()
        found = database.autocommit(nodes.schedulers)
        for member in members:
            member.stop()
    assert sorted(found) == sorted(str(member.id) for member in members[1:])
