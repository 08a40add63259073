"""Bodies that end the loop which they share with their node: a loop of Horae's own goes on, and so do all other bodies."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable

import pytest

from horae import Horae, Job
from horae.runtime.node import own_loop
from tests.harness.nodes import running_node, until_state

pytestmark = pytest.mark.one_database

Attack = Callable[[], Awaitable[object]]


async def raise_in_a_task(error: BaseException) -> None:
    async def end() -> None:
        raise error

    await asyncio.get_running_loop().create_task(end())


async def exit_in_a_task() -> None:
    await raise_in_a_task(SystemExit(3))


async def interrupt_in_a_task() -> None:
    await raise_in_a_task(KeyboardInterrupt())


async def exit_in_a_gathering() -> None:
    async def end() -> None:
        sys.exit("enough")

    await asyncio.gather(end(), asyncio.Event().wait())


async def stop_the_loop() -> None:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)


async def exit_in_a_callback() -> None:
    asyncio.get_running_loop().call_soon(sys.exit, 5)
    await asyncio.sleep(0.01)


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
    ("attack", "state"),
    [
        (exit_in_a_task, "failed"),
        (interrupt_in_a_task, "failed"),
        (exit_in_a_gathering, "failed"),
        (stop_the_loop, "finished"),
        (exit_in_a_callback, "finished"),
    ],
)
def test_only_the_culprit_fails(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, attack: Attack, state: str
) -> None:
    # As in a node, whose signals have handlers; else an interrupt is the user's.
    monkeypatch.setattr(signal, "getsignal", lambda _: None)
    ended, others = own_loop.run(attacked(horae, attack))
    assert ended.state == state
    assert {job.result for job in others} == {"done"}


def test_an_exit_is_logged(horae: Horae, caplog: pytest.LogCaptureFixture) -> None:
    own_loop.run(attacked(horae, exit_in_a_callback))
    assert "tried to end the process; the node goes on" in caplog.text


def test_a_loop_that_is_run_gives_what_its_coroutine_gives() -> None:
    async def give(value: int) -> int:
        await asyncio.sleep(0)
        return value

    async def fail() -> None:
        raise LookupError

    async def leave() -> None:
        sys.exit(7)

    assert own_loop.run(give(3)) == 3
    with pytest.raises(LookupError):
        own_loop.run(fail())
    with pytest.raises(SystemExit):
        own_loop.run(leave())


def test_remaining_tasks_are_cancelled_at_the_end_of_the_loop() -> None:
    ended: list[str] = []

    async def linger() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    tasks: list[asyncio.Task[None]] = []

    async def leave_a_task() -> None:
        tasks.append(asyncio.ensure_future(linger()))
        await asyncio.sleep(0)

    own_loop.run(leave_a_task())
    assert ended == ["cancelled"]
