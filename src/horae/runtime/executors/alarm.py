"""The signals of a child process, above all the one that interrupts a body at its soft time limit."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from horae.errors import SoftTimeLimitExceeded
from horae.types.context import JobContext


class Alarm:
    """Raises a soft time limit in the main thread, but only while a body runs there."""

    def __init__(self) -> None:
        self._armed: JobContext[Any] | None = None

    @contextmanager
    def armed(self, context: JobContext[Any]) -> Generator[None]:
        """A body runs in this block; one that runs inline within another one's is covered by that."""
        if self._armed is not None:
            yield
            return
        self._armed = context
        try:
            context.check()
            yield
        finally:
            self._armed = None

    @property
    def due(self) -> bool:
        """Whether a body is to be interrupted and was not yet."""
        context = self._armed
        return context is not None and isinstance(context.order, SoftTimeLimitExceeded) and not context.told

    def ring(self) -> None:
        """Interrupt the main thread, even in a tight loop or a blocking sleep. Called on another thread.

        Ring again while it is `due`: a signal that comes just before a system call does not interrupt it.
        """
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def settle_signals(self) -> None:
        """Ctrl-C goes to every process of a terminal, but the node decides; SIGTERM ends; SIGUSR1 is the alarm."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, self._on_signal)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        context = self._armed
        if context is not None and isinstance(context.order, SoftTimeLimitExceeded):
            self._armed = None  # first, so that a body is interrupted once and can tidy up
            context.check()
