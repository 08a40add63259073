"""Other clients have taken every connection that the server gives: a node that works is not taken for dead.

`superuser_reserved_connections` are not for nodes, so the nodes of these tests are no superusers.
"""

import asyncio
import threading
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Final, LiteralString

import psycopg
import pytest

from horae import Horae
from horae.domain.cluster.liveness import LivenessLimits
from horae.errors import DatabaseUnavailable
from horae.runtime.liveness import heartbeat
from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.harness.applications import attempts_of, rows
from tests.harness.nodes import running_node, until, until_set
from tests.harness.postgres import THROW_AWAY, PostgresServer
from tests.harness.waiting import until_stored

pytestmark = pytest.mark.postgres

MOST: Final = 40
LIMITS: Final = LivenessLimits(
    beat=0.2, lock=1.2, silence=1.5, last_attempts=4.0, margin=0.5, lock_margin=0.5, gap=0.8
)


@pytest.fixture(scope="module")
def small_server() -> Iterator[PostgresServer]:
    with PostgresServer(
        {**THROW_AWAY, "max_connections": str(MOST), "superuser_reserved_connections": "3"}
    ) as server:
        administer(server.url(), "CREATE ROLE app LOGIN")
        yield server


def administer(url: str, statement: LiteralString, *values: object) -> list[tuple[object, ...]]:
    """As a superuser, who is given the reserved connections."""
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        cursor = connection.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def url(small_server: PostgresServer) -> str:
    """A database whose owner is an ordinary user, to whom the reserved connections are not given."""
    url = small_server.create_database()
    administer(url, "GRANT ALL ON SCHEMA public TO app")
    url = url.replace("postgres@", "app@")
    with closing(Database(url)) as database:
        upgrade(database)
    return url


@contextmanager
def used_up(url: str) -> Generator[threading.Event]:
    """Other clients hold whatever connection becomes free; the event is set once there is none."""
    full, over = threading.Event(), threading.Event()

    def take() -> None:
        with ExitStack() as taken:
            while not over.is_set():
                try:
                    taken.enter_context(psycopg.connect(url.replace("+psycopg", "")))
                except psycopg.OperationalError:
                    full.set()
                    over.wait(0.002)

    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield full
    finally:
        over.set()
        thread.join()


class Work:
    """A job that lasts until it is released, beside many that end at once."""

    def __init__(self, horae: Horae) -> None:
        self.release, self.ended, self._horae = threading.Event(), 0, horae

        @horae.job(max_count=None, max_attempts=2)
        def lasting() -> None:
            self.release.wait(30)

        @horae.job(max_count=None)
        async def brief() -> None:
            self.ended += 1

    async def go_on(self, seconds: float) -> None:
        """Start brief ones for so long."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            with suppress(
                DatabaseUnavailable
            ):  # its connection may be in use, and there is no other
                await self._horae.aio.jobs.start("brief")
            await asyncio.sleep(0.05)


async def test_a_node_that_settles_jobs_is_not_declared_dead(
    url: str, small_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Its heartbeat's own connection has been dropped, and no new one can be had for longer than others wait."""
    with closing(Horae(url)) as horae, closing(Horae(url)) as other:
        work = Work(horae)
        async with (
            running_node(other, liveness=LIMITS),
            running_node(horae, liveness=LIMITS, concurrency=2) as node,
        ):
            incarnation = node.id
            job = await horae.aio.jobs.start("lasting")
            await work.go_on(LIMITS.silence)  # for so long the other judges nobody
            await until(
                lambda: (
                    len(rows(horae, "SELECT pid FROM pg_locks WHERE locktype = 'advisory'")) == 2
                )
            )
            with used_up(url) as full:
                await until_set(full)
                drop_heartbeat(small_server, horae, incarnation)
                await work.go_on(1.5 * LIMITS.silence)
            work.release.set()
            await until_stored(horae, lambda: attempts_of(horae, job.id))
            assert "the heartbeat cannot be written" in caplog.text
            assert "is dead" not in caplog.text
            assert "no contact with the database" not in caplog.text
            assert attempts_of(horae, job.id) == ["finished"]
            assert node.id == incarnation


def nowhere(_self: object) -> None:
    """In the place of a beat."""


async def test_settling_counts_as_a_heartbeat(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a thread that should beat in the helper's place is refused each connection, as others are quicker."""
    monkeypatch.setattr(heartbeat.Heartbeat, "_beat_here", nowhere)
    monkeypatch.setattr(heartbeat, "start_helper", lambda *_: None)
    with closing(Horae(url)) as horae:

        @horae.job(max_count=None)
        async def brief() -> None: ...

        async with running_node(horae, liveness=LIMITS):
            before = beaten(horae)
            await until(lambda: clock_of(horae) - before > LIMITS.beat * 2)
            assert beaten(horae) == before
            job = await horae.aio.jobs.start(brief)
            await horae.aio.jobs.wait(job.id, timeout="20s")
            assert beaten(horae) > before


def beaten(horae: Horae) -> float:
    [(moment,)] = rows(horae, "SELECT extract(epoch FROM heartbeat_at) FROM horae_nodes")
    return float(moment)


def clock_of(horae: Horae) -> float:
    [(moment,)] = rows(horae, "SELECT extract(epoch FROM clock_timestamp())")
    return float(moment)


def drop_heartbeat(server: PostgresServer, horae: Horae, node: str | None) -> None:
    """End the connection on which this node's helper beats: the one that holds the node's lock."""
    [(key,)] = rows(horae, "SELECT lock_key FROM horae_nodes WHERE id = :node", node=node)
    ended = administer(
        server.url(),
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 "
        "AND ((classid::bigint << 32) | objid::bigint) = %s",
        key,
    )
    assert ended == [(True,)]
