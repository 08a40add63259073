"""What a forecast is made from: schedules, the durations of their bodies, nodes, outages, and other
load.

All values are checked when they are made; an error names the option and what is expected.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from horae.domain.forecast.limits import ForecastLimit
from horae.domain.limits.numbers import LimitNumbers
from horae.domain.schedules.planning_state import ScheduleSnapshot
from horae.domain.schedules.schedule import Rules
from horae.domain.schedules.timeline import MICROSECOND, hashed_delay
from horae.errors import InvalidRequest
from horae.quoting import quoted

DEFAULT_DURATION: Final = timedelta(seconds=1)
"""How long a body takes of which nothing is known."""
LONGEST_PERIOD: Final = timedelta(days=3_660)
"""Ten years: longer than any question about schedules, short enough to end."""
_MOST_NODES: Final = 1_000
_MOST_SLOTS: Final = 100_000
_MOST_LOAD_JOBS: Final = 5_000_000
"""Jobs that all loads together may add: each is simulated on its own."""


@dataclass(frozen=True, slots=True)
class Body:
    """How long one run of a body takes, and whether it succeeds."""

    took: timedelta
    succeeds: bool = True

    def __post_init__(self) -> None:
        """Refuse a negative duration."""
        if self.took < timedelta(0):
            raise InvalidRequest(f"duration {self.took.total_seconds():g}s: expected zero or more")


@dataclass(frozen=True, slots=True)
class Bodies:
    """The bodies of a schedule's runs: each run is one of the samples, chosen by seed, name and
    nominal time.

    `recorded` gives the bodies of certain runs by their nominal times. `measured`: the samples were
    measured.
    """

    samples: tuple[Body, ...] = (Body(DEFAULT_DURATION),)
    recorded: Mapping[datetime, Body] = field(default_factory=dict[datetime, Body])
    measured: bool = False

    def of(self, seed: int, name: str, nominal: datetime) -> Body:
        """Return the body of one run: the same for the same run, whatever else a scenario
        contains.
        """
        if self.recorded and (found := self.recorded.get(nominal)) is not None:
            return found
        if len(self.samples) == 1:
            return self.samples[0]
        return self.samples[
            hashed_delay(f"{seed} {name}", nominal, len(self.samples) * MICROSECOND) // MICROSECOND
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastSchedule:
    """A schedule as a forecast begins: its stored state (idle), its queue and priority, and its
    bodies.

    `time_limit`: after it a body is stopped, which is a failure. `limits`: those by key of its
    jobs. `turn`: who takes turns in a fair queue for its jobs, which have no owner; None in other
    queues.
    """

    name: str
    snapshot: ScheduleSnapshot
    queue: str = "default"
    priority: int = 0
    bodies: Bodies = field(default_factory=Bodies)
    time_limit: timedelta | None = None
    limits: tuple[ForecastLimit, ...] = ()
    turn: str | None = None

    @property
    def rules(self) -> Rules:
        """The rules that decide its times."""
        return self.snapshot.rules

    @property
    def same_body(self) -> Body | None:
        """The body of all runs; None if they differ."""
        samples = self.bodies.samples
        return self._limited(samples[0]) if len(samples) == 1 and not self.bodies.recorded else None

    def body(self, seed: int, nominal: datetime) -> Body:
        """Return the body of one run, as far as its time limit lets it run."""
        return self._limited(self.bodies.of(seed, self.name, nominal))

    def _limited(self, body: Body) -> Body:
        limit = self.time_limit
        return body if limit is None or body.took <= limit else Body(limit, succeeds=False)


@dataclass(frozen=True, slots=True)
class ForecastQueue:
    """Whether a queue is paused, and how many of its jobs may run at a time on all nodes together.

    `by_key`: its limits by key: the name, the format of the key (None: one for all), and the
    numbers. `fair_by`: who takes turns.
    """

    paused: bool = False
    limit: int | None = None
    by_key: tuple[tuple[str, str | None, LimitNumbers], ...] = ()
    fair_by: str | None = None


@dataclass(frozen=True, slots=True)
class Outage:
    """A time during which a node is down, or all nodes (`node` is None); bodies that run at its
    start are killed.

    Nodes are numbered from 1. `length` None: the node does not come back.
    """

    start: datetime
    length: timedelta | None
    node: int | None = None

    def __post_init__(self) -> None:
        """Refuse an outage without a length, and one of all nodes that never ends."""
        if self.length is not None and self.length <= timedelta(0):
            raise InvalidRequest(
                f"outage of {self.length.total_seconds():g}s: expected a duration of more than zero"
            )
        if self.length is None and self.node is None:
            raise InvalidRequest("an outage of all nodes needs an end")


@dataclass(frozen=True, slots=True)
class Load:
    """Other jobs that share the slots: on average `count` in each `period`, of `took` each, at
    random moments.
    """

    count: int
    period: timedelta
    took: timedelta
    queue: str = "default"

    def __post_init__(self) -> None:
        """Refuse a load that is none."""
        if self.count < 1 or self.period <= timedelta(0) or self.took < timedelta(0):
            raise InvalidRequest("load: expected at least one job in a period of more than zero")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that a forecast depends on. Raises `InvalidRequest`.

    `slots`: how many bodies each node runs at a time; None for as many as there are. The period
    contains `start` and not `end`. `keep`: how many runs of each schedule the forecast lists, while
    the others are only counted; of those that are `listed` it lists all.
    """

    start: datetime
    end: datetime
    schedules: tuple[ForecastSchedule, ...]
    queues: Mapping[str, ForecastQueue] = field(default_factory=dict[str, ForecastQueue])
    nodes: int = 1
    slots: int | None = 10
    outages: tuple[Outage, ...] = ()
    loads: tuple[Load, ...] = ()
    seed: int = 0
    keep: int = 20
    listed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse a scenario that cannot be simulated."""
        if self.start.utcoffset() is None or self.end.utcoffset() is None:
            raise InvalidRequest("start and end: expected datetimes with a time zone")
        object.__setattr__(self, "start", self.start.astimezone(UTC))
        object.__setattr__(self, "end", self.end.astimezone(UTC))
        if not timedelta(0) < self.length <= LONGEST_PERIOD:
            raise InvalidRequest(
                f"period of {self.length}: expected more than zero, at most {LONGEST_PERIOD.days}"
                " days"
            )
        _refuse_beyond("nodes", self.nodes, _MOST_NODES)
        if self.slots is not None:
            _refuse_beyond("slots", self.slots, _MOST_SLOTS)
        self._check_nodes()
        self._check_names()
        jobs = sum(load.count * (self.length / load.period) for load in self.loads)
        if jobs > _MOST_LOAD_JOBS:
            raise InvalidRequest(
                f"the loads are {jobs:,.0f} jobs in this period: expected at most"
                f" {_MOST_LOAD_JOBS:,}"
            )

    @property
    def length(self) -> timedelta:
        """The length of the period."""
        return self.end - self.start

    def _check_nodes(self) -> None:
        for outage in self.outages:
            if outage.node is not None and not 1 <= outage.node <= self.nodes:
                raise InvalidRequest(
                    f"node {outage.node}: expected 1 to {self.nodes}, the number of nodes"
                )

    def _check_names(self) -> None:
        names: set[str] = set()
        for schedule in self.schedules:
            if schedule.name in names:
                raise InvalidRequest(f"schedule {quoted(schedule.name)} is there twice")
            names.add(schedule.name)


def _refuse_beyond(name: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise InvalidRequest(f"{name} {value}: expected 1 to {most:,}")
