"""A pooler in transaction mode before the server, which is killed, paused and told to reconnect while nodes work."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import text

from horae import Backoff, Horae, JobContext
from horae.domain.cluster import LivenessLimits
from horae.storage.engine import Database
from tests.harness.applications import attempts_of, execute, rows, url_of
from tests.harness.body_log import logged
from tests.harness.chaos import Chaos
from tests.harness.checked import findings
from tests.harness.fault_application import SCHEMA, fault_application
from tests.harness.nodes import running_node, until, until_state
from tests.harness.pgbouncer import PgBouncer
from tests.harness.postgres import PostgresServer
from tests.harness.rolling_restart import restart_one_by_one
from tests.harness.waiting import Record
from tests.runtime.test_heartbeat import heartbeat_of

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.pooler(default_pool_size=16)]

SEED: Final = 20260101
SILENCE: Final = 2.0
"""Seconds after which a node counts as dead."""
UNFINISHED: Final = "SELECT 1 FROM horae_jobs WHERE finished_at IS NULL"
SOON: Final = Backoff(base=timedelta(seconds=0.2), cap=timedelta(seconds=1))
PATIENT: Final = LivenessLimits(
    beat=0.2, lock=0.6, silence=6.0, margin=1.0, lock_margin=0.2, gap=3.0
)
"""LivenessLimits of nodes that a free lock would condemn long before their silence does."""


@pytest.fixture
def database(pooled_url: str) -> Iterator[Database]:
    with closing(Database(pooled_url)) as database:
        yield database


def test_nothing_is_lost_or_repeated_whatever_happens_to_the_pooler(
    database: Database, pooler: PgBouncer, tmp_path: Path
) -> None:
    with Chaos(database, tmp_path, SEED, nodes=2, silence=SILENCE) as chaos:
        chaos.feed()
        with pooler.away():
            time.sleep(SILENCE / 4)
        chaos.feed()
        with pooler.paused():
            time.sleep(SILENCE * 1.5)
        chaos.feed()
        pooler.command("RECONNECT")
        chaos.kill_quickly()
        with pooler.away():
            time.sleep(SILENCE * 1.5)
        chaos.feed()
        with pooler.frozen():
            time.sleep(SILENCE * 1.5)
        chaos.finish()
        assert chaos.findings(interrupted=True) == []
        assert not chaos.horae.audit().findings


async def test_a_body_outlives_a_restart_of_the_pooler(
    database: Database, pooler: PgBouncer, body_log: Path
) -> None:
    """The node holds no lock that other nodes could see free, so only its silence counts."""
    release, began = threading.Event(), Record[int]()
    with closing(Horae(url_of(database))) as horae:

        @horae.job(max_attempts=5)
        def lasting(job: JobContext) -> int:
            with logged(job):
                began.append(job.attempt)
                while not release.wait(0.01):
                    job.check()
            return job.attempt

        async with running_node(horae, liveness=PATIENT) as node:
            job = await horae.aio.jobs.start(lasting)
            await began.reaches(1)
            await until(
                lambda: vars(heartbeat_of(node))["_helper_beat_at"] > 0
            )  # its process has connected
            with pooler.away():
                await asyncio.sleep(4 * PATIENT.lock)
            release.set()
            await until_state(horae, job.id, "finished")
        assert attempts_of(horae, job.id) == ["finished"]
    assert findings(database, body_log) == []


def test_a_rolling_restart_loses_and_repeats_nothing(
    database: Database, tmp_path: Path, body_log: Path
) -> None:
    done = restart_one_by_one(database, tmp_path, types=("threaded", "looped", "fragile"))
    assert set(done.exit_codes) == {0}
    assert done.states == {"finished": done.jobs}
    assert done.attempts == {"finished": done.jobs}
    assert findings(database, body_log) == []


class TestUsedUpSessions:
    """Bodies hold a session of the server for as long as their transaction lasts."""

    @pytest.fixture
    async def horae(self, postgres_server: PostgresServer, direct_url: str) -> AsyncIterator[Horae]:
        with (
            PgBouncer(postgres_server.port, default_pool_size=2, query_wait_timeout=1) as pooler,
            closing(fault_application(pooler.url(direct_url))) as horae,
        ):
            execute(horae, SCHEMA)
            yield horae

    async def test_jobs_that_got_none_in_time_run_later(
        self, horae: Horae, direct_url: str, body_log: Path
    ) -> None:
        """PgBouncer ends the connections of those that have waited for longer than `query_wait_timeout`.

        The test looks at the jobs past the pooler: whoever asks it may wait for too long as well.
        """

        @horae.job(max_count=None, transaction="read committed", max_attempts=100, backoff=SOON)
        def slow(job: JobContext) -> None:
            with logged(job):
                job.connection.execute(text("SELECT pg_sleep(0.7)"))

        # Before the bodies take all sessions: a caller may wait for one too long as well.
        ids = await horae.aio.jobs.start_many(slow, [{}] * 8)
        ids += await horae.aio.jobs.start_many("threaded", [{"seed": 1}] * 10)
        with closing(Horae(direct_url)) as direct:
            async with running_node(horae, concurrency=8, liveness=PATIENT):
                await until(lambda: not rows(direct, UNFINISHED), within=60)
        assert {horae.jobs.get(id_).state for id_ in ids} == {"finished"}
        assert rows(horae, "SELECT count(*) FROM effects") == [(10,)]
        assert findings(horae.components.database, body_log) == []
