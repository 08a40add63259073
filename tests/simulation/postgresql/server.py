"""The PostgreSQL server of simulations, and the database that the simulations of one process use one after another."""

import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import pq
from psycopg.adapt import Loader
from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGconn
from psycopg.types.json import set_json_loads

from horae.storage.engine import Database
from horae.storage.migrations.runner import upgrade
from tests.harness.postgres import THROW_AWAY, PostgresServer, database_name
from tests.simulation import world
from tests.simulation.postgresql.lock_waits import LockWaits, drain
from tests.simulation.postgresql.schema import IN_ORDER_OF_COMMITS, OWN_TABLES, PATH
from tests.simulation.template import template

SETTINGS: Final = {
    **THROW_AWAY,
    "autovacuum": "off",  # it would lock tables, and change plans and the order of rows, at moments of its own
    "synchronous_commit": "off",
    "deadlock_timeout": "1h",  # `LockWaits` finds deadlocks: the server's timer depends on the speed of the machine
    "track_commit_timestamp": "on",
    "synchronize_seqscans": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "max_connections": "400",
    "shared_buffers": "64MB",
}
FILLED: Final = (
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
    "AND pg_relation_size(oid) > 0 ORDER BY relname"
)
USED_SEQUENCES: Final = "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL ORDER BY 1"
KEPT: Final = frozenset({"alembic_version", "horae_alembic_version"})
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FOREVER: Final = 2**62
"""An infinite moment, in microseconds."""


class _Moments(Loader):
    """Loads moments as SQLite stores them: microseconds since 1970."""

    def load(self, data: Any) -> int:
        text = bytes(data).decode()
        if text.endswith("infinity"):
            return -FOREVER if text.startswith("-") else FOREVER
        return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


@contextmanager
def simulation_server() -> Generator[PostgresServer]:
    """Start a server whose data is in memory, for the simulations of several processes."""
    shared = Path("/dev/shm")
    with PostgresServer(SETTINGS, disk=shared if shared.is_dir() else None) as server:
        yield server


class DatabaseSource(NamedTuple):
    """A server, and the URL of the database on it that each process copies."""

    server: PostgresServer
    template: str


def prepared(server: PostgresServer) -> DatabaseSource:
    """Create the database that each process copies."""
    url = server.create_database()
    with closing(Database(url)) as database:
        upgrade(database)
    with psycopg.connect(connection_string(server, url), autocommit=True) as connection:
        connection.execute(OWN_TABLES.encode())
    return DatabaseSource(server, url)


def connection_string(server: PostgresServer, url: str) -> str:
    """Return the arguments of the driver for a database, by the server's Unix socket."""
    return f"host={server.folder} port={server.port} user=postgres dbname={database_name(url)}"


