"""The signals of a child process, such as the one that interrupts a body at its soft limit."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from horae.errors import SoftTimeLimitExceeded
from horae.types import Attempt, JobContext


class BodyInterrupt:
    """Raises `SoftTimeLimitExceeded` in the main thread, but only while a body runs there."""

    def __init__(self, number: signal.Signals = signal.SIGUSR1) -> None:
        """`number`: the signal that interrupts."""
        self._number = number
        self._armed: Attempt | None = None

    def call(self, attempt: Attempt, context: JobContext[Any]) -> Any:
        """Call a body so that it may be interrupted, and return its result."""
        with self.arm(attempt):
            return attempt.job_type.run(context)

    @contextmanager
    def arm(self, attempt: Attempt) -> Generator[None]:
        """Allow an interruption within this block.

        A body that another one runs inline is covered by that block.
        """
        if self._armed is not None:
            yield
            return
        self._armed = attempt
        try:
            attempt.check()
            yield
        finally:
            self._armed = None

    @property
    def due(self) -> bool:
        """Whether a running body has passed its soft time limit and was not interrupted yet."""
        attempt = self._armed
        return (
            attempt is not None
            and isinstance(attempt.order, SoftTimeLimitExceeded)
            and not attempt.told
        )

    def send(self) -> None:
        """Interrupt the main thread, even in a tight loop or a blocking sleep.

        Called on another thread.

        Repeat this while it is `due`: a signal that comes just before a system call does not
        interrupt the call.
        """
        signal.pthread_kill(threading.main_thread().ident or 0, self._number)

    def install(self) -> None:
        """Ignore the signals of a terminal, because the node decides; let SIGTERM end the child."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.install_interrupt()

    def install_interrupt(self) -> None:
        """Set the handler of the interrupting signal only. Called in the main thread."""
        signal.signal(self._number, self._on_signal)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        attempt = self._armed
        if attempt is not None and isinstance(attempt.order, SoftTimeLimitExceeded):
            # Disarmed first, so that a body is interrupted only once and can clean up.
            self._armed = None
            attempt.check()
