"""Runs bodies in the main thread of a process that has nothing else to do, such as a child of a Celery worker.

A soft time limit interrupts the body anywhere, by a signal. At a hard time limit, or to force a cancel, the end of the
job is written and the process ends itself; the program that has started it starts another one. If that program ends the
process by a signal, the body is interrupted as by the stop of a node.
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
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.bodies.orders import Interrupted
from horae.runtime.bodies.run import Run
from horae.runtime.bodies.runner import RunEnvironment, ended_by
from horae.runtime.executors.signals import BodyInterrupt
from horae.runtime.inline.calling_thread import CallingThread

INTERRUPT: Final = signal.SIGUSR2
"""The signal that interrupts a body; Celery uses SIGUSR1 itself."""
ENDING: Final = (signal.SIGTERM, signal.SIGQUIT)
"""The signals that end the process; the handlers of the program raise SystemExit."""
INTERRUPT_AGAIN: Final = 0.02
"""Seconds between two signals to a body that has not noticed its soft time limit."""
WRITE_WITHIN: Final = 2.0
"""Seconds in which the end of a job is written before its process is killed; after that, other nodes rescue the job."""

log = guarded_log("horae.runtime")


class ProcessEnds(SystemExit):
    """A signal ends this process, and not the body that it has interrupted."""


class OwnProcess(CallingThread):
    """An executor for bodies in the main thread."""

    def __init__(
        self, environment: RunEnvironment, interrupt: BodyInterrupt, end: Callable[[FinishedRun], None] | None
    ) -> None:
        """`end`: writes the end of a job whose process is killed next; None if the process must go on."""
        super().__init__(replace(environment, call=interrupt.call))
        self._interrupt, self._write_end = interrupt, end

    @override
    def perform(self, run: Run) -> FinishedRun:
        if not run.job_type.is_async:
            self._interrupt.install_interrupt()  # again: the last body may have set another handler
        if self._write_end is None:
            return super().perform(run)
        with _interrupted_at_the_end(run):
            return super().perform(run)

    @override
    def stop(self, run: Run, order: BaseException) -> None:
        super().stop(run, order)
        if isinstance(order, SoftTimeLimitExceeded):
            threading.Thread(target=self._interrupt_body, name="horae-interrupt", daemon=True).start()

    @override
    def kill(self, run: Run) -> bool:
        if self._write_end is None:
            return False
        order = run.context.order
        if not isinstance(order, JobStopped):
            order = SoftTimeLimitExceeded("the job ran past its hard time limit and its process was ended")
        finished = ended_by(order, run.job_type, run.context, self._environment)
        writing = threading.Thread(target=self._write_end, args=(finished,), name="horae-end", daemon=True)
        writing.start()
        writing.join(WRITE_WITHIN)
        log.error("job %d (%s) is stopped by force: its process ends", run.claim.id, run.claim.type)
        os.kill(os.getpid(), signal.SIGKILL)
        return True

    def _interrupt_body(self) -> None:
        while self._interrupt.due:
            self._interrupt.send()
            time.sleep(INTERRUPT_AGAIN)


@contextmanager
def _interrupted_at_the_end(run: Run) -> Generator[None]:
    """Have a signal that ends the process within this block interrupt the body first."""
    usual = {number: handler for number in ENDING if callable(handler := signal.getsignal(number))}

    def end(number: int, frame: FrameType | None) -> None:
        run.context.stop(Interrupted())
        try:
            usual[signal.Signals(number)](number, frame)
        except SystemExit as error:
            raise ProcessEnds(error.code) from None

    for number in usual:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in usual.items():
            if signal.getsignal(number) is end:  # the usual handler may have set another one
                signal.signal(number, handler)