class SharedDatabase:
    """The database that the simulations of this process use one after another, with its sessions, which are reused.

    To open a session takes longer than most statements, as PostgreSQL starts a process and loads its catalogs.
    """

    def __init__(self, server: PostgresServer, source: str, folder: Path) -> None:
        """`source`: the URL of the template; `folder`: a new one, for the files of nodes and a copy of the tables."""
        self.path = folder / "horae.db"
        self._tables = _table_statements()
        self.connections: list[Any] = []
        self.free_connections: list[Any] = []
        self.url, self.server = "postgresql+psycopg://simulated/database", self
        self._server, self._actual = server, server.create_database(source)
        self.connection_string = connection_string(server, self._actual)
        with psycopg.connect(self.connection_string, autocommit=True) as connection:
            connection.execute(
                f"ALTER DATABASE {database_name(self._actual)} SET search_path = {PATH}".encode()
            )
        self._reader: psycopg.Connection[Any] = psycopg.connect(
            self.connection_string, autocommit=True
        )
        self._reader.adapters.register_loader("timestamptz", _Moments)
        set_json_loads(
            lambda text: bytes(text).decode() if not isinstance(text, str) else text, self._reader
        )
        self.lock_waits = LockWaits(self._reader.pgconn, self._recycle)
        self._unnoticed: list[PGconn] = []
        """Sessions whose client is gone, which the server does not know yet."""
        self.free: list[PGconn] = []
        """Sessions that no simulated connection has at present."""
        self.no_session = pq.PGconn.connect(self.connection_string.encode())
        self.no_session.finish()

    def open_session(self) -> PGconn:
        """Return a session that is as good as new."""
        if self.free:
            return self.free.pop()
        session = pq.PGconn.connect(self.connection_string.encode())
        session.nonblocking = 1
        return session

    def end_session(self, session: PGconn) -> None:
        """End what a session has open, and let those go on that wait for its locks."""
        if session.transaction_status == TransactionStatus.ACTIVE:
            drain(session)
        self._recycle(session)
        self.lock_waits.settle()

    def end_later(self, session: PGconn, moment: float) -> None:
        """End a session when the server notices that its client is gone; it holds its locks until then."""
        self._unnoticed.append(session)
        world.current().at(moment, partial(self._notice, session))

    def _notice(self, session: PGconn) -> None:
        if session in self._unnoticed:
            self._unnoticed.remove(session)
            self.end_session(session)

    def _recycle(self, session: PGconn) -> None:
        """End what a session has open, as the server does when its client is gone."""
        if session.transaction_status != TransactionStatus.IDLE:
            session.exec_(b"ROLLBACK")
        session.exec_(b"DISCARD ALL")
        self.free.append(session)

    def reset(self) -> None:
        """Remove all rows of the last simulation, and the files beside them."""
        filled = [name for (name,) in self._reader.execute(FILLED) if name not in KEPT]
        if filled:
            self._reader.execute(f"TRUNCATE {', '.join(filled)} RESTART IDENTITY CASCADE".encode())
        for (name,) in self._reader.execute(USED_SEQUENCES).fetchall():
            self._reader.execute(f"ALTER SEQUENCE {name} RESTART".encode())
        for beside in self.path.parent.iterdir():
            shutil.rmtree(beside) if beside.is_dir() else beside.unlink()

    def finish(self) -> None:
        """Let the statements end that processes have left, after all processes were killed."""
        for session in list(self._unnoticed):
            self._notice(session)
        self.lock_waits.settle()
        assert not self.lock_waits.waiting, "a statement waits for a lock that nobody holds"

    def reader(self) -> "Reader":
        """Return what answers the queries of a simulation about its progress."""
        return Reader(self._reader)

    def tables(self) -> sqlite3.Connection:
        """Copy the tables into a SQLite file, which the same rules check as after a simulation on SQLite."""
        copy = sqlite3.connect(self.path)
        copy.executescript(self._tables)
        for (name,) in self._reader.execute(FILLED).fetchall():
            order = f" ORDER BY {IN_ORDER_OF_COMMITS}" if name == "sim_history" else ""
            cursor = self._reader.execute(f"SELECT * FROM {name}{order}".encode())
            columns = [column.name for column in cursor.description or ()]
            rows = [_plain(row) for row in cursor]
            if order:
                rows = [(number, *row[1:]) for number, row in enumerate(rows, 1)]
            _insert(copy, name, columns, rows)
        copy.commit()
        return copy

    def discard(self) -> None:
        """Do the same as `close`: the database would stay on the server."""
        self.close()

    def close(self) -> None:
        """Close all sessions, and drop the database."""
        self.lock_waits.abandon()
        for session in self.free:
            session.finish()
        self._reader.close()
        self._server.drop_database(self._actual)
        shutil.rmtree(self.path.parent, ignore_errors=True)


class Reader:
    """Answers queries that are written for SQLite."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, query: str, values: Any = ()) -> Any:
        """Run a query."""
        translated = query.replace("?", "%s").replace(
            "s.next_start", "sim.microseconds(s.next_start)"
        )
        return self._connection.execute(translated.encode(), values)

    def close(self) -> None:
        """Do nothing: the connection is used again."""


def _table_statements() -> str:
    with closing(sqlite3.connect(":memory:")) as source:
        source.deserialize(_without_wal(template()))
        query = (
            "SELECT sql || ';' FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        return "\n".join(sql for (sql,) in source.execute(query))


def _without_wal(content: bytes) -> bytes:
    """Return the content of a SQLite file marked as one without a write-ahead log, which memory cannot have."""
    return content[:18] + b"\x01\x01" + content[20:]


def _plain(row: Any) -> tuple[Any, ...]:
    return tuple(int(value) if isinstance(value, bool) else value for value in row)


def _insert(copy: sqlite3.Connection, name: str, columns: list[str], rows: list[Any]) -> None:
    known = {column for _, column, *_ in copy.execute(f"PRAGMA table_info({name})")}
    if not known:
        return
    assert known == set(columns), f"{name} has other columns on SQLite"
    places = ", ".join("?" * len(columns))
    copy.executemany(f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({places})", rows)
