"""Counts what happens in a simulation: by schedule and column of the chart, and by moment for all
together.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from horae.domain.forecast.groups import Run
from horae.domain.forecast.result import (
    Colour,
    Level,
    Peak,
    PlannedRun,
    ScheduleForecast,
    Storm,
    Stretch,
)
from horae.domain.forecast.scenario import Scenario
from horae.domain.forecast.slots import UNLIMITED
from horae.domain.schedules.schedule import DisabledReason, Rules
from horae.domain.schedules.statistics import RunOutcome
from horae.domain.schedules.tick import ON_TIME_WITHIN, REASONS, Decision, Reason, Ticks
from horae.domain.schedules.timeline import Timeline

MOST_STRETCHES: Final = 62
"""Columns in the chart of schedules: one for each day of two months."""
MOST_LEVELS: Final = 360
"""Columns in the chart of running and waiting jobs."""
_DAY: Final = timedelta(days=1)
_PAIRS: Final = [
    (decision, reason) for decision in Decision for reason in Reason if reason in REASONS[decision]
]
_CODE: Final = {pair: code for code, pair in enumerate(_PAIRS)}
_FIRED: Final = len(REASONS[Decision.FIRED])
"""The codes below this number are those of runs."""
_BEGAN_LATE: Final = len(_PAIRS)
_ENDED_BADLY: Final = _BEGAN_LATE + 1
_CODES: Final = _ENDED_BADLY + 1
_COLOURS: Final = {
    **{
        _CODE[pair]: Colour.LATE
        for pair in _PAIRS
        if pair[0] in {Decision.FIRED, Decision.COALESCED}
    },
    **{_CODE[pair]: Colour.SKIPPED for pair in _PAIRS if pair[0] is Decision.SKIPPED},
    **{_CODE[pair]: Colour.MISSED for pair in _PAIRS if pair[0] is Decision.MISSED},
    _CODE[Decision.FIRED, Reason.ON_TIME]: Colour.ON_TIME,
    _BEGAN_LATE: Colour.LATE,
    _ENDED_BADLY: Colour.FAILED,
}
_SEVERITY: Final = {colour: rank for rank, colour in enumerate(Colour)}


class ScheduleTally:
    """The counts of one schedule."""

    __slots__ = (
        "cancelled",
        "cells",
        "crashes",
        "disabled",
        "dropped",
        "failures",
        "late",
        "latest",
        "longest_wait",
        "most_open",
        "runs",
        "unfinished",
        "waited",
    )

    def __init__(self, columns: int) -> None:
        self.cells = [0] * (columns * _CODES)
        self.late = self.waited = self.failures = self.crashes = self.cancelled = (
            self.unfinished
        ) = self.most_open = 0
        self.latest = self.longest_wait = timedelta(0)
        self.disabled: tuple[DisabledReason, datetime] | None = None
        self.runs: list[PlannedRun] = []
        self.dropped: list[Ticks] = []

    def forecast(self, name: str) -> ScheduleForecast:
        """Return the counts as a value."""
        reason, at = self.disabled or (None, None)
        decisions = {pair: sum(self.cells[code::_CODES]) for code, pair in enumerate(_PAIRS)}
        return ScheduleForecast(
            name=name,
            decisions={pair: count for pair, count in decisions.items() if count},
            late=self.late,
            latest=self.latest,
            waited=self.waited,
            longest_wait=self.longest_wait,
            failures=self.failures,
            crashes=self.crashes,
            cancelled=self.cancelled,
            unfinished=self.unfinished,
            most_open=self.most_open,
            disabled=reason,
            disabled_at=at,
            runs=tuple(self.runs),
            dropped=tuple(self.dropped),
            stretches=tuple(
                _stretch(self.cells[at : at + _CODES]) for at in range(0, len(self.cells), _CODES)
            ),
        )


class Tallies:
    """The counts of all schedules. `column` is the length of one column of the chart."""

    def __init__(self, scenario: Scenario) -> None:
        days = -(-scenario.length // _DAY)
        self._start, self._keep = scenario.start, scenario.keep
        self.column = (
            _DAY
            if 1 < days <= MOST_STRETCHES
            else scenario.length / (24 if days == 1 else MOST_STRETCHES)
        )
        self._columns = -(-scenario.length // self.column)
        self._all = [ScheduleTally(self._columns) for _ in scenario.schedules]
        self._room = [
            UNLIMITED if schedule.name in scenario.listed else scenario.keep
            for schedule in scenario.schedules
        ]
        self._listing = {member for member, room in enumerate(self._room) if room}

    def decided(self, members: Collection[int], rules: Rules, ticks: Ticks) -> None:
        """Count a decision of some schedules, each nominal time in its own column."""
        code = _CODE[ticks.decision, ticks.reason]
        for column, count in self._by_column(rules, ticks):
            cell = column * _CODES + code
            for member in members:
                self._all[member].cells[cell] += count
        if ticks.decision is not Decision.FIRED:
            for member in members:
                if len(self._all[member].dropped) < self._keep:
                    self._all[member].dropped.append(ticks)

    def fired(self, members: Iterable[int], run: PlannedRun) -> None:
        """List a run, if there is room in the list."""
        if not self._listing:
            return
        for member in members:
            runs = self._all[member].runs
            if len(runs) < self._room[member]:
                runs.append(run)
            else:
                self._listing.discard(member)

    def began(self, run: Run, planned: datetime, now: datetime) -> None:
        """Count how late bodies begin, and how long they waited for a slot."""
        late, waited = now - planned, now - run.created
        if late > ON_TIME_WITHIN:
            cell = self._column(now) * _CODES + _BEGAN_LATE
            for member in run.members:
                tally = self._all[member]
                tally.cells[cell] += 1
                tally.late, tally.latest = tally.late + 1, max(tally.latest, late)
        if waited:
            for member in run.members:
                tally = self._all[member]
                tally.waited, tally.longest_wait = tally.waited + 1, max(tally.longest_wait, waited)

    def ended(self, members: Iterable[int], outcome: RunOutcome, now: datetime) -> None:
        """Count runs that did not succeed."""
        if outcome is RunOutcome.SUCCEEDED:
            return
        cell = self._column(now) * _CODES + _ENDED_BADLY
        for member in members:
            tally = self._all[member]
            match outcome:
                case RunOutcome.FAILED:
                    tally.failures += 1
                    tally.cells[cell] += 1
                case RunOutcome.CRASHED:
                    tally.crashes += 1
                    tally.cells[cell] += 1
                case RunOutcome.CANCELLED | RunOutcome.UNCOUNTED:
                    tally.cancelled += 1

    def opened(self, member: int, runs: int) -> None:
        """Note how many runs of a schedule with `allow_all` are open."""
        self._all[member].most_open = max(self._all[member].most_open, runs)

    def disabled(self, members: Iterable[int], reason: DisabledReason, now: datetime) -> None:
        """Note that schedules have been disabled."""
        for member in members:
            self._all[member].disabled = (reason, now)

    def unfinished(self, members: Iterable[int]) -> None:
        """Note runs that are open as the period ends."""
        for member in members:
            self._all[member].unfinished += 1

    def forecasts(self, scenario: Scenario) -> tuple[ScheduleForecast, ...]:
        """Return the forecasts of all schedules, in the order of the scenario."""
        return tuple(
            replace(
                tally.forecast(schedule.name), most_open=max(tally.most_open, int(any(tally.cells)))
            )
            for tally, schedule in zip(self._all, scenario.schedules, strict=True)
        )

    def _by_column(self, rules: Rules, ticks: Ticks) -> Iterable[tuple[int, int]]:
        first, last = self._column(ticks.first), self._column(ticks.last)
        if first == last or ticks.count == 1:
            yield first, ticks.count
            return
        timeline, counted = Timeline.of(rules), 0
        for column in range(first, last):
            count = min(
                timeline.count(ticks.first, self._start + (column + 1) * self.column) + 1,
                ticks.count,
            )
            yield column, count - counted
            counted = count
        yield last, ticks.count - counted

    def _column(self, moment: datetime) -> int:
        return min(max((moment - self._start) // self.column, 0), self._columns - 1)


class Gauge:
    """How many bodies run and jobs wait at each moment: the most in each column, and the peaks."""

    def __init__(self, scenario: Scenario) -> None:
        self._start, self._width = scenario.start, scenario.length / MOST_LEVELS
        self._levels = [(0, 0)] * MOST_LEVELS
        self._column = 0
        self._now = (0, 0)
        self.running = self.waiting = Peak()

    def show(self, running: int, waiting: int, now: datetime) -> None:
        """Note the numbers from now on."""
        self._go_on_to(min((now - self._start) // self._width, MOST_LEVELS - 1))
        most = self._levels[self._column]
        self._levels[self._column] = (max(most[0], running), max(most[1], waiting))
        self._now = (running, waiting)
        if running > self.running.count:
            self.running = Peak(running, now)
        if waiting > self.waiting.count:
            self.waiting = Peak(waiting, now)

    def levels(self) -> tuple[Level, ...]:
        """Return the columns of the whole period."""
        self._go_on_to(MOST_LEVELS - 1)
        return tuple(Level(*level) for level in self._levels)

    def _go_on_to(self, column: int) -> None:
        if column > self._column:
            self._levels[self._column + 1 : column + 1] = [self._now] * (column - self._column)
            self._column = column


class StormWatch:
    """Counts what follows each outage of all nodes.

    `down_since`: when the last node went down, while none is up.
    """

    def __init__(self) -> None:
        self._storms: list[Storm] = []
        self.down_since: datetime | None = None
        self._active = False

    def down(self, now: datetime) -> None:
        """Note that the last node has gone down."""
        self.down_since = now

    def back(self, now: datetime) -> None:
        """Note that the first node is back."""
        self._storms.append(Storm(self.down_since or now, now, 0, 0, 0, now))
        self.down_since = None
        self._active = True

    def decided(self, ticks: Ticks, schedules: int) -> None:
        """Count the times that are not run because of the last outage."""
        if not self._storms or ticks.decision not in {Decision.MISSED, Decision.COALESCED}:
            return
        storm = self._storms[-1]
        if ticks.first < storm.back and ticks.last >= storm.start:
            self._storms[-1] = replace(storm, dropped=storm.dropped + ticks.count * schedules)

    def began(self, nominal: datetime, jobs: int, now: datetime) -> None:
        """Count bodies that begin after an outage, and were due before its end."""
        if self._storms and nominal < self._storms[-1].back and now - nominal > ON_TIME_WITHIN:
            self._storms[-1] = replace(
                self._storms[-1], late=self._storms[-1].late + jobs, over=now
            )

    def waiting(self, jobs: int) -> None:
        """Note how many jobs wait, from the end of an outage until none does."""
        if self._active:
            self._storms[-1] = replace(
                self._storms[-1], most_waiting=max(self._storms[-1].most_waiting, jobs)
            )
            self._active = jobs > 0

    def storms(self) -> tuple[Storm, ...]:
        """Return what followed each outage."""
        return tuple(self._storms)


def _stretch(cells: list[int]) -> Stretch:
    colours = [_COLOURS[code] for code, count in enumerate(cells) if count]
    runs = sum(cells[:_FIRED])
    worst = max(colours, key=_SEVERITY.__getitem__, default=Colour.NOTHING)
    return Stretch(runs, sum(cells[: len(_PAIRS)]) - runs, worst)
