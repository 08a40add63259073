"""A thread that receives from a server, and connects again after each failure."""

import selectors
import socket
import threading
from abc import ABC, abstractmethod
from datetime import timedelta
from random import Random
from typing import Final

from horae.domain.backoff import Backoff, retry_delay

RECONNECT: Final = Backoff(base=timedelta(milliseconds=100), cap=timedelta(seconds=5), jitter=0.5)
"""Delays between attempts to reach a server, short at first because most failures are."""


class ReceivingThread(ABC):
    """Runs `_receive` on its own thread until closed, with a growing delay after each failure."""

    def __init__(self, *, close_within: float) -> None:
        """`close_within`: seconds that `close` waits for the thread, which may be connecting."""
        self._close_within = close_within
        self._closing = False
        self._failures = 0
        """Number of failures since the server was last reached, which `_receive` sets to zero."""
        # Random delays spread the retries of many processes; they protect nothing.
        self._random = Random()
        # Closing the first makes the second readable.
        self._closer, self._closed = socket.socketpair()
        self._thread: threading.Thread | None = None

    @abstractmethod
    def _receive(self) -> None:
        """Connect, and pass on what arrives until `_closing`."""

    @abstractmethod
    def _report(self, error: Exception) -> None:
        """Log a failure. `_failures` is the number of those before it."""

    def start(self, name: str) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; nothing is passed on afterwards, except what is being handled."""
        self._closing = True
        self._closer.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(self._close_within)

    def _run(self) -> None:
        with self._closed:
            while not self._closing:
                try:
                    self._receive()
                except Exception as error:  # noqa: BLE001 - whatever arrives must not end the thread
                    if not self._closing:
                        self._report(error)
                        self._failures += 1
                        delay = retry_delay(self._failures, RECONNECT, self._random)
                        self._wait(None, delay.total_seconds())

    def _wait(self, descriptor: int | None, seconds: float) -> bool:
        """Wait until something arrives or the thread is closed; return False after `seconds`."""
        # Polling needs no file descriptor: the process may have none left.
        with selectors.PollSelector() as selector:
            selector.register(self._closed, selectors.EVENT_READ)
            if descriptor is not None:
                selector.register(descriptor, selectors.EVENT_READ)
            return bool(selector.select(seconds))
