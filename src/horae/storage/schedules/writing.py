"""Lock schedules and write them back in batches; add, redefine and remove them.

Every change of a schedule (it fires, its run ends, it is paused) follows one pattern in one transaction: lock the rows
in the order of their ids, decide by the database's clock, write. A rival waits for the lock and then reads what was
decided. So no tick is fired twice or lost, even if two nodes both believe that they own the schedule.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, Update, bindparam, delete, insert, true, update

from horae.storage.engine.dialect import (
    INSERT,
    POSTGRESQL,
    IdList,
    PerDialect,
    database_now,
    json_moment,
    json_rows,
    member_of,
)
from horae.storage.engine.unreadable_rows import readable
from horae.storage.schedules.reading import ALL, stored
from horae.storage.schedules.row_mapping import STATISTICS
from horae.storage.schedules.rows import NewSchedule, StoredSchedule
from horae.storage.schedules.tables import schedule_statistics, schedules

# One order, so that rivals cannot deadlock; both tables, because after a wait only locked rows are read again.
LOCK: Final = PerDialect(
    lambda dialect: (
        ALL.where(member_of(dialect, schedules.c.id, "ids", of=IdList)).order_by(schedules.c.id).with_for_update()
    )
)
_CHANGING: Final = (
    "state", "enabled", "disabled_reason", "pause_note", "run_token", "started_at", "next_start", "last_tick",
)  # fmt: skip
_DEFINITION: Final = (
    "job_type", "params", "trigger_kind", "trigger", "timezone", "rules", "queue", "priority", "deployment_id",
)  # fmt: skip


def _write(dialect: str, table: Table, names: Sequence[str], **more: Any) -> Update:
    key = schedules.c.id if table is schedules else schedule_statistics.c.schedule_id
    row = json_rows(dialect, "rows", id=key.type, **{name: table.c[name].type for name in names})
    values = {name: row.c[name] for name in names}
    return update(table).where(key == row.c.id, by_index(dialect, key)).values(values | more)


def by_index(dialect: str, column: ColumnElement[int]) -> ColumnElement[bool]:
    """Make PostgreSQL find the rows of the batch `ids` by an index; for a join alone it may read the whole table.

    True on SQLite, which would otherwise compare the batch with each row.
    """
    return member_of(dialect, column, "ids", of=IdList) if dialect == POSTGRESQL else true()


WRITE: Final = PerDialect(
    lambda dialect: _write(dialect, schedules, _CHANGING, version=schedules.c.version + 1, updated_at=database_now())
)
WRITE_STATISTICS: Final = PerDialect(lambda dialect: _write(dialect, schedule_statistics, STATISTICS))


def _add(dialect: str) -> Any:
    given = {name: bindparam(name, type_=schedules.c[name].type) for name in NewSchedule._fields}
    added = INSERT[dialect](schedules).values(**given, created_at=database_now(), updated_at=database_now())
    # If several transactions add the same name at once, all but one of them learn that it exists.
    unless_it_exists = added.on_conflict_do_nothing(index_elements=[schedules.c.module, schedules.c.name])
    return unless_it_exists.returning(schedules.c.id)


ADD: Final = PerDialect(_add)
ADD_STATISTICS: Final = insert(schedule_statistics)
REDEFINE: Final = (
    update(schedules)
    .where(schedules.c.id == bindparam("schedule_id"))
    .values({name: bindparam(name, type_=schedules.c[name].type) for name in _DEFINITION})
)
REMOVE: Final = delete(schedules).where(schedules.c.id == bindparam("schedule_id"))


def rows_as_json(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the parameter of `json_rows`; each distinct moment is converted once, as most of a batch are equal."""
    dialect = connection.dialect.name
    texts: dict[datetime, int | str | None] = {}

    def moment(value: datetime) -> int | str | None:
        if (text := texts.get(value)) is None:
            text = texts[value] = json_moment(dialect, value)
        return text

    return json.dumps(list(rows), default=moment, check_circular=False)


def lock(connection: Connection, ids: Collection[int]) -> list[StoredSchedule]:
    """Lock those of these schedules that exist until the transaction ends, and return them by id."""
    rows = connection.execute(LOCK.on(connection), {"ids": sorted(ids)}).all()
    return readable(schedules.name, rows, stored)


def write(connection: Connection, rows: Sequence[StoredSchedule]) -> None:
    """Write the columns of locked schedules that change as they run."""
    _write_batch(connection, WRITE, _CHANGING, rows)


def write_statistics(connection: Connection, rows: Sequence[StoredSchedule]) -> None:
    """Write the statistics of locked schedules."""
    _write_batch(connection, WRITE_STATISTICS, STATISTICS, rows)


def _write_batch(
    connection: Connection, statement: PerDialect[Update], names: Sequence[str], rows: Sequence[StoredSchedule]
) -> None:
    columns = ("id", *names)
    values = attrgetter(*columns)
    batch = rows_as_json(connection, (dict(zip(columns, values(row), strict=True)) for row in rows))
    connection.execute(statement.on(connection), {"rows": batch, "ids": [row.id for row in rows]})


def add(connection: Connection, new: NewSchedule) -> int | None:
    """Insert a schedule with empty statistics; return its id, or None if the name is taken."""
    schedule_id: int | None = connection.execute(ADD.on(connection), new._asdict()).scalar_one_or_none()
    if schedule_id is not None:
        connection.execute(ADD_STATISTICS, {"schedule_id": schedule_id})
    return schedule_id


def redefine(connection: Connection, schedule_id: int, values: Mapping[str, Any]) -> None:
    """Give a locked schedule another definition."""
    connection.execute(REDEFINE, {**values, "schedule_id": schedule_id})


def remove(connection: Connection, schedule_id: int) -> None:
    """Delete a schedule with its statistics and ticks."""
    connection.execute(REMOVE, {"schedule_id": schedule_id})
