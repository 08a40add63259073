"""Threads for database calls, which the end of the program does not wait for."""

import threading
import time

import pytest

from horae.storage.engine.threads import Threads

PATIENCE = 20.0


def test_calls_run_side_by_side_on_as_many_threads_as_are_needed() -> None:
    pool, both = Threads(4, "test"), threading.Barrier(2)
    futures = [pool.submit(both.wait, PATIENCE) for _ in range(2)]
    assert sorted(future.result(PATIENCE) for future in futures) == [0, 1]
    assert {pool.submit(threading.current_thread).result(PATIENCE).daemon for _ in range(10)} == {True}
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
    pools, release = [Threads(1, "test", shutdown_timeout=PATIENCE) for _ in range(4)], threading.Event()
    hanging = [pool.submit(release.wait, 3 * PATIENCE) for pool in pools]
    began, clock = time.monotonic(), time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + PATIENCE)
    for pool in pools:
        pool.shutdown()
    assert clock() - began < PATIENCE
    assert not any(future.done() for future in hanging)
    release.set()
    assert all(future.result(PATIENCE) for future in hanging)
