"""What the body in a child process says of its progress, on its way to the node."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from horae.types.context import Report

INTERVAL: Final = 0.05
"""Seconds between two reports: the node writes them every 0.1 s."""


class Newest:
    """The newest report of one body; of a body that has ended nobody asks for it."""

    __slots__ = ("report",)

    def __init__(self) -> None:
        self.report: tuple[int, str | None] | None = None


class Reports:
    """Sends the newest report of the body that runs, but only so often; any thread may report."""

    def __init__(self, send: Callable[[int, str | None], None]) -> None:
        self._send = send
        self._newest = Newest()
        # Its `put` cannot be torn by an exception of a signal handler, as what is made of locks could.
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._flushing = threading.Lock()

    def begin(self) -> Report:
        """The callback of the body that begins now."""
        newest = self._newest

        def report(percentage: int, label: str | None) -> None:
            newest.report = (percentage, label)
            self._bell.put(None)

        return report

    def end(self) -> None:
        """Send what is new; what threads report that the body left behind, now leads nowhere."""
        with self._flushing:
            self._flush()
            self._newest = Newest()

    def serve(self) -> None:
        """Send what is new, at intervals; a thread's whole life."""
        while True:
            self._bell.get()
            with suppress(Empty):
                while True:
                    self._bell.get_nowait()
            with self._flushing:
                self._flush()
            time.sleep(INTERVAL)

    def _flush(self) -> None:
        newest = self._newest
        report, newest.report = newest.report, None
        if report is not None:
            self._send(*report)
