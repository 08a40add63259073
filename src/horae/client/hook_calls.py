"""Calls of coroutines that run hooks of an application: on threads of their own, not on those of the database."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 16


class Apart:
    """Runs calls on daemon threads, at most `AT_ONCE`."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(AT_ONCE)

    async def run(self, call: Callable[[], T]) -> T:
        """What the call returns, or raises."""
        async with self._room:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[T] = loop.create_future()
            context = copy_context()
            threading.Thread(
                target=lambda: _perform(loop, future, lambda: context.run(call)), name="horae-apart", daemon=True
            ).start()
            return await future


def _perform(loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], call: Callable[[], T]) -> None:
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - it is the caller's
        _tell(loop, future, partial(future.set_exception, error))
    else:
        _tell(loop, future, partial(future.set_result, result))


def _tell(loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], say: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(lambda: None if future.done() else say())
