"""Throughput and promptness of the jobs that ended lately, aggregated by the database."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    case,
    func,
    select,
)

from horae.domain.jobs import JobState
from horae.domain.schedules import Reason
from horae.storage.engine import (
    minute_of,
    readable,
    seconds_between,
    seconds_from_now,
)
from horae.storage.jobs import jobs
from horae.storage.schedules.tables import ticks

HOUR: Final = 3600.0
"""The period of the figures in seconds."""
SAMPLE_SIZE: Final = 1000
"""Number of the last ended jobs from which a percentile is computed."""
TICK_OF_JOB: Final = (
    (ticks.c.schedule_id == jobs.c.schedule_id)
    & (ticks.c.nominal_time == jobs.c.nominal_time)
    & (ticks.c.reason != Reason.MANUAL.value)
)
"""Joins a job with the tick that started it; a run by hand has none, so it cannot be late."""

PICK_UP: Final = seconds_between(jobs.c.started_at, jobs.c.run_at)
"""Seconds from when a job was due until it started."""
DURATION: Final = seconds_between(jobs.c.finished_at, jobs.c.started_at)
"""Seconds for which a job ran."""
LATE_BY: Final = seconds_between(ticks.c.decided_at, ticks.c.nominal_time)
"""Seconds from the nominal time of a run until it was fired."""
_lately = jobs.c.finished_at > seconds_from_now(-HOUR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """The jobs that ended in one minute, and for how many seconds they were due before."""

    minute: datetime
    finished: int
    failed: int
    cancelled: int
    mean_pick_up: float | None
    longest_pick_up: float | None


@dataclass(frozen=True, slots=True)
class Sample:
    """A job that ended: seconds from due to started, and from started to ended."""

    pick_up: float
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCounts:
    """How the jobs of one type ended in the last hour.

    `first_failed`: when the first of those that failed did.
    """

    type: str
    finished: int
    failed: int
    first_failed: datetime | None = None


def _count(state: JobState) -> ColumnElement[int]:
    return func.count(case((jobs.c.state == state, 1)))


_minute = minute_of(jobs.c.finished_at).label("minute")
THROUGHPUT: Final = (
    select(
        _minute,
        _count(JobState.FINISHED).label("finished"),
        _count(JobState.FAILED).label("failed"),
        _count(JobState.CANCELLED).label("cancelled"),
        func.avg(PICK_UP).label("mean_pick_up"),
        func.max(PICK_UP).label("longest_pick_up"),
    )
    .where(_lately)
    .group_by(_minute)
    .order_by(_minute)
)
SAMPLES: Final = (
    select(PICK_UP.label("pick_up"), DURATION.label("duration"))
    .where(_lately, jobs.c.started_at.is_not(None))
    .order_by(jobs.c.finished_at.desc())
    .limit(SAMPLE_SIZE)
)
BY_TYPE: Final = (
    select(
        jobs.c.type,
        _count(JobState.FINISHED).label("finished"),
        _count(JobState.FAILED).label("failed"),
        func.min(case((jobs.c.state == JobState.FAILED, jobs.c.finished_at))).label("first_failed"),
    )
    .where(_lately)
    .group_by(jobs.c.type)
    .order_by(jobs.c.type)
)
LATENESS: Final = (
    select(LATE_BY)
    .select_from(jobs.join(ticks, TICK_OF_JOB))
    .where(_lately)
    .order_by(jobs.c.finished_at.desc())
    .limit(SAMPLE_SIZE)
)


def throughput(connection: Connection) -> list[Minute]:
    """Return the figures of each minute of the last hour in which a job ended, the oldest first."""
    rows = connection.execute(THROUGHPUT).mappings()
    return readable("horae_jobs", rows, lambda row: Minute(**row))


def samples(connection: Connection) -> list[Sample]:
    """Return the last ended jobs that had begun."""
    return [Sample(*row) for row in connection.execute(SAMPLES)]


def lateness(connection: Connection) -> list[float]:
    """Return how many seconds late each of the last ended runs was fired."""
    return list(connection.scalars(LATENESS))


def by_type(connection: Connection) -> list[TypeCounts]:
    """Return how the jobs of each type ended in the last hour."""
    return [TypeCounts(**row) for row in connection.execute(BY_TYPE).mappings()]
