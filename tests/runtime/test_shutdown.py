"""The shutdown of a node: it stops claiming, lets bodies finish, then stops them, and unregisters last."""

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest

from horae import Backoff, Horae, JobContext, JobState
from horae.runtime.timing import ShutdownTiming, Timing
from horae.storage.engine.database import Database
from tests.harness.applications import application, attempts_of, rows
from tests.harness.nodes import running_node, until_set, until_state
from tests.harness.waiting import PATIENCE

pytestmark = pytest.mark.one_database

NO_TIME = timedelta(0)
SHORT = Timing(shutdown=ShutdownTiming(last_words=0.3))


def nodes(horae: Horae) -> list[Any]:
    return rows(horae, "SELECT id FROM horae_nodes")


async def test_bodies_finish_within_the_grace_and_nothing_new_begins(horae: Horae) -> None:
    begun, release = threading.Event(), threading.Event()

    @horae.job
    def work() -> str:
        begun.set()
        release.wait(20)
        return "done"

    @horae.job
    def late() -> None: ...

    async with running_node(horae, grace=timedelta(seconds=20), timing=SHORT) as node:
        job = await horae.aio.jobs.start(work)
        await until_set(begun)
        node.stop()
        waiting = await horae.aio.jobs.start(late)
        assert len(nodes(horae)) == 1  # it leaves last
        release.set()
    assert nodes(horae) == []
    assert (horae.jobs.get(job.id).result, horae.jobs.get(waiting.id).state) == (
        "done",
        JobState.PENDING,
    )


@pytest.mark.parametrize("max_attempts", [1, 2])
async def test_after_the_grace_bodies_are_stopped_and_settled(
    horae: Horae, max_attempts: int
) -> None:
    begun = threading.Barrier(3)

    @horae.job(max_attempts=max_attempts)
    def threaded(job: JobContext) -> None:
        begun.wait(20)
        while True:
            job.check()

    @horae.job(max_attempts=max_attempts)
    async def looped() -> None:
        await asyncio.to_thread(begun.wait, 20)
        await asyncio.Event().wait()

    async with running_node(horae, grace=NO_TIME, timing=SHORT) as node:
        ids = [(await horae.aio.jobs.start(kind)).id for kind in (threaded, looped)]
        await asyncio.to_thread(begun.wait, 20)
        node.stop()
    for job_id in ids:
        job = horae.jobs.get(job_id)
        assert attempts_of(horae, job_id) == ["interrupted"]
        assert job.state is (JobState.FAILED if max_attempts == 1 else JobState.PENDING)
        if max_attempts == 1:
            assert job.human_readable_error == "This job was interrupted; please start it again."
            assert "declare on_shutdown='requeue'" in str(job.error)
        else:
            assert (job.attempt, job.retry_reason) == (0, "the node stopped before the job ended")
    assert nodes(horae) == []


async def test_the_log_says_how_long_it_was_waited_for_a_body(
    horae: Horae, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()

    @horae.job
    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    async with running_node(horae, grace=timedelta(seconds=0.2), timing=SHORT) as node:
        await horae.aio.jobs.start(endless)
        await until_set(begun)
        node.stop()
    assert "1 job did not end within 0.2 s" in caplog.messages


@pytest.mark.parametrize("kind", ["thread", "coroutine"])
async def test_a_body_that_ignores_every_order_does_not_keep_the_node(
    horae: Horae, kind: str
) -> None:
    begun, release, over = threading.Event(), threading.Event(), threading.Event()

    @horae.job
    def thread() -> str:
        begun.set()
        release.wait(20)
        over.set()
        return "too late"

    @horae.job
    async def coroutine() -> str:
        begun.set()
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        over.set()
        return "too late"

    async with asyncio.timeout(PATIENCE), running_node(horae, grace=NO_TIME, timing=SHORT) as node:
        job = await horae.aio.jobs.start(kind)
        await until_set(begun)
        node.stop()
    assert nodes(horae) == []
    left = horae.jobs.get(job.id)
    assert (left.state, left.occupied) == (JobState.FAILED, False)
    release.set()
    await until_set(over)
    assert horae.jobs.get(job.id) == left
    assert attempts_of(horae, job.id) == ["interrupted"]


async def test_a_cancel_during_the_grace_is_a_cancel(horae: Horae) -> None:
    begun = threading.Event()

    @horae.job
    def work(job: JobContext) -> None:
        begun.set()
        while True:
            job.check()

    async with running_node(horae, grace=timedelta(seconds=20), timing=SHORT) as node:
        job = await horae.aio.jobs.start(work)
        await until_set(begun)
        node.stop()
        await horae.aio.jobs.cancel(job.id)
    assert horae.jobs.get(job.id).state is JobState.CANCELLED
    assert attempts_of(horae, job.id) == ["cancelled"]


async def test_a_node_whose_task_is_cancelled_does_not_count_as_alive(
    horae: Horae, database: Database
) -> None:
    """As when a web server ends its tasks: another node takes over at once."""
    begun, stopped = threading.Event(), threading.Event()

    @horae.job(max_attempts=2, backoff=Backoff(base=timedelta(0), jitter=0))
    def work(job: JobContext) -> int:
        begun.set()
        while job.attempt == 1:
            try:
                job.check()
            except BaseException:
                stopped.set()
                raise
        return job.attempt

    node = horae.node()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(node.run())
        await until_set(node.ready)
        job = await horae.aio.jobs.start(work)
        await until_set(begun)
        running.cancel()
    await until_set(stopped)
    assert nodes(horae) == []
    with application(database) as other:
        other.registry.add(work.job_type)
        async with running_node(other, timing=SHORT):
            ended = await until_state(other, job.id, "finished")
    assert ended.result == 2
    assert attempts_of(horae, job.id) == ["crashed", "finished"]


async def test_a_node_may_run_again(horae: Horae) -> None:
    @horae.job
    async def work() -> int:
        return 1

    for _ in range(3):
        async with running_node(horae, timing=SHORT):
            job = await horae.aio.jobs.start(work)
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == 1
    assert nodes(horae) == []


async def test_an_application_may_be_closed_and_used_again(horae: Horae) -> None:
    @horae.job
    async def work() -> int:
        return 1

    for _ in range(2):
        async with running_node(horae, timing=SHORT):
            job = await horae.aio.jobs.start(work)
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == 1
        await asyncio.to_thread(horae.close)
    assert len(horae.jobs.list().jobs) == 2
