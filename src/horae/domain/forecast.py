"""Forecasts the runs of schedules, by the planner that nodes use.

Each schedule is planned alone: a due time fires and its run begins without any delay, takes as long
as it is said to take, and succeeds. Slots, queues, limits and outages are left out.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Final, NamedTuple, TypeAlias

from horae.domain.schedules import (
    ClockSurprise,
    Decision,
    DisabledReason,
    Due,
    Event,
    Overlap,
    Reason,
    RunEnded,
    RunOutcome,
    ScheduleSnapshot,
    Ticks,
    Timeline,
    surprises_of,
)
from horae.domain.schedules.plan import plan
from horae.errors import InvalidRequest

MOST_RUNS: Final = 200_000
"""The number of runs that one forecast may list: they are held in memory."""
LONGEST_PERIOD: Final = timedelta(days=3_660)
"""Ten years: longer than anyone plans ahead."""
_ACTS_WHILE_EXECUTING: Final = frozenset(
    {Overlap.CANCEL_OTHER, Overlap.TERMINATE_OTHER, Overlap.ALLOW_ALL}
)
"""Policies by which a time that comes due while a run executes does something at once."""
_STEPS_PER_REPORT: Final = 1000
"""The number of steps of a schedule between two reports of progress."""

Progress: TypeAlias = Callable[[float], None]
"""Called now and then with the share of the forecast that is done."""


@dataclass(frozen=True, slots=True)
class ForecastSchedule:
    """A schedule as a forecast begins: its state, in which it is idle, and how long its runs take.

    Raises `InvalidRequest` for a negative duration.
    """

    name: str
    snapshot: ScheduleSnapshot
    took: timedelta

    def __post_init__(self) -> None:
        """Refuse a negative duration."""
        if self.took < timedelta(0):
            raise InvalidRequest(f"duration {self.took.total_seconds():g}s: expected zero or more")

    def count_times(self, start: datetime, end: datetime) -> float:
        """Estimate, without planning, how many nominal times a period has."""
        if self.snapshot.disabled is not None:
            return 0
        if (trigger := self.snapshot.rules.finish_trigger) is not None:
            return (end - start) / (trigger.interval.nominal + self.took)
        return Timeline.of(self.snapshot.rules).count(start, end)


class PlannedRun(NamedTuple):
    """A run of a schedule, for a nominal time; `cancelled` at its end to make way for the next."""

    start: datetime
    end: datetime
    schedule: str
    nominal_time: datetime
    reason: Reason
    cancelled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleForecast:
    """The runs of one schedule, and the nominal times that pass without a run of their own.

    `took` is the duration of its runs. `disabled` says why it does not run any more, if it does
    not, since `disabled_at`.
    """

    name: str
    took: timedelta
    runs: tuple[PlannedRun, ...]
    not_run: tuple[Ticks, ...]
    disabled: DisabledReason | None = None
    disabled_at: datetime | None = None

    @property
    def decisions(self) -> Counter[tuple[Decision, Reason]]:
        """How many nominal times have each decision, as the ledger would have them."""
        counts = Counter((Decision.FIRED, run.reason) for run in self.runs)
        for ticks in self.not_run:
            counts[ticks.decision, ticks.reason] += ticks.count
        return counts

    def count(self, decision: Decision) -> int:
        """Count the nominal times with a decision."""
        return sum(times for (made, _), times in self.decisions.items() if made is decision)


class Peak(NamedTuple):
    """A number of runs at a time: when it is reached first, by which schedules, and how often."""

    running: int
    at: datetime
    schedules: tuple[str, ...]
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What schedules would do from `start` to `end`. The same question has the same answer."""

    start: datetime
    end: datetime
    schedules: tuple[ScheduleForecast, ...]
    surprises: tuple[ClockSurprise, ...] = ()

    def __getitem__(self, name: str) -> ScheduleForecast:
        """Return the forecast of the schedule of this name. Raises `KeyError`."""
        return {schedule.name: schedule for schedule in self.schedules}[name]

    @property
    def runs(self) -> list[PlannedRun]:
        """The runs of all schedules, by the time at which they start."""
        return sorted(run for schedule in self.schedules for run in schedule.runs)

    def peaks(self, most: int = 5) -> list[Peak]:
        """Return the largest numbers of runs that overlap, at least 2, the largest first."""
        edges: list[tuple[datetime, int]] = []
        for run in self.runs:
            if run.start < run.end:
                edges += [(run.start, 1), (run.end, -1)]
        first: dict[int, datetime] = {}
        times = Counter[int]()
        running, rose = 0, None
        for moment, change in sorted(edges):  # ends come before the starts of the same moment
            if change < 0 and rose is not None:
                times[running] += 1
                first.setdefault(running, rose)
            running, rose = running + change, moment if change > 0 else None
        largest = sorted((count for count in times if count > 1), reverse=True)[:most]
        peaks: list[Peak] = []
        for overlapping in largest:
            at = first[overlapping]
            names = tuple(
                schedule.name
                for schedule in self.schedules
                if any(run.start <= at < run.end for run in schedule.runs)
            )
            peaks.append(Peak(overlapping, at, names, times[overlapping]))
        return peaks


