"""The nodes as workers: they start waiting jobs in free slots, end bodies, die, and find the jobs
of dead nodes.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from random import Random
from typing import Final, Protocol

from horae.domain.forecast.events import Events, Kind
from horae.domain.forecast.groups import Run
from horae.domain.forecast.scenario import Body, Scenario
from horae.domain.forecast.slots import Nodes, WaitingJobs
from horae.domain.schedules.statistics import RunOutcome

FOUND_AFTER: Final = timedelta(seconds=3)
"""When the jobs of a killed node are found by another one."""
FOUND_AFTER_OUTAGE: Final = timedelta(seconds=10)
"""When they are found by a node that has just started: it waits one full limit before it declares
others dead.
"""


class Schedules(Protocol):
    """What the workers tell the schedules, and ask them."""

    def split(self, run: Run, jobs: int) -> Iterable[Run]:
        """Split off the first jobs of a run, which start now; those that have the same body stay
        together.
        """
        ...

    def began(self, run: Run, now: datetime) -> None:
        """Note that the bodies of a run begin."""
        ...

    def ended(
        self, run: Run, outcome: RunOutcome, now: datetime, scheduler: datetime | None = None
    ) -> None:
        """End a run; `scheduler`: for a crash, the start of the node that found it."""
        ...


class Workers:
    """All nodes of a scenario, and the jobs that wait for them."""

    def __init__(self, scenario: Scenario, events: Events, schedules: Schedules) -> None:
        self._scenario, self._events, self._schedules = scenario, events, schedules
        self._nodes = Nodes(scenario.nodes, scenario.slots, scenario.start)
        self._waiting = WaitingJobs(scenario.queues)
        self._running: dict[Run, None] = {}
        self._lost: list[Run] = []
        self._random = [
            Random(f"{scenario.seed} load {index}")  # noqa: S311 - moments of a simulation
            for index in range(len(scenario.loads))
        ]
        self._opens: datetime | None = None
        self.bodies = self.other_jobs = self.others_waited = 0

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return self._waiting.jobs

    @property
    def up(self) -> bool:
        """Whether any node is up."""
        return self._nodes.up > 0

    def add(self, run: Run) -> None:
        """Let the jobs of a run wait for slots."""
        self._waiting.add(run)

    def start(self, now: datetime) -> None:
        """Start waiting jobs in the order of claims, as long as there are slots and room in their
        queues.
        """
        while (first := self._waiting.first(now)) is not None:
            run, room = first
            taken = self._nodes.take(min(run.jobs, room))
            if taken is None:
                return
            node, jobs = taken
            self._waiting.started(run, jobs, now)
            for part in self._schedules.split(run, jobs) if run.group is not None else (run,):
                self._begin(part, node, now)
        if (opens := self._waiting.opens) is not None and opens != self._opens:
            self._events.add(opens, Kind.OPEN, 0)
        self._opens = opens

    def end(self, run: Run, now: datetime) -> None:
        """End the bodies of a run, unless they were stopped before."""
        if run.over:
            return
        self._release(run)
        succeeds = run.body is None or run.body.succeeds
        self._schedules.ended(run, RunOutcome.SUCCEEDED if succeeds else RunOutcome.FAILED, now)

    def stop(self, run: Run, now: datetime) -> None:
        """Cancel a run that makes way for the next one."""
        if run.node is None:
            self._waiting.withdrawn(run)
            self._schedules.ended(run, RunOutcome.UNCOUNTED, now)
        elif run in self._running:  # otherwise its node is down, and another finds that later
            self._release(run)
            self._schedules.ended(run, RunOutcome.CANCELLED, now)

    def down(self, node: int, now: datetime) -> bool:
        """Kill a node with its bodies; return whether it was the last one."""
        if not self._nodes.down(node):
            return False
        for run in [run for run in self._running if run.node == node]:
            del self._running[run]
            run.over = True
            self.bodies -= run.jobs
            self._lost.append(run)
        if self.up:
            self._events.add(now + FOUND_AFTER, Kind.FOUND, node)
        return not self.up

    def back(self, node: int, now: datetime) -> bool:
        """Bring a node back; return whether it is the first one."""
        first = not self.up
        if not self._nodes.back(node, now) or not first:
            return False
        self._events.add(now + FOUND_AFTER_OUTAGE, Kind.FOUND, node)
        return True

    def find_lost(self, now: datetime) -> None:
        """End the runs of dead nodes as crashes."""
        if (scheduler := self._nodes.oldest) is None:
            return
        lost, self._lost = self._lost, []
        for run in lost:
            self._waiting.ended(run)
            self._schedules.ended(run, RunOutcome.CRASHED, now, scheduler)

    def load_begins(self, index: int, now: datetime) -> None:
        """Draw when the next job of a load arrives."""
        load = self._scenario.loads[index]
        gap = self._random[index].expovariate(load.count / load.period.total_seconds())
        self._events.add(now + timedelta(seconds=gap), Kind.LOAD, index)

    def load_arrives(self, index: int, now: datetime) -> None:
        """Let a job of another load wait."""
        load = self._scenario.loads[index]
        self.other_jobs += 1
        order = (0, now, self._events.number())
        self._waiting.add(Run([], None, load.queue, order, now, now, body=Body(load.took)))
        self.load_begins(index, now)

    def _begin(self, run: Run, node: int, now: datetime) -> None:
        run.node = node
        self._running[run] = None
        self.bodies += run.jobs
        if run.group is None:
            self.others_waited += now > run.created
        else:
            self._schedules.began(run, now)
        took = timedelta(0) if run.body is None else run.body.took
        self._events.add(now + took, Kind.END, run)

    def _release(self, run: Run) -> None:
        del self._running[run]
        self.bodies -= run.jobs
        if run.node is not None:
            self._nodes.release(run.node, run.jobs)
        self._waiting.ended(run)
