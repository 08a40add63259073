"""Runs bodies in the main thread of a process that has nothing else to do: a child of a worker.

A soft time limit interrupts the body anywhere, by a signal. At a hard time limit, or to force a
cancel, the end of the job is written and the process ends itself; the program that has started it
starts another one. If that program ends the process by a signal, the body is interrupted as by the
stop of a node. Between a claim and the end of its job, such a signal does nothing else: raised
anywhere but in the body, it would leave a claim that no thread knows.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Final

from typing_extensions import override

from horae.errors import JobStopped, SoftTimeLimitExceeded
from horae.guarded_log import guarded_log
from horae.resource_shortage import try_start
from horae.runtime.bodies import FinishedRun, Interrupted, RunEnvironment, ended_by
from horae.runtime.executors import BodyInterrupt
from horae.runtime.inline import CallingThread
from horae.types import Attempt

INTERRUPT: Final = signal.SIGUSR2
"""The signal that interrupts a body; Celery uses SIGUSR1 itself."""
ENDING: Final = (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)
"""The signals that end the process; the handlers of the program raise SystemExit."""
INTERRUPT_AGAIN: Final = 0.02
"""Seconds between two signals to a body that has not noticed its soft time limit."""

log = guarded_log("horae.runtime")


class ProcessEnds(SystemExit):
    """Raised if a signal ends this process, and not only the body that it has interrupted."""


class EndingSignals:
    """The signals that end a process, handled while it has a job."""

    def __init__(self) -> None:
        self._run: Attempt | None = None
        self._came: int | None = None

    @contextmanager
    def hold(self) -> Generator[None]:
        """Let a signal of this block take effect at its end. Called in the main thread."""
        ours = self._on_signal
        usual = {
            number: handler for number in ENDING if callable(handler := signal.getsignal(number))
        }
        for number in usual:
            signal.signal(number, ours)
        try:
            yield
        finally:
            for number, handler in usual.items():
                if signal.getsignal(number) is ours:  # the body may have set another handler
                    signal.signal(number, handler)
            came, self._came = self._came, None
            if came is not None:
                signal.raise_signal(came)

    @contextmanager
    def interrupting(self, attempt: Attempt) -> Generator[None]:
        """Let signals interrupt a body within this block; a body does not begin after a signal."""
        self._run = attempt
        try:
            if self._came is not None:
                attempt.take_order(Interrupted())
            yield
        finally:
            self._run = None

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        attempt, came = self._run, self._came
        if came is None:
            self._came = number
            if attempt is not None:
                attempt.take_order(Interrupted())
                raise ProcessEnds
        elif attempt is not None and number == came:  # the body ignores the first signal
            attempt.force()


class OwnProcess(CallingThread):
    """An executor for bodies in the main thread."""

    def __init__(
        self,
        environment: RunEnvironment,
        ending: EndingSignals,
        end: Callable[[FinishedRun], None] | None,
    ) -> None:
        """`end`: writes the end of a job whose process is killed next; None if it must go on."""
        self._interrupt, self._ending, self._write_end = BodyInterrupt(INTERRUPT), ending, end
        super().__init__(replace(environment, call=self._interrupt.call))

    @override
    def perform(self, attempt: Attempt) -> FinishedRun:
        if not attempt.job_type.is_async:
            self._interrupt.install_interrupt()  # the last body may have set another handler
        with self._ending.interrupting(attempt):
            return super().perform(attempt)

    @override
    def stop(self, attempt: Attempt, order: BaseException) -> None:
        super().stop(attempt, order)
        if isinstance(order, SoftTimeLimitExceeded):

            def interrupt() -> None:
                while self._interrupt.due:
                    self._interrupt.send()
                    time.sleep(INTERRUPT_AGAIN)

            try_start(threading.Thread(target=interrupt, name="horae-interrupt", daemon=True))

    @override
    def kill(self, attempt: Attempt) -> bool:
        if self._write_end is None:
            return False
        order = attempt.order
        if not isinstance(order, JobStopped):
            order = SoftTimeLimitExceeded(attempt.passed.error_of_process)
        finished = ended_by(order, attempt, self._environment)
        writing = threading.Thread(
            target=self._write_end, args=(finished,), name="horae-end", daemon=True
        )
        if try_start(writing):  # without a thread, another node writes it
            # After that, its process is killed, and other nodes rescue the job.
            writing.join(2.0)
        log.error(
            "job %d (%s) is stopped by force: its process ends",
            attempt.claim.id,
            attempt.claim.type,
        )
        os.kill(os.getpid(), signal.SIGKILL)
        return True
