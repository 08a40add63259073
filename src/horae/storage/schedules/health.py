"""Schedules that somebody should look at, a few of each kind, for `horae doctor` and the overview."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, Float, Integer, Select, bindparam, func, select

from horae.domain.schedules.schedule import DisabledReason, Overlap
from horae.storage.engine.dialect import seconds_from_now, seconds_since
from horae.storage.engine.unreadable import readable
from horae.storage.schedules.planning_state import UnreadableSchedule, rules_of, statistics_of
from horae.storage.schedules.repository import COLUMNS, stored
from horae.storage.schedules.rows import StoredSchedule
from horae.storage.schedules.tables import schedule_statistics, schedules

OVERDUE: Final = timedelta(minutes=1)
STREAK: Final = 3
"""How late a start is worth a word; how many failures in a row are."""
MOST: Final = 100
"""Failing schedules that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """Schedules that are due and do not start: how many, the one that has waited longest, and for how many seconds."""

    count: int
    name: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """A schedule that fails again and again: `streak` times in a row. `gave_up`: it is disabled for it."""

    id: int
    name: str
    job_type: str
    streak: int
    gave_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleHealth:
    """What is wrong with the schedules. `job_types`: how many that are enabled start jobs of each type."""

    overdue: Overdue | None
    failing: list[Failing]
    job_types: dict[str, int]


# A run that goes on explains why nothing starts; and what is due is found by its index.
_overdue = (
    schedules.c.next_start < seconds_from_now(bindparam("since", type_=Float())),
    schedules.c.run_token.is_(None),
)
_waits = seconds_since(schedules.c.next_start)
LONGEST: Final = select(schedules.c.name, _waits).where(*_overdue).order_by(schedules.c.next_start).limit(1)
COUNT: Final = select(func.count()).where(*_overdue)
_joined: Final = schedules.join(schedule_statistics, schedule_statistics.c.schedule_id == schedules.c.id)
_streak: Final = schedule_statistics.c.consecutive_failures + schedule_statistics.c.consecutive_crashes


def _some(*conditions: Any) -> Select[Any]:
    return select(*COLUMNS).select_from(_joined).where(*conditions).order_by(schedules.c.id).limit(MOST)


GAVE_UP: Final = _some(schedules.c.disabled_reason == DisabledReason.RETRIES_USED_UP.value)
FAILING: Final = _some(schedules.c.enabled, _streak >= bindparam("streak", type_=Integer()))
TYPES: Final = (
    select(schedules.c.job_type, func.count().label("schedules"))
    .where(schedules.c.enabled)
    .group_by(schedules.c.job_type)
)


def troubles(connection: Connection) -> ScheduleHealth:
    """Look at all of them, by few statements."""
    gave_up = [_failing(row, gave_up=True) for row in _rows(connection, GAVE_UP)]
    failing = [_failing(row, gave_up=False) for row in _rows(connection, FAILING, streak=STREAK)]
    types = {row.job_type: row.schedules for row in connection.execute(TYPES)}
    return ScheduleHealth(
        overdue=overdue(connection),
        failing=[each for each in (*gave_up, *failing) if each.gave_up or each.streak >= STREAK],
        job_types=types,
    )


def overdue(connection: Connection) -> Overdue | None:
    """What should have started at least `OVERDUE` ago and has not."""
    since = {"since": -OVERDUE.total_seconds()}
    longest = connection.execute(LONGEST, since).one_or_none()
    if longest is None:
        return None
    name, seconds = longest
    return Overdue(count=connection.execute(COUNT, since).scalar_one(), name=name, seconds=seconds)


def _rows(connection: Connection, statement: Select[Any], **values: Any) -> list[StoredSchedule]:
    return readable(schedules.name, connection.execute(statement, values), stored)


def _failing(row: StoredSchedule, *, gave_up: bool) -> Failing:
    return Failing(id=row.id, name=row.name, job_type=row.job_type, streak=_streak_of(row), gave_up=gave_up)


def _streak_of(row: StoredSchedule) -> int:
    """Runs that go on are counted as crashed until they end; how many there are nobody keeps where they may overlap."""
    statistics = statistics_of(row)
    try:
        overlapping = rules_of(row).overlap is Overlap.ALLOW_ALL
    except UnreadableSchedule:
        overlapping = False
    return statistics.consecutive_failures if overlapping else statistics.streak(int(row.run_token is not None))
