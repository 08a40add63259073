"""What a service says of a try that failed and is repeated many times a second, as while the database is away."""

import logging
import time
from collections.abc import Callable
from typing import Final

AGAIN_AFTER: Final = 30.0
"""Seconds until the same is said again."""

log = logging.getLogger("horae.runtime")


class ThrottledWarning:
    """Warns at the first failure, then now and again, until a try has worked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._silent_until: float | None = None

    def warn(self, message: str, *arguments: object) -> None:
        """Say it, unless that was done a moment ago."""
        now = self._clock()
        if self._silent_until is None or now >= self._silent_until:
            self._silent_until = now + AGAIN_AFTER
            log.warning(message, *map(_brief, arguments))

    def settle(self) -> None:
        """It has worked: the next failure is news."""
        self._silent_until = None


def _brief(argument: object) -> object:
    """Of an error its first line: what SQLAlchemy says after that is the statement, each time."""
    return str(argument).partition("\n")[0] if isinstance(argument, Exception) else argument
