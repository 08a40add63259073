"""The database cannot be reached for a body to begin: that is no attempt, and the job waits until it can."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from horae import Horae, JobCancelled, JobState
from horae.runtime.bodies import RunEnvironment
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.executors.loop import LoopExecutor
from horae.runtime.timing import ClaimerTiming, Pauses, ShutdownTiming, Timing
from horae.storage.engine.database import Database
from horae.types.attempt import Attempt
from tests.harness.applications import rows
from tests.harness.nodes import running_node, signals_of, until_set, until_state
from tests.harness.waiting import PATIENCE, Changes, until_after
from tests.runtime.executor_under_test import NODE, claim_of

FULL = "FATAL:  sorry, too many clients already"


class Connections:
    """Transactions for bodies, which cannot be opened while `refused`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refused = threading.Event()
        self.tries = 0
        self.tried = Changes()
        for name in ("transaction", "async_transaction"):
            monkeypatch.setattr(Database, name, self._opening(getattr(Database, name)))

    def _opening(self, opened: Callable[..., Any]) -> Callable[..., Any]:
        def open_or_refuse(database: Database, isolation: str) -> Any:
            if self.refused.is_set():
                self.tries += 1
                self.tried.notify()
                raise DBAPIError.instance("", (), psycopg.OperationalError(FULL), psycopg.Error)
            return opened(database, isolation)

        return open_or_refuse


class LateConnections:
    """Transactions for bodies: on threads they open when `release` is set, in coroutines never."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.release, self.closed = (
            threading.Event(),
            threading.Event(),
            threading.Event(),
        )
        self._opened = Database.transaction
        monkeypatch.setattr(Database, "transaction", lambda *asked: self._late(*asked))  # noqa: PLW0108 - it is bound to the database
        monkeypatch.setattr(Database, "async_transaction", lambda *_: self._never())

    @contextmanager
    def _late(self, database: Database, isolation: str) -> Generator[Connection]:
        self.asked.set()
        self.release.wait(20)
        try:
            with self._opened(database, isolation) as connection:
                yield connection
        finally:
            self.closed.set()

    @asynccontextmanager
    async def _never(self) -> AsyncGenerator[AsyncConnection]:
        self.asked.set()
        await asyncio.Event().wait()
        yield pytest.fail("no connection was asked for")


SHORT_STOP = Timing(shutdown=ShutdownTiming(last_words=0.1))
SOON = Timing(claimer=ClaimerTiming(avoided_for=Pauses(0.02, 0.1)))


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Connections:
    return Connections(monkeypatch)


async def test_jobs_keep_their_attempts_and_delay_no_others(
    horae: Horae, connections: Connections
) -> None:
    @horae.job(transaction="read committed", max_count=None)
    def threaded() -> None: ...

    @horae.job(transaction="read committed", max_count=None)
    async def looped() -> None: ...

    @horae.job(max_count=None)
    async def free() -> None: ...

    connections.refused.set()
    bound = [
        *await horae.aio.jobs.start_many(threaded, [{}] * 20),
        *await horae.aio.jobs.start_many(looped, [{}] * 20),
    ]
    async with running_node(horae, concurrency=4, timing=SOON) as node:
        others = await horae.aio.jobs.start_many(free, [{}] * 20)
        for job_id in others:
            await until_state(horae, job_id, "finished")
        tries = connections.tries
        await until_after(connections.tried, lambda: connections.tries > tries)
        assert rows(horae, "SELECT * FROM horae_job_attempts WHERE outcome <> 'finished'") == []
        connections.refused.clear()

        async def all_over() -> bool:
            return (await horae.aio.jobs.count()) == {JobState.FINISHED: 60}

        await until_after(signals_of(node).settled, all_over)
    assert {horae.jobs.get(job_id).attempt for job_id in bound} == {1}
    assert len(rows(horae, "SELECT * FROM horae_job_attempts")) == 60


async def test_a_node_does_not_spin(horae: Horae, connections: Connections) -> None:
    @horae.job(transaction="read committed", max_count=None)
    def work() -> None: ...

    @horae.job(max_count=None)
    def other() -> None: ...

    connections.refused.set()
    await horae.aio.jobs.start_many(work, [{}] * 50)
    async with running_node(
        horae, concurrency=4, timing=Timing(claimer=ClaimerTiming(avoided_for=Pauses(30.0, 30.0)))
    ):
        await until_after(connections.tried, lambda: connections.tries)
        for _ in range(5):
            job = await horae.aio.jobs.start(other)
            await until_state(horae, job.id, "finished")
        assert connections.tries <= 4  # those that were claimed together
        assert (await horae.aio.jobs.count())[JobState.PENDING] == 50


async def test_a_shutdown_hands_them_back(horae: Horae, connections: Connections) -> None:
    begun, release = threading.Event(), threading.Event()

    @horae.job(transaction="read committed", max_count=None)
    def work() -> None: ...

    @horae.job
    def block() -> None:
        begun.set()
        release.wait(20)

    connections.refused.set()
    job = await horae.aio.jobs.start(work)
    async with running_node(horae, concurrency=4, timing=SOON):
        await horae.aio.jobs.start(block)
        await until_set(begun)
        await until_after(connections.tried, lambda: connections.tries)
        release.set()
    left = horae.jobs.get(job.id)
    assert (left.state, left.attempt, left.node_id) == (JobState.PENDING, 0, None)


@pytest.mark.parametrize("isolation", ["transaction", "async_transaction"])
async def test_a_body_that_waits_for_a_connection_when_the_node_stops_has_not_begun(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    late = LateConnections(monkeypatch)

    @horae.job(transaction="read committed", on_shutdown="fail")
    def threaded() -> None: ...

    @horae.job(transaction="read committed", on_shutdown="fail")
    async def looped() -> None: ...

    async with running_node(horae, grace=timedelta(0), timing=SHORT_STOP):
        job = await horae.aio.jobs.start(threaded if isolation == "transaction" else looped)
        await until_set(late.asked)
    late.release.set()
    if isolation == "transaction":
        await until_set(late.closed)  # else its thread opens a connection after all were closed
    left = horae.jobs.get(job.id)
    assert (left.state, left.attempt, left.node_id) == (JobState.PENDING, 0, None)
    assert rows(horae, "SELECT * FROM horae_job_attempts") == []


async def test_a_coroutine_that_is_stopped_before_its_first_step_ends(horae: Horae) -> None:
    """The end is reported, so that its slot is free again."""

    @horae.job
    async def work() -> None: ...

    ended: asyncio.Future[FinishedRun] = asyncio.Future()
    environment = RunEnvironment(horae.components.database, NODE)
    executor = LoopExecutor(asyncio.get_running_loop(), environment)
    claim = claim_of(work.job_type, {})
    run = Attempt(claim, work.job_type, lambda *_: None, executor)
    executor.start(run, lambda _, finished: ended.set_result(finished))
    run.stop(JobCancelled("bob"))
    async with asyncio.timeout(PATIENCE):
        settlement = (await ended).settlement
    assert settlement is not None
    assert settlement.state is JobState.CANCELLED


async def test_a_connection_error_inside_the_body_counts_as_an_attempt(horae: Horae) -> None:
    @horae.job
    def work() -> None:
        raise DBAPIError.instance("", (), psycopg.OperationalError(FULL), psycopg.Error)

    async with running_node(horae, timing=SOON):
        job = await horae.aio.jobs.start(work)
        failed = await until_state(horae, job.id, "failed")
    assert (failed.attempt, FULL in (failed.error or "")) == (1, True)
