"""How long ago a stored moment was, even if the wall clock was set since.

A wall clock can step: an operator sets it, a machine sleeps, a virtual machine is restored. The
monotonic clock of a process never steps, but other processes cannot read it. A process that
regularly reads both can compute how much time really passed between two stored moments.
"""

from datetime import datetime, timedelta
from typing import Final

TOLERANCE: Final = 1.0
"""Seconds by which the two clocks may drift apart before the difference counts as a step."""


class Elapsed:
    """The steps of the wall clock, observed by the monotonic clock of this process.

    Never overestimates an age.
    """

    def __init__(self) -> None:
        self._steps: list[tuple[datetime, float]] = []

    def observe(self, wall: datetime, monotonic: float) -> bool:
        """Record that both clocks were read at the same moment; return whether the wall clock was
        set before that.
        """
        known = bool(self._steps)
        if self._steps:
            since, began = self._steps[-1]
            if abs((wall - since).total_seconds() - (monotonic - began)) <= TOLERANCE:
                return False
        # A clock that was set back shows these times a second time, so the earlier readings no
        # longer count.
        self._steps = [step for step in self._steps if step[0] < wall]
        self._steps.append((wall, monotonic))
        return known

    def age(self, moment: datetime, monotonic: float) -> float:
        """Return a lower bound of the seconds since the wall clock showed `moment`.

        Before the first observation the wall clock is trusted.
        """
        until = monotonic
        for since, began in reversed(self._steps):
            if moment >= since:
                return max(
                    0.0, monotonic - min(began + (moment - since) / timedelta(seconds=1), until)
                )
            until = began
        if not self._steps:
            return 0.0
        since, began = self._steps[0]
        return monotonic - began + (since - moment) / timedelta(seconds=1)

    def surplus(self, seconds: float, monotonic: float) -> float:
        """Return by how many seconds the wall clock overstates an age, because it was set forward.

        A moment that lies `seconds` and the surplus before the wall clock was surely `seconds` ago.
        """
        if not self._steps:
            return 0.0
        last, last_began = self._steps[-1]
        then = monotonic - seconds
        # Both in seconds from `last`, by the wall clock.
        moment = by_the_clock = then - last_began
        for since, began in reversed(self._steps):
            # What was shown later than `then` may be no older, whatever it was.
            moment = min(moment, (since - last).total_seconds() + max(0.0, then - began))
            if began <= then:
                break
        else:
            since, began = self._steps[0]
            moment = min(moment, (since - last).total_seconds() + then - began)
        return by_the_clock - moment
