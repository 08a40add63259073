"""The progress reports of the body in a child process, on their way to the node."""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from horae.types import Report


class ProgressReports:
    """Sends the latest report of the running body at intervals; any thread may report."""

    def __init__(self, send: Callable[[int, str | None], None]) -> None:
        self._send = send
        # The latest report of one body; it is not read after the body has ended.
        self._latest: deque[tuple[int, str | None]] = deque(maxlen=1)
        # A queue, because an exception of a signal handler cannot leave its `put` half done, as it
        # could with locks and conditions.
        self._changed: SimpleQueue[None] = SimpleQueue()
        self._flushing = threading.Lock()

    def begin(self) -> Report:
        """Return the callback for the body that begins now."""
        latest = self._latest

        def report(percentage: int, label: str | None) -> None:
            latest.append((percentage, label))
            self._changed.put(None)

        return report

    def end(self) -> None:
        """Send the new report; ignore later reports of threads that the body left behind."""
        with self._flushing:
            self._flush()
            self._latest = deque(maxlen=1)

    def serve(self) -> None:
        """Send new reports at intervals for ever, on a thread of its own."""
        while True:
            self._changed.get()
            with suppress(Empty):
                while True:
                    self._changed.get_nowait()
            with self._flushing:
                self._flush()
            # The node publishes reports every 0.1 s.
            time.sleep(0.05)

    def _flush(self) -> None:
        if self._latest:
            self._send(*self._latest.pop())
