"""A node that cannot reach its database, or whose database stood still: which bodies stop, and which nodes count as dead."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from sqlalchemy import text

from horae import Backoff, Horae, JobContext
from horae.domain.cluster import LivenessLimits
from horae.storage.engine import Database
from horae.storage.migrations.runner import upgrade
from tests.harness.applications import attempts_of, rows
from tests.harness.body_log import logged
from tests.harness.checked import findings
from tests.harness.network import Network
from tests.harness.nodes import running_node, until_state
from tests.harness.postgres import THROW_AWAY, PostgresServer
from tests.harness.server_faults import frozen
from tests.harness.waiting import Changes, Record, until_after

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

LIMITS = LivenessLimits(
    beat=0.2, lock=1.0, silence=1.5, last_attempts=20.0, margin=0.5, lock_margin=0.4, gap=0.7
)
AT_ONCE = Backoff(base=timedelta(0), jitter=0)
Fault = Literal["silent", "cut"]


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server that the tests of this module may stop."""
    with PostgresServer(THROW_AWAY) as server:
        yield server


@pytest.fixture
def url(own_server: PostgresServer) -> str:
    url = own_server.create_database()
    with closing(Database(url)) as database:
        upgrade(database)
    return url


@pytest.fixture
def horae(url: str) -> Iterator[Horae]:
    with closing(Horae(url)) as horae:
        yield horae


@pytest.fixture
def network(own_server: PostgresServer) -> Iterator[Network]:
    with Network(own_server.port) as network:
        yield network


class Log:
    """Records what bodies did and when, on one clock."""

    def __init__(self) -> None:
        self.began: dict[int, float] = {}
        self.stopped: dict[int, float] = {}
        self.changed = Changes()

    def declare(self, horae: Horae) -> None:
        @horae.job(max_count=None, max_attempts=5, backoff=AT_ONCE)
        def twin(job: JobContext) -> int:
            """Run until it is stopped, in its first attempt."""
            self.began[job.attempt] = time.monotonic()
            self.changed.notify()
            with logged(job):
                try:
                    while job.attempt == 1:
                        job.check()
                        time.sleep(0.005)
                finally:
                    self.stopped[job.attempt] = time.monotonic()
                    self.changed.notify()
            return job.attempt

        @horae.job(max_count=None)
        async def quick() -> None: ...


@pytest.fixture
async def apart(
    horae: Horae, url: str, network: Network, own_server: PostgresServer
) -> AsyncIterator[Horae]:
    """The same application behind a network that may fail."""
    with closing(Horae(url.replace(str(own_server.port), str(network.port)))) as apart:
        yield apart
        network.resume()


@pytest.mark.parametrize("fault", ["silent", "cut"])
async def test_a_node_out_of_contact_stops_its_bodies_before_others_run_them(
    horae: Horae, apart: Horae, network: Network, body_log: Path, fault: Fault
) -> None:
    log = Log()
    log.declare(horae)
    log.declare(apart)
    async with running_node(apart, liveness=LIMITS, grace=timedelta(0)) as lost:
        job = await horae.aio.jobs.start("twin")
        await until_after(log.changed, lambda: 1 in log.began)
        async with running_node(horae, liveness=LIMITS) as other:
            await asyncio.sleep(LIMITS.silence + 0.5)  # as long as it declares no node dead
            network.silence()
            if fault == "cut":
                network.refuse()
                network.cut()
            assert await horae.aio.jobs.wait(job.id, timeout="30s") == 2
            assert log.stopped[1] < log.began[2]
            assert attempts_of(horae, job.id)[0] == "crashed"
        network.resume()
        again = await horae.aio.jobs.start("quick")  # there is only the connection that was lost
        assert await horae.aio.jobs.wait(again.id, timeout="30s") is None
        assert other.id != lost.id
    assert findings(horae.components.database, body_log) == []


