"""Threads for database calls, which the end of the program does not wait for."""

import asyncio
import gc
import threading
import time
import weakref
from contextlib import suppress

import pytest

from horae.storage.engine.threads import Threads

PATIENCE = 20.0


def test_calls_run_side_by_side_on_as_many_threads_as_are_needed() -> None:
    pool, both = Threads(4, "test"), threading.Barrier(2)
    futures = [pool.submit(both.wait, PATIENCE) for _ in range(2)]
    assert sorted(future.result(PATIENCE) for future in futures) == [0, 1]
    assert {pool.submit(threading.current_thread).result(PATIENCE).daemon for _ in range(10)} == {
        True
    }
    pool.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(int)


def test_an_error_of_a_call_reaches_its_caller() -> None:
    pool = Threads(1, "test")
    with pytest.raises(ValueError, match="invalid literal"):
        pool.submit(int, "x").result(PATIENCE)
    assert pool.submit(int, "7").result(PATIENCE) == 7
    assert not pool.is_here()
    assert pool.submit(pool.is_here).result(PATIENCE)
    pool.shutdown()


def test_a_call_that_hangs_does_not_hold_the_end_up() -> None:
    pool, release = Threads(1, "test", shutdown_timeout=0.05), threading.Event()
    hanging = pool.submit(release.wait, PATIENCE)
    began = time.monotonic()
    pool.shutdown()
    assert time.monotonic() - began < PATIENCE / 2
    release.set()
    assert hanging.result(PATIENCE)


def test_the_time_that_a_call_has_hung_already_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node gives up a call that hangs when it stops; closing its database does not wait for it again."""
    pools, release = (
        [Threads(1, "test", shutdown_timeout=PATIENCE) for _ in range(4)],
        threading.Event(),
    )
    hanging = [pool.submit(release.wait, 3 * PATIENCE) for pool in pools]
    began, clock = time.monotonic(), time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + PATIENCE)
    for pool in pools:
        pool.shutdown()
    assert clock() - began < PATIENCE
    assert not any(future.done() for future in hanging)
    release.set()
    assert all(future.result(PATIENCE) for future in hanging)


async def test_a_coroutine_gets_the_result_or_the_error_of_its_call() -> None:
    pool = Threads(1, "test")
    assert await pool.run(pool.is_here)
    with pytest.raises(ZeroDivisionError):
        await pool.run(lambda: 1 // 0)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        await pool.run(int)


async def test_a_coroutine_is_not_left_waiting_for_a_call_that_raises_stop_iteration() -> None:
    pool = Threads(1, "test")
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(RuntimeError, match="StopIteration") as caught:
            await pool.run(lambda: next(iter(())))
    assert isinstance(caught.value.__cause__, StopIteration)
    pool.shutdown()


async def test_a_call_whose_caller_was_cancelled_is_not_begun() -> None:
    pool, began, release, calls = (
        Threads(1, "test"),
        threading.Event(),
        threading.Event(),
        list[int](),
    )

    def hold() -> bool:
        began.set()
        return release.wait(PATIENCE)

    async with asyncio.TaskGroup() as tasks:
        holding = tasks.create_task(pool.run(hold))
        waiting = tasks.create_task(pool.run(lambda: calls.append(1)))
        await asyncio.to_thread(began.wait, PATIENCE)
        waiting.cancel()
        await asyncio.wait([waiting])
        release.set()
        assert await holding
    await pool.run(lambda: calls.append(2))
    assert (waiting.cancelled(), calls) == (True, [2])
    pool.shutdown()


def test_a_call_that_ends_after_its_event_loop_does_not_end_its_thread() -> None:
    pool, began, release = Threads(1, "test"), threading.Event(), threading.Event()

    def hold() -> None:
        began.set()
        release.wait(PATIENCE)

    async def abandon() -> None:
        asyncio.get_running_loop().create_task(pool.run(hold)).add_done_callback(lambda _: None)
        await asyncio.to_thread(began.wait, PATIENCE)

    asyncio.run(abandon())
    release.set()
    assert pool.submit(int, "7").result(PATIENCE) == 7
    pool.shutdown()


def test_calls_wait_for_the_threads_that_there_are_if_no_other_can_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool, began, release = Threads(4, "test"), threading.Event(), threading.Event()
    refuse_threads(monkeypatch)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        pool.submit(int)
    assert (pool.stalled_for, pool.waiting) == (0.0, 0)
    monkeypatch.undo()

    def hold() -> bool:
        began.set()
        return release.wait(PATIENCE)

    holding = pool.submit(hold)
    began.wait(PATIENCE)
    refuse_threads(monkeypatch)
    waiting = pool.submit(int, "7")
    release.set()
    assert (holding.result(PATIENCE), waiting.result(PATIENCE)) == (True, 7)
    pool.shutdown()


def refuse_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


async def test_an_error_does_not_refer_to_itself() -> None:
    raised: list[weakref.ref[Exception]] = []

    class Failure(Exception):
        def __init__(self) -> None:
            raised.append(weakref.ref(self))

    def fail() -> None:
        raise Failure

    pool = Threads(1, "test")
    gc.disable()
    try:
        with suppress(Failure):
            await pool.run(fail)
        await pool.run(int)  # the thread has forgotten the call before
        assert raised[0]() is None
    finally:
        gc.enable()
        pool.shutdown()
