"""Schedules in the same state are simulated together: a group of them fires, runs and ends as one.

A thousand schedules with the same rules cost little more than one. A group is split where its
members part, such as when only some of them find a free slot, and groups that are in the same state
again are merged when they are due.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeAlias

from horae.domain.forecast.limits import ForecastLimit
from horae.domain.forecast.scenario import Body, ForecastSchedule
from horae.domain.schedules.planning_state import Plan, ScheduleSnapshot
from horae.domain.schedules.schedule import Overlap, Rules
from horae.domain.schedules.statistics import Statistics
from horae.domain.schedules.tick import Reason

ANY_KEY: Final = "any"
"""The key of rules without jitter, to which the key makes no difference."""
_NO_STATISTICS: Final = Statistics()
Order: TypeAlias = tuple[int, datetime, int]


@dataclass(slots=True, eq=False)
class Run:
    """The jobs of one group for one nominal time; a job of another load has no members.

    `order` is the order of claims: priority, due time, creation. `node` is None while the jobs wait
    for slots.
    """

    members: list[int]
    group: "Group | None"
    queue: str
    order: Order
    nominal: datetime
    created: datetime
    reason: Reason = Reason.ON_TIME
    body: Body | None = None
    node: int | None = None
    over: bool = False
    limits: tuple[ForecastLimit, ...] = ()
    turn: str | None = None

    @property
    def jobs(self) -> int:
        """How many jobs these are."""
        return len(self.members) or 1


@dataclass(slots=True, eq=False)
class Group:
    """Schedules in the same state.

    `lane` numbers what never changes: the rules, the queue, the priority, the body.
    """

    lane: int
    members: list[int]
    snapshot: ScheduleSnapshot
    run: Run | None = None
    wake: datetime | None = None
    open_runs: int = 0

    def part(self, members: list[int]) -> "Group":
        """Return another group in the same state, for some of the members."""
        return Group(self.lane, members, self.snapshot)

    @property
    def state(self) -> tuple[object, ...]:
        """What two idle groups have in common if they have the same future."""
        snapshot = self.snapshot
        statistics = snapshot.statistics
        streaks = statistics.consecutive_failures, statistics.consecutive_crashes
        return self.lane, snapshot.last_tick, snapshot.next_start, streaks, statistics.last_finish


@dataclass(slots=True)
class Lanes:
    """Gives the same number to schedules that have the same future if they are in the same
    state.
    """

    numbers: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])

    def number(self, index: int, schedule: ForecastSchedule) -> int:
        """Return the number of a schedule's lane; with `allow_all` each schedule has its own."""
        alone = index if schedule.rules.overlap is Overlap.ALLOW_ALL else None
        key = (
            shared_rules(schedule.rules),
            schedule.queue,
            schedule.priority,
            schedule.same_body,
            alone,
            schedule.limits,
            schedule.turn,
        )
        return self.numbers.setdefault(key, len(self.numbers))


def shared_rules(rules: Rules) -> Rules:
    """Return the rules without their key where it makes no difference."""
    return rules if rules.jitter else replace(rules, key=ANY_KEY)


def groups_of(schedules: Sequence[ForecastSchedule], number: Iterable[int]) -> list[Group]:
    """Return the groups in which the schedules begin."""
    groups: dict[tuple[object, ...], Group] = {}
    for index, (schedule, lane) in enumerate(zip(schedules, number, strict=True)):
        snapshot = replace(schedule.snapshot, rules=shared_rules(schedule.rules))
        group = Group(
            lane,
            [index],
            replace(snapshot, statistics=_needed(snapshot.statistics, snapshot.next_start)),
        )
        known = groups.setdefault((*group.state, snapshot.disabled), group)
        if known is not group:
            known.members.append(index)
    return list(groups.values())


def merged(groups: Iterable[Group]) -> list[Group]:
    """Merge idle groups that are in the same state."""
    found: dict[tuple[object, ...], Group] = {}
    for group in groups:
        known = found.setdefault((id(group),) if group.run is not None else group.state, group)
        if known is not group:
            known.members += group.members
            group.members = []
    for group in found.values():
        group.members.sort()
    return list(found.values())


def snapshot_after(
    snapshot: ScheduleSnapshot, made: Plan, started: datetime | None
) -> ScheduleSnapshot:
    """Return the state after a plan, with the part of the statistics that later plans read."""
    return ScheduleSnapshot(  # `replace` takes several times as long
        rules=snapshot.rules,
        statistics=made.statistics if started else _needed(made.statistics, made.next_start),
        last_tick=made.last_tick,
        next_start=made.next_start,
        started=started,
        disabled=made.disabled,
        change=made.change,
    )


def snapshot_after_success(snapshot: ScheduleSnapshot) -> ScheduleSnapshot:
    """Return the state after a run that succeeded and left the plan as it was."""
    return ScheduleSnapshot(
        rules=snapshot.rules,
        last_tick=snapshot.last_tick,
        next_start=snapshot.next_start,
        change=snapshot.change,
    )


def _needed(statistics: Statistics, next_start: datetime | None) -> Statistics:
    """Drop what no plan reads of an idle schedule, so that more schedules are in the same state.

    The last finish matters only if a time that came due before it still waits; then the next start
    is that finish.
    """
    finish = statistics.last_finish
    waits = finish is not None and next_start is not None and next_start <= finish
    if not statistics.streak():
        return Statistics(last_finish=finish) if waits else _NO_STATISTICS
    return Statistics(
        last_finish=finish if waits else None,
        total_runs=statistics.consecutive_crashes,
        total_crashes=statistics.consecutive_crashes,
        consecutive_failures=statistics.consecutive_failures,
        consecutive_crashes=statistics.consecutive_crashes,
    )
