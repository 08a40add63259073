"""The node in the main process of a Celery worker, which may start during a fail-over."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Final

from horae.errors import DatabaseReadOnly
from horae.guarded_log import guarded_log
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import Pauses
from horae.storage.engine import first_of

AGAIN_AFTER: Final = Pauses(0.25, 2.0)
"""Seconds between two attempts to start while the database accepts no writes."""

log = guarded_log("horae.celery")


class MainNode:
    """A node that is started as soon as the database accepts writes."""

    def __init__(self, make: Callable[[], AbstractContextManager[object]]) -> None:
        """`make`: opens the database, and returns a node that runs during a block."""
        self._make = make
        self._running = ExitStack()
        self._later: threading.Thread | None = None
        self._stopped = threading.Event()
        self._warning = ThrottledWarning()

    def start(self) -> None:
        """Start the node, or leave that to a thread while the database is read-only; raises other
        errors.
        """
        try:
            self._running.enter_context(self._make())
        except (DatabaseReadOnly, ExceptionGroup) as error:
            if not is_read_only(error):
                raise
            self._warn(error)
            self._later = threading.Thread(
                target=self._start_later, name="horae-node-later", daemon=True
            )
            self._later.start()

    def stop(self) -> None:
        """Stop the node, and the attempts to start it."""
        self._stopped.set()
        if self._later is not None:
            self._later.join()
        self._running.close()

    def _start_later(self) -> None:
        pause = AGAIN_AFTER.shortest
        while not self._stopped.wait(pause):
            try:
                self._running.enter_context(self._make())
            except Exception as error:  # noqa: BLE001 - the worker does what needs no node
                self._warn(error)
                pause = AGAIN_AFTER.after(pause)
            else:
                log.warning("the node of this worker has started after all")
                return

    def _warn(self, error: Exception) -> None:
        self._warning.warn(
            "the node of this worker cannot start yet and keeps trying: %s", first_of(error)
        )


def is_read_only(error: Exception) -> bool:
    """Return whether the only problem is that the database accepts no writes now."""
    if isinstance(error, ExceptionGroup):
        return error.split(DatabaseReadOnly)[1] is None
    return isinstance(error, DatabaseReadOnly)
