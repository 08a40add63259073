"""The nodes with their free slots, and the jobs that wait for one."""

import heapq
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from horae.domain.forecast.groups import Order, Run
from horae.domain.forecast.scenario import QueueRules

UNLIMITED: Final = 1 << 60
"""Slots of a node without a limit."""
_OPEN: Final = QueueRules()


class Nodes:
    """Which nodes are up, since when, and how many slots each has free."""

    def __init__(self, count: int, slots: int | None, start: datetime) -> None:
        self.slots = UNLIMITED if slots is None else slots
        self._free = [self.slots] * count
        self._since: list[datetime | None] = [start] * count
        self._reasons = [0] * count
        self.up = count

    def take(self, jobs: int) -> tuple[int, int] | None:
        """Take slots of the node that has most free; return the node and how many, None if there are none."""
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
    """The jobs that wait for a slot, in the order of claims, with the pauses and limits of their queues."""

    def __init__(self, queues: Mapping[str, QueueRules]) -> None:
        self._rules = queues
        self._heaps: dict[str, list[tuple[Order, int, Run]]] = {}
        self._held = Counter[str]()
        self._added = 0
        self.jobs = 0

    def add(self, run: Run) -> None:
        """Let the jobs of a run wait."""
        self._added += 1
        self.jobs += run.jobs
        heapq.heappush(self._heaps.setdefault(run.queue, []), (run.order, self._added, run))

    def first(self) -> tuple[Run, int] | None:
        """Return the run to start next, and how many of its jobs its queue has room for."""
        best: tuple[Order, int, Run] | None = None
        for queue, heap in self._heaps.items():
            while heap and heap[0][2].over:
                heapq.heappop(heap)
            if heap and self._room(queue) > 0 and (best is None or heap[0] < best):
                best = heap[0]
        return None if best is None else (best[2], self._room(best[2].queue))

    def started(self, run: Run, jobs: int) -> None:
        """Note that jobs of the first run of a queue have started; the run leaves the queue with its last job."""
        self._held[run.queue] += jobs
        self.jobs -= jobs
        if jobs == run.jobs:
            heapq.heappop(self._heaps[run.queue])

    def withdrawn(self, run: Run) -> None:
        """Note that a run is over before it has started."""
        self.jobs -= run.jobs

    def ended(self, queue: str, jobs: int) -> None:
        """Note that jobs have ended."""
        self._held[queue] -= jobs

    def _room(self, queue: str) -> int:
        rules = self._rules.get(queue, _OPEN)
        if rules.paused:
            return 0
        return UNLIMITED if rules.limit is None else rules.limit - self._held[queue]
