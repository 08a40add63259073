"""What the body in a child process says of its progress, on its way to the node."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

INTERVAL: Final = 0.05
"""Seconds between two reports: the node writes them every 0.1 s."""


class Reports:
    """Sends the newest report, but only so often; any thread may report."""

    def __init__(self, send: Callable[[int, str | None], None]) -> None:
        self._send = send
        self._newest: tuple[int, str | None] | None = None
        # Its `put` cannot be torn by an exception of a signal handler, as what is made of locks could.
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._flushing = threading.Lock()

    def put(self, percentage: int, label: str | None) -> None:
        """Take note of what is to be shown."""
        self._newest = (percentage, label)
        self._bell.put(None)

    def flush(self) -> None:
        """Send what is new, now."""
        with self._flushing:
            newest, self._newest = self._newest, None
            if newest is not None:
                self._send(*newest)

    def serve(self) -> None:
        """Send what is new, at intervals; a thread's whole life."""
        while True:
            self._bell.get()
            with suppress(Empty):
                while True:
                    self._bell.get_nowait()
            self.flush()
            time.sleep(INTERVAL)
