"""Keeps clients, and a lack of file descriptors, from flooding the log with the same line."""

import logging
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from typing_extensions import override

AGAIN_AFTER: Final = 30.0
"""Seconds until the same line is logged again."""
LOGGERS: Final = ("asyncio", "uvicorn.error", "horae.api")
REPEATED: Final = (
    "socket.accept() out of system resource",
    "Invalid HTTP request received.",
    "Unsupported upgrade request.",
    "No supported WebSocket library detected",
    "the database does not answer",
    "the database cannot serve a request",
    "the database refuses a request",
    "a request failed",
)


class Throttle(logging.Filter):
    """Passes each repeated line every `AGAIN_AFTER` seconds, and all other lines always."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._silent_until: dict[str, float] = {}

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        beginning = next((each for each in REPEATED if str(record.msg).startswith(each)), None)
        if beginning is None:
            return True
        cause = type(record.exc_info[1]).__name__ if record.exc_info else ""
        with self._lock:
            now = self._clock()
            passes = now >= self._silent_until.get(beginning + cause, now)
            if passes:
                self._silent_until[beginning + cause] = now + AGAIN_AFTER
        return passes


@contextmanager
def throttle_logs() -> Generator[None]:
    """Throttle the loggers within the block."""
    throttle = Throttle()
    for name in LOGGERS:
        logging.getLogger(name).addFilter(throttle)
    try:
        yield
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(throttle)
