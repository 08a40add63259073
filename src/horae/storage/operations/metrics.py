"""Figures about the jobs that ended between two moments, one row for each type."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, bindparam, case, func, select

from horae.domain.jobs import JobState
from horae.storage.jobs import jobs
from horae.storage.operations.overview import DURATION, LATE_BY, PICK_UP, TICK_OF_JOB
from horae.storage.schedules.tables import ticks

PICK_UP_BOUNDS: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0)
"""The upper bounds of the histogram of seconds from due to started."""
DURATION_BOUNDS: Final = (0.01, 0.1, 1.0, 10.0, 60.0, 300.0, 1800.0)
"""The upper bounds of the histogram of seconds from started to ended."""
LATENESS_BOUNDS: Final = (0.05, 0.25, 1.0, 5.0, 30.0, 300.0, 3600.0)
"""The upper bounds of the histogram of seconds from a nominal time to its fire."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The jobs of one type that ended in one state; counts are cumulative, by bounds in seconds."""

    type: str
    state: JobState
    count: int
    started: int
    pick_up_sum: float
    pick_up_counts: tuple[int, ...]
    duration_sum: float
    duration_counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LatenessTally:
    """The ended runs of one job type, by the seconds from nominal time to fire."""

    type: str
    count: int
    total: float
    counts: tuple[int, ...]


def _at_most(value: ColumnElement[float], bounds: tuple[float, ...]) -> list[ColumnElement[int]]:
    return [func.count(case((value <= bound, 1))) for bound in bounds]


_ended = (
    jobs.c.finished_at > bindparam("since"),
    jobs.c.finished_at <= bindparam("until"),
)
TALLIES: Final = (
    select(
        jobs.c.type,
        jobs.c.state,
        func.count(),
        func.count(jobs.c.started_at),
        func.coalesce(func.sum(PICK_UP), 0.0),
        func.coalesce(func.sum(DURATION), 0.0),
        *_at_most(PICK_UP, PICK_UP_BOUNDS),
        *_at_most(DURATION, DURATION_BOUNDS),
    )
    .where(*_ended)
    .group_by(jobs.c.type, jobs.c.state)
)
LATENESS: Final = (
    select(
        jobs.c.type,
        func.count(),
        func.coalesce(func.sum(LATE_BY), 0.0),
        *_at_most(LATE_BY, LATENESS_BOUNDS),
    )
    .select_from(jobs.join(ticks, TICK_OF_JOB))
    .where(*_ended)
    .group_by(jobs.c.type)
)


def tallies(connection: Connection, since: datetime, until: datetime) -> list[Tally]:
    """Return the figures of the jobs that ended after `since` and up to `until`."""
    middle = len(PICK_UP_BOUNDS)
    rows: Iterable[Any] = connection.execute(TALLIES, {"since": since, "until": until})
    return [
        Tally(
            kind,
            JobState(state),
            count,
            started,
            pick_up,
            tuple(counts[:middle]),
            duration,
            tuple(counts[middle:]),
        )
        for kind, state, count, started, pick_up, duration, *counts in rows
    ]


def lateness(connection: Connection, since: datetime, until: datetime) -> list[LatenessTally]:
    """Return how late the runs were fired that ended after `since` and up to `until`."""
    rows: Iterable[Any] = connection.execute(LATENESS, {"since": since, "until": until})
    return [
        LatenessTally(kind, count, total, tuple(counts)) for kind, count, total, *counts in rows
    ]
