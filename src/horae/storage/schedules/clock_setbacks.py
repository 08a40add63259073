"""Schedules that wait for times which the database's clock had shown before it was set back."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import Connection, bindparam, select

from horae.domain.schedules import ClockSetBack, Plan
from horae.domain.schedules.plan import plan
from horae.storage.engine import database_now, seconds_from_now
from horae.storage.schedules import writing
from horae.storage.schedules.plan_writing import (
    JITTER,
    AppliedPlan,
    apply_plans,
    snapshot_if_readable,
)
from horae.storage.schedules.reading import ALL, schedules_in
from horae.storage.schedules.rows import StoredSchedule
from horae.storage.schedules.tables import schedule_statistics, schedules

SLACK: Final = 1.0
"""Seconds by which a decision may be ahead of the clock, because clocks of servers differ."""

_ahead = (
    schedules.c.trigger_kind == "interval",
    schedules.c.next_start > database_now(),
    schedule_statistics.c.last_finish > database_now(),
)
AHEAD: Final = (
    select(schedules.c.id)
    .join(schedule_statistics, schedule_statistics.c.schedule_id == schedules.c.id)
    .where(*_ahead, schedules.c.id > bindparam("after"))
    .order_by(schedules.c.id)
    .limit(bindparam("limit"))
)
DECIDED: Final = (
    ALL.where(
        schedules.c.next_start > database_now(),
        schedules.c.last_tick > seconds_from_now(SLACK),
        schedules.c.run_token.is_(None),
    )
    .order_by(schedules.c.next_start)
    .limit(100)
)


class WaitingSchedule(NamedTuple):
    """A schedule whose times are decided up to `decided`, in the future; it starts again at
    `next_start`.

    `is_interval`: it counts from the finish, so it need not wait (`pull_in`).
    """

    id: int
    name: str
    decided: datetime
    next_start: datetime
    is_interval: bool


def counted_ahead(connection: Connection, after: int, limit: int) -> Sequence[int]:
    """Return the ids, after this one, of schedules that may be pulled in; locks nothing."""
    return connection.scalars(AHEAD, {"after": after, "limit": limit}).all()


def pull_in(connection: Connection, ids: Collection[int]) -> list[AppliedPlan]:
    """Pull in the next starts of these schedules if they are intervals; return the changes."""
    changes: list[tuple[StoredSchedule, Plan]] = []
    for row in writing.lock(connection, ids):
        snapshot = snapshot_if_readable(row)
        if snapshot is not None:
            made = plan(snapshot, ClockSetBack(), row.now, JITTER)
            changes += [(row, made)] if made != Plan.unchanged(snapshot) else []
    return [replace(each, moved_earlier=True) for each in apply_plans(connection, changes)]


def waiting(connection: Connection) -> list[WaitingSchedule]:
    """Return the schedules that wait for the clock to catch up, by their next start."""
    found: list[WaitingSchedule] = []
    for row in schedules_in(connection, DECIDED):
        snapshot = snapshot_if_readable(row)
        if snapshot is None or row.last_tick is None or row.next_start is None:
            continue
        is_interval = snapshot.rules.finish_trigger is not None
        if not is_interval or plan(snapshot, ClockSetBack(), row.now, JITTER) != Plan.unchanged(
            snapshot
        ):
            found.append(
                WaitingSchedule(row.id, row.name, row.last_tick, row.next_start, is_interval)
            )
    return found
