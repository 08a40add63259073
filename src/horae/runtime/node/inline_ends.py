"""Writes the results of inline jobs, and repeats what the database does not accept by the rules of the settler.

The caller waits for a while. After that a thread of the process continues, so that no result is lost while the process
lives. If the process ends first, the job is rescued like one of any dead node.
"""

import logging
import threading
import time
from collections.abc import Callable
from random import Random

from horae.errors import EndNotWritten
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.bodies.runner import RunEnvironment
from horae.runtime.claims.settler import refused, settle_batch
from horae.runtime.timing import Timing
from horae.storage.engine.failures import is_of_data
from horae.storage.outcomes.settling import Settled

log = logging.getLogger("horae.runtime")


class InlineEnds:
    """Writes the results of one process's inline jobs. Thread-safe."""

    def __init__(
        self, environment: RunEnvironment, on_settled: Callable[[FinishedRun, Settled], None], timing: Timing
    ) -> None:
        self._environment, self._on_settled = environment, on_settled
        self._result_wait, self._retry = timing.inline.result_wait, timing.settler.retry
        self._rng = Random()  # noqa: S311 - for jitter, not for security
        self._late: list[_Waiting] = []
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def write(self, finished: FinishedRun) -> None:
        """Write a result; after `InlineTiming.result_wait` leave it to a thread and raise `EndNotWritten`."""
        waiting = _Waiting(finished, self._retry.shortest)
        try:
            error = self._write(waiting)
        except BaseException:  # Ctrl-C
            self._write_later(waiting)
            raise
        if error is not None:
            self._write_later(waiting)
            raise EndNotWritten(finished.claim.id) from error

    def close(self) -> None:
        """Try each waiting result once more; other nodes rescue the jobs of the rest."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        self._late = [waiting for waiting in self._late if self._attempt(waiting) is not None]

    def _write(self, waiting: "_Waiting") -> Exception | None:
        deadline = time.monotonic() + self._result_wait
        while (error := self._attempt(waiting)) is not None:
            if time.monotonic() >= deadline or self._closed.is_set():
                return error
            self._pause(waiting)
        return None

    def _attempt(self, waiting: "_Waiting") -> Exception | None:
        """Write a result, or a failure if the database rejects its values; return the error if neither works."""
        while True:
            finished = waiting.finished
            try:
                settled = self._environment.database.transact(settle_batch, self._environment, [finished])
            except Exception as error:  # noqa: BLE001 - everything is repeated
                instead = refused(finished, error) if is_of_data(error) else None
                if instead is None:
                    return error
                waiting.finished = instead
                continue
            self._environment.journal.end([finished.claim])
            self._on_settled(finished, settled)
            return None

    def _pause(self, waiting: "_Waiting") -> None:
        self._closed.wait(waiting.pause * self._rng.uniform(0.5, 1.0))
        waiting.pause = self._retry.after(waiting.pause)

    def _write_later(self, waiting: "_Waiting") -> None:
        with self._lock:
            self._late.append(waiting)
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._write_late, name="horae-inline-ends", daemon=True)
                self._thread.start()

    def _write_late(self) -> None:
        while not self._closed.is_set():
            with self._lock:
                if not self._late:
                    self._thread = None
                    return
                waiting = self._late.pop(0)
            error = self._attempt(waiting)
            if error is None:
                log.warning("the result of job %d is written after all", waiting.finished.claim.id)
                continue
            with self._lock:
                self._late.append(waiting)
            self._pause(waiting)


class _Waiting:
    """A result that waits for the database, and the pause after its next failure."""

    __slots__ = ("finished", "pause")

    def __init__(self, finished: FinishedRun, pause: float) -> None:
        self.finished, self.pause = finished, pause
