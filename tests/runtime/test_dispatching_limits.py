"""Queues with a limit whose jobs a backend runs: when the dispatcher looks at them, and how often."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from horae import Horae
from horae.contrib.celery.message_node import MessageNode
from horae.runtime.backends.dispatcher import Dispatcher
from horae.runtime.signals import Signals
from horae.runtime.timing import DispatcherTiming
from horae.storage.engine.database import Database
from horae.storage.jobs import dispatching
from horae.types.routes import Routes
from tests.harness.applications import counted_statements, execute, url_of
from tests.harness.nodes import running_node, until, until_state
from tests.runtime.test_dispatching import FakeBackend

NEVER = 3600.0


@dataclass
class Running:
    """A dispatcher that runs, and what it has sent."""

    signals: Signals
    backend: FakeBackend
    rounds: int = 0

    async def sent(self, number: int) -> list[int]:
        """Wait until so many messages were sent; return the ids of their jobs."""
        await until(lambda: len(self.backend.sent) >= number)
        return [job_id for _, job_id in self.backend.sent]

    async def rest(self) -> None:
        """Wait until the dispatcher has looked, and waits for a hint."""
        before = self.rounds
        self.signals.work.send()
        await until(lambda: self.rounds > before)


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def horae(database: Database, backend: FakeBackend) -> Iterator[Horae]:
    with closing(Horae(url_of(database))) as horae:
        horae.registry.backends["celery"] = backend
        horae.job(name="export", backend="celery", max_count=None)(lambda: None)
        horae.queues.limit("default", 1)
        yield horae


@asynccontextmanager
async def dispatching_of(
    horae: Horae, pace: float = 1.0, **timing: float
) -> AsyncGenerator[Running]:
    """Run a dispatcher that does nothing without a hint, unless `timing` says otherwise."""
    backend: Any = horae.registry.backends["celery"]
    running = Running(Signals(), backend)
    chosen: dict[str, Any] = {
        "poll": NEVER,
        "limits_every": NEVER,
        "limits_rest": 0.0,
        "compare_every": NEVER,
        **timing,
    }
    made = Dispatcher(
        horae.components, running.signals, DispatcherTiming(**chosen), Random(1), lambda: pace
    )
    vars(made)["_compare_at"] = NEVER * 24 * 365 * 100
    dispatch = made.dispatch

    def counted() -> bool:
        more = dispatch()
        running.rounds += 1
        return more

    vars(made)["dispatch"] = counted
    task = asyncio.ensure_future(made.run())
    try:
        await until(lambda: running.rounds)
        yield running
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_hint_for_work_is_enough(horae: Horae) -> None:
    async with dispatching_of(horae) as running:
        job = horae.jobs.start("export")
        running.signals.work.send()
        assert await running.sent(1) == [job.id]


async def test_the_end_of_a_job_lets_the_next_one_be_sent(
    horae: Horae, worker: MessageNode
) -> None:
    async with dispatching_of(horae) as running:
        jobs = [horae.jobs.start("export").id for _ in range(3)]
        running.signals.work.send()
        for number, job_id in enumerate(jobs, 1):
            assert await running.sent(number) == jobs[:number]
            assert await asyncio.to_thread(worker.run_job, job_id)
            await until_state(horae, job_id, "finished")
            running.signals.ended_elsewhere.send()


async def test_ends_are_of_no_interest_while_no_limit_holds_a_job_back(horae: Horae) -> None:
    async with dispatching_of(horae) as running:
        await running.rest()
        with counted_statements(horae) as statements:
            before = running.rounds
            for _ in range(3):
                running.signals.ended_elsewhere.send()
                await asyncio.sleep(0)
            await running.rest()
            assert running.rounds == before + 1
        assert len([each for each in statements if "horae_jobs" in each]) == 2


async def test_without_a_hint_the_limits_are_looked_at_from_time_to_time(
    horae: Horae, worker: MessageNode
) -> None:
    """As after a hint that was lost."""
    horae.components.wakeup.subscribe(lambda _hint: None)
    await until(lambda: horae.components.wakeup.connected)
    async with dispatching_of(horae, poll=0.02, limits_every=0.1) as running:
        jobs = [horae.jobs.start("export").id for _ in range(2)]
        assert await running.sent(1) == jobs[:1]
        await asyncio.to_thread(worker.run_job, jobs[0])
        assert await running.sent(2) == jobs


async def test_where_no_hints_arrive_every_round_looks_while_jobs_are_held_back(
    horae: Horae, worker: MessageNode
) -> None:
    assert not horae.components.wakeup.connected
    async with dispatching_of(horae, poll=0.02) as running:
        jobs = [horae.jobs.start("export").id for _ in range(2)]
        running.signals.work.send()
        assert await running.sent(1) == jobs[:1]
        await asyncio.to_thread(worker.run_job, jobs[0])
        assert await running.sent(2) == jobs


async def test_many_hints_lead_to_few_looks(horae: Horae) -> None:
    for _ in range(2):
        horae.jobs.start("export")
    async with dispatching_of(horae, limits_rest=1e6) as running:
        await running.sent(1)
        looks = statements_of(horae, dispatching.LIMITED_AND_DUE)
        with counted_statements(horae) as statements:
            for _ in range(3):
                running.signals.ended_elsewhere.send()
                await running.rest()
        assert [each for each in statements if each in looks] == []


def statements_of(horae: Horae, statement: Any) -> set[str]:
    return {str(statement.compile(horae.components.database.engine))}


async def test_two_nodes_that_look_at_once_send_no_more_than_have_room(horae: Horae) -> None:
    jobs = [horae.jobs.start("export").id for _ in range(2)]
    scope, database = Routes(horae.registry, {}).scope, horae.components.database
    assert database.autocommit(dispatching.limited_and_due, scope) == {"default": 1}
    sent = [
        database.transact(
            lambda connection: dispatching.send_limited(connection, scope, 10, queue="default")
        )
        for _ in range(2)
    ]
    assert [[job.id for job in each] for each in sent] == [jobs[:1], []]


async def test_a_queue_without_due_jobs_is_not_asked_about_further(horae: Horae) -> None:
    scope, database = Routes(horae.registry, {}).scope, horae.components.database
    horae.jobs.start("export", delay="1h")
    horae.job(name="own", max_count=None)(lambda: None)
    horae.jobs.start("own")
    horae.queues.limit("paused", 1)
    horae.jobs.start("export", queue="paused")
    horae.queues.pause("paused")
    assert database.autocommit(dispatching.limited_and_due, scope) == {}
    execute(horae, "DELETE FROM horae_jobs")


async def test_a_node_learns_of_ends_in_other_processes(
    horae: Horae, backend: FakeBackend, database: Database
) -> None:
    jobs = [horae.jobs.start("export").id for _ in range(2)]
    with closing(Horae(url_of(database))) as other:
        other.job(name="export", backend="celery", max_count=None)(lambda: None)
        async with running_node(horae):
            await until(lambda: len(backend.sent) == 1)
            node = MessageNode(other.components)
            try:
                await asyncio.to_thread(node.run_job, jobs[0])
                await until(
                    lambda: len(backend.sent) == 2, within=4.0
                )  # less than between two looks without a hint
            finally:
                node.close()
        assert (await until_state(horae, jobs[0], "finished")).queue == "default"


async def test_each_of_many_nodes_waits_longer_for_a_hint(horae: Horae) -> None:
    async with (
        dispatching_of(horae, pace=1e6, poll=0.02) as many,
        dispatching_of(horae, poll=0.02) as alone,
    ):
        await until(lambda: alone.rounds >= 5)
        assert many.rounds == 1
        horae.jobs.start("export")
        many.signals.work.send()
        await many.sent(1)