async def test_a_body_that_waits_for_a_silent_database_is_stopped_as_well(
    horae: Horae, apart: Horae, network: Network
) -> None:
    """Its thread hears of no order while it waits for a reply, which may never arrive: its slot would stay taken."""
    log, silent = Log(), threading.Event()

    @apart.job(transaction="read committed", max_attempts=2, backoff=AT_ONCE)
    def asking(job: JobContext) -> None:
        log.began[job.attempt] = time.monotonic()
        log.changed.notify()
        silent.wait(30)
        try:
            job.connection.execute(text("SELECT 1"))
        finally:
            log.stopped[job.attempt] = time.monotonic()
            log.changed.notify()

    async with running_node(apart, liveness=LIMITS, concurrency=1, grace=timedelta(0)):
        job = await apart.aio.jobs.start(asking)
        await until_after(log.changed, lambda: 1 in log.began)
        network.silence()
        silent.set()
        await until_after(log.changed, lambda: 1 in log.stopped)
        network.resume()
        assert (await until_state(horae, job.id, "finished", "failed")).state == "finished"


async def test_a_silent_database_does_not_hold_a_node_that_is_told_to_stop(
    horae: Horae, apart: Horae, network: Network, caplog: pytest.LogCaptureFixture, body_log: Path
) -> None:
    log = Log()
    log.declare(apart)
    async with running_node(apart, liveness=LIMITS, grace=timedelta(seconds=0.2)) as node:
        job = await apart.aio.jobs.start("twin")
        await until_after(log.changed, lambda: 1 in log.began)
        network.silence()
        node.stop()
        began = time.monotonic()
    assert time.monotonic() - began < 0.2 + 5
    assert (
        f"the results of 1 job could not be written, because the database does not answer; another node will find these jobs unfinished: {job.id}"
        in caplog.text
    )
    network.resume()
    assert findings(horae.components.database, body_log, over=False) == []


@pytest.mark.parametrize("fault", ["frozen", "restarted"])
async def test_no_node_is_declared_dead_while_the_server_is_unavailable(
    horae: Horae, url: str, own_server: PostgresServer, body_log: Path, fault: str
) -> None:
    release, ran = threading.Event(), Record[int]()
    with closing(Horae(url)) as other:
        for one in (horae, other):

            @one.job(max_count=None)
            def work(job: JobContext) -> None:
                with logged(job):
                    ran.append(job.id)
                    release.wait(30)

        async with (
            running_node(horae, liveness=LIMITS, concurrency=2) as a,
            running_node(other, liveness=LIMITS, concurrency=2) as b,
        ):
            ids = await horae.aio.jobs.start_many("work", [{}] * 4)
            await ran.reaches(4)
            await asyncio.sleep(LIMITS.silence + 0.5)  # as long as they declare no node dead
            before = {a.id, b.id}
            if fault == "frozen":
                with frozen(own_server):
                    await asyncio.sleep(LIMITS.silence * 1.3)
            else:
                await asyncio.to_thread(own_server.halt)
                await asyncio.sleep(LIMITS.silence * 1.3)
                await asyncio.to_thread(own_server.start)
            release.set()
            for job_id in ids:
                await until_state(horae, job_id, "finished", "failed")
            assert [attempts_of(horae, job_id) for job_id in ids] == [["finished"]] * 4
            assert {a.id, b.id} == before
    assert findings(horae.components.database, body_log) == []


async def test_stopped_jobs_run_again_when_the_server_is_back(
    horae: Horae, own_server: PostgresServer, body_log: Path
) -> None:
    """No other node has claimed the job meanwhile, so its own node releases it."""
    log = Log()
    log.declare(horae)
    async with running_node(horae, liveness=LIMITS) as node:
        job = await horae.aio.jobs.start("twin")
        await until_after(log.changed, lambda: 1 in log.began)
        incarnation = node.id
        with frozen(own_server):
            await until_after(log.changed, lambda: 1 in log.stopped)
        assert await horae.aio.jobs.wait(job.id, timeout="30s") == 2
        assert attempts_of(horae, job.id) == ["failed", "finished"]
        assert node.id == incarnation
        [(error,)] = rows(horae, "SELECT error FROM horae_job_attempts WHERE outcome = 'failed'")
        assert (
            error
            == "the node lost contact with its database and stopped the job before others might run it"
        )
    assert findings(horae.components.database, body_log) == []
