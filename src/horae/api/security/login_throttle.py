"""Delays the responses to wrong tokens, so that tokens cannot be guessed.

A valid token is never delayed.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from horae.api.problems import Refused
from horae.guarded_log import guarded_log
from horae.runtime.throttled_warning import ThrottledWarning

log = guarded_log("horae.security")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginLimits:
    """How many wrong tokens are allowed, and how long the responses to further ones are delayed."""

    counted_for: float = 60.0
    """Seconds for which a wrong token counts."""
    undelayed: int = 3
    """Wrong tokens from one address without a delay, because people mistype."""
    undelayed_in_all: int = 30
    """Wrong tokens from all addresses together without a delay, against distributed guessing."""
    first_delay: float = 0.25
    """Seconds of the first delay; each further wrong token doubles it."""
    longest_delay: float = 5.0
    """Maximum delay of a response in seconds."""
    most_delayed: int = 50
    """Maximum number of delayed responses; further wrong tokens are refused, to save memory."""
    remembered: int = 1000
    """Maximum number of wrong tokens that are remembered, to save memory."""


class TooManyGuesses(Refused):
    """Too many responses to wrong tokens are delayed at the moment."""

    status, code = 429, "ERROR_TOO_MANY_ATTEMPTS"


class LoginThrottle:
    """Counts wrong tokens, by address and in all. Used on one event loop."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, limits: LoginLimits = LoginLimits()
    ) -> None:
        self._clock, self._limits = clock, limits
        self._wrong: deque[tuple[float, str]] = deque(maxlen=limits.remembered)
        self._delayed = 0
        self._warning = ThrottledWarning()

    async def wrong(self, address: str) -> None:
        """Count a wrong token and wait until its response is due; raises `TooManyGuesses`."""
        delay = self.delay_after(address)
        self._warning.warn("a log-in from %s failed: unknown token", address)
        if self._delayed >= self._limits.most_delayed:
            raise TooManyGuesses("too many wrong tokens; wait a minute")
        self._delayed += 1
        try:
            await asyncio.sleep(delay)
        finally:
            self._delayed -= 1

    def delay_after(self, address: str) -> float:
        """Count a wrong token; return by how many seconds its response is delayed."""
        now, limits = self._clock(), self._limits
        while self._wrong and self._wrong[0][0] <= now - limits.counted_for:
            self._wrong.popleft()
        self._wrong.append((now, address))
        own = sum(other == address for _, other in self._wrong) - limits.undelayed
        over = max(own, (len(self._wrong) - limits.undelayed_in_all) // 10)
        if over > 0:
            return min(limits.first_delay * 2.0 ** min(over - 1, 10), limits.longest_delay)
        return 0.0
