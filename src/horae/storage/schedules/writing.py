"""Lock schedules and write them back in batches; add, redefine and remove them.

Every change of a schedule (it fires, its run ends, it is paused) follows one pattern in one
transaction: lock the rows in the order of their ids, decide by the database's clock, write. Another
transaction waits for the lock and then reads what was decided. So no tick is fired twice or lost,
even if two nodes both believe that they own the schedule.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    Table,
    Text,
    Update,
    bindparam,
    cast,
    delete,
    update,
)

from horae.domain.jobs import JobId
from horae.domain.schedules import NEXT_STATE, DisabledReason, ScheduleEvent, ScheduleState
from horae.storage.engine import (
    Json,
    database_now,
    has_listed_id,
    insert,
    json_moment,
    json_rows,
    member_of,
)
from horae.storage.jobs import EVERYTHING_IS_PAUSED
from horae.storage.schedules.reading import ALL, schedules_in
from horae.storage.schedules.rows import STATISTICS, StoredSchedule
from horae.storage.schedules.tables import schedule_statistics, schedules

# Rows are locked in one order, so that transactions cannot deadlock; both tables are locked,
# because after a wait only locked rows are read again.
LOCK: Final = ALL.order_by(schedules.c.id).with_for_update().where(member_of(schedules.c.id, "ids"))
LOCK_TO_FIRE: Final = LOCK.where(~EVERYTHING_IS_PAUSED)
_CHANGING: Final = (
    "state",
    "enabled",
    "disabled_reason",
    "pause_note",
    "run_token",
    "started_at",
    "next_start",
    "last_tick",
)
ONE_TIME: Final = ("skip_until", "skip_reason", "moved_start", "backfill_next")
"""Columns that few schedules ever use, written apart from those that change with each run."""
_DEFINITION: Final = (
    "job_type",
    "params",
    "trigger_kind",
    "trigger",
    "timezone",
    "rules",
    "queue",
    "priority",
    "deployment_id",
    "overrides",
    "calendar_days",
    "limits",
    "tags",
    "max_attempts",
)


def _write(table: Table, key: ColumnElement[int], names: Sequence[str], **more: Any) -> Update:
    row = json_rows("rows", id=key.type, **{name: table.c[name].type for name in names})
    values = {name: row.c[name] for name in names}
    return update(table).where(has_listed_id(key, row.c.id)).values(values | more)


WRITE: Final = _write(
    schedules,
    schedules.c.id,
    _CHANGING,
    version=schedules.c.version + 1,
    updated_at=database_now(),
)
WRITE_ONE_TIME: Final = _write(schedules, schedules.c.id, ONE_TIME)
_next = json_rows("rows", id=BigInteger(), meta=Text())
LEAVE_META: Final = (
    update(schedules)
    .where(has_listed_id(schedules.c.id, _next.c.id))
    .values(next_meta=cast(_next.c.meta, Json()))
)
WRITE_STATISTICS: Final = _write(schedule_statistics, schedule_statistics.c.schedule_id, STATISTICS)


def _parameters(*names: str) -> dict[str, BindParameter[Any]]:
    return {name: bindparam(name, type_=schedules.c[name].type) for name in names}


ADD: Final = (
    insert(schedules)
    .values(
        **_parameters("name", "module", "partition", *_DEFINITION),
        state=ScheduleState.DISABLED.value,
        enabled=False,
        disabled_reason=DisabledReason.PAUSED.value,
        created_at=database_now(),
        updated_at=database_now(),
    )
    # If several transactions add the same name at once, all but one of them learn that it exists.
    .on_conflict_do_nothing(index_elements=[schedules.c.module, schedules.c.name])
    .returning(schedules.c.id)
)
"""Add a schedule, disabled until its activation."""
ADD_STATISTICS: Final = insert(schedule_statistics)
REDEFINE: Final = (
    update(schedules)
    .where(schedules.c.id == bindparam("schedule_id"))
    .values(_parameters(*_DEFINITION))
)


def _change_state(state: ScheduleState, event: ScheduleEvent) -> Update:
    return (
        update(schedules)
        .where(schedules.c.state == state.value, member_of(schedules.c.run_token, "jobs"))
        .values(
            state=NEXT_STATE[state, event].value,
            version=schedules.c.version + 1,
            updated_at=database_now(),
        )
    )


STOP: Final = _change_state(ScheduleState.EXECUTING, ScheduleEvent.STOP)
REPEAT: Final = _change_state(ScheduleState.TERMINATING, ScheduleEvent.REPEAT)
SET_COMPUTED: Final = (
    update(schedules)
    .where(schedules.c.id == bindparam("schedule_id"))
    .values(
        **_parameters("calendar_days", "limits", "tags", "max_attempts"),
        version=schedules.c.version + 1,
        updated_at=database_now(),
    )
)
REMOVE: Final = delete(schedules).where(schedules.c.id == bindparam("schedule_id"))


def rows_as_json(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the parameter of `json_rows`; equal moments, being frequent, are converted once."""
    texts: dict[datetime, int | str | None] = {}

    def moment(value: datetime) -> int | str | None:
        if (text := texts.get(value)) is None:
            text = texts[value] = json_moment(connection, value)
        return text

    return json.dumps(list(rows), default=moment, check_circular=False)


