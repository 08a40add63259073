"""Repeats the creation of a job while another transaction creates one under the same limit or key.

The repeated operation consists of the transaction and all that the method does after it, such as
sending a hint. Between two tries it holds nothing: no thread for a coroutine, and no connection but
the caller's own.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from random import SystemRandom
from typing import Any, Final, TypeVar

from horae.errors import DatabaseBusy
from horae.storage.jobs import Contended

T = TypeVar("T")

MOST_BOUNDS: Final = 10
"""Maximum wait as a multiple of the bound, while different transactions are in the way."""


class TryAgain(DatabaseBusy):
    """Another transaction blocked this one; `operation` is the rest of the raising method.

    A method of `Jobs` returns what its operation returns, and does nothing after it: for coroutines
    only the operation is run later.
    """

    def __init__(self, error: DatabaseBusy, operation: Callable[[], Any]) -> None:
        super().__init__(str(error))
        self.error, self.operation = error, operation


def once(operation: Callable[[], T]) -> T:
    """Try once. Raises `TryAgain`, because the caller has to wait without a thread."""
    try:
        return operation()
    except Contended as error:
        raise TryAgain(error, operation) from error


def with_retries(operation: Callable[[], T], bound: timedelta) -> T:
    """Try until it succeeds.

    Raises `DatabaseBusy` if one transaction is in the way for longer than `bound`.
    """
    patience = _Patience(bound)
    while True:
        try:
            return operation()
        except Contended as error:
            pause = patience.pause_after(error)
        time.sleep(pause)


async def with_retries_async(
    first: Callable[[], Awaitable[T]],
    again: Callable[[Callable[[], T]], Awaitable[T]],
    bound: timedelta,
) -> T:
    """Repeat without holding a thread: `first` calls the method, `again` runs what `TryAgain`
    names.
    """
    patience = _Patience(bound)
    attempt = first
    while True:
        try:
            return await attempt()
        except TryAgain as error:
            pause = patience.pause_after(error.error)
            attempt = partial(again, partial(once, error.operation))
        await asyncio.sleep(pause)


class _Patience:
    """How long one caller goes on trying: others under the same limit take turns, and one may be
    stuck.
    """

    def __init__(self, bound: timedelta) -> None:
        self._bound = bound.total_seconds()
        self._pause = 0.002  # seconds; it doubles with each try
        self._holder: str | None = None
        self._begun = self._held_since = time.monotonic()

    def pause_after(self, error: DatabaseBusy) -> float:
        """Return the seconds until the next try. Raises `DatabaseBusy` if there is none."""
        now = time.monotonic()
        holder = error.holder if isinstance(error, Contended) else None
        if holder not in (None, self._holder):
            self._holder, self._held_since = holder, now
        if now - self._held_since >= self._bound:
            raise DatabaseBusy(
                f"{error} and has not ended for {self._bound:g} s; try again later"
            ) from error
        if now - self._begun >= MOST_BOUNDS * self._bound:
            waited = MOST_BOUNDS * self._bound
            raise DatabaseBusy(
                f"{error}, as others have before it for {waited:g} s; try again later"
            ) from error
        # Spreads the tries of many callers, and leaves the numbers of `random` to the application.
        pause = SystemRandom().uniform(0.5, 1.0) * self._pause
        self._pause = min(2 * self._pause, 0.05)
        return pause
