"""Writes the results of inline jobs, and repeats what the database rejects, as the settler does.

The caller waits for a while. After that a thread of the process continues, so that no result is
lost while the process lives. If the process ends first, the job is rescued like one of any dead
node.
"""

import threading
from collections.abc import Callable
from random import Random

from horae.errors import EndNotWritten
from horae.guarded_log import guarded_log
from horae.resource_shortage import try_start
from horae.runtime.bodies import FinishedRun, RunEnvironment, Settling
from horae.runtime.settling import Repetition, settle_batch
from horae.runtime.timing import Timing
from horae.storage.outcomes import Settled
from horae.types import Observed

log = guarded_log("horae.runtime")


class _UnwrittenEnd:
    """A result that waits for the database, and why."""

    __slots__ = ("error", "finished", "written")

    def __init__(self, finished: FinishedRun) -> None:
        self.finished = finished
        self.error: Exception | None = None
        self.written = threading.Event()


class InlineEnds:
    """Writes the results of one process's inline jobs. Thread-safe."""

    def __init__(
        self,
        environment: RunEnvironment,
        on_settled: Callable[[FinishedRun, Settled], None],
        timing: Timing,
    ) -> None:
        """`on_settled`: called after a result is committed."""
        self._environment, self._on_settled = environment, on_settled
        self._timing, self._rng = timing, Random()
        self._late: list[_UnwrittenEnd] = []
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def write(self, finished: FinishedRun) -> None:
        """Write a result; after `Timing.inline_result` leave it to a thread, raise
        `EndNotWritten`.
        """
        end = _UnwrittenEnd(finished)
        try:
            self._attempt(end, self._new_repetition())
        finally:  # a Ctrl-C gets here as well
            if not end.written.is_set():
                self._write_later(end)
        if not end.written.wait(self._timing.inline_result):
            raise EndNotWritten(finished.claim.id) from end.error

    def close(self) -> None:
        """Try each waiting result once more; other nodes rescue the jobs of the rest."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        for end in self._late:
            self._attempt(end, self._new_repetition())

    def _new_repetition(self) -> Repetition:
        return Repetition(self._timing.settler, self._rng)

    def _attempt(self, end: _UnwrittenEnd, repetition: Repetition) -> float:
        """Write a result, or a failure if it is rejected; return the pause before a retry."""
        while True:
            try:
                with Observed(self._environment.settlements, Settling([end.finished])) as observed:
                    settled = self._environment.database.transact(
                        settle_batch, self._environment, observed.runs
                    )
                    observed.settled = settled.settled
            except Exception as error:  # noqa: BLE001 - everything is repeated
                end.error = error
                [end.finished], pause = repetition.after([end.finished], error)
                if pause:
                    return pause
                continue
            self._environment.journal.end([end.finished.claim])
            self._on_settled(end.finished, settled)
            end.written.set()
            return 0.0

    def _write_later(self, end: _UnwrittenEnd) -> None:
        with self._lock:
            self._late.append(end)
            if self._thread is None and not self._closed.is_set():
                thread = threading.Thread(
                    target=self._write_late, name="horae-inline-ends", daemon=True
                )
                # Without a thread the next result tries again.
                self._thread = thread if try_start(thread) else None

    def _write_late(self) -> None:
        repetition = self._new_repetition()
        while not self._closed.is_set():
            with self._lock:
                if not self._late:
                    self._thread = None
                    return
                end = self._late.pop(0)
            pause = self._attempt(end, repetition)
            if end.written.is_set():
                log.warning("the result of job %d is written after all", end.finished.claim.id)
                continue
            with self._lock:
                self._late.append(end)
            self._closed.wait(pause)
