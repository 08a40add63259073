"""Logs once that a Redis server cannot be used, and that it can be used again."""

import math
import time
from collections.abc import Callable
from typing import Final

from horae.forking import ForkSafeLock
from horae.guarded_log import guarded_log

AGAIN_AFTER: Final = 30.0
"""Seconds between two warnings about one server, whichever parts of the program fail."""

_log = guarded_log("horae.redis")


class FailureLog:
    """The log of one server's failures, for everything that uses the server.

    `part`: what has failed, such as "live state" or "hints".
    """

    def __init__(self, shown: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`shown`: the URL of the server without a password."""
        self._shown = shown
        self._clock = clock
        self._lock = ForkSafeLock()
        self._failing: dict[str, str] = {}
        self._silent_until = self._ignored_until = -math.inf
        self._warned = False

    @property
    def failing(self) -> dict[str, str]:
        """The parts that fail at present, each with the reason."""
        return dict(self._failing)

    def note_failure(self, part: str, reason: str) -> None:
        """Note a failure; log it unless one was logged within the last `AGAIN_AFTER` seconds."""
        with self._lock:
            self._failing[part] = reason
            now = self._clock()
            if now < self._silent_until:
                return
            self._silent_until, self._warned = now + AGAIN_AFTER, True
        _log.warning(
            "Redis (%s) cannot be used for %s; until it can, the database keeps live state, and"
            " nodes poll: %s",
            self._shown,
            part,
            reason,
        )

    def note_foreign_entries(self, part: str) -> None:
        """Log that entries of another program were ignored, unless that was logged lately."""
        with self._lock:
            now = self._clock()
            if now < self._ignored_until:
                return
            self._ignored_until = now + AGAIN_AFTER
        _log.warning(
            "Redis (%s) has entries for %s that Horae cannot have written; they are ignored. Who"
            " else can write there?",
            self._shown,
            part,
        )

    def note_success(self, part: str) -> None:
        """Note a success, and log it if that ends a failure that was logged."""
        if part not in self._failing:
            return
        with self._lock:
            self._failing.pop(part, None)
            if self._failing or not self._warned:
                return
            self._warned = False
        _log.info("Redis (%s) can be used again", self._shown)
