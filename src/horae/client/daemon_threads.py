"""Runs hooks of an application for coroutines: on daemon threads, as a slow hook must not occupy a database thread."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Final, TypeVar

T = TypeVar("T")

MOST_THREADS: Final = 16
"""Threads at a time; further calls wait for one of them to end."""


class DaemonThreads:
    """Runs calls on daemon threads, at most `MOST_THREADS` at a time."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(MOST_THREADS)

    async def run(self, call: Callable[[], T]) -> T:
        """Run the call on a thread; return its result or raise its error."""
        async with self._free:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[T] = loop.create_future()
            context = copy_context()
            threading.Thread(
                target=lambda: _perform(loop, future, lambda: context.run(call)), name="horae-hook-call", daemon=True
            ).start()
            return await future


def _perform(loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], call: Callable[[], T]) -> None:
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - the error is raised in the caller
        _deliver(loop, future, partial(future.set_exception, error))
    else:
        _deliver(loop, future, partial(future.set_result, result))


def _deliver(loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], set_result: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(lambda: None if future.done() else set_result())
