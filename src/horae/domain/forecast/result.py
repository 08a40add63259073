"""What a forecast tells: decisions and runs of each schedule, storms, surprises of the clocks, and
the slots needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from horae.domain.forecast.clock_changes import ClockSurprise
from horae.domain.schedules.schedule import DisabledReason
from horae.domain.schedules.tick import Decision, Reason, Ticks


class PlannedRun(NamedTuple):
    """A run: its nominal time, when it was due (with jitter), when it was fired, and why."""

    nominal: datetime
    due: datetime
    fired: datetime
    reason: Reason


class Colour(StrEnum):
    """The worst that happened to a schedule in a stretch of time, from good to bad, as charts and
    tables show it.
    """

    NOTHING = "nothing"
    ON_TIME = "on time"
    LATE = "late"
    SKIPPED = "skipped"
    FAILED = "failed"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Stretch:
    """What happened to a schedule in one column of the chart: how many runs, how many times without
    one, how bad.
    """

    runs: int
    dropped: int
    colour: Colour


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleForecast:
    """The forecast of one schedule.

    `decisions` counts the nominal times by decision and reason. `late`: runs whose bodies began
    more than half a minute after their nominal times. `latest`: the longest such delay. `waited`:
    runs that waited for a slot, or for their queue. `unfinished`: runs that execute or wait as the
    period ends. `runs` and `dropped` list the first ones.
    """

    name: str
    decisions: Mapping[tuple[Decision, Reason], int]
    late: int = 0
    latest: timedelta = timedelta(0)
    waited: int = 0
    longest_wait: timedelta = timedelta(0)
    failures: int = 0
    crashes: int = 0
    cancelled: int = 0
    unfinished: int = 0
    most_open: int = 0
    disabled: DisabledReason | None = None
    disabled_at: datetime | None = None
    runs: tuple[PlannedRun, ...] = ()
    dropped: tuple[Ticks, ...] = ()
    stretches: tuple[Stretch, ...] = ()

    def count(self, decision: Decision, *reasons: Reason) -> int:
        """Count the nominal times with a decision, for certain reasons or for any."""
        return sum(
            count
            for (decided, reason), count in self.decisions.items()
            if decided is decision and (not reasons or reason in reasons)
        )

    @property
    def fired(self) -> int:
        """How many runs the schedule has."""
        return self.count(Decision.FIRED)

    @property
    def not_run(self) -> int:
        """How many nominal times pass without a run of their own."""
        return sum(self.decisions.values()) - self.fired


@dataclass(frozen=True, slots=True)
class Storm:
    """What follows an outage of all nodes: `late` runs start when the first node is back, the last
    body at `over`.

    `dropped`: nominal times that are never run. `most_waiting`: jobs that waited at a time.
    """

    start: datetime
    back: datetime
    late: int
    dropped: int
    most_waiting: int
    over: datetime

    @property
    def lasts(self) -> timedelta:
        """How long it takes until the last late body has begun."""
        return self.over - self.back


class Level(NamedTuple):
    """The most bodies that ran and the most jobs that waited, in one column of the chart."""

    running: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Peak:
    """The largest number of something, and when it was reached first."""

    count: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What would happen in a period. Equal scenarios have equal forecasts.

    `slots`: of all nodes together, None for no limit. `slots_needed`: with as many no run would
    wait for one, if there were no outages. `levels` are the columns of the load chart, of equal
    width; `column` is the length of each of the schedules' stretches. `down_since`: from when no
    node is up until the end.
    """

    start: datetime
    end: datetime
    nodes: int
    slots: int | None
    seed: int
    schedules: tuple[ScheduleForecast, ...]
    running: Peak = Peak()
    waiting: Peak = Peak()
    slots_needed: int = 0
    storms: tuple[Storm, ...] = ()
    down_since: datetime | None = None
    surprises: tuple[ClockSurprise, ...] = ()
    levels: tuple[Level, ...] = ()
    column: timedelta = timedelta(days=1)
    other_jobs: int = 0
    others_waited: int = 0
    _by_name: dict[str, ScheduleForecast] = field(
        default_factory=dict[str, ScheduleForecast], repr=False, compare=False
    )

    def __getitem__(self, name: str) -> ScheduleForecast:
        """Return the forecast of the schedule of this name. Raises `KeyError`."""
        if not self._by_name:
            self._by_name.update({schedule.name: schedule for schedule in self.schedules})
        return self._by_name[name]

    @property
    def fired(self) -> int:
        """How many runs all schedules have together."""
        return sum(schedule.fired for schedule in self.schedules)
