"""Logs a failure only now and then if it repeats many times a second."""

import math
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from horae.guarded_log import guarded_log
from horae.storage.engine import first_line

AGAIN_AFTER: Final = 30.0
"""Seconds between two warnings."""

log = guarded_log("horae.runtime")


class ThrottledWarning:
    """Logs the first failure, then one every `AGAIN_AFTER` seconds until `settle` is called."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._silent_until = -math.inf

    def warn(self, message: str, *arguments: object) -> None:
        """Log the message, unless one was logged a moment ago."""
        now = self._clock()
        if now >= self._silent_until:
            self._silent_until = now + AGAIN_AFTER
            brief = (
                first_line(each) if isinstance(each, Exception) else each for each in arguments
            )
            log.warning(message, *brief)

    @contextmanager
    def guard(self, message: str, *arguments: object) -> Generator[None]:
        """Let the caller go on whatever the block raises: log it as the last argument.

        For calls of databases, live stores and brokers, whose drivers raise errors of their own.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001 - every driver raises errors of its own
            self.warn(message, *arguments, error)

    def settle(self) -> None:
        """Note that the call has succeeded, so that the next failure is logged at once."""
        self._silent_until = -math.inf
