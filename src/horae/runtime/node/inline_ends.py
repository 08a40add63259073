"""Writes the ends of inline jobs, and repeats by the rules of a node's settler what the database does not take.

The caller waits for a while. After that a thread of the process goes on, so that no end is forgotten while the process
lives; once it has ended, the job is rescued like that of any dead node.
"""

import logging
import threading
import time
from collections.abc import Callable
from random import Random

from horae.errors import EndNotWritten
from horae.runtime.bodies.runner import RunEnvironment
from horae.runtime.bodies.verdict import FinishedRun
from horae.runtime.claims.settler import refused, settle_batch
from horae.runtime.timing import Timing
from horae.storage.engine.failures import is_of_data
from horae.storage.outcomes.settling import Settled

log = logging.getLogger("horae.runtime")


class InlineEnds:
    """The ends of one process's inline jobs. Thread-safe."""

    def __init__(
        self, environment: RunEnvironment, on_settled: Callable[[FinishedRun, Settled], None], timing: Timing
    ) -> None:
        self._environment, self._on_settled = environment, on_settled
        self._result_wait, self._retry = timing.inline.result_wait, timing.settler.retry
        self._rng = Random()  # noqa: S311 - spreads rivals, guards nothing
        self._late: list[_Waiting] = []
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def write(self, ended: FinishedRun) -> None:
        """Write it; raises `EndNotWritten` past the bound, and leaves it to a thread."""
        waiting = _Waiting(ended, self._retry.shortest)
        try:
            error = self._repeated(waiting)
        except BaseException:  # Ctrl-C
            self._leave(waiting)
            raise
        if error is not None:
            self._leave(waiting)
            raise EndNotWritten(ended.claim.id) from error

    def close(self) -> None:
        """Try what waits once more; the rest is left to the rescue of this node's jobs."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        self._late = [waiting for waiting in self._late if self._attempt(waiting) is not None]

    def _repeated(self, waiting: "_Waiting") -> Exception | None:
        deadline = time.monotonic() + self._result_wait
        while (error := self._attempt(waiting)) is not None:
            if time.monotonic() >= deadline or self._closed.is_set():
                return error
            self._pause(waiting)
        return None

    def _attempt(self, waiting: "_Waiting") -> Exception | None:
        """Write an end, or in its place a failure where its values are refused; what stands in the way."""
        while True:
            ended = waiting.ended
            try:
                settled = self._environment.database.transact(settle_batch, self._environment, [ended])
            except Exception as error:  # noqa: BLE001 - everything is repeated
                instead = refused(ended, error) if is_of_data(error) else None
                if instead is None:
                    return error
                waiting.ended = instead
                continue
            self._environment.journal.end([ended.claim])
            self._on_settled(ended, settled)
            return None

    def _pause(self, waiting: "_Waiting") -> None:
        self._closed.wait(waiting.pause * self._rng.uniform(0.5, 1.0))
        waiting.pause = min(waiting.pause * 2, self._retry.longest)

    def _leave(self, waiting: "_Waiting") -> None:
        with self._lock:
            self._late.append(waiting)
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._go_on, name="horae-inline-ends", daemon=True)
                self._thread.start()

    def _go_on(self) -> None:
        while not self._closed.is_set():
            with self._lock:
                if not self._late:
                    self._thread = None
                    return
                waiting = self._late.pop(0)
            error = self._attempt(waiting)
            if error is None:
                log.warning("the end of job %d is written at last", waiting.ended.claim.id)
                continue
            with self._lock:
                self._late.append(waiting)
            self._pause(waiting)


class _Waiting:
    """An end on its way to the database, and how long to wait after the next failure."""

    __slots__ = ("ended", "pause")

    def __init__(self, ended: FinishedRun, pause: float) -> None:
        self.ended, self.pause = ended, pause
