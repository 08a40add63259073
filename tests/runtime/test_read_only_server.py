"""The server takes no writes for a while, as during a fail-over: no end is forgotten and no body runs twice."""

import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial

import pytest

from horae import DatabaseUnavailable, Horae
from horae.errors import DatabaseReadOnly
from horae.runtime.timing import Timing, WorkerTiming
from horae.storage.engine.database import Database
from tests.harness.applications import attempts_of, rows
from tests.harness.nodes import running_node, signals_of, until, until_set, until_state
from tests.harness.waiting import until_logged

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.own_sessions,  # else one that began meanwhile, and is read-only, would be kept
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]


@contextmanager
def read_only(database: Database) -> Generator[None]:
    """No session of this database writes in the block; those that are open are ended, so that they come back."""
    set_read_only(database, "on")
    try:
        yield
    finally:
        set_read_only(database, "off")


def set_read_only(database: Database, value: str) -> None:
    name = database.url.database
    with database.own_connection() as connection:
        connection.exec_driver_sql("SET default_transaction_read_only = off")
        connection.exec_driver_sql(
            f"ALTER DATABASE {name} SET default_transaction_read_only = {value}"
        )
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = '{name}' AND pid <> pg_backend_pid()"
        )


async def succeeds(call: Callable[[], Awaitable[object]]) -> bool:
    """Try it: the connections of this process were ended with the others."""
    try:
        await call()
    except (DatabaseUnavailable, DatabaseReadOnly):  # from a session that began just before
        return False
    return True


async def test_the_end_of_a_body_is_written_when_that_is_possible_again(
    horae: Horae, caplog: pytest.LogCaptureFixture
) -> None:
    begun, release = threading.Event(), threading.Event()
    bodies = Counter[str]()

    @horae.job
    def work() -> str:
        bodies["begun"] += 1
        begun.set()
        release.wait(30)
        return "done"

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await until_set(begun)
        with read_only(horae.components.database):
            # Else the result may be the first that meets a session which was ended.
            await until_logged(caplog, "the heartbeat cannot be written, because the database acc")
            release.set()
            await until_logged(caplog, "1 result not written yet: the database accepts no")
        await until(lambda: succeeds(lambda: horae.aio.jobs.get(job.id)))
        done = await until_state(horae, job.id, "finished", "failed")
    assert (done.result, attempts_of(horae, job.id), bodies["begun"]) == ("done", ["finished"], 1)


async def test_a_begun_job_is_never_handed_back_as_orphaned(
    horae: Horae, caplog: pytest.LogCaptureFixture
) -> None:
    """Claims fail as well, so that the node looks for jobs that it holds and knows nothing of."""
    begun, release = threading.Event(), threading.Event()
    ran = Counter[int]()

    @horae.job(max_count=None)
    def work(number: int) -> None:
        ran[number] += 1
        if len(ran) == 4:
            begun.set()
        release.wait(30)

    async with running_node(
        horae, concurrency=5, timing=Timing(worker=WorkerTiming(prefetched_for=0.2))
    ) as node:
        await horae.aio.jobs.start_many(work, [{"number": number} for number in range(4)])
        await until_set(begun)
        with read_only(horae.components.database):
            release.set()
            signals_of(node).work.send()  # hints on Redis do not notice that connections were lost
            await until(
                lambda: (
                    "no jobs can be claimed" in caplog.text or "the next job is due" in caplog.text
                )
            )
            await until_logged(caplog, "not written yet")
        await until(partial(succeeds, lambda: horae.aio.jobs.start(work, number=4)))
        await until(lambda: succeeds(lambda: horae.aio.jobs.wait(5, timeout="20s")))
        await until(lambda: rows(horae, "SELECT DISTINCT state FROM horae_jobs") == [("finished",)])
        assert node.id in {str(node_id) for (node_id,) in rows(horae, "SELECT id FROM horae_nodes")}
    assert sorted(ran.items()) == [(number, 1) for number in range(5)]
    assert len(rows(horae, "SELECT 1 FROM horae_job_attempts")) == 5
