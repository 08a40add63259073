"""The events of a simulation, in the order of their moments."""

import heapq
from datetime import datetime
from enum import IntEnum

from horae.domain.forecast.groups import Group, Run


class Kind(IntEnum):
    """The kinds of events, in the order in which those of one moment happen.

    A node goes down or is back (its index), a body ends (its run), runs of dead nodes are found,
    schedules are due (their group), a job of another load arrives (the index of the load), a rate
    allows another start.
    """

    DOWN = 0
    BACK = 1
    END = 2
    FOUND = 3
    WAKE = 4
    LOAD = 5
    OPEN = 6


class Events:
    """The events to come, up to the end of the period, and numbers in the order of creation."""

    def __init__(self, end: datetime) -> None:
        self._end = end
        self._heap: list[tuple[datetime, Kind, int, Group | Run | int]] = []
        self._number = 0

    def number(self) -> int:
        """Return the next number."""
        self._number += 1
        return self._number

    def add(self, moment: datetime, kind: Kind, what: Group | Run | int) -> None:
        """Add an event; what happens after the end is left out."""
        if moment < self._end:
            heapq.heappush(self._heap, (moment, kind, self.number(), what))

    @property
    def next(self) -> datetime | None:
        """The moment of the next event."""
        return self._heap[0][0] if self._heap else None

    def pop(self, now: datetime) -> tuple[Kind, Group | Run | int] | None:
        """Remove and return the next event of this moment."""
        if not self._heap or self._heap[0][0] != now:
            return None
        _, kind, _, what = heapq.heappop(self._heap)
        return kind, what
