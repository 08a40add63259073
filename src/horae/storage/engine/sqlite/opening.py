"""How Horae opens a SQLite file and takes its one write lock.

The driver's own transaction control is off. A transaction begins as the connection's option says: `IMMEDIATE` takes the
write lock at once and waits for it within the bound (a lock taken later may be refused without waiting, because the
snapshot is stale); `AT_ONCE` takes it if it is free, and does not wait; `LAZY` takes it at the first statement that is
not a plain read, so that a job's transaction holds nobody up before it writes; `NONE` leaves each statement a
transaction of its own.
"""

import random
import re
import sqlite3
import time
from typing import Any, Final

from sqlalchemy import Connection

BEGIN_OPTION: Final = "horae_begin"
IMMEDIATE: Final = "IMMEDIATE"
AT_ONCE: Final = "AT_ONCE"
LAZY: Final = "LAZY"
NONE: Final = "NONE"
WAL_TAKES: Final = 30.0

# A savepoint counts as a write: it would begin a transaction whose lock, taken later, may be refused.
_READS: Final = re.compile(
    r"\s*(SELECT|PRAGMA|EXPLAIN|VALUES|RELEASE|ROLLBACK|WITH(?!.*\b(INSERT|UPDATE|DELETE|REPLACE)\b))\b",
    re.IGNORECASE | re.DOTALL,
)


class DriverConnection(sqlite3.Connection):
    """A connection of Python's, which can be told to refuse a commit (`fence.py`)."""


def now() -> int:
    """Microseconds since 1970: the clock of a SQLite database."""
    return time.time_ns() // 1000


def prepare(connection: sqlite3.Connection, _record: object = None) -> None:
    """Set up a new driver connection: WAL, durable commits, foreign keys, the clock."""
    connection.isolation_level = None
    _use_wal(connection)
    connection.execute("PRAGMA synchronous = FULL")  # NORMAL may lose the last commits with the power
    connection.execute("PRAGMA foreign_keys = ON")
    register_clock(connection)


def _use_wal(connection: Any) -> None:
    """Turn WAL on; of several processes that open a new file at once SQLite refuses all but one, without waiting."""
    deadline = time.monotonic() + WAL_TAKES
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.001, 0.01))  # noqa: S311 - spreads rivals, guards nothing
        else:
            return


def register_clock(connection: Any) -> None:
    """Give the connection `horae_now()`; looked up at each call, so that a test can own the time.

    SQLite takes `deterministic` to hold within one statement: it asks once, not for every row.
    """
    connection.create_function("horae_now", 0, lambda: now(), deterministic=True)  # noqa: PLW0108 - late binding is the point


def begin(connection: Connection) -> None:
    """Begin as the connection's option says."""
    match connection.get_execution_options().get(BEGIN_OPTION, IMMEDIATE):
        case "IMMEDIATE":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        case "AT_ONCE":
            patience = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
            connection.exec_driver_sql("PRAGMA busy_timeout = 0")
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout = {patience}")
        case _:
            pass


def begin_at_first_write(connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
    """Take the write lock before the first statement that may write (a `before_cursor_execute` listener)."""
    if connection.get_execution_options().get(BEGIN_OPTION) != LAZY:
        return
    driver: Any = connection.connection.driver_connection  # not the cursor's, which aiosqlite's has not
    if not driver.in_transaction and not _READS.match(statement):
        cursor.execute("BEGIN IMMEDIATE")
