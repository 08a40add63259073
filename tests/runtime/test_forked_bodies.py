"""A body that calls `os.fork` leaves no second node behind, and harms nothing that is the node's."""

import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from horae import Horae, JobContext
from horae.runtime.liveness.membership import LifeLock
from horae.storage.engine.sqlite.file_lock import is_abandoned
from tests.harness.applications import attempts_of, execute, rows
from tests.harness.nodes import running_node, until_state

pytestmark = pytest.mark.one_database


def forked() -> int:
    """Fork, as a body might; newer Pythons warn of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def code_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


async def test_the_child_ends_with_the_body(horae: Horae) -> None:
    @horae.job
    def returning() -> int:
        child = forked()
        return code_of(child) if child else 0

    @horae.job
    def failing() -> int:
        child = forked()
        if not child:
            raise SystemExit(7)
        return code_of(child)

    @horae.job
    async def coroutine() -> int:
        child = forked()
        return code_of(child) if child else 0

    async with running_node(horae) as node:
        for kind, expected in (("returning", 0), ("failing", 7), ("coroutine", 0)):
            job = await horae.aio.jobs.start(kind)
            done = await until_state(horae, job.id, "finished", "failed")
            assert (done.result, attempts_of(horae, job.id)) == (expected, ["finished"])
        assert rows(horae, "SELECT id FROM horae_nodes") == [(node.id,)]


async def test_a_transaction_stays_the_parents(horae: Horae) -> None:
    execute(horae, "CREATE TABLE effects (job BIGINT NOT NULL)")

    @horae.job(transaction="read committed")
    def work(job: JobContext) -> int:
        job.connection.execute(text("INSERT INTO effects VALUES (:job)"), {"job": job.id})
        child = forked()
        return code_of(child) if child else 0

    async with running_node(horae):
        for _ in range(2):
            job = await horae.aio.jobs.start(work)
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == 0
            assert rows(horae, "SELECT count(*) FROM effects WHERE job = :job", job=job.id) == [
                (1,)
            ]


@pytest.mark.postgres
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_the_child_cannot_speak_for_the_node(horae: Horae) -> None:
    """What it inherited of the node's connections leads nowhere."""

    @horae.job(transaction="read committed")
    def work(job: JobContext) -> int:
        child = forked()
        if not child:
            job.connection.execute(text("SELECT 1"))
        return code_of(child)

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        assert await horae.aio.jobs.wait(job.id, timeout="20s") == 1


@contextmanager
def lasting_child(lock: LifeLock) -> Generator[None]:
    ends, told = os.pipe()
    tells, ready = os.pipe()
    child = forked()
    if not child:
        os.close(told)
        lock.abandon()
        os.write(ready, b".")
        os.read(ends, 1)
        os._exit(0)
    try:
        os.read(tells, 1)
        yield
    finally:
        for end in (ends, told, tells, ready):
            os.close(end)
        assert code_of(child) == 0


def test_a_child_that_lives_on_does_not_hold_the_lock_of_the_node(tmp_path: Path) -> None:
    file = tmp_path / "node.lock"
    lock = LifeLock(file)
    lock.take()
    with lasting_child(lock):
        assert not is_abandoned(file)
        lock.release()
        assert is_abandoned(file)
