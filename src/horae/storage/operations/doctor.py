"""Queries of `horae doctor` about the database.

They change nothing, and never read the text of other sessions' queries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, case, delete, false, func, select, text, union_all
from sqlalchemy.exc import DBAPIError

from horae.domain.jobs import REPORTED, Job, JobState
from horae.errors import DatabaseUnavailable, Unavailable
from horae.storage.engine import (
    database_now,
    readable,
    reason_of,
    row_reader,
    seconds_since,
)
from horae.storage.jobs import COLUMNS, IS_HELD, IS_READY, WAITS_FOR_LIMIT, job_from, jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The settings of a PostgreSQL server, as they apply to this role.

    `sees_all`: whether the transactions of other roles are visible; `time_limits`: the limits that
    are set, in seconds.
    """

    version: str
    recovering: bool
    read_only: bool
    encoding: str
    isolation: str
    synchronous_commit: str
    fsync: str
    connections: int
    max_connections: int
    sees_all: bool
    time_limits: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The schema in which tables are created; None if no schema of `search_path` exists."""

    name: str | None
    search_path: str
    role: str
    may_create: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """A transaction that holds back vacuum; `age` in seconds.

    A prepared one has no pid; its name is in `state`.
    """

    pid: int | None
    age: float
    application: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEstimate:
    """PostgreSQL's estimate of the rows of `horae_jobs`."""

    live: int
    dead: int
    vacuumed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DueWork:
    """Due jobs of one type in one queue.

    `oldest`: for how many seconds the longest waiting one has been due; `awaited`: how many of them
    groups or other jobs wait for.
    """

    queue: str
    type: str
    count: int
    oldest: float
    awaited: int = 0


SERVER: Final = text("""
    SELECT current_setting('server_version') AS version,
           pg_is_in_recovery() AS recovering,
           current_setting('default_transaction_read_only')::boolean AS read_only,
           current_setting('server_encoding') AS encoding,
           current_setting('default_transaction_isolation') AS isolation,
           current_setting('synchronous_commit') AS synchronous_commit,
           current_setting('fsync') AS fsync,
           (SELECT sum(numbackends)::integer FROM pg_stat_database) AS connections,
           current_setting('max_connections')::integer AS max_connections,
           pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees_all,
           (SELECT coalesce(jsonb_object_agg(name, setting::float8 / 1000), '{}')
            FROM pg_settings WHERE right(name, 8) = '_timeout' AND unit = 'ms' AND setting <> '0')
            AS time_limits
""")

SCHEMA: Final = text("""
    SELECT current_schema() AS name, current_setting('search_path') AS search_path,
        current_user AS role,
           coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create
""")

# Only a transaction with a snapshot or an id of its own keeps vacuum from removing rows.
OPEN_TRANSACTIONS: Final = text("""
    SELECT pid, extract(epoch FROM clock_timestamp() - xact_start)::float8 AS age,
           coalesce(application_name, '') AS application, coalesce(state, backend_type, '') AS state
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
      AND xact_start < clock_timestamp() - make_interval(secs => :older_than)
    UNION ALL
    SELECT NULL, extract(epoch FROM clock_timestamp() - prepared)::float8, owner,
        'prepared as ' || gid
    FROM pg_prepared_xacts
    WHERE database = current_database() AND prepared < clock_timestamp() - make_interval(secs =>
    :older_than) ORDER BY age DESC
""")

ROW_ESTIMATE: Final = text("""
    SELECT n_live_tup AS live, n_dead_tup AS dead,
        greatest(last_vacuum, last_autovacuum) AS vacuumed_at
    FROM pg_stat_user_tables WHERE relid = 'horae_jobs'::regclass
""")

_columns = (jobs.c.queue, jobs.c.type, jobs.c.run_at, jobs.c.awaited)
_is_due = jobs.c.run_at <= database_now()
_due = union_all(
    *(select(*_columns).where(each, _is_due) for each in (IS_READY, WAITS_FOR_LIMIT))
).subquery("due")
DUE_WORK: Final = (
    select(
        _due.c.queue,
        _due.c.type,
        func.count().label("count"),
        seconds_since(func.min(_due.c.run_at)).label("oldest"),
        func.count(case((_due.c.awaited > REPORTED, 1))).label("awaited"),
    )
    .group_by(_due.c.queue, _due.c.type)
    .order_by(_due.c.queue, _due.c.type)
)
_read_due: Final = row_reader(DueWork, DUE_WORK.selected_columns)
WRITE_NOTHING: Final = delete(jobs).where(false())
STARTED: Final = (
    select(*COLUMNS)
    .where(IS_HELD, jobs.c.state == JobState.STARTED)
    .order_by(jobs.c.started_at, jobs.c.id)
)


def server(connection: Connection) -> Server:
    """Return the settings of the server (PostgreSQL)."""
    return Server(**connection.execute(SERVER).mappings().one())


def schema(connection: Connection) -> Schema:
    """Return the schema in which this role would create tables (PostgreSQL)."""
    return Schema(**connection.execute(SCHEMA).mappings().one())


def open_transactions(connection: Connection, older_than: float) -> list[OpenTransaction]:
    """Return transactions older than `older_than` seconds that hold back vacuum, oldest first."""
    rows = connection.execute(OPEN_TRANSACTIONS, {"older_than": older_than})
    return [OpenTransaction(**row) for row in rows.mappings()]


def row_estimate(connection: Connection) -> RowEstimate | None:
    """Return the server's estimate of live and dead rows of jobs; None without one (PostgreSQL)."""
    row = connection.execute(ROW_ESTIMATE).mappings().one_or_none()
    return None if row is None else RowEstimate(**row)


def journal_mode(connection: Connection) -> str:
    """Return the journal mode of the file (SQLite): `wal`, if its file system supports it."""
    mode: Any = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
    return str(mode)


def due_work(connection: Connection) -> list[DueWork]:
    """Return the due jobs that have not begun, by queue and type."""
    return readable(jobs.name, connection.execute(DUE_WORK).mappings(), _read_due)


def find_started(connection: Connection) -> list[Job]:
    """Return all started jobs, the longest running first."""
    return readable(jobs.name, connection.execute(STARTED), job_from)


def write_nothing(connection: Connection) -> None:
    """Begin to write, and change nothing; it raises what would keep a change from being written."""
    connection.execute(WRITE_NOTHING)


def database_error_of(error: DBAPIError | Unavailable) -> str:
    """Return why the database cannot be used, in a line."""
    if isinstance(error, DBAPIError):
        return reason_of(error)
    return error.reason if isinstance(error, DatabaseUnavailable) else str(error)
