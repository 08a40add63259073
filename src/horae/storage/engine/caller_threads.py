"""The threads on which coroutines call the database, separate for each kind of use.

A change may have to wait for another transaction: on SQLite for its one write lock, on PostgreSQL
for a locked row. Reads and cancellations do not queue behind changes that wait, and nothing queues
behind hooks of the application.
"""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any, TypeVar

from typing_extensions import override

from horae.errors import DatabaseBusy
from horae.storage.engine.threads import Threads

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeLimits:
    """The limits beyond which changes are refused: too many are waiting, and none ends.

    While changes keep ending, the queue may be longer.
    """

    most_waiting: int = 64  # changes that may wait for a thread while none ends
    stalled_after: float = 1.0  # seconds without the end of a change, after which the limit applies


class Use(Enum):
    """What a call does.

    `READ` never waits for other transactions, `CHANGE` may, `CANCEL` asks a body to stop. `HOOK`
    calls hooks of the application, which may be slow, and which nobody waits for at the end of the
    process.
    """

    READ = auto()
    CHANGE = auto()
    CANCEL = auto()
    HOOK = auto()


class CallerThreads:
    """Up to `count` threads for each use except hooks, started when they are needed."""

    def __init__(self, count: int, limits: ChangeLimits = ChangeLimits()) -> None:
        self._limits = limits
        sizes = {**dict.fromkeys(Use, count), Use.HOOK: 16}
        self._threads = {
            use: Threads(size, f"horae-database-{use.name.lower()}") for use, size in sizes.items()
        }

    async def run(self, call: Callable[[], T], use: Use) -> T:
        """Run `call` in the caller's context; raises `DatabaseBusy` beyond the `ChangeLimits`."""
        self.check(use, self._threads[use].waiting)
        return await self._run_on(self._threads[use], call)

    def check(self, use: Use, waiting: int) -> None:
        """Raise `DatabaseBusy` for a change if `waiting` others are beyond the `ChangeLimits`."""
        limits = self._limits
        if (
            use is Use.CHANGE
            and waiting >= limits.most_waiting
            and self._threads[use].stalled_for >= limits.stalled_after
        ):
            raise DatabaseBusy(
                f"{waiting} changes are waiting, and none has ended lately; try again later"
            )

    def run_body(self, body: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine of a body for the calling thread, which waits for it."""
        return asyncio.run(body)

    def are_free(self) -> bool:
        """Return whether any thread may make the calls of this coroutine, also with others."""
        return True

    def submit(self, call: Callable[[], None], use: Use) -> None:
        """Run `call` on a thread for its use, which nobody waits for."""
        self._threads[use].submit(call)

    async def finish(self, call: Callable[[], T]) -> T:
        """Run the rest of a cancellation, which is never refused: the body was asked to stop."""
        return await self._run_on(self._threads[Use.CHANGE], call)

    def waiting(self, use: Use) -> int:
        """Return how many calls are waiting for a thread."""
        return self._threads[use].waiting

    def shutdown(self, *, wait: bool = True) -> None:
        """Accept no more calls; with `wait`, wait for the running ones, except hooks."""
        for use, threads in self._threads.items():
            threads.shutdown(wait=wait and use is not Use.HOOK)

    async def _run_on(self, threads: Threads, call: Callable[[], T]) -> T:
        return await threads.run(partial(contextvars.copy_context().run, call))


class CallingThreadOnly(CallerThreads):
    """Runs each call where it is made, as the driver of a lent connection may require."""

    def __init__(self) -> None:
        super().__init__(1)

    @override
    async def run(self, call: Callable[[], T], use: Use) -> T:
        return call()

    @override
    def are_free(self) -> bool:
        return False

    @override
    async def finish(self, call: Callable[[], T]) -> T:
        return call()
