"""Open a SQLite file, and take its one write lock.

The driver's own transaction control is off. An option of the connection decides how a transaction
begins. `IMMEDIATE` takes the write lock at the start and waits for it up to the timeout; a lock
taken later may be refused without waiting, if the snapshot is stale. `AT_ONCE` takes the lock only
if it is free. `LAZY` takes it before the first statement that is not a plain read, so that a job's
transaction does not block others before it writes. `SNAPSHOT` takes no lock: all reads see the
state at the start. `NONE` makes each statement a transaction of its own.
"""

import math
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from operator import floordiv, methodcaller
from random import SystemRandom
from typing import Any, Final, Self

from sqlalchemy import Connection, Engine, ExceptionContext
from sqlalchemy.exc import OperationalError
from typing_extensions import override

from horae.storage.engine.failures import primary_code
from horae.storage.engine.sqlite.body_turns import BEGIN_IMMEDIATELY, TURNS, BodyTurns

BEGIN_OPTION: Final = "horae_begin"
IMMEDIATE: Final = "IMMEDIATE"
AT_ONCE: Final = "AT_ONCE"
LAZY: Final = "LAZY"
SNAPSHOT: Final = "SNAPSHOT"
NONE: Final = "NONE"

# A savepoint counts as a write: it would begin a transaction whose lock, taken later, may be
# refused.
_READS: Final = re.compile(
    r"\s*(SELECT|PRAGMA|EXPLAIN|VALUES|RELEASE|ROLLBACK|WITH(?!.*\b(INSERT|UPDATE|DELETE|REPLACE)\b))\b",
    re.IGNORECASE | re.DOTALL,
)

_HELD: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
"""Primary codes of errors because of what other connections do at the moment."""


MOST_LOG_KEPT: Final = 64 * 1024 * 1024
"""Bytes of the write-ahead log that stay on the disk once it begins anew: it grows as long as a
reader needs its beginning, and SQLite would keep that size for good.
"""
_PAUSES: Final = 0.008
"""Seconds that SQLite waits for the write lock by itself: it tries again after 1, 2 and 5 ms."""


class DriverConnection(sqlite3.Connection):
    """A connection of Python's `sqlite3`, whose `commit` can be replaced (see `commit_guard`)."""


def waiting_helps(error: sqlite3.OperationalError) -> bool:
    """Return whether a statement may succeed later: another connection has a lock now, or is about
    to repair the file after a crash.
    """
    return (
        primary_code(error) == sqlite3.SQLITE_BUSY
        and error.sqlite_errorcode != sqlite3.SQLITE_BUSY_SNAPSHOT
    )


class PatientCursor(sqlite3.Cursor):
    """A cursor of a `PatientConnection`."""

    @override
    def execute(self, statement: str, parameters: Any = (), /) -> Self:
        """Execute a statement, and wait for the write lock if it is held."""
        connection: Any = self.connection
        deadline = math.inf
        while True:
            try:
                return super().execute(statement, parameters)
            except sqlite3.OperationalError as error:
                now = time.monotonic()
                deadline = min(deadline, now + connection.patience)
                if now > deadline or not waiting_helps(error):
                    raise


class PatientConnection(DriverConnection):
    """A connection that tries to take the write lock every few milliseconds, up to its timeout.

    SQLite itself tries less and less often, in the end ten times a second, so that a program that
    starts a job would lose to a node that is busy.
    """

    def __init__(self, file: str, timeout: float, **options: Any) -> None:
        super().__init__(file, timeout=min(_PAUSES, timeout), **options)
        self.patience = timeout

    @override
    def cursor(self, factory: Any = PatientCursor) -> Any:
        return super().cursor(factory)

    @override
    def execute(self, statement: str, parameters: Any = (), /) -> Any:
        return self.cursor().execute(statement, parameters)  # the driver's own has another cursor


now: Callable[[], int] = map(
    floordiv, iter(partial(methodcaller("time_ns"), time), None), repeat(1000)
).__next__
"""Returns the time of a SQLite database's clock: microseconds since 1970.

It is made of built-in functions: Python raises a Ctrl-C or a time limit that came during a
statement at the next line of Python, and SQLite replaces what its functions raise by an error.
"""


@contextmanager
def clock_replaced(clock: Callable[[], int]) -> Generator[None]:
    """Let all SQLite databases of this process go by another clock, for tests.

    `clock`: returns microseconds since 1970.
    """
    global now  # noqa: PLW0603 - `register_clock` looks it up at each call
    before, now = now, clock
    try:
        yield
    finally:
        now = before


