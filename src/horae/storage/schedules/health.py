"""Schedules that need attention, a few of each kind, for `horae doctor` and the overview."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, Integer, Select, bindparam, func, select

from horae.domain.schedules import DisabledReason, Overlap
from horae.storage.engine import readable, seconds_from_now, seconds_since
from horae.storage.schedules import clock_setbacks
from horae.storage.schedules.clock_setbacks import WaitingSchedule
from horae.storage.schedules.reading import ALL, stored
from horae.storage.schedules.rows import StoredSchedule, UnreadableSchedule, rules_of, statistics_of
from horae.storage.schedules.tables import schedule_statistics, schedules

OVERDUE: Final = timedelta(minutes=1)
"""How late a start has to be to be reported; nodes start what is due within seconds."""
FAILURES_IN_A_ROW: Final = 3
"""How many failures in a row are reported; one or two may be chance."""
MOST_FAILING: Final = 100
"""Maximum number of failing schedules of each kind that are read and converted in Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverdueSchedules:
    """Overdue schedules: how many, the longest overdue one, and by how many seconds."""

    count: int
    name: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingSchedule:
    """A schedule that has failed `streak` times in a row.

    `gave_up`: whether it was disabled because its retries are used up.
    """

    id: int
    name: str
    job_type: str
    streak: int
    gave_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleHealth:
    """The problems of the schedules.

    `job_types`: how many enabled schedules start jobs of each type. `waiting`: those that wait
    because the database's clock was set back.
    """

    overdue: OverdueSchedules | None
    failing: list[FailingSchedule]
    job_types: dict[str, int]
    waiting: list[WaitingSchedule] = field(default_factory=list[WaitingSchedule])


# A schedule that is running is not overdue. The condition on `next_start` is found by its index.
_overdue = (
    schedules.c.next_start < seconds_from_now("since"),
    schedules.c.run_token.is_(None),
)
_waits = seconds_since(schedules.c.next_start)
LONGEST: Final = (
    select(schedules.c.name, _waits, func.count().over())
    .where(*_overdue)
    .order_by(schedules.c.next_start)
    .limit(1)
)
_streak: Final = (
    schedule_statistics.c.consecutive_failures + schedule_statistics.c.consecutive_crashes
)


def _select(*conditions: Any) -> Select[Any]:
    return ALL.where(*conditions).order_by(schedules.c.id).limit(MOST_FAILING)


GAVE_UP: Final = _select(schedules.c.disabled_reason == DisabledReason.RETRIES_USED_UP.value)
FAILING: Final = _select(schedules.c.enabled, _streak >= bindparam("streak", type_=Integer()))
TYPES: Final = (
    select(schedules.c.job_type, func.count().label("schedules"))
    .where(schedules.c.enabled)
    .group_by(schedules.c.job_type)
)


def check(connection: Connection) -> ScheduleHealth:
    """Return the problems of all schedules, found by a few statements."""
    gave_up = [_failing(row, gave_up=True) for row in _rows(connection, GAVE_UP)]
    failing = [
        _failing(row, gave_up=False) for row in _rows(connection, FAILING, streak=FAILURES_IN_A_ROW)
    ]
    types = {row.job_type: row.schedules for row in connection.execute(TYPES)}
    return ScheduleHealth(
        overdue=overdue(connection),
        failing=[
            each
            for each in (*gave_up, *failing)
            if each.gave_up or each.streak >= FAILURES_IN_A_ROW
        ],
        job_types=types,
        waiting=clock_setbacks.waiting(connection),
    )


def overdue(connection: Connection) -> OverdueSchedules | None:
    """Return the schedules that should have started at least `OVERDUE` ago and have not."""
    longest = connection.execute(LONGEST, {"since": -OVERDUE.total_seconds()}).one_or_none()
    if longest is None:
        return None
    name, seconds, count = longest
    return OverdueSchedules(count=count, name=name, seconds=seconds)


def _rows(connection: Connection, statement: Select[Any], **values: Any) -> list[StoredSchedule]:
    return readable(schedules.name, connection.execute(statement, values), stored)


def _failing(row: StoredSchedule, *, gave_up: bool) -> FailingSchedule:
    statistics = statistics_of(row)
    try:
        overlapping = rules_of(row).overlap is Overlap.ALLOW_ALL
    except UnreadableSchedule:
        overlapping = False
    # The open run counts as crashed until it ends, so it is left out. Where runs may overlap, the
    # number of open ones is not stored, so only ended ones count.
    streak = (
        statistics.consecutive_failures
        if overlapping
        else statistics.streak(int(row.run_token is not None))
    )
    return FailingSchedule(
        id=row.id, name=row.name, job_type=row.job_type, streak=streak, gave_up=gave_up
    )
