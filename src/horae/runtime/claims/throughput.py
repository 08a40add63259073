"""Measures how many bodies end per moment, to decide how many jobs to claim in advance."""

from horae.runtime.timing import ThroughputTiming


class Throughput:
    """Counts the bodies that end, a moment at a time. Times are in seconds."""

    def __init__(self, timing: ThroughputTiming) -> None:
        self._timing = timing
        self._since = self._latest = 0.0
        self._current = 0
        self._last = 0

    @property
    def recent(self) -> int:
        """Number of bodies that ended in the last moment, or the current count extrapolated to a
        whole moment, if higher.
        """
        elapsed = max(self._latest - self._since, self._timing.shortest_sample)
        return max(self._last, int(self._current * self._timing.moment / elapsed))

    def count(self, now: float) -> None:
        """Count a body that has ended."""
        if now - self._since >= self._timing.moment:
            self._last = self._current if now - self._since < 2 * self._timing.moment else 0
            self._current = 0
            self._since = now
        self._latest = now
        self._current += 1

    def reset(self) -> None:
        """Claim nothing in advance until bodies end again."""
        self._last = self._current = 0
