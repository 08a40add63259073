"""A small SQLite file beside the database, for data that may be lost.

It has its own write lock, so a long transaction on the database never blocks it, and it never waits
for the disk. A process that finds it missing, damaged or with other tables creates it again, one
process at a time.
"""

import sqlite3
import threading
import zlib
from contextlib import closing
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from sqlalchemy import Engine, MetaData, QueuePool, create_engine
from sqlalchemy.dialects import sqlite as sqlite_dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateTable

from horae.errors import DatabaseBusy, DatabaseUnavailable
from horae.forking import SQLITE_GATE, BuiltAnewInChild
from horae.storage.engine import Statement, is_busy
from horae.storage.engine.connections import ClosingPool
from horae.storage.engine.sqlite import make_file, mode_beside, register_clock

P = ParamSpec("P")
T = TypeVar("T")

BUSY_TIMEOUT: Final = 2.0
"""Seconds to wait for the lock, which is held for one statement at a time."""
SUFFIXES: Final = ("", "-wal", "-shm")
"""The files of a SQLite database."""
Identity = tuple[int, int]
"""The device and the inode of a file."""

_CHECKS: Final = (
    "PRAGMA user_version",
    "SELECT count(*) FROM sqlite_master WHERE type = 'table'",
    "PRAGMA quick_check(1)",
)


class SideCar(BuiltAnewInChild):
    """Runs functions of a Connection on the file; every statement commits by itself."""

    def __init__(
        self, path: Path, metadata: MetaData, *, busy_timeout: float = BUSY_TIMEOUT
    ) -> None:
        """Use the file at this path with these tables; wait `busy_timeout` seconds at most for its
        lock.
        """
        self._path = path
        self._busy_timeout = busy_timeout
        self._metadata = metadata
        self._layout = _layout(metadata)
        self._opening = threading.Lock()
        self._identity: Identity | None = None
        self._is_closed = False
        self._engine: Engine = create_engine(
            "sqlite://", creator=self._connect, poolclass=ClosingPool, max_overflow=-1
        )

    def run(self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `statement`, twice if the file was lost; raises `DatabaseBusy` if it stays locked."""

        def attempt() -> T:
            try:
                with SQLITE_GATE, self._engine.begin() as connection:
                    return statement(connection, *args, **kwargs)
            except DBAPIError as error:
                if is_busy(error):
                    raise self._busy() from error
                raise

        identity = self._open()
        try:
            return attempt()
        except DBAPIError as error:
            # The file may have caused these; a wrong value has another error class.
            if type(error.orig) not in (sqlite3.DatabaseError, sqlite3.OperationalError):
                raise
        with self._opening:
            if self._identity == identity:  # no other thread has checked the file meanwhile
                self._identity = None
        self._open()
        return attempt()

    def close(self) -> None:
        """Close all connections, those in use when they are given back, and open no more.

        The file is left for the other processes.
        """
        self._is_closed = True
        self._engine.dispose()

    def _open(self) -> Identity | None:
        """Make sure that the file exists and is the one that the connections have open."""
        if self._is_open():
            return self._identity
        from filelock import FileLock, Timeout  # 1 MB, which a node on PostgreSQL does not need

        with self._opening:
            # Another thread may have opened it meanwhile, and a connection that it uses now would
            # not be closed by `dispose`.
            if self._is_open():
                return self._identity
            self._engine.dispose()  # SQLite would go on using a deleted file without an error
            try:
                with FileLock(
                    f"{self._path}.lock", timeout=self._busy_timeout, mode=mode_beside(self._path)
                ):
                    if not self._is_sound():
                        self._make()
                    self._identity = _identity(self._path)
            except Timeout as error:
                raise self._busy() from error
            return self._identity

    def _is_open(self) -> bool:
        return self._identity is not None and self._identity == _identity(self._path)

    def _connect(self, mode: str = "rw") -> sqlite3.Connection:
        # "rw" does not create the file: an empty one must never be found where the next reader
        # expects tables.
        if self._is_closed:
            raise DatabaseUnavailable(
                str(self._path),
                "its application was closed meanwhile; take horae.jobs and the like from it again",
            )
        uri = f"{self._path.as_uri()}?mode={mode}"
        connection = sqlite3.connect(
            uri, uri=True, timeout=self._busy_timeout, isolation_level=None, check_same_thread=False
        )
        try:
            # Another program may have written a text; reading it must never fail.
            connection.text_factory = lambda text: text.decode(errors="replace")
            # After a power failure the file is created again.
            connection.execute("PRAGMA synchronous = OFF")
            register_clock(connection)
        except BaseException:  # the file is damaged or locked
            connection.close()
            raise
        return connection

    def _is_sound(self) -> bool:
        """Return whether the file can be read and has the tables; a locked file counts as sound."""
        try:
            with closing(self._connect()) as connection:
                found = [connection.execute(check).fetchone()[0] for check in _CHECKS]
        except sqlite3.DatabaseError as error:
            return "locked" in str(error)
        return found == [self._layout, len(self._metadata.tables), "ok"]

    def _make(self) -> None:
        for suffix in SUFFIXES:
            Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        make_file(self._path, mode_beside(self._path))
        engine = create_engine(
            "sqlite://", creator=lambda: self._connect("rwc"), poolclass=QueuePool
        )
        try:
            with engine.begin() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                self._metadata.create_all(connection)
                # The version is set last: a file without it comes from a process that died while
                # creating the tables.
                connection.exec_driver_sql(f"PRAGMA user_version = {self._layout}")
        finally:
            engine.dispose()

    def _busy(self) -> DatabaseBusy:
        return DatabaseBusy(f"another process has held {self._path} for {self._busy_timeout:g} s")


def _layout(metadata: MetaData) -> int:
    """Return a number that identifies the definitions of the tables."""
    dialect = sqlite_dialect.dialect()
    text = "".join(
        str(CreateTable(table).compile(dialect=dialect)) for table in metadata.sorted_tables
    )
    return zlib.crc32(text.encode()) >> 1  # `user_version` has 31 bits


def _identity(path: Path) -> Identity | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
