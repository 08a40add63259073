"""Bodies that would end the loop which they share with their node: the node goes on, and so do all other bodies."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Any

import pytest

from horae import Horae, Job, JobContext
from horae.runtime.bodies import loop_guard
from horae.storage.engine.database import Database
from tests.harness.applications import attempts_of, url_of
from tests.harness.nodes import running_node, until_state

Attack = Callable[[], Awaitable[object]]


async def forever() -> None:
    await asyncio.Event().wait()


async def raise_in_a_task(error: BaseException) -> None:
    async def end() -> None:
        raise error

    task = asyncio.get_running_loop().create_task(end())
    await forever()
    del task


async def exit_in_a_task() -> None:
    await raise_in_a_task(SystemExit(3))


async def interrupt_in_a_task() -> None:
    await raise_in_a_task(KeyboardInterrupt())


async def exit_in_a_gathering() -> None:
    async def end() -> None:
        sys.exit("enough")

    await asyncio.gather(end(), forever())


async def exit_after_a_cancel() -> None:
    async def end() -> None:
        try:
            await forever()
        finally:
            sys.exit(4)

    task = asyncio.ensure_future(end())
    await asyncio.sleep(0)
    task.cancel()
    await forever()


async def stop_the_loop() -> None:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)


async def cancel_everything() -> None:
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(0)


async def attacked(horae: Horae, attack: Attack) -> tuple[Job, list[Job]]:
    """A body attacks while others run; what became of it, and of them, on one node."""
    go_on = asyncio.Event()

    @horae.job(max_count=None)
    async def innocent() -> str:
        await go_on.wait()
        return "done"

    @horae.job
    async def culprit() -> None:
        await attack()

    async with running_node(horae, concurrency=8) as node:
        before = await horae.aio.jobs.start_many(innocent, [{}] * 3)
        for job_id in before:
            await until_state(horae, job_id, "started")
        job = await horae.aio.jobs.start(culprit)
        ended = await until_state(horae, job.id, "finished", "failed", "cancelled")
        after = await horae.aio.jobs.start_many(innocent, [{}] * 3)
        incarnation = node.id
        go_on.set()
        others = [
            await until_state(horae, job_id, "finished", "failed", "cancelled")
            for job_id in [*before, *after]
        ]
        assert node.id == incarnation
    return ended, others


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        (exit_in_a_task, "a task of the job tried to end the process with SystemExit(3)"),
        (
            interrupt_in_a_task,
            "a task of the job tried to end the process with KeyboardInterrupt()",
        ),
        (
            exit_in_a_gathering,
            "a task of the job tried to end the process with SystemExit('enough')",
        ),
        (exit_after_a_cancel, "a task of the job tried to end the process with SystemExit(4)"),
        (stop_the_loop, "must not stop the event loop, which its node runs on"),
    ],
)
async def test_only_the_culprit_fails(horae: Horae, attack: Attack, said: str) -> None:
    ended, others = await attacked(horae, attack)
    assert (ended.state, said in (ended.error or "")) == ("failed", True)
    assert {job.result for job in others} == {"done"}
    assert attempts_of(horae, ended.id) == ["failed"]


def test_cancelling_all_tasks_reaches_neither_the_node_nor_other_bodies(horae: Horae) -> None:
    """In a loop of Horae's own, as that of `horae run`: elsewhere the tasks of the application are found."""
    ended, others = loop_guard.run(attacked(horae, cancel_everything))
    assert ended.state == "finished"
    assert {job.result for job in others} == {"done"}


async def exit_in_a_callback() -> None:
    asyncio.get_running_loop().call_soon(sys.exit, 5)
    await asyncio.sleep(0.01)


async def exit_in_a_task_of_its_own_making() -> None:
    async def end() -> None:
        sys.exit(8)

    task = asyncio.Task(end())  # which no factory is asked for
    await asyncio.sleep(0.01)
    del task


@pytest.mark.parametrize("attack", [exit_in_a_callback, exit_in_a_task_of_its_own_making])
def test_an_exit_outside_of_watched_tasks_does_not_end_the_node(
    horae: Horae, caplog: pytest.LogCaptureFixture, attack: Attack
) -> None:
    ended, others = loop_guard.run(attacked(horae, attack))
    assert ended.state == "finished"
    assert {job.result for job in others} == {"done"}
    assert "tried to end the process; the node goes on" in caplog.text


def test_a_loop_that_is_run_gives_what_its_coroutine_gives() -> None:
    async def give(value: int) -> int:
        await asyncio.sleep(0)
        return value

    async def fail() -> None:
        raise LookupError

    async def leave() -> None:
        sys.exit(7)

    assert loop_guard.run(give(3)) == 3
    with pytest.raises(LookupError):
        loop_guard.run(fail())
    with pytest.raises(SystemExit):
        loop_guard.run(leave())


def test_remaining_tasks_are_cancelled_at_the_end_of_the_loop() -> None:
    ended: list[str] = []

    async def linger() -> None:
        try:
            await forever()
        finally:
            ended.append("cancelled")

    tasks: list[asyncio.Task[None]] = []

    async def leave_a_task() -> None:
        tasks.append(asyncio.ensure_future(linger()))
        await asyncio.sleep(0)

    loop_guard.run(leave_a_task())
    assert ended == ["cancelled"]


async def test_a_task_of_a_body_behaves_as_any_other(horae: Horae) -> None:
    @horae.job
    async def work(job: JobContext) -> list[Any]:
        async def double(number: int) -> int:
            await asyncio.sleep(0)
            return number * 2

        async def fail() -> None:
            raise LookupError("as it was raised")

        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(double(number), name=f"double-{number}") for number in range(3)
            ]
        failed = await asyncio.gather(fail(), return_exceptions=True)
        never = asyncio.ensure_future(double(9))
        never.cancel()
        slow = asyncio.ensure_future(forever())
        _, pending = await asyncio.wait([slow], timeout=0)
        slow.cancel()
        return [
            [task.result() for task in tasks],
            [task.get_name() for task in tasks],
            repr(failed[0]),
            len(pending),
            "double" in repr(never),
            slow in asyncio.all_tasks(),
        ]

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        result = await horae.aio.jobs.wait(job.id, timeout="20s")
    assert result == [
        [0, 2, 4],
        ["double-0", "double-1", "double-2"],
        "LookupError('as it was raised')",
        1,
        True,
        True,
    ]


async def test_a_task_factory_of_the_application_is_still_asked(database: Database) -> None:
    made: list[asyncio.Task[Any]] = []

    def factory(
        loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coroutine, loop=loop, **options)
        made.append(task)
        return task

    asyncio.get_running_loop().set_task_factory(factory)
    with closing(Horae(url_of(database))) as horae:

        @horae.job
        async def work() -> int:
            return await asyncio.get_running_loop().create_task(asyncio.sleep(0, 5), name="mine")

        async with running_node(horae):
            job = await horae.aio.jobs.start(work)
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == 5
    assert "mine" in [task.get_name() for task in made]
