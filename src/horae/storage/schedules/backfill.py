"""Past nominal times to run: stored until the plan of their schedule fires them one by one.

A time that has a decision other than `fired` gets a new one when it runs: the row of the ledger
that stands for it, often for a range of times, is split then. A time whose run has failed keeps its
decision, and the row names the new job. Every statement runs under the lock of the schedule, so
that two requests for the same range, or a request and a fire, exclude each other.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, exists, select

from horae.domain.jobs import JobState
from horae.domain.schedules import Decision, Timeline
from horae.domain.times import MICROSECOND
from horae.storage.engine import Instant, database_now, insert, json_rows
from horae.storage.jobs import jobs
from horae.storage.schedules.tables import backfill_times, ticks
from horae.storage.schedules.ticks import NEWEST_JOB, StoredTicks
from horae.storage.schedules.writing import rows_as_json

_schedule: Final[Any] = bindparam("schedule")
_of_schedule = ticks.c.schedule_id == _schedule
FIRED: Final = select(ticks.c.nominal_time).where(
    _of_schedule,
    ticks.c.decision == Decision.FIRED.value,
    ticks.c.nominal_time >= bindparam("start"),
    ticks.c.nominal_time < bindparam("end"),
)
_newest: Final = jobs.alias("newest")
_has_failed: Final = (
    select(_newest.c.id)
    .where(
        _newest.c.id == NEWEST_JOB, _newest.c.state == JobState.FAILED, _newest.c.node_id.is_(None)
    )
    .exists()
)
FIRED_WELL: Final = FIRED.where(~_has_failed)
WAITING: Final = select(backfill_times.c.nominal_time).where(
    backfill_times.c.schedule_id == _schedule,
    backfill_times.c.nominal_time >= bindparam("start"),
    backfill_times.c.nominal_time < bindparam("end"),
)
_is_done = exists().where(
    ticks.c.schedule_id == backfill_times.c.schedule_id,
    ticks.c.nominal_time == backfill_times.c.nominal_time,
    ticks.c.decision == Decision.FIRED.value,
    ~_has_failed,
)
NEXT: Final = (
    select(backfill_times.c.nominal_time)
    .where(backfill_times.c.schedule_id == _schedule, ~_is_done)
    .order_by(backfill_times.c.nominal_time)
    .limit(2)
)
COVERING: Final = (
    select(ticks)
    .where(
        _of_schedule,
        ticks.c.decision != Decision.FIRED.value,
        ticks.c.nominal_time <= bindparam("moment"),
    )
    .order_by(ticks.c.nominal_time.desc())
    .limit(1)
)
NOT_FIRED: Final = (
    select(ticks)
    .where(
        _of_schedule,
        ticks.c.decision != Decision.FIRED.value,
        ticks.c.nominal_time < bindparam("end"),
        ticks.c.until >= bindparam("start"),
    )
    .order_by(ticks.c.nominal_time)
)
DONE: Final = delete(backfill_times).where(
    backfill_times.c.schedule_id == _schedule,
    backfill_times.c.nominal_time == bindparam("moment"),
)
WITHDRAW: Final = delete(backfill_times).where(backfill_times.c.schedule_id == _schedule)
REPLACE: Final = delete(ticks).where(
    _of_schedule,
    ticks.c.nominal_time == bindparam("moment"),
    ticks.c.decision != Decision.FIRED.value,
)


_row = json_rows("rows", nominal_time=Instant())
ADD: Final = (
    insert(backfill_times)
    .from_select(
        ["schedule_id", "nominal_time", "requested_at"],
        # The WHERE tells SQLite that ON CONFLICT belongs to the INSERT, not to a join.
        select(_schedule, _row.c.nominal_time, database_now()).where(
            _row.c.nominal_time.is_not(None)
        ),
    )
    .on_conflict_do_nothing()
)


def known_times(
    connection: Connection, schedule_id: int, start: datetime, end: datetime, *, failed: bool
) -> set[datetime]:
    """Return nominal times with `start <= time < end` that were fired, or wait to be fired.

    `failed`: whether to leave out those whose run has failed.
    """
    given = {"schedule": schedule_id, "start": start, "end": end}
    queries = (FIRED_WELL if failed else FIRED, WAITING)
    return {moment for query in queries for moment in connection.scalars(query, given)}


def add(connection: Connection, schedule_id: int, times: Sequence[datetime]) -> None:
    """Store past times to run; times that are stored already stay as they are."""
    rows = rows_as_json(connection, ({"nominal_time": moment} for moment in times))
    connection.execute(ADD, {"schedule": schedule_id, "rows": rows})


def following(connection: Connection, schedule_id: int) -> tuple[datetime, ...]:
    """Return the first two waiting times of a schedule."""
    return tuple(connection.scalars(NEXT, {"schedule": schedule_id}))


def withdraw(connection: Connection, schedule_id: int) -> int:
    """Remove all waiting times, and return their number."""
    return connection.execute(WITHDRAW, {"schedule": schedule_id}).rowcount


def not_fired(
    connection: Connection, schedule_id: int, start: datetime, end: datetime
) -> list[StoredTicks]:
    """Return the rows of the ledger that stand for times in a range which were not run."""
    rows = connection.execute(
        NOT_FIRED, {"schedule": schedule_id, "start": start, "end": end}
    ).mappings()
    return [StoredTicks(**row) for row in rows]


def fire(connection: Connection, schedule_id: int, timeline: Timeline, moment: datetime) -> None:
    """Remove a time that is fired now, and split the row of the ledger that stood for it."""
    connection.execute(DONE, {"schedule": schedule_id, "moment": moment})
    found = (
        connection.execute(COVERING, {"schedule": schedule_id, "moment": moment})
        .mappings()
        .one_or_none()
    )
    if found is None or found["until"] < moment:
        return
    old = StoredTicks(**found)
    connection.execute(REPLACE, {"schedule": schedule_id, "moment": old.nominal_time})
    parts: list[StoredTicks] = []
    before = timeline.count(old.nominal_time - MICROSECOND, moment - MICROSECOND)
    if before:
        last = timeline.nth(old.nominal_time - MICROSECOND, before, moment)
        parts.append(replace(old, until=last, count=before))
    after = old.count - before - 1
    if after > 0 and (first := timeline.after(moment)) is not None:
        parts.append(replace(old, nominal_time=first, count=after))
    if parts:
        connection.execute(insert(ticks), [asdict(part) for part in parts])