def forecast(
    schedules: Sequence[ForecastSchedule],
    start: datetime,
    end: datetime,
    progress: Progress | None = None,
) -> Forecast:
    """Return what schedules do in a period, which contains `start` and not `end`.

    Raises `InvalidRequest` for a period that is too long, and for one with too many runs.
    """
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    if not timedelta(0) < end - start <= LONGEST_PERIOD:
        raise InvalidRequest(
            f"period of {end - start}: expected more than zero and at most"
            f" {LONGEST_PERIOD.days} days"
        )
    times = sum(schedule.count_times(start, end) for schedule in schedules)
    if times > MOST_RUNS:
        raise InvalidRequest(
            f"the forecast would list about {times:,.0f} runs, and {MOST_RUNS:,} are possible:"
            " forecast fewer days"
        )
    found: list[ScheduleForecast] = []
    for index, schedule in enumerate(schedules):

        def report(share: float, index: int = index) -> None:
            if progress is not None:
                progress((index + share) / len(schedules))

        found.append(forecast_schedule(schedule, start, end, report))
    return Forecast(
        start=start,
        end=end,
        schedules=tuple(found),
        surprises=tuple(
            surprise
            for schedule in schedules
            if schedule.snapshot.disabled is None
            for surprise in surprises_of(schedule.name, schedule.snapshot.rules, start, end)
        ),
    )


def forecast_schedule(
    schedule: ForecastSchedule, start: datetime, end: datetime, report: Progress
) -> ScheduleForecast:
    """Plan one schedule from event to event: a time that is due, or the end of a run."""
    snapshot, rules = schedule.snapshot, schedule.snapshot.rules
    acts = rules.finish_trigger is None and rules.overlap in _ACTS_WHILE_EXECUTING
    beside = rules.overlap is Overlap.ALLOW_ALL
    random = Random(0)
    disabled_at = None if snapshot.disabled is None else start
    runs: list[PlannedRun] = []
    not_run: list[Ticks] = []
    executing = deque[PlannedRun]()  # all take the same time, so the first to start ends first
    for step in count():
        due = snapshot.next_start if snapshot.disabled is None and (acts or not executing) else None
        event: Event = Due()
        if executing and (due is None or executing[0].end <= due):
            run = executing.popleft()
            now = run.end
            event = RunEnded(outcome=RunOutcome.SUCCEEDED, started=run.start, others=len(executing))
        elif due is not None:
            now = due
        else:
            break
        if now >= end:
            break
        if step % _STEPS_PER_REPORT == 0:
            report((now - start) / (end - start))
        made = plan(snapshot, event, now, random)
        not_run += [ticks for ticks in made.ticks if ticks.decision is not Decision.FIRED]
        if made.stop is not None:  # the run that executes makes way for the time that is due
            run = executing.popleft()
            runs[-1] = run._replace(end=now, cancelled=True)
            cancelled = RunEnded(outcome=RunOutcome.CANCELLED, started=run.start)
            made = plan(replace(snapshot, next_start=made.next_start), cancelled, now, random)
            not_run += [ticks for ticks in made.ticks if ticks.decision is not Decision.FIRED]
        if (fired := made.fired) is not None:
            run = PlannedRun(now, now + schedule.took, schedule.name, fired.first, fired.reason)
            runs.append(run)
            executing.append(run)
        if made.disabled is not None and snapshot.disabled is None:
            disabled_at = now
        snapshot = replace(
            snapshot,
            statistics=made.statistics,
            last_tick=made.last_tick,
            next_start=made.next_start,
            started=now if executing and not beside else None,
            disabled=made.disabled,
            change=made.change,
        )
    return ScheduleForecast(
        name=schedule.name,
        took=schedule.took,
        runs=tuple(runs),
        not_run=tuple(not_run),
        disabled=snapshot.disabled,
        disabled_at=disabled_at,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleComparison:
    """The starts of one schedule's runs that a change adds and drops; the `same` number stays.

    `texts` say how its definition differs, such as `trigger: 0 3 * * * → 0 4 * * *`.
    """

    name: str
    texts: tuple[str, ...]
    added: tuple[datetime, ...]
    dropped: tuple[datetime, ...]
    same: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two forecasts of one period, and the schedules that differ, by definition or by runs."""

    before: Forecast
    after: Forecast
    schedules: tuple[ScheduleComparison, ...]

    @property
    def added(self) -> int:
        """How many runs are added."""
        return sum(len(schedule.added) for schedule in self.schedules)

    @property
    def dropped(self) -> int:
        """How many runs are dropped."""
        return sum(len(schedule.dropped) for schedule in self.schedules)

    @property
    def different(self) -> bool:
        """Whether any run is added or dropped."""
        return any(schedule.added or schedule.dropped for schedule in self.schedules)


def compare(before: Forecast, after: Forecast, texts: Mapping[str, Sequence[str]]) -> Comparison:
    """Compare the starts of runs; `texts` say how definitions differ, by the name of a schedule."""
    earlier, later = (
        {each.name: Counter(run.start for run in each.runs) for each in side.schedules}
        for side in (before, after)
    )
    found: list[ScheduleComparison] = []
    for name in sorted(earlier.keys() | later.keys()):
        old, new = earlier.get(name, Counter()), later.get(name, Counter())
        if old != new or name in texts:
            found.append(
                ScheduleComparison(
                    name=name,
                    texts=tuple(texts.get(name, ())),
                    added=tuple(sorted((new - old).elements())),
                    dropped=tuple(sorted((old - new).elements())),
                    same=(old & new).total(),
                )
            )
    return Comparison(before=before, after=after, schedules=tuple(found))
