"""Simulates schedules, nodes and slots in virtual time.

Every decision is made by the planner that nodes use.

What is simplified: a due schedule fires, and a job with a free slot starts, without any delay; a
cancelled body ends at once; an outage kills the bodies that run, and their jobs are found after the
time that the rescue takes by default.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import count
from random import Random
from typing import Final

from horae.domain.forecast.clock_changes import surprises_of
from horae.domain.forecast.events import Events, Kind
from horae.domain.forecast.groups import (
    Group,
    Lanes,
    Run,
    groups_of,
    merged,
    snapshot_after,
    snapshot_after_success,
)
from horae.domain.forecast.result import Forecast, PlannedRun
from horae.domain.forecast.scenario import Body, Scenario
from horae.domain.forecast.tallies import Gauge, StormWatch, Tallies
from horae.domain.forecast.workers import Workers
from horae.domain.schedules.plan import leaves_plan_alone, plan
from horae.domain.schedules.planning_state import Due, Plan, RunEnded
from horae.domain.schedules.schedule import Overlap
from horae.domain.schedules.statistics import RunOutcome
from horae.domain.schedules.tick import Decision, Reason
from horae.domain.schedules.timeline import Timeline

_ACTS_WHILE_EXECUTING: Final = frozenset(
    {Overlap.CANCEL_OTHER, Overlap.TERMINATE_OTHER, Overlap.ALLOW_ALL}
)
"""Policies by which a time that comes due while a run executes does something at once."""
_STEPS_PER_REPORT: Final = 1000
"""Moments between two reports of progress."""

Progress = Callable[[datetime], None]


def simulate(scenario: Scenario, progress: Progress | None = None) -> Forecast:
    """Return what happens in a scenario. `progress` is called with the virtual time now and then.

    The number of slots that are needed is found by a second simulation, without limits and outages,
    unless the first one had none.
    """
    first = Simulation(scenario, progress).run()
    if not scenario.outages and not first.waiting.count:
        return replace(first, slots_needed=first.running.count)
    unlimited = replace(scenario, slots=None, outages=(), keep=0, listed=frozenset())
    return replace(first, slots_needed=Simulation(unlimited, progress).run().running.count)


class Simulation:
    """One pass through a scenario."""

    def __init__(self, scenario: Scenario, progress: Progress | None = None) -> None:
        self._scenario, self._progress = scenario, progress
        self._events = Events(scenario.end)
        self._workers = Workers(scenario, self._events, self)
        self._tallies, self._gauge, self._storms = Tallies(scenario), Gauge(scenario), StormWatch()
        self._overdue: list[Group] = []
        self._open_groups: dict[Group, None] = {}
        self._randoms: dict[int, Random] = {}
        self._handlers: dict[Kind, Callable[[int, datetime], None]] = {
            Kind.DOWN: self._down,
            Kind.BACK: self._back,
            Kind.FOUND: lambda _node, now: self._workers.find_lost(now),
            Kind.LOAD: self._workers.load_arrives,
            Kind.OPEN: lambda _limit, _now: None,  # jobs start after the events of each moment
        }

    def run(self) -> Forecast:
        """Simulate the whole period."""
        self._begin()
        for step in count():
            if (now := self._events.next) is None:
                break
            if self._progress is not None and step % _STEPS_PER_REPORT == 0:
                self._progress(now)
            self._happen(now)
            self._workers.start(now)
            self._gauge.show(self._workers.bodies, self._workers.waiting, now)
            self._storms.waiting(self._workers.waiting)
        return self._forecast()

    def _begin(self) -> None:
        scenario = self._scenario
        for outage in scenario.outages:
            for node in range(scenario.nodes) if outage.node is None else (outage.node - 1,):
                self._events.add(max(outage.start, scenario.start), Kind.DOWN, node)
                if outage.length is not None:
                    self._events.add(outage.start + outage.length, Kind.BACK, node)
        lanes = Lanes()
        numbers = [
            lanes.number(index, schedule) for index, schedule in enumerate(scenario.schedules)
        ]
        for group in groups_of(scenario.schedules, numbers):
            if group.snapshot.disabled is not None:
                self._tallies.disabled(group.members, group.snapshot.disabled, scenario.start)
            self._sleep(group)
        for index in range(len(scenario.loads)):
            self._workers.load_begins(index, scenario.start)

    def _happen(self, now: datetime) -> None:
        """Let everything happen that happens at this moment."""
        woken: dict[Group, None] = {}
        while (event := self._events.pop(now)) is not None:
            kind, what = event
            if isinstance(what, Group):
                woken[what] = None
            elif isinstance(what, Run):
                self._workers.end(what, now)
            else:
                self._handlers[kind](what, now)
        due = [group for group in woken if group.wake == now and group.members]
        if due and not self._workers.up:
            self._overdue += due
        elif due:
            self._fire_all(due, now)

    def _fire_all(self, due: Iterable[Group], now: datetime) -> None:
        def order(group: Group) -> tuple[int, datetime, int]:
            first = group.members[0]
            return (
                -self._scenario.schedules[first].priority,
                group.snapshot.next_start or now,
                first,
            )

        for group in sorted(merged(due), key=order):
            self._fire(group, now)

    def _fire(self, group: Group, now: datetime) -> None:
        snapshot = group.snapshot
        made = plan(snapshot, Due(), now, self._random(group))
        self._record(group, made, now)
        if made.stop is not None and group.run is not None:
            group.snapshot = replace(snapshot, next_start=made.next_start)
            self._workers.stop(group.run, now)
            return
        blocks = snapshot.rules.overlap is not Overlap.ALLOW_ALL
        started = now if made.fire is not None and blocks else snapshot.started
        group.snapshot = snapshot_after(snapshot, made, started)
        if made.fire is not None:
            self._create(group, made, snapshot.next_start or now, now)
        if made.next_start is None or made.next_start > now or made != Plan.unchanged(snapshot):
            self._sleep(group)

    def _create(self, group: Group, made: Plan, due: datetime, now: datetime) -> None:
        """Create the jobs of a run; they wait until there are slots."""
        tick = next(each for each in made.ticks if each.decision is Decision.FIRED)
        schedule = self._scenario.schedules[group.members[0]]
        order = (-schedule.priority, due, self._events.number())
        run = Run(
            list(group.members),
            group,
            schedule.queue,
            order,
            tick.first,
            now,
            tick.reason,
            limits=schedule.limits,
            turn=schedule.turn,
        )
        self._tallies.fired(group.members, PlannedRun(tick.first, due, now, tick.reason))
        group.open_runs += 1
        self._open_groups[group] = None
        if group.snapshot.rules.overlap is Overlap.ALLOW_ALL:
            self._tallies.opened(group.members[0], group.open_runs)
        else:
            group.run = run
        self._workers.add(run)

    def split(self, run: Run, jobs: int) -> Iterator[Run]:
        """Split off the first jobs of a run, which start now; those that have the same body stay
        together.
        """
        starting = run.members[:jobs]
        del run.members[:jobs]
        if (
            run.group is not None and run.group.run is not None
        ):  # with `allow_all` a group is one schedule
            del run.group.members[:jobs]
        for body, members in self._by_body(starting, run.nominal):
            yield self._part(run, members, body)

    def _by_body(self, members: list[int], nominal: datetime) -> Iterable[tuple[Body, list[int]]]:
        first = self._scenario.schedules[members[0]]
        if first.same_body is not None:  # then it is that of the whole lane
            return [(first.same_body, members)]
        found: dict[Body, list[int]] = {}
        for member in members:
            found.setdefault(
                self._scenario.schedules[member].body(self._scenario.seed, nominal), []
            ).append(member)
        return found.items()

    def _part(self, run: Run, members: list[int], body: Body) -> Run:
        """Return the part of a run that has one body; a part of its group goes with it."""
        group = run.group
        part = Run(
            members,
            group,
            run.queue,
            run.order,
            run.nominal,
            run.created,
            run.reason,
            body,
            limits=run.limits,
            turn=run.turn,
        )
        if group is None or group.run is None:
            return part
        if not group.members:  # the last jobs that waited: their part keeps the group
            group.members, group.run = list(members), part
            return part
        part.group = new = group.part(list(members))
        new.run, new.open_runs = part, 1
        self._open_groups[new] = None
        self._sleep(new)
        return part

    def began(self, run: Run, now: datetime) -> None:
        """Note that the bodies of a run begin."""
        if run.group is not None:
            planned = _planned(run, run.group)
            self._tallies.began(run, planned, now)
            self._storms.began(planned, run.jobs, now)

    def ended(
        self, run: Run, outcome: RunOutcome, now: datetime, scheduler: datetime | None = None
    ) -> None:
        """End a run; `scheduler`: for a crash, the start of the node that found it."""
        run.over = True
        if (group := run.group) is None:
            return
        self._tallies.ended(run.members, outcome, now)
        group.run = None
        group.open_runs -= 1
        if not group.open_runs:
            del self._open_groups[group]
        if outcome is RunOutcome.SUCCEEDED and self._plan_stays(group, now):
            group.snapshot = snapshot_after_success(group.snapshot)
            self._sleep(group)
            return
        started = group.snapshot.started or run.created
        event = RunEnded(
            outcome=outcome, started=started, others=group.open_runs, scheduler_started=scheduler
        )
        draws = (
            outcome in {RunOutcome.FAILED, RunOutcome.CRASHED}
            and group.snapshot.rules.retry_after is not None
        )
        for part in self._one_by_one(group) if draws else (group,):
            made = plan(part.snapshot, event, max(now, started), self._random(part))
            self._record(part, made, now)
            part.snapshot = snapshot_after(part.snapshot, made, None)
            self._sleep(part)

    def _plan_stays(self, group: Group, now: datetime) -> bool:
        snapshot = group.snapshot
        if (
            snapshot.disabled is not None
            or snapshot.last_tick is None
            or snapshot.next_start is None
        ):
            return False
        return leaves_plan_alone(snapshot.rules, snapshot.last_tick, snapshot.next_start, now)

    def _one_by_one(self, group: Group) -> Iterator[Group]:
        """Split a group, because each of its schedules draws its own delay."""
        for member in group.members[1:]:
            yield group.part([member])
        del group.members[1:]
        yield group

    def _record(self, group: Group, made: Plan, now: datetime) -> None:
        for ticks in made.ticks:
            self._tallies.decided(group.members, group.snapshot.rules, ticks)
            self._storms.decided(ticks, len(group.members))
        if made.disabled is not None and group.snapshot.disabled is None:
            self._tallies.disabled(group.members, made.disabled, now)

    def _sleep(self, group: Group) -> None:
        """Wake a group at its next start; one that executes only if its policy acts then."""
        snapshot = group.snapshot
        group.wake = snapshot.next_start
        acts = group.run is None or snapshot.rules.overlap in _ACTS_WHILE_EXECUTING
        if group.wake is not None and snapshot.disabled is None and acts:
            self._events.add(group.wake, Kind.WAKE, group)

    def _down(self, node: int, now: datetime) -> None:
        if self._workers.down(node, now):
            self._storms.down(now)

    def _back(self, node: int, now: datetime) -> None:
        if not self._workers.back(node, now):
            return
        self._storms.back(now)
        overdue, self._overdue = self._overdue, []
        for group in overdue:
            if group.members and group.wake is not None and group.wake <= now:
                group.wake = now
                self._events.add(now, Kind.WAKE, group)

    def _random(self, group: Group) -> Random:
        """Return the random numbers of a schedule; a plan of several schedules draws none."""
        member = group.members[0]
        if member not in self._randoms:
            seed = f"{self._scenario.seed} {self._scenario.schedules[member].name}"
            self._randoms[member] = Random(seed)  # noqa: S311 - varies a delay, nothing secret
        return self._randoms[member]

    def _forecast(self) -> Forecast:
        scenario, workers = self._scenario, self._workers
        for group in self._open_groups:
            self._tallies.unfinished(group.members)
        return Forecast(
            start=scenario.start,
            end=scenario.end,
            nodes=scenario.nodes,
            slots=None if scenario.slots is None else scenario.slots * scenario.nodes,
            seed=scenario.seed,
            schedules=self._tallies.forecasts(scenario),
            running=self._gauge.running,
            waiting=self._gauge.waiting,
            storms=self._storms.storms(),
            down_since=self._storms.down_since,
            surprises=tuple(
                surprise
                for schedule in scenario.schedules
                if schedule.snapshot.disabled is None
                for surprise in surprises_of(
                    schedule.name, schedule.rules, scenario.start, scenario.end
                )
            ),
            levels=self._gauge.levels(),
            column=self._tallies.column,
            other_jobs=workers.other_jobs,
            others_waited=workers.others_waited,
        )


def _planned(run: Run, group: Group) -> datetime:
    """Return when a run would begin if nothing were late: its nominal time and its jitter."""
    rules = group.snapshot.rules
    if not rules.jitter or rules.finish_trigger is not None or run.reason is Reason.RETRY:
        return run.nominal
    return Timeline.of(rules).start_of(run.nominal)
