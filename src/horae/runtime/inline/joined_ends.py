"""Ends of short bodies in a busy process, which wait a moment to be written together with the claim
of its next job.

The process is busy with that message anyway. If none comes, a thread writes them. Until then the
journal of the process lists them, as those that a node writes in batches, so that a killed process
loses no more than before.
"""

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.timing import InlineTiming
from horae.scarcity import starts
from horae.storage.outcomes.ending_claim import may_be_joined


class JoinedEnds:
    """The ends that wait in one process. Thread-safe."""

    def __init__(self, write: Callable[[FinishedRun], None], timing: InlineTiming) -> None:
        """`write`: writes an end alone; what it raises has been dealt with."""
        self._write, self._timing = write, timing
        self._waiting: list[FinishedRun] = []
        self._write_at = 0.0
        self._idle_since, self._busy = -math.inf, False
        self._lock = threading.Lock()
        self._filled, self._hurry = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def put(self, finished: FinishedRun, took: float) -> bool:
        """Let the end of a body wait that took so many seconds; return False if it is to be written
        at once.
        """
        self._idle_since = time.monotonic()
        short = took <= self._timing.short_body
        if not (short and self._busy and may_be_joined(finished.settlement) and self._has_thread()):
            return False
        with self._lock:
            if self._closed.is_set():  # nothing would write it
                return False
            if not self._waiting:
                self._write_at = self._idle_since + self._timing.join_within
            self._waiting.append(finished)
        self._filled.set()
        return True

    def take(self) -> list[FinishedRun]:
        """Remove and return what waits, before a job is claimed."""
        self._busy = time.monotonic() - self._idle_since <= self._timing.busy_within
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken

    def give_back(self, ended: list[FinishedRun]) -> None:
        """Have ends written alone and at once, by the thread."""
        with self._lock:
            self._waiting += ended
            self._write_at = 0.0
        self._hurry.set()
        if self._has_thread():
            self._filled.set()
        else:
            self._write_all()

    def close(self) -> None:
        """Write what waits."""
        self._closed.set()
        self._hurry.set()
        self._filled.set()
        if self._thread is not None:
            self._thread.join()
        self._write_all()

    def _has_thread(self) -> bool:
        """Return whether the thread runs, which is started now if it can be."""
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    thread = threading.Thread(
                        target=self._run, name="horae-joined-ends", daemon=True
                    )
                    self._thread = thread if starts(thread) else None
        return self._thread is not None

    def _run(self) -> None:
        while not self._closed.is_set():
            self._filled.wait()
            self._filled.clear()
            while self._waiting and not self._closed.is_set():
                pause = self._write_at - time.monotonic()
                if pause > 0:
                    if self._hurry.wait(pause):
                        self._hurry.clear()
                else:
                    self._write_all()

    def _write_all(self) -> None:
        with self._lock:
            ended, self._waiting = self._waiting, []
        for finished in ended:
            with suppress(Exception):
                self._write(finished)
