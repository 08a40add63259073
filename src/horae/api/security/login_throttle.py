"""Slows whoever guesses tokens. A right token is never slowed, so nobody can lock its owner out."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from horae.api.problems import Refused
from horae.runtime.throttled_warning import ThrottledWarning

REMEMBERED: Final = 60.0
"""Seconds for which a wrong token counts."""
FREE: Final = 3
"""Wrong tokens of one address that cost nothing: people mistype."""
FREE_IN_ALL: Final = 30
LONGEST: Final = 5.0
MOST_WAITING: Final = 50
ADDRESSES: Final = 1000

log = logging.getLogger("horae.security")


class TooManyGuesses(Refused):
    """So many wrong tokens wait for their answer that the next one is not even kept waiting."""

    status, code = 429, "ERROR_TOO_MANY_ATTEMPTS"


class LoginThrottle:
    """Counts wrong tokens, by address and in all. Used on one loop."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, longest: float = LONGEST, most_waiting: int = MOST_WAITING
    ) -> None:
        """`longest` bounds the seconds that one answer waits, `most_waiting` how many wait at a time."""
        self._clock, self._longest, self._most_waiting = clock, longest, most_waiting
        self._wrong: deque[tuple[float, str]] = deque(maxlen=ADDRESSES)
        self._waiting = 0
        self._many = ThrottledWarning()

    async def wrong(self, address: str) -> None:
        """Keep somebody waiting who gave a wrong token; raises `TooManyGuesses`."""
        pause = self.pause_after(address)
        self._many.warn("a log-in from %s failed: this token is not known", address)
        if self._waiting >= self._most_waiting:
            raise TooManyGuesses("too many wrong tokens; wait a minute")
        self._waiting += 1
        try:
            await asyncio.sleep(pause)
        finally:
            self._waiting -= 1

    def pause_after(self, address: str) -> float:
        """Count a wrong token; the seconds that its answer has to wait."""
        now = self._clock()
        while self._wrong and self._wrong[0][0] <= now - REMEMBERED:
            self._wrong.popleft()
        self._wrong.append((now, address))
        own = sum(other == address for _, other in self._wrong) - FREE
        over = max(own, (len(self._wrong) - FREE_IN_ALL) // 10)
        return min(0.25 * 2.0 ** min(over - 1, 10), self._longest) if over > 0 else 0.0
