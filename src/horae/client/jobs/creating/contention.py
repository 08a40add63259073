"""Retries the creation of a job while another transaction creates one under the same limit or unique key.

Between two tries it holds nothing: no thread for a coroutine, and no connection but the caller's own.
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

FIRST_PAUSE: Final = 0.002
"""Seconds before the second try; each further pause doubles."""
LONGEST_PAUSE: Final = 0.05
"""Seconds between two tries at most."""


class RunsAttempt(Protocol):
    """Runs an attempt that may raise `Contended`."""

    def __call__(self, attempt: Callable[[], T], /) -> T:
        """Return the result of the attempt that succeeded."""
        ...


class TryAgain(DatabaseBusy):
    """Another transaction blocked this one; `attempt` tries again without checking the arguments again."""

    def __init__(self, error: DatabaseBusy, attempt: Callable[[], Any]) -> None:
        super().__init__(str(error))
        self.attempt = attempt


def once(attempt: Callable[[], T]) -> T:
    """Try once. Raises `TryAgain`, so that the caller does the waiting."""
    try:
        return attempt()
    except Contended as error:
        raise TryAgain(error, attempt) from error


def with_retries(attempt: Callable[[], T], bound: timedelta) -> T:
    """Try until it succeeds. Raises `DatabaseBusy` after `bound`."""
    for pause in _pauses(bound):
        try:
            return attempt()
        except Contended as error:
            if pause is None:
                raise _busy(error, bound) from error
        time.sleep(pause)
    raise AssertionError("unreachable: the last pause is None")


async def with_retries_async(
    first: Callable[[], Awaitable[T]], again: Callable[[Callable[[], T]], Awaitable[T]], bound: timedelta
) -> T:
    """Do the same without holding a thread: `first` tries, `again` runs the attempt that a `TryAgain` holds."""
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
        yield random.uniform(0.5, 1.0) * pause  # noqa: S311 - spreads the tries of many callers, protects nothing
        pause = min(2 * pause, LONGEST_PAUSE)
    yield None
