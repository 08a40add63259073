"""The nodes with their free slots, and the jobs that wait for one."""

import heapq
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from horae.domain.forecast.groups import Order, Run
from horae.domain.forecast.limits import Buckets, ForecastLimit
from horae.domain.forecast.scenario import ForecastQueue

UNLIMITED: Final = 1 << 60
"""Slots of a node without a limit."""
_OPEN: Final = ForecastQueue()


class Nodes:
    """Which nodes are up, since when, and how many slots each has free."""

    def __init__(self, count: int, slots: int | None, start: datetime) -> None:
        self.slots = UNLIMITED if slots is None else slots
        self._free = [self.slots] * count
        self._since: list[datetime | None] = [start] * count
        self._reasons = [0] * count
        self.up = count

    def take(self, jobs: int) -> tuple[int, int] | None:
        """Take slots of the node that has most free; return the node and how many, None if there
        are none.
        """
        node = max(range(len(self._free)), key=self._room)
        taken = min(self._room(node), jobs)
        if taken < 1:
            return None
        self._free[node] -= taken
        return node, taken

    def release(self, node: int, jobs: int) -> None:
        """Give slots back."""
        self._free[node] += jobs

    def down(self, node: int) -> bool:
        """Take a node down; False if it was down already."""
        self._reasons[node] += 1
        if self._reasons[node] > 1:
            return False
        self.up, self._since[node], self._free[node] = self.up - 1, None, self.slots
        return True

    def back(self, node: int, now: datetime) -> bool:
        """Bring a node back; False if another outage still keeps it down."""
        self._reasons[node] -= 1
        if self._reasons[node] > 0:
            return False
        self.up, self._since[node] = self.up + 1, now
        return True

    @property
    def oldest(self) -> datetime | None:
        """Since when the longest running node has been up."""
        return min((since for since in self._since if since is not None), default=None)

    def _room(self, node: int) -> int:
        return 0 if self._since[node] is None else self._free[node]


class WaitingJobs:
    """The jobs that wait for a slot, in the order of claims, with the rules of their queues and
    their limits by key.

    Jobs with the same queue, limits and turn wait in one line: if the first may not start, none of
    them may.
    """

    def __init__(self, queues: Mapping[str, ForecastQueue]) -> None:
        self._rules = queues
        self._lines: dict[_Line, list[tuple[Order, int, Run]]] = {}
        self._held = Counter[str]()
        self._buckets = Buckets()
        self._turns: dict[tuple[str, int, str], datetime] = {}
        self._added = 0
        self.jobs = 0
        self.opens: datetime | None = None
        """When a rate that holds jobs back allows another start."""

    def add(self, run: Run) -> None:
        """Let the jobs of a run wait."""
        self._added += 1
        self.jobs += run.jobs
        heapq.heappush(self._lines.setdefault(_line_of(run), []), (run.order, self._added, run))

    def first(self, now: datetime) -> tuple[Run, int] | None:
        """Return the run to start next, and how many of its jobs may start at once."""
        best: tuple[Order, int, Run] | None = None
        self.opens = None
        for line, heap in self._lines.items():
            while heap and heap[0][2].over:
                heapq.heappop(heap)
            if heap and self._room(line.queue) > 0 and self._is_allowed(line, now):
                order, added, run = heap[0]
                place = self._place(run, order), added, run
                best = place if best is None or place < best else best
        if best is None:
            return None
        run = best[2]
        # Under a limit, and where others take turns, each job is decided about by itself.
        return run, 1 if run.limits or run.turn is not None else self._room(run.queue)

    def started(self, run: Run, jobs: int, now: datetime) -> None:
        """Note that jobs of the first run of a line have started; the run leaves the line with its
        last job.
        """
        self._held[run.queue] += jobs
        self.jobs -= jobs
        self._buckets.take(run.limits, now)
        if run.turn is not None:
            latest = self._turns.get((run.queue, run.order[0], run.turn), now)
            others = (turn for (queue, *_), turn in self._turns.items() if queue == run.queue)
            # A microsecond apart, so that those who have a turn at one moment keep their order.
            self._turns[run.queue, run.order[0], run.turn] = max(latest, now, *others) + timedelta(
                microseconds=1
            )
        if jobs == run.jobs:
            line = _line_of(run)
            heapq.heappop(self._lines[line])
            if not self._lines[line]:
                del self._lines[line]

    def withdrawn(self, run: Run) -> None:
        """Note that a run is over before it has started."""
        self.jobs -= run.jobs

    def ended(self, run: Run) -> None:
        """Note that the jobs of a run have ended."""
        self._held[run.queue] -= run.jobs
        self._buckets.release(run.limits, run.jobs)

    def _room(self, queue: str) -> int:
        rules = self._rules.get(queue, _OPEN)
        if rules.paused:
            return 0
        return UNLIMITED if rules.limit is None else rules.limit - self._held[queue]

    def _is_allowed(self, line: "_Line", now: datetime) -> bool:
        if not line.limits:
            return True
        wait = self._buckets.wait(line.limits, now)
        if wait:
            self.opens = now + wait if self.opens is None else min(self.opens, now + wait)
        return wait == timedelta(0)

    def _place(self, run: Run, order: Order) -> Order:
        """Return the order of a run; in a fair queue, who had a turn comes after those who have
        waited since.
        """
        if run.turn is None:
            return order
        priority, due, number = order
        return priority, max(due, self._turns.get((run.queue, priority, run.turn), due)), number


class _Line(NamedTuple):
    queue: str
    limits: tuple[ForecastLimit, ...]
    turn: str | None
    priority: int


def _line_of(run: Run) -> _Line:
    """Return the line of a run; in a fair queue each priority has turns of its own."""
    return _Line(run.queue, run.limits, run.turn, 0 if run.turn is None else run.order[0])
