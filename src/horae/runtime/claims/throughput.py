"""Estimates how many bodies can end in a moment, to decide how many jobs to claim in advance."""

from horae.runtime.timing import ThroughputTiming


class Throughput:
    """What slots can run, by how long the last bodies took. Times are in seconds.

    Bodies that ended are not counted, because a node that has just begun to claim would find few.
    """

    def __init__(self, slots: int, timing: ThroughputTiming) -> None:
        self._slots, self._timing = slots, timing
        self._since = 0.0
        self.reset()

    @property
    def expected(self) -> int:
        """Number of bodies that end in a moment if they take as long as the last ones."""
        in_all_slots = self._slots * self._timing.moment * self._bodies
        return int(min(in_all_slots / max(self._seconds, 1e-9), self._timing.most))

    def count(self, began: float, now: float) -> None:
        """Count a body that has ended."""
        if now - self._since >= self._timing.moment:  # what is older counts for less
            self._since = now
            self._bodies /= 2
            self._seconds /= 2
        self._bodies += 1
        self._seconds += now - began

    def reset(self) -> None:
        """Expect nothing until bodies end, and little until several have."""
        self._bodies, self._seconds = 0.0, self._timing.moment
