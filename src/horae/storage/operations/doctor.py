"""What `horae doctor` asks a database about itself. Nothing here writes, and nothing reads anybody's query text."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DBAPIError

from horae.domain.jobs.job import Job, JobState
from horae.storage.engine.dialect import database_now, seconds_since
from horae.storage.engine.unreadable import readable
from horae.storage.jobs.reading import COLUMNS, job_from
from horae.storage.jobs.tables import jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A PostgreSQL server, as this connection finds it. `sees_all`: other roles' transactions are visible."""

    version: str
    recovering: bool
    read_only: bool
    isolation: str
    synchronous_commit: str
    fsync: str
    connections: int
    max_connections: int
    sees_all: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """A transaction that vacuum must respect, `age` in seconds. A prepared one has no pid; its `state` names it."""

    pid: int | None
    age: float
    application: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuples:
    """The rows of `horae_jobs` as PostgreSQL estimates them."""

    live: int
    dead: int
    vacuumed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingWork:
    """Due jobs of one type in one queue; `oldest` is how many seconds the longest has waited."""

    queue: str
    type: str
    count: int
    oldest: float


SERVER: Final = text("""
    SELECT current_setting('server_version') AS version,
           pg_is_in_recovery() AS recovering,
           current_setting('default_transaction_read_only')::boolean AS read_only,
           current_setting('default_transaction_isolation') AS isolation,
           current_setting('synchronous_commit') AS synchronous_commit,
           current_setting('fsync') AS fsync,
           (SELECT sum(numbackends)::integer FROM pg_stat_database) AS connections,
           current_setting('max_connections')::integer AS max_connections,
           pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees_all
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
    SELECT NULL, extract(epoch FROM clock_timestamp() - prepared)::float8, owner, 'prepared as ' || gid
    FROM pg_prepared_xacts
    WHERE database = current_database() AND prepared < clock_timestamp() - make_interval(secs => :older_than)
    ORDER BY age DESC
""")

TUPLES: Final = text("""
    SELECT n_live_tup AS live, n_dead_tup AS dead, greatest(last_vacuum, last_autovacuum) AS vacuumed_at
    FROM pg_stat_user_tables WHERE relid = 'horae_jobs'::regclass
""")

WAITING: Final = (
    select(
        jobs.c.queue, jobs.c.type, func.count().label("count"), func.max(seconds_since(jobs.c.run_at)).label("oldest")
    )
    .where(jobs.c.state == JobState.PENDING, jobs.c.run_at <= database_now())
    .group_by(jobs.c.queue, jobs.c.type)
    .order_by(jobs.c.queue, jobs.c.type)
)
STARTED: Final = select(*COLUMNS).where(jobs.c.state == JobState.STARTED).order_by(jobs.c.started_at, jobs.c.id)
CLOCK: Final = select(database_now())


def clock(connection: Connection) -> datetime:
    """What time it is by the database's clock."""
    return connection.execute(CLOCK).scalar_one()


def server(connection: Connection) -> Server:
    """How the server is set up (PostgreSQL)."""
    return Server(**connection.execute(SERVER).mappings().one())


def open_transactions(connection: Connection, older_than: float) -> list[OpenTransaction]:
    """Transactions that hold back vacuum and are older than so many seconds, the oldest first (PostgreSQL)."""
    rows = connection.execute(OPEN_TRANSACTIONS, {"older_than": older_than})
    return [OpenTransaction(**row) for row in rows.mappings()]


def tuples(connection: Connection) -> Tuples | None:
    """How many rows of the jobs table are dead; None while the server has no figures (PostgreSQL)."""
    row = connection.execute(TUPLES).mappings().one_or_none()
    return None if row is None else Tuples(**row)


def journal_mode(connection: Connection) -> str:
    """How the file keeps its journal: `wal`, or what its file system allows (SQLite)."""
    mode: Any = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
    return str(mode)


def waiting(connection: Connection) -> list[WaitingWork]:
    """Everything that is due and not begun, by queue and type."""
    return [WaitingWork(**row) for row in connection.execute(WAITING).mappings()]


def started(connection: Connection) -> list[Job]:
    """Every job that has started now, the longest running first."""
    return readable(jobs.name, connection.execute(STARTED), job_from)


def nothing(_connection: Connection) -> None:
    """Do nothing, in a transaction: it tells whether one can be had."""


def complaint_of(error: BaseException) -> str | None:
    """The first line of what a database said; None for an error that is not one of a database."""
    if not isinstance(error, DBAPIError):
        return None
    return str(error.orig).strip().partition("\n")[0]
