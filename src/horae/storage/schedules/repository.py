"""Schedules: locked, decided about in Python, written back in batches.

Whatever happens to schedules (firing, the end of a run, a pause) is one pattern inside one transaction: lock the rows
in the order of their ids, decide by the database's clock, write. A rival waits for the lock, then sees what was
decided, so a tick can neither double nor be lost, whoever believes to own it.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    Float,
    Integer,
    Row,
    Select,
    String,
    Text,
    Update,
    and_,
    bindparam,
    cast,
    delete,
    func,
    insert,
    not_,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

from horae.domain.storable import is_storable
from horae.storage.engine.dialect import (
    POSTGRESQL,
    SQLITE,
    IdList,
    Instant,
    PerDialect,
    database_now,
    json_moment,
    json_rows,
    member_of,
    seconds_from_now,
    seconds_since,
)
from horae.storage.engine.row_bounds import LONGEST_TOTAL, MOST_IN_A_ROW, MOST_RUNS, MOST_VERSIONS
from horae.storage.engine.unreadable import read, readable
from horae.storage.jobs.tables import job_attempts, jobs
from horae.storage.schedules.rows import DueSchedule, FailedRun, NewSchedule, StoredSchedule
from horae.storage.schedules.tables import schedule_statistics, schedules

_AS_TEXT: Final = frozenset({"params", "rules"})
_SCHEDULE_FIELDS: Final = tuple(name for name in StoredSchedule._fields if name in schedules.c)
_STATISTIC_FIELDS: Final = tuple(
    name for name in StoredSchedule._fields if name in schedule_statistics.c and name not in schedules.c
)
COLUMNS: Final = (
    *(
        cast(schedules.c[name], Text()).label(name) if name in _AS_TEXT else schedules.c[name]
        for name in _SCHEDULE_FIELDS
    ),
    *(schedule_statistics.c[name] for name in _STATISTIC_FIELDS),
    database_now().label("now"),
)
_JOINED: Final = schedules.join(schedule_statistics, schedule_statistics.c.schedule_id == schedules.c.id)


def _these(dialect: str) -> Select[Any]:
    return select(*COLUMNS).select_from(_JOINED).where(member_of(dialect, schedules.c.id, "ids", of=IdList))


THESE: Final = PerDialect(_these)
# In one order, so that rivals cannot deadlock; both rows, for after a wait only locked ones are read anew.
LOCK: Final = PerDialect(lambda dialect: _these(dialect).order_by(schedules.c.id).with_for_update())
_CHANGE: Final[Mapping[str, TypeEngine[Any]]] = {
    "id": BigInteger(),
    "state": String(),
    "enabled": Boolean(),
    "disabled_reason": String(),
    "pause_note": Text(),
    "run_token": BigInteger(),
    "started_at": Instant(),
    "next_start": Instant(),
    "last_tick": Instant(),
}


def _write(dialect: str) -> Update:
    row = json_rows(dialect, "rows", **_CHANGE)
    values: dict[str, Any] = {name: row.c[name] for name in _CHANGE if name != "id"}
    values |= {"version": schedules.c.version + 1, "updated_at": database_now()}
    return update(schedules).where(schedules.c.id == row.c.id, found_of(dialect, schedules.c.id)).values(values)


def found_of(dialect: str, column: ColumnElement[int]) -> ColumnElement[bool]:
    """Look the rows of a batch up in the index on PostgreSQL, which for a join alone may read the whole table.

    SQLite would then join the batch to each of them row by row.
    """
    return member_of(dialect, column, "ids", of=IdList) if dialect == POSTGRESQL else true()


WRITE: Final = PerDialect(_write)

_STATISTICS: Final[Mapping[str, TypeEngine[Any]]] = {
    "id": BigInteger(),
    **{name: Instant() for name in ("last_start", "last_finish", "last_successful_finish")},
    "last_run_success": Boolean(),
    **{name: BigInteger() for name in ("total_runs", "total_successes", "total_failures", "total_crashes")},
    **{name: Float() for name in ("total_duration", "total_duration_failures")},
    **{name: Integer() for name in ("consecutive_failures", "consecutive_crashes")},
}


def _write_statistics(dialect: str) -> Update:
    row = json_rows(dialect, "rows", **_STATISTICS)
    values = {name: row.c[name] for name in _STATISTICS if name != "id"}
    key = schedule_statistics.c.schedule_id
    return update(schedule_statistics).where(key == row.c.id, found_of(dialect, key)).values(**values)


WRITE_STATISTICS: Final = PerDialect(_write_statistics)


_due_soon = select(
    schedules.c.id,
    schedules.c.partition,
    schedules.c.priority,
    (-seconds_since(schedules.c.next_start)).label("due_in"),
).where(schedules.c.next_start < seconds_from_now(bindparam("horizon", type_=Float())))
DUE: Final = PerDialect(
    lambda dialect: _due_soon.where(member_of(dialect, schedules.c.partition, "partitions", of=IdList))
)
DUE_OF: Final = PerDialect(lambda dialect: _due_soon.where(member_of(dialect, schedules.c.id, "ids", of=IdList)))
_INSERT: Final[Mapping[str, Any]] = {POSTGRESQL: postgresql.insert, SQLITE: sqlite.insert}


def _add(dialect: str) -> Any:
    given = {name: bindparam(name, type_=schedules.c[name].type) for name in NewSchedule._fields}
    added = _INSERT[dialect](schedules).values(**given, created_at=database_now(), updated_at=database_now())
    # Of several who add the same name at once, all but one hear that it exists.
    unless = added.on_conflict_do_nothing(index_elements=[schedules.c.module, schedules.c.name])
    return unless.returning(schedules.c.id)


ADD: Final = PerDialect(_add)
ADD_STATISTICS: Final = insert(schedule_statistics)

# Runs whose job has ended, and whose body has stopped, without anybody telling the schedule; or whose job is gone.
_going_on = and_(jobs.c.id.is_not(None), or_(jobs.c.finished_at.is_(None), jobs.c.node_id.is_not(None)))
OVER: Final = (
    select(schedules.c.id, schedules.c.run_token, schedules.c.started_at, jobs.c.state)
    .select_from(schedules.outerjoin(jobs, jobs.c.id == schedules.c.run_token))
    .where(schedules.c.run_token.is_not(None), not_(_going_on))
    .order_by(schedules.c.id)
    .limit(bindparam("limit", type_=Integer()))
)

BY_PARTITION: Final = (
    select(schedules.c.partition, func.count().label("schedules"))
    .where(schedules.c.enabled)
    .group_by(schedules.c.partition)
)
FIND_BY_NAME: Final = (
    select(schedules.c.id).where(schedules.c.name == bindparam("name")).order_by(schedules.c.module, schedules.c.id)
)
GET: Final = select(*COLUMNS).select_from(_JOINED).where(schedules.c.id == bindparam("schedule_id"))
LIST: Final = select(*COLUMNS).select_from(_JOINED).order_by(schedules.c.module, schedules.c.name)
_DEFINITION: Final = (
    "job_type", "params", "trigger_kind", "trigger", "timezone", "rules", "queue", "priority", "deployment_id",
)  # fmt: skip
REDEFINE: Final = (
    update(schedules)
    .where(schedules.c.id == bindparam("schedule_id"))
    .values({name: bindparam(name, type_=schedules.c[name].type) for name in _DEFINITION})
)
REMOVE: Final = delete(schedules).where(schedules.c.id == bindparam("schedule_id"))
ERRORS: Final = (
    select(
        jobs.c.schedule_id,
        jobs.c.id.label("job_id"),
        jobs.c.nominal_time,
        job_attempts.c.started_at,
        job_attempts.c.finished_at,
        job_attempts.c.outcome,
        job_attempts.c.error,
        job_attempts.c.traceback,
    )
    .join(job_attempts, job_attempts.c.job_id == jobs.c.id)
    .where(jobs.c.schedule_id.is_not(None), job_attempts.c.outcome.in_(["failed", "timed_out", "crashed"]))
    .order_by(jobs.c.id.desc(), job_attempts.c.lease.desc())
    .limit(bindparam("limit", type_=Integer()))
)


def rows_as_json(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> str:
    """Values for `json_rows`, moments as this database reads them: of a crowd most are the same."""
    dialect = connection.dialect.name
    texts: dict[datetime, int | str | None] = {}

    def moment(value: datetime) -> int | str | None:
        if (text := texts.get(value)) is None:
            text = texts[value] = json_moment(dialect, value)
        return text

    return json.dumps(list(rows), default=moment, check_circular=False)


def add(connection: Connection, new: NewSchedule) -> int | None:
    """Insert a schedule with empty statistics; its id, or None if there is one of this name."""
    schedule_id: int | None = connection.execute(ADD.on(connection), new._asdict()).scalar_one_or_none()
    if schedule_id is not None:
        connection.execute(ADD_STATISTICS, {"schedule_id": schedule_id})
    return schedule_id


def lock(connection: Connection, ids: Collection[int]) -> list[StoredSchedule]:
    """Those of these schedules that exist, by id, locked until the transaction ends."""
    rows = connection.execute(LOCK.on(connection), {"ids": sorted(ids)}).all()
    return readable(schedules.name, rows, stored)


def these(connection: Connection, ids: Collection[int]) -> list[StoredSchedule]:
    """Those of these schedules that exist, as they are now; nobody waits for a lock."""
    return readable(schedules.name, connection.execute(THESE.on(connection), {"ids": list(ids)}), stored)


def write(connection: Connection, rows: Sequence[StoredSchedule]) -> None:
    """Write the moving parts of locked schedules."""
    _write_parts(connection, WRITE, _CHANGE, rows)


def write_statistics(connection: Connection, rows: Sequence[StoredSchedule]) -> None:
    """Write the statistics of locked schedules."""
    _write_parts(connection, WRITE_STATISTICS, _STATISTICS, rows)


def _write_parts(
    connection: Connection, statement: PerDialect[Update], names: Iterable[str], rows: Sequence[StoredSchedule]
) -> None:
    parts = attrgetter(*names)
    batch = rows_as_json(connection, (dict(zip(names, parts(row), strict=True)) for row in rows))
    connection.execute(statement.on(connection), {"rows": batch, "ids": [row.id for row in rows]})


def stored(row: Row[Any]) -> StoredSchedule:
    """A row of `COLUMNS` as a value. Raises ValueError for what the next run could not be added to."""
    made = StoredSchedule._make(row)
    if not all(abs(value) < most for value, most in zip(_bounded(made), _BOUNDS.values(), strict=True)):
        raise ValueError("its version, or a count or duration of its statistics, is too large")
    return made


_BOUNDS: Final[Mapping[str, float]] = {
    "version": MOST_VERSIONS,
    **dict.fromkeys(("total_runs", "total_successes", "total_failures", "total_crashes"), MOST_RUNS),
    **dict.fromkeys(("total_duration", "total_duration_failures"), LONGEST_TOTAL),
    **dict.fromkeys(("consecutive_failures", "consecutive_crashes"), MOST_IN_A_ROW),
}
_bounded: Final = attrgetter(*_BOUNDS)


def due(connection: Connection, partitions: Collection[int], horizon: float) -> list[DueSchedule]:
    """What these partitions have due within `horizon` seconds, running ones too."""
    rows = connection.execute(DUE.on(connection), {"partitions": sorted(partitions), "horizon": horizon})
    return [DueSchedule(**row) for row in rows.mappings()]


def due_of(connection: Connection, ids: Collection[int], horizon: float) -> list[DueSchedule]:
    """Which of these schedules are due within `horizon` seconds."""
    rows = connection.execute(DUE_OF.on(connection), {"ids": sorted(ids), "horizon": horizon})
    return [DueSchedule(**row) for row in rows.mappings()]


def by_partition(connection: Connection) -> dict[int, int]:
    """How many enabled schedules are in each partition that has any."""
    rows = connection.execute(BY_PARTITION)
    return {row.partition: row.schedules for row in rows}


def find(connection: Connection, reference: int | str) -> int | None:
    """The id of the schedule of this name, one that was added at run time before a declared one; or an id as it is.

    None for what neither can be.
    """
    if isinstance(reference, int):
        return reference if abs(reference) < 2**63 else None
    if not is_storable(reference):
        return None
    return connection.execute(FIND_BY_NAME, {"name": reference}).scalars().first()


def get(connection: Connection, reference: int | str) -> StoredSchedule | None:
    """The schedule of this id or name."""
    row = connection.execute(GET, {"schedule_id": find(connection, reference)}).one_or_none()
    return None if row is None else read(schedules.name, row, stored)


def page(connection: Connection, module: str | None = None) -> list[StoredSchedule]:
    """All schedules, or those of one module, by module and name."""
    chosen = LIST if module is None else LIST.where(schedules.c.module == module)
    return readable(schedules.name, connection.execute(chosen), stored)


def redefine(connection: Connection, schedule_id: int, values: Mapping[str, Any]) -> None:
    """Give a locked schedule another definition."""
    connection.execute(REDEFINE, {**values, "schedule_id": schedule_id})


def remove(connection: Connection, schedule_id: int) -> None:
    """Delete a schedule with its statistics and ticks."""
    connection.execute(REMOVE, {"schedule_id": schedule_id})


def errors(connection: Connection, schedule_id: int | None, limit: int) -> list[FailedRun]:
    """Runs that failed or crashed, the newest first."""
    chosen = ERRORS if schedule_id is None else ERRORS.where(jobs.c.schedule_id == schedule_id)
    return readable(jobs.name, connection.execute(chosen, {"limit": limit}).mappings(), lambda row: FailedRun(**row))