def prepare(connection: sqlite3.Connection, _record: object = None) -> None:
    """Set up a new driver connection: WAL, durable commits, foreign keys, the clock."""
    connection.isolation_level = None
    _use_wal(connection)
    # With NORMAL a power failure may undo the last commits.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA journal_size_limit = {MOST_LOG_KEPT}")
    register_clock(connection)


def skip_syncs(connection: sqlite3.Connection, _record: object = None) -> None:
    """Let commits on a driver connection not wait for the disk."""
    connection.execute("PRAGMA synchronous = OFF")


def _use_wal(connection: Any) -> None:
    """Turn WAL mode on; retry while other processes do so, which SQLite refuses at once."""
    # Other processes may open the new file, too.
    deadline = time.monotonic() + 30.0
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if primary_code(error) not in _HELD or time.monotonic() > deadline:
                raise
            time.sleep(SystemRandom().uniform(0.001, 0.01))
        else:
            return


def register_clock(connection: Any) -> None:
    """Register `horae_now()`, which looks `now` up at each call, so that tests can replace it.

    With `deterministic`, SQLite calls it once for each statement instead of once for each row.
    """
    clock = partial(methodcaller("now"), sys.modules[__name__])
    connection.create_function("horae_now", 0, clock, deterministic=True)


def close_interrupted(context: ExceptionContext) -> None:
    """Close the cursor of a statement after which a Ctrl-C was raised (a listener of errors).

    SQLAlchemy closes only the connection then, and SQLite keeps its lock until the cursor is
    deleted, which the traceback refers to: in a console that is the last error, and stays.
    """
    statement = context.execution_context
    if statement is not None and not isinstance(context.original_exception, Exception):
        statement.cursor.close()


def close_read_only(context: ExceptionContext) -> None:
    """Close a connection that is refused a write, and the others (a listener of errors).

    A file that could not be written when it was opened is open for reading only, for good.
    """
    if primary_code(context.original_exception) == sqlite3.SQLITE_READONLY:
        context.is_disconnect = True
        if context.connection is not None:
            # SQLite keeps the lock of a closed connection as long as a failed statement exists,
            # which the traceback refers to.
            driver: Any = context.connection.connection.dbapi_connection
            driver.rollback()


def begins(engine: Engine) -> bool:
    """Return whether an engine begins transactions by default, rather than autocommit."""
    return engine.get_execution_options().get(BEGIN_OPTION) != NONE


def take_write_lock(connection: Connection) -> None:
    """Begin a transaction that may write, through the driver, which is faster than SQLAlchemy.

    This does not work on the connection of an event loop, whose driver returns a coroutine.
    """
    driver: Any = connection.connection.driver_connection
    try:
        driver.execute(BEGIN_IMMEDIATELY)
    except sqlite3.OperationalError as error:
        raise OperationalError(BEGIN_IMMEDIATELY, None, error) from error


def begin(connection: Connection) -> None:
    """Begin a transaction as the option of the connection requires."""
    match connection.get_execution_options().get(BEGIN_OPTION, IMMEDIATE):
        case "IMMEDIATE" if TURNS in connection.info:
            try:
                connection.info[TURNS].take(connection)
            except sqlite3.OperationalError as error:
                raise OperationalError(BEGIN_IMMEDIATELY, None, error) from error
        case "IMMEDIATE":
            connection.exec_driver_sql(BEGIN_IMMEDIATELY)
        case "AT_ONCE":
            timeout = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
            connection.exec_driver_sql("PRAGMA busy_timeout = 0")
            try:
                connection.exec_driver_sql(BEGIN_IMMEDIATELY)
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout = {timeout}")
        case "SNAPSHOT":
            connection.exec_driver_sql("BEGIN")
            # The first read decides what the transaction sees.
            connection.exec_driver_sql("SELECT 1 FROM sqlite_master")
        case _:
            pass


def begin_at_first_write(connection: Connection, _cursor: object, statement: str, *_: Any) -> None:
    """Take the write lock before the first statement that may write (a listener of bodies)."""
    if connection.get_execution_options().get(BEGIN_OPTION) != LAZY:
        return
    driver: Any = connection.connection.driver_connection  # aiosqlite's cursor has no `connection`
    if not driver.in_transaction and not _READS.match(statement):
        turns: BodyTurns = connection.info[TURNS]
        turns.take(connection)
