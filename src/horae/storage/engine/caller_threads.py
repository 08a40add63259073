"""The threads on which coroutines call the database: apart for reads, for changes, and for cancels.

Whoever changes something may wait for another transaction: on SQLite for its one write lock, on PostgreSQL for a locked
row. A read and a cancel do not stand in line behind those who wait.
"""

import asyncio
import contextvars
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, TypeVar

from horae.errors import DatabaseBusy
from horae.storage.engine.threads import Threads

T = TypeVar("T")

MOST_WAITING: Final = 64
STALL: Final = 1.0
"""Seconds for which no change has ended, after which no more than `MOST_WAITING` may wait; a line that moves may be
longer.
"""


class Use(Enum):
    """What a call does: `READ` never waits for others, `CHANGE` may, `CANCEL` asks a body to stop."""

    READ = auto()
    CHANGE = auto()
    CANCEL = auto()


class CallerThreads:
    """Up to `count` threads for each use, made when they are needed."""

    def __init__(self, count: int) -> None:
        self._threads = {use: Threads(count, f"horae-database-{use.name.lower()}") for use in Use}

    async def run(self, call: Callable[[], T], use: Use) -> T:
        """Run `call` in the caller's context; raises `DatabaseBusy` if too many wait for changes that do not end."""
        threads = self._threads[use]
        if use is Use.CHANGE and threads.waiting >= MOST_WAITING and threads.stalled_for >= STALL:
            raise DatabaseBusy(f"{threads.waiting} changes wait already, and none has ended of late; try again later")
        return await self._run_on(threads, call)

    async def finish(self, call: Callable[[], T]) -> T:
        """Run the rest of a cancel that has to wait as changes do; a body was told already, so it is not refused."""
        return await self._run_on(self._threads[Use.CHANGE], call)

    def waiting(self, use: Use) -> int:
        """How many calls have no thread yet."""
        return self._threads[use].waiting

    def shutdown(self) -> None:
        """Wait for running calls."""
        for threads in self._threads.values():
            threads.shutdown(wait=True)

    async def _run_on(self, threads: Threads, call: Callable[[], T]) -> T:
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(threads, context.run, call)
