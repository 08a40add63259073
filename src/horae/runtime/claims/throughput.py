"""How many bodies end in a moment: how far ahead it pays to claim."""

from typing import Final

MOMENT: Final = 0.1
LEAST: Final = 0.02
"""Seconds: what is counted at a time; from how much of it the rest is told."""


class Throughput:
    """Counts ends by moments of a tenth of a second."""

    def __init__(self) -> None:
        self._since = self._latest = 0.0
        self._current = 0
        self._last = 0

    @property
    def recent(self) -> int:
        """Ends in the last moment, or in this one at its pace so far if they are more."""
        return max(self._last, int(self._current * MOMENT / max(self._latest - self._since, LEAST)))

    def count(self, now: float) -> None:
        """One more has ended."""
        if now - self._since >= MOMENT:
            self._last = self._current if now - self._since < 2 * MOMENT else 0
            self._current = 0
            self._since = now
        self._latest = now
        self._current += 1

    def reset(self) -> None:
        """Claim no further ahead until bodies end again."""
        self._last = self._current = 0
