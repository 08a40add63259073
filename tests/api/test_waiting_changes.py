"""Changes that wait for a lock of another transaction delay neither reads nor cancels."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager

import httpx
import pytest

from horae import Horae, JobContext
from horae.storage.engine.caller_threads import CallerThreads, ChangeLimits, Use
from horae.storage.engine.database import Database
from tests.api.clients import application_of, client_of, error_of
from tests.harness.applications import own_engine
from tests.harness.nodes import running_node, until
from tests.harness.waiting import PATIENCE

CHANGES = 20
"""More than there are threads for."""

READS = ["/api/jobs/", "/readyz", "/api/overview/", "/api/schedules/", "/api/queues/", "/metrics"]


@contextmanager
def locked(database: Database, table: str) -> Generator[None]:
    """Another transaction writes, and does not end."""
    lock = (
        "BEGIN IMMEDIATE"
        if database.dialect == "sqlite"
        else f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"
    )
    with own_engine(database) as engine, engine.connect() as connection:
        connection.exec_driver_sql(lock)
        yield
        connection.rollback()


@pytest.fixture
def begun() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
def stopped() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
def root(horae: Horae, begun: asyncio.Event, stopped: asyncio.Event) -> httpx.AsyncClient:
    @horae.job(public=True, max_count=None)
    def mail() -> None: ...

    @horae.job(max_count=None)
    async def waits(job: JobContext) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    return client_of(application_of(horae), "root")


def waiting(horae: Horae) -> int:
    return horae.components.database.caller_threads.waiting(Use.CHANGE)


async def test_reads_are_answered_while_changes_wait(
    horae: Horae, root: httpx.AsyncClient, database: Database
) -> None:
    async with asyncio.TaskGroup() as group:
        with locked(database, "horae_jobs"):
            changes = [
                group.create_task(root.post("/api/jobs/types/mail/", json={}))
                for _ in range(CHANGES)
            ]
            await until(lambda: waiting(horae) == CHANGES - 8)
            for path in READS:
                async with asyncio.timeout(PATIENCE):
                    assert (await root.get(path)).status_code == 200, path
            assert not any(change.done() for change in changes)
    assert {change.result().status_code for change in changes} == {202}


async def test_a_cancel_reaches_the_body_while_other_changes_wait(
    horae: Horae,
    root: httpx.AsyncClient,
    database: Database,
    begun: asyncio.Event,
    stopped: asyncio.Event,
) -> None:
    async with running_node(horae), asyncio.TaskGroup() as group:
        job = await horae.aio.jobs.start("waits")
        await begun.wait()
        with locked(database, "horae_queues"):
            changes = [
                group.create_task(root.post("/api/queues/q/pause/", json={}))
                for _ in range(CHANGES)
            ]
            await until(lambda: waiting(horae) == CHANGES - 8)
            cancel = group.create_task(root.post(f"/api/jobs/{job.id}/cancel/"))
            async with asyncio.timeout(PATIENCE):
                await stopped.wait()
            assert not any(change.done() for change in changes)
    assert cancel.result().json()["state"] == "cancelled"


async def test_a_change_is_refused_at_once_where_many_wait_and_none_ends(
    horae: Horae, root: httpx.AsyncClient, database: Database
) -> None:
    limits = ChangeLimits(most_waiting=2, stalled_after=0.0)
    horae.components.database.caller_threads = CallerThreads(8, limits)
    async with asyncio.TaskGroup() as group:
        with locked(database, "horae_jobs"):
            changes = [
                group.create_task(root.post("/api/jobs/types/mail/", json={})) for _ in range(10)
            ]
            await until(lambda: waiting(horae) == 2)
            async with asyncio.timeout(PATIENCE):
                refused = await root.post("/api/jobs/types/mail/", json={})
            assert error_of(refused) == (503, "ERROR_UNAVAILABLE")
            assert "retry-after" in refused.headers
    assert {change.result().status_code for change in changes} == {202}


async def test_a_line_of_changes_that_moves_may_be_long(database: Database) -> None:
    release = threading.Event()
    async with asyncio.TaskGroup() as group:
        calls = [
            group.create_task(database.in_thread(release.wait, Use.CHANGE)) for _ in range(300)
        ]
        await until(lambda: database.caller_threads.waiting(Use.CHANGE) == 300 - 8)
        release.set()
    assert all(call.result() for call in calls)
