"""How many bodies ended in the last moment: how far ahead it pays to claim."""

from typing import Final

MOMENT: Final = 0.1


class Throughput:
    """Counts ends by moments of a tenth of a second."""

    def __init__(self) -> None:
        self._since = 0.0
        self._current = 0
        self._last = 0

    @property
    def recent(self) -> int:
        """Ends in the last moment, or in this one if they are more."""
        return max(self._last, self._current)

    def count(self, now: float) -> None:
        """One more has ended."""
        if now - self._since >= MOMENT:
            self._last = self._current if now - self._since < 2 * MOMENT else 0
            self._current = 0
            self._since = now
        self._current += 1

    def reset(self) -> None:
        """Claim no further ahead until bodies end again."""
        self._last = self._current = 0
