"""How long ago a stored moment was, although the clock that told it may have been set since.

A wall clock steps: somebody sets it, a machine sleeps, a virtual machine is restored. The monotonic clock of a process
does neither, but no other process knows it. Whoever reads both now and then can tell how much of the time between two
stored moments has really passed.
"""

from datetime import datetime, timedelta
from typing import Final

TOLERANCE: Final = 1.0
"""Seconds by which the two clocks may drift apart before the difference counts as a step."""


class Elapsed:
    """What the wall clock has shown, by the monotonic clock of whoever watches it. Never overestimates an age."""

    def __init__(self) -> None:
        self._steps: list[tuple[datetime, float]] = []

    def observe(self, wall: datetime, monotonic: float) -> None:
        """Both clocks were read at once."""
        if self._steps:
            since, began = self._steps[-1]
            if abs((wall - since).total_seconds() - (monotonic - began)) <= TOLERANCE:
                return
        # What it showed later than this before it was set back, it will show again.
        self._steps = [step for step in self._steps if step[0] < wall]
        self._steps.append((wall, monotonic))

    def age(self, moment: datetime, monotonic: float) -> float:
        """At least how many seconds ago the wall clock showed `moment`; before it was watched the clock is believed."""
        until = monotonic
        for since, began in reversed(self._steps):
            if moment >= since:
                return max(0.0, monotonic - min(began + (moment - since) / timedelta(seconds=1), until))
            until = began
        if not self._steps:
            return 0.0
        since, began = self._steps[0]
        return monotonic - began + (since - moment) / timedelta(seconds=1)
