"""Schedules that need attention, a few of each kind, for `horae doctor` and the overview."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Integer, Select, bindparam, func, or_, select

from horae.domain.schedules import Decision, DisabledReason, Overlap
from horae.storage.engine import member_of, seconds_ago, seconds_since
from horae.storage.jobs import EVERYTHING_IS_PAUSED
from horae.storage.schedules import clock_setbacks
from horae.storage.schedules.clock_setbacks import WaitingSchedule
from horae.storage.schedules.reading import ALL, schedules_in
from horae.storage.schedules.rows import StoredSchedule, UnreadableSchedule, rules_of, statistics_of
from horae.storage.schedules.tables import schedule_statistics, schedules, ticks

OVERDUE: Final = timedelta(minutes=1)
"""How late a start has to be to be reported; nodes start what is due within seconds."""
FAILURES_IN_A_ROW: Final = 3
"""How many failures in a row are reported; one or two may be chance."""
MOST_FAILING: Final = 100
"""Maximum number of failing schedules of each kind that are read and converted in Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LateSchedule:
    """A schedule that should have started so many seconds ago."""

    id: int
    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class LateSchedules:
    """How many schedules are late, and some of them, the latest ones first."""

    count: int
    latest: list[LateSchedule]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedSchedule:
    """A schedule that has left out nominal times, and has not run since.

    `count`: how many times, from the first one on.
    """

    id: int
    name: str
    nominal_time: datetime
    count: int
    reason: str


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
    succeeded_at: datetime | None = None
    """When a run succeeded last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedSchedule:
    """A schedule that somebody has paused."""

    id: int
    name: str
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleHealth:
    """The problems of the schedules.

    `job_types`: how many enabled schedules start jobs of each type. `waiting`: those that wait
    because the database's clock was set back. `paused`: the latest ones, of `paused_count`.
    """

    late: list[LateSchedule]
    failing: list[FailingSchedule]
    job_types: dict[str, int]
    waiting: list[WaitingSchedule] = field(default_factory=list[WaitingSchedule])
    paused: list[PausedSchedule] = field(default_factory=list[PausedSchedule])
    paused_count: int = 0


# A schedule that is running is not late. The condition on `next_start` is found by its index.
LATE: Final = (
    select(
        schedules.c.id,
        schedules.c.name,
        seconds_since(schedules.c.next_start).label("seconds"),
        func.count().over().label("late"),
    )
    .where(
        schedules.c.next_start < seconds_ago("seconds"),
        schedules.c.run_token.is_(None),
        ~EVERYTHING_IS_PAUSED,
    )
    .order_by(schedules.c.next_start, schedules.c.id)
    .limit(bindparam("limit"))
)
_latest = ticks.alias("latest")
_later = ticks.alias("later")
_is_among_latest = ticks.c.nominal_time.in_(
    select(_latest.c.nominal_time)
    .where(_latest.c.schedule_id == schedules.c.id)
    .order_by(_latest.c.nominal_time.desc())
    .limit(bindparam("ticks"))
    .correlate(schedules)
)
_has_run_since = (
    select(_later.c.schedule_id)
    .where(
        _later.c.schedule_id == ticks.c.schedule_id,
        _later.c.nominal_time > ticks.c.nominal_time,
        _later.c.decision == Decision.FIRED.value,
    )
    .exists()
)
# Each change of the next start changes `updated_at`, which has an index; the ledger has none by
# which the latest decisions of all schedules could be found.
MISSED: Final = (
    select(schedules.c.id, schedules.c.name, ticks.c.nominal_time, ticks.c.count, ticks.c.reason)
    .join(ticks, ticks.c.schedule_id == schedules.c.id)
    .where(
        or_(
            schedules.c.updated_at > seconds_ago("seconds"),
            member_of(schedules.c.id, "ids"),
        ),
        schedules.c.enabled,
        ticks.c.decision == Decision.MISSED.value,
        _is_among_latest,
        ~_has_run_since,
    )
    .order_by(schedules.c.id, ticks.c.nominal_time.desc())
    .limit(bindparam("limit"))
)
_streak: Final = (
    schedule_statistics.c.consecutive_failures + schedule_statistics.c.consecutive_crashes
)


def _select(*conditions: Any) -> Select[Any]:
    return ALL.where(*conditions).order_by(schedules.c.id).limit(MOST_FAILING)


GAVE_UP: Final = _select(schedules.c.disabled_reason == DisabledReason.RETRIES_USED_UP.value)
FAILING: Final = _select(schedules.c.enabled, _streak >= bindparam("streak", type_=Integer()))
PAUSED: Final = (
    select(
        schedules.c.id,
        schedules.c.name,
        schedules.c.pause_note,
        func.count().over(),
    )
    .where(schedules.c.disabled_reason == DisabledReason.PAUSED.value)
    .order_by(schedules.c.updated_at.desc(), schedules.c.id)
    .limit(5)
)
TYPES: Final = (
    select(schedules.c.job_type, func.count().label("schedules"))
    .where(schedules.c.enabled)
    .group_by(schedules.c.job_type)
)


def check(connection: Connection) -> ScheduleHealth:
    """Return the problems of all schedules, found by a few statements."""
    types = {row.job_type: row.schedules for row in connection.execute(TYPES)}
    paused = connection.execute(PAUSED).all()
    return ScheduleHealth(
        late=late(connection, OVERDUE.total_seconds(), 1_000).latest,
        failing=failing(connection, FAILURES_IN_A_ROW),
        job_types=types,
        waiting=clock_setbacks.waiting(connection),
        paused=[PausedSchedule(id=id_, name=name, note=note) for id_, name, note, _ in paused],
        paused_count=paused[0][-1] if paused else 0,
    )


def failing(connection: Connection, streak: int) -> list[FailingSchedule]:
    """Return schedules that gave up, and then those that failed at least so often in a row."""
    rows = schedules_in(connection, GAVE_UP) + schedules_in(connection, FAILING, streak=streak)
    return [each for each in map(_failing, rows) if each.gave_up or each.streak >= streak]


def late(connection: Connection, seconds: float, limit: int) -> LateSchedules:
    """Return the schedules that should have started so many seconds ago."""
    rows = connection.execute(LATE, {"seconds": seconds, "limit": limit}).all()
    return LateSchedules(
        rows[0].late if rows else 0,
        [LateSchedule(id=row.id, name=row.name, seconds=row.seconds) for row in rows],
    )


def missed(
    connection: Connection, seconds: float, ids: Collection[int], limit: int
) -> list[MissedSchedule]:
    """Return schedules that have left out nominal times, and have not run since.

    Only those are searched that were changed in the last `seconds`, as a decision does, and `ids`.
    """
    values = {"seconds": seconds, "ids": ids, "ticks": 5, "limit": limit}
    found: dict[int, MissedSchedule] = {}
    for id_, name, moment, count, reason in connection.execute(MISSED, values):
        before = found.get(id_)
        total = count + (0 if before is None else before.count)
        found[id_] = MissedSchedule(
            id=id_, name=name, nominal_time=moment, count=total, reason=reason
        )
    return list(found.values())


def _failing(row: StoredSchedule) -> FailingSchedule:
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
        id=row.id,
        name=row.name,
        job_type=row.job_type,
        streak=streak,
        gave_up=not row.enabled,
        succeeded_at=statistics.last_successful_finish,
    )
