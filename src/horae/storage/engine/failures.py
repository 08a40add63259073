"""Classify database errors: repeat the call later, or give these values up.

The class of the SQLSTATE decides, because there are too many single codes, and a pooler has its
own. An error blames the values only if it proves that they cannot be stored. All others are
temporary states of the server: unreachable, read-only during a fail-over, out of connections, in
the middle of a migration.
"""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from horae.errors import DatabaseBusy, DatabaseUnavailable, Unavailable

OF_DATA: Final = frozenset({"22", "23", "44", "54", "P0"})
"""SQLSTATE classes: data exception, integrity constraint violation, check option violation, program
limit exceeded (as by a value that is too large), PL/pgSQL error (a trigger of the application has
refused the row).
"""

OF_SERVER: Final = frozenset({"08", "53", "57", "58"})
"""SQLSTATE classes: lost connection, insufficient resources such as a full disk, intervention of an
operator, system error.
"""

OF_FILE: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PERM,
    }
)
"""Primary codes of SQLite's errors that no statement causes."""
RETRIED_SQLSTATES: Final = frozenset({"40001", "40P01"})
"""Serialization failure, deadlock."""
NO_PRIVILEGE: Final = "42501"
OF_TABLES: Final = frozenset({"42", "0A"})
"""SQLSTATE classes: a table, column or index that the statement names is missing; what a plan
returns has changed.
"""
NOT_NULL, CHECK = "23502", "23514"
"""SQLSTATEs of rows that lack a column, or that a new rule refuses."""
OF_TABLES_IN_FILE: Final = frozenset(
    {
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_SCHEMA,
        sqlite3.SQLITE_CONSTRAINT_NOTNULL,
        sqlite3.SQLITE_CONSTRAINT_CHECK,
    }
)
"""Codes of SQLite's errors for the same; the first is also that of wrong SQL."""
PRIMARY: Final = 0xFF
"""The bits of SQLite's error codes that are the primary code."""

_UNSTORABLE: Final = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError)


def is_transient(error: BaseException) -> bool:
    """Return whether the state of the database caused the error, so that the same call may succeed
    later.
    """
    if isinstance(error, DBAPIError):
        return not is_of_data(error)
    return isinstance(error, Unavailable | PoolTimeout)


def is_of_server(error: BaseException) -> bool:
    """Return whether the server, the file or the way to it caused the error, whatever the statement
    was.
    """
    if isinstance(error, PoolTimeout):
        return True
    if not isinstance(error, DBAPIError):
        return False
    origin: Any = error.orig
    if isinstance(origin, sqlite3.Error):
        return (getattr(origin, "sqlite_errorcode", 0) & PRIMARY) in OF_FILE
    sqlstate: str | None = getattr(origin, "sqlstate", None)
    if sqlstate is None:
        return not has_answered(error)
    return sqlstate[:2] in OF_SERVER


def unavailable(error: DBAPIError | PoolTimeout, database: str) -> DatabaseUnavailable | None:
    """Return the error for callers if the server, the file or the way to it is the cause.

    `database`: its name.
    """
    if not is_of_server(error):
        return None
    return DatabaseUnavailable(database, reason_of(error), answers=has_answered(error))


def may_be_of_changed_tables(error: DBAPIError) -> bool:
    """Return whether other tables than those that the statement was written for can be the cause of
    the error.
    """
    origin: Any = error.orig
    if isinstance(origin, sqlite3.Error):
        return getattr(origin, "sqlite_errorcode", 0) in OF_TABLES_IN_FILE
    sqlstate: str = getattr(origin, "sqlstate", None) or ""
    return sqlstate in {NOT_NULL, CHECK} or (sqlstate[:2] in OF_TABLES and sqlstate != NO_PRIVILEGE)


def has_answered(error: DBAPIError | PoolTimeout) -> bool:
    """Return whether the error is an answer of the database, and not that of a driver that got
    none.
    """
    if not isinstance(error, DBAPIError) or isinstance(error.orig, sqlite3.Error):
        return True
    if getattr(error.orig, "sqlstate", None) is not None:
        return True
    return not error.connection_invalidated and not isinstance(error, OperationalError)


def reason_of(error: DBAPIError | PoolTimeout) -> str:
    """Return the first line of what the database, or its driver, says about the error."""
    return first_line(error.orig if isinstance(error, DBAPIError) else error)


def advice_for(error: BaseException) -> str:
    """Return what the operator of a program that failed with an error of the database does next."""
    origin = error.orig if isinstance(error, DBAPIError) else None
    if getattr(origin, "sqlstate", None) == NO_PRIVILEGE:
        return "`horae grants` prints the privileges that its role needs"
    return "run `horae doctor` to find the cause"


def first_line(error: BaseException | None) -> str:
    """Return the first line of an error: SQLAlchemy adds the whole statement after it."""
    return str(error).strip().partition("\n")[0]


def is_only_transient(error: Exception) -> bool:
    """Return whether the state of the database caused the error or, of a group, all of its
    errors.
    """
    if isinstance(error, ExceptionGroup):
        return error.split(is_transient)[1] is None
    return is_transient(error)


def first_of(error: Exception) -> Exception:
    """Return the first error of a group that is not a group itself; any other error as it is."""
    return first_of(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def is_of_data(error: BaseException) -> bool:
    """Return whether the values caused the error, so that the same call can never succeed."""
    if not isinstance(error, DBAPIError):
        return isinstance(error, StatementError | ValueError | TypeError | ArithmeticError)
    if error.connection_invalidated:
        return False
    origin: Any = error.orig
    if isinstance(origin, sqlite3.Error):
        unbound = isinstance(origin, sqlite3.ProgrammingError) and "binding" in str(origin)
        return unbound or isinstance(origin, _UNSTORABLE)
    sqlstate: str | None = getattr(origin, "sqlstate", None)
    if sqlstate is None:  # the driver refused before it asked the server
        return isinstance(error, DataError | IntegrityError)
    return sqlstate[:2] in OF_DATA


def is_busy(error: DBAPIError) -> bool:
    """Return whether SQLite's one write lock was held for longer than the timeout."""
    return isinstance(error.orig, sqlite3.OperationalError) and "locked" in str(error.orig)


def is_conflict(error: DBAPIError) -> bool:
    """Return whether the transaction conflicted with another one, and may succeed if it is
    repeated.
    """
    return getattr(error.orig, "sqlstate", None) in RETRIED_SQLSTATES


@contextmanager
def conflicts_as_busy() -> Generator[None]:
    """Raise `DatabaseBusy` for a conflict in a caller's own transaction, which only the caller can
    repeat.
    """
    try:
        yield
    except DBAPIError as error:
        if not is_conflict(error) and not is_busy(error):
            raise
        raise DatabaseBusy(
            "conflict with another transaction; roll this one back and repeat it"
        ) from error