def lock(
    connection: Connection, ids: Collection[int], statement: Select[Any] = LOCK
) -> list[StoredSchedule]:
    """Lock these schedules until the transaction ends, and return the existing ones by id.

    With `LOCK_TO_FIRE` none is returned while everything is paused.
    """
    return schedules_in(connection, statement, ids=sorted(ids))


def write(
    connection: Connection, before: Sequence[StoredSchedule], after: Sequence[StoredSchedule]
) -> None:
    """Write what changes as locked schedules run, and what else is not as it was before."""
    _write_batch(connection, WRITE, _CHANGING, after)
    for statement, names in ((WRITE_STATISTICS, STATISTICS), (WRITE_ONE_TIME, ONE_TIME)):
        values = attrgetter(*names)
        changed = [
            now for row, now in zip(before, after, strict=True) if values(row) != values(now)
        ]
        if changed:
            _write_batch(connection, statement, names, changed)


def write_one_time(connection: Connection, rows: Sequence[StoredSchedule]) -> None:
    """Write the one-time changes and the backfills of locked schedules."""
    _write_batch(connection, WRITE_ONE_TIME, ONE_TIME, rows)


def _write_batch(
    connection: Connection,
    statement: Update,
    names: Sequence[str],
    rows: Sequence[StoredSchedule],
) -> None:
    columns = ("id", *names)
    values = attrgetter(*columns)
    batch = rows_as_json(connection, (dict(zip(columns, values(row), strict=True)) for row in rows))
    connection.execute(statement, {"rows": batch, "ids": [row.id for row in rows]})


def add(
    connection: Connection, module: str, name: str, partition: int, definition: Mapping[str, Any]
) -> int | None:
    """Insert a disabled schedule with empty statistics; return its id, or None for a taken name."""
    given = {"module": module, "name": name, "partition": partition, **definition}
    schedule_id: int | None = connection.scalar(ADD, given)
    if schedule_id is not None:
        connection.execute(ADD_STATISTICS, {"schedule_id": schedule_id})
    return schedule_id


def redefine(connection: Connection, schedule_id: int, values: Mapping[str, Any]) -> None:
    """Give a locked schedule another definition."""
    connection.execute(REDEFINE, {**values, "schedule_id": schedule_id})


def set_computed(
    connection: Connection, schedule_id: int, computed: Mapping[str, str | int | None]
) -> None:
    """Store what the application's code computes for a locked schedule: days and job options."""
    connection.execute(SET_COMPUTED, {"schedule_id": schedule_id, **computed})


def remove(connection: Connection, schedule_id: int) -> None:
    """Delete a schedule with its statistics and ticks."""
    connection.execute(REMOVE, {"schedule_id": schedule_id})


def mark_stopping(connection: Connection, job_ids: Collection[JobId]) -> None:
    """Note that the bodies of these jobs have been asked to stop, and still run."""
    connection.execute(STOP, {"jobs": job_ids})


def leave_for_next_runs(connection: Connection, left: Mapping[int, str]) -> None:
    """Write what runs have left for the `meta` of the next run, by locked schedule."""
    rows = json.dumps([{"id": key, "meta": meta} for key, meta in left.items()])
    connection.execute(LEAVE_META, {"rows": rows, "ids": sorted(left)})


def mark_repeating(connection: Connection, job_ids: Collection[JobId]) -> None:
    """Note that these jobs have stopped and are tried again."""
    connection.execute(REPEAT, {"jobs": job_ids})
