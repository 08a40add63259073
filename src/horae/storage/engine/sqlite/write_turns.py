"""Lets the writers of one process have SQLite's write lock in turns.

SQLite has no queue for its lock: each waiting writer tries again, after pauses of up to a tenth of
a second. Of several threads that always have something to write, as those of a node that claims,
fires and settles, one may lose to the others for a second. A lock of the process wakes the next one
at once.
"""

import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from horae.errors import DatabaseBusy

T = TypeVar("T")
LONGEST_WAIT: Final = 1.0
"""Maximum seconds for which a writer waits for its turn; then only SQLite's own lock counts.

A turn lasts for milliseconds, unless a body or another process holds the lock of the file.
"""


class WriteTurns:
    """The turns of the writers of one process. Thread-safe."""

    def __init__(self, patience: float) -> None:
        """`patience`: maximum seconds to wait for the lock of the file."""
        self._longest_wait = min(LONGEST_WAIT, patience)
        # Reentrant, because it tells which thread has its turn: a thread that waited in vain, or
        # was interrupted while it waited, must not end the turn of another one.
        self._turn: Any = threading.RLock()

    def run(self, write: Callable[[], T]) -> T:
        """Call `write` when it is the turn of this thread.

        Raises `DatabaseBusy` within a write of the same thread, which holds the lock of the file.
        """
        if self._turn._is_owned():  # noqa: SLF001
            raise DatabaseBusy(
                "a signal handler cannot write while it interrupts a write of the same thread; let"
                " the handler set a flag, or call from another thread"
            )
        try:
            self._turn.acquire(timeout=self._longest_wait)
            return write()
        finally:
            try:  # noqa: SIM105 - whatever interrupts this thread must not come before the release
                self._turn.release()
            except RuntimeError:
                pass
