"""Waits, within a bound, for another transaction that creates a job under the same limit or unique key.

Nothing is held meanwhile, no thread in a coroutine and no connection but a caller's own: who waits holds nobody up.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from typing import Any, Final, Protocol, TypeVar

from horae.errors import DatabaseBusy
from horae.storage.jobs.creation import Contended

T = TypeVar("T")

BOUND: Final = timedelta(seconds=3)
FIRST_PAUSE: Final = 0.002
LONGEST_PAUSE: Final = 0.05
"""Seconds between two tries, at first and at most."""


class Waits(Protocol):
    """Runs an attempt that may raise `Contended`."""

    def __call__(self, attempt: Callable[[], T], /) -> T:
        """What comes of it in the end."""
        ...


class TryAgain(DatabaseBusy):
    """Another transaction was in the way; `attempt` tries once more what has been checked already."""

    def __init__(self, error: DatabaseBusy, attempt: Callable[[], Any]) -> None:
        super().__init__(str(error))
        self.attempt = attempt


def once(attempt: Callable[[], T]) -> T:
    """Try; raises `TryAgain`, and leaves the waiting to the caller."""
    try:
        return attempt()
    except Contended as error:
        raise TryAgain(error, attempt) from error


def patiently(attempt: Callable[[], T], bound: timedelta) -> T:
    """Try until it works; raises `DatabaseBusy` past the bound."""
    for pause in _pauses(bound):
        try:
            return attempt()
        except Contended as error:
            if pause is None:
                raise _busy(error, bound) from error
        time.sleep(pause)
    raise AssertionError("unreachable: the last pause is None")


async def patiently_async(
    first: Callable[[], Awaitable[T]], again: Callable[[Callable[[], T]], Awaitable[T]], bound: timedelta
) -> T:
    """The same without holding a thread: `first` tries, and `again` runs what a `TryAgain` brings."""
    attempt = first
    for pause in _pauses(bound):
        try:
            return await attempt()
        except TryAgain as error:
            if pause is None:
                raise _busy(error, bound) from error
            attempt = _repeat(again, error.attempt)
        await asyncio.sleep(pause)
    raise AssertionError("unreachable: the last pause is None")


def _repeat(again: Callable[[Callable[[], T]], Awaitable[T]], call: Callable[[], T]) -> Callable[[], Awaitable[T]]:
    return lambda: again(lambda: once(call))


def _busy(error: DatabaseBusy, bound: timedelta) -> DatabaseBusy:
    return DatabaseBusy(f"{error} and has not ended for {bound.total_seconds():g} s; try again later")


def _pauses(bound: timedelta) -> Iterator[float | None]:
    deadline = time.monotonic() + bound.total_seconds()
    pause = FIRST_PAUSE
    while time.monotonic() < deadline:
        yield random.uniform(0.5, 1.0) * pause  # noqa: S311 - spreads rivals, guards nothing
        pause = min(2 * pause, LONGEST_PAUSE)
    yield None
