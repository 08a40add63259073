"""The database becomes unavailable while nodes work, and available again: nothing is lost, nothing ends twice."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from horae import Backoff, Horae, JobContext, JobState
from horae.runtime.claims.lost_replies import LostReplies
from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from horae.storage.nodes import nodes
from horae.storage.nodes.nodes import NodeRecord
from tests.harness.applications import attempts_of, execute, rows
from tests.harness.figures import figure
from tests.harness.nodes import running_node, until, until_set, until_state
from tests.harness.postgres import THROW_AWAY, PostgresServer, StopMode
from tests.harness.waiting import Record

pytestmark = pytest.mark.postgres

AT_ONCE = Backoff(base=timedelta(0), jitter=0)


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server that the tests of this module may stop."""
    with PostgresServer(THROW_AWAY) as server:
        yield server


@pytest.fixture
def horae(own_server: PostgresServer) -> Iterator[Horae]:
    url = own_server.create_database()
    with closing(Database(url)) as database:
        upgrade(database)
    with closing(Horae(url)) as horae:
        yield horae


async def back(horae: Horae) -> None:
    """Wait until the application reaches its database again: what it had open died with the server."""

    async def answers() -> bool:
        try:
            await horae.aio.jobs.count()
        except Exception:  # noqa: BLE001 - whatever the driver makes of a server that is not there
            return False
        return True

    await until(answers)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_every_job_finishes_once(
    horae: Horae, own_server: PostgresServer, mode: StopMode
) -> None:
    jobs, ran = 400, Counter[int]()

    @horae.job(max_attempts=20, backoff=AT_ONCE)
    async def count(number: int) -> None:
        await asyncio.sleep(0.01)
        ran[number] += 1

    async with running_node(horae, concurrency=8):
        await horae.aio.jobs.start_many(count, [{"number": number} for number in range(jobs)])
        await until(lambda: len(ran) >= 40)
        await asyncio.to_thread(own_server.restart, mode)
        await back(horae)

        async def all_over() -> bool:
            return (await horae.aio.jobs.count()).get(JobState.FINISHED) == jobs

        await until(all_over, within=40)
    assert sorted(ran) == list(range(jobs))
    finished = rows(horae, "SELECT job_id FROM horae_job_attempts WHERE outcome = 'finished'")
    assert len(finished) == len(set(finished)) == jobs
    twice = sum(1 for times in ran.values() if times > 1)
    figure(f"bodies that ran twice around a {mode} restart: {twice} of {jobs}")
    assert rows(horae, "SELECT id FROM horae_jobs WHERE node_id IS NOT NULL") == []


async def test_running_bodies_continue_and_are_settled_later(
    horae: Horae, own_server: PostgresServer
) -> None:
    begun, release = threading.Event(), threading.Event()

    @horae.job
    def work(job: JobContext) -> str:
        begun.set()
        release.wait(30)
        for _ in range(100):
            job.progress.increment(label="goes on")
        return "done"

    async with running_node(horae) as node:
        job = await horae.aio.jobs.start(work)
        await until_set(begun)
        incarnation = node.id
        await asyncio.to_thread(own_server.halt)
        release.set()
        await asyncio.to_thread(own_server.start)
        await back(horae)
        done = await until_state(horae, job.id, "finished", "failed", within=30)
        assert node.id == incarnation
    assert (done.result, attempts_of(horae, job.id)) == ("done", ["finished"])


async def test_hints_and_heartbeats_resume(horae: Horae, own_server: PostgresServer) -> None:
    @horae.job
    async def work() -> int:
        return 1

    async with running_node(horae) as node:
        job = await horae.aio.jobs.start(work)
        assert await horae.aio.jobs.wait(job.id, timeout="20s") == 1
        await asyncio.to_thread(own_server.restart)
        await back(horae)
        await until(lambda: horae.components.wakeup.connected, within=30)
        before = rows(horae, "SELECT heartbeat_at FROM horae_nodes")
        await until(lambda: rows(horae, "SELECT heartbeat_at FROM horae_nodes") > before)
        assert [str(node_id) for (node_id,) in rows(horae, "SELECT id FROM horae_nodes")] == [
            node.id
        ]
        job = await horae.aio.jobs.start(work)
        assert await horae.aio.jobs.wait(job.id, timeout="20s") == 1


async def test_a_node_that_was_declared_dead_starts_again_once_it_can(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure for which it was declared dead may not be over; `horae run` must not end because of that."""
    register, refused = nodes.register, Record[str]()

    def refuse_twice(connection: Connection, record: NodeRecord) -> None:
        if len(refused) < 2:
            refused.append(record.id)
            raise OperationalError(
                "INSERT", {}, psycopg.OperationalError("server login has been failing")
            )
        register(connection, record)

    @horae.job
    async def work() -> int:
        return 1

    async with running_node(horae) as node:
        before = node.id
        monkeypatch.setattr(nodes, "register", refuse_twice)
        execute(horae, "DELETE FROM horae_nodes")
        await until(lambda: rows(horae, "SELECT 1 FROM horae_nodes"))
        job = await horae.aio.jobs.start(work)
        assert await horae.aio.jobs.wait(job.id, timeout="20s") == 1
        assert len({before, node.id, *refused}) == 4


async def test_what_a_node_has_begun_after_it_was_declared_dead_is_not_begun_again(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody had rescued it, and a search for claims whose answers were lost must not find it."""
    monkeypatch.setattr(LostReplies, "are_possible", True)
    begun = Record[int]()

    @horae.job
    async def work(job: JobContext) -> None:
        begun.append(job.claim.lease)
        await asyncio.Event().wait()

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await begun.reaches(1)
        execute(horae, "DELETE FROM horae_nodes")
        await until_state(horae, job.id, "failed")
    assert begun == [1]
    assert attempts_of(horae, job.id) == ["crashed"]


async def test_a_transaction_that_dies_with_the_server_is_run_again(
    horae: Horae, own_server: PostgresServer
) -> None:
    begun, release = threading.Event(), threading.Event()
    with horae.components.database.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE effects (job BIGINT NOT NULL)")

    @horae.job(transaction="read committed", max_attempts=2, backoff=AT_ONCE)
    def work(job: JobContext) -> int:
        job.connection.exec_driver_sql(f"INSERT INTO effects VALUES ({job.id})")
        begun.set()
        release.wait(30)
        return job.attempt

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await until_set(begun)
        await asyncio.to_thread(own_server.restart, "immediate")
        release.set()
        await back(horae)
        done = await until_state(horae, job.id, "finished", "failed", within=30)
    assert (done.result, attempts_of(horae, job.id)) == (2, ["failed", "finished"])
    assert rows(horae, "SELECT job FROM effects") == [(job.id,)]


async def test_a_cancel_outlives_the_loss_of_the_live_store(
    horae: Horae, own_server: PostgresServer
) -> None:
    """The unlogged tables are empty after a crash of the server; the row is not."""
    begun, deaf = threading.Event(), threading.Event()

    @horae.job
    def work(job: JobContext) -> None:
        begun.set()
        deaf.wait(30)
        while True:
            job.check()

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await until_set(begun)
        await horae.aio.jobs.cancel(job.id)
        await asyncio.to_thread(own_server.restart, "immediate")
        deaf.set()
        await back(horae)

        async def stopped() -> bool:
            return not (await horae.aio.jobs.get(job.id)).occupied

        await until(stopped, within=30)
    assert attempts_of(horae, job.id) == ["cancelled"]
