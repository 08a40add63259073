"""Classify database errors: either the call may be repeated later, or its values are at fault.

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
"""SQLSTATE classes of errors that the values cause.

Data exception, integrity constraint violation, check option violation, program limit exceeded (for
example by a value that is too large), PL/pgSQL error (a trigger of the application has refused the
row).
"""

OF_SERVER: Final = frozenset({"08", "53", "57", "58"})
"""SQLSTATE classes: lost connection, insufficient resources, operator intervention, system error.
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
"""SQLSTATEs: serialization failure, deadlock."""
REFUSES: Final = "FATAL:"
"""How a server that refuses a connection begins its text, in most languages."""
NO_PRIVILEGE: Final = "42501"
"""The SQLSTATE of a statement for which the role lacks a privilege."""
OF_TABLES: Final = frozenset({"42", "0A"})
"""SQLSTATE classes: a missing table, column or index; a plan whose result type has changed."""
NOT_NULL, CHECK = "23502", "23514"
"""SQLSTATEs of rows that lack a required column, or that a new rule refuses."""
OF_TABLES_IN_FILE: Final = frozenset(
    {
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_SCHEMA,
        sqlite3.SQLITE_CONSTRAINT_NOTNULL,
        sqlite3.SQLITE_CONSTRAINT_CHECK,
    }
)
"""SQLite's error codes for missing columns and tables; the first also means wrong SQL."""

_UNSTORABLE: Final = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError)


DATABASE_ERRORS: Final = (DBAPIError, Unavailable)
"""What a call raises if the database refuses or cannot serve it."""


def primary_code(error: BaseException | None) -> int:
    """Return the primary code of an error of SQLite, without what extends it; 0 for others."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_transient(error: BaseException) -> bool:
    """Return whether the database's state caused the error, so that a repeated call may succeed."""
    if isinstance(error, DBAPIError):
        return not is_of_data(error)
    return isinstance(error, Unavailable | PoolTimeout)


def is_of_server(error: BaseException) -> bool:
    """Return whether the server, the file or the way to it caused the error."""
    if isinstance(error, PoolTimeout):
        return True
    if not isinstance(error, DBAPIError):
        return False
    origin: Any = error.orig
    if isinstance(origin, sqlite3.Error):
        return primary_code(origin) in OF_FILE
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
    reason = reason_of(error)
    # The driver gives no SQLSTATE if the server refuses a connection, only its text.
    answers = has_answered(error) or REFUSES in reason
    return DatabaseUnavailable(database, reason, answers=answers)


def may_be_of_changed_tables(error: DBAPIError) -> bool:
    """Return whether changed tables, for which the statement does not fit, can be the cause."""
    origin: Any = error.orig
    if isinstance(origin, sqlite3.Error):
        return getattr(origin, "sqlite_errorcode", 0) in OF_TABLES_IN_FILE
    sqlstate: str = getattr(origin, "sqlstate", None) or ""
    return sqlstate in {NOT_NULL, CHECK} or (sqlstate[:2] in OF_TABLES and sqlstate != NO_PRIVILEGE)


def has_answered(error: DBAPIError | PoolTimeout) -> bool:
    """Return whether the error is an answer of the database, rather than the lack of one."""
    if not isinstance(error, DBAPIError) or isinstance(error.orig, sqlite3.Error):
        return True
    if getattr(error.orig, "sqlstate", None) is not None:
        return True
    return not error.connection_invalidated and not isinstance(error, OperationalError)


def reason_of(error: DBAPIError | PoolTimeout) -> str:
    """Return the first line of what the database, or its driver, says about the error."""
    return first_line(error.orig if isinstance(error, DBAPIError) else error)


def first_line(error: BaseException | None) -> str:
    """Return the first line of an error: SQLAlchemy adds the whole statement after it."""
    return str(error).strip().partition("\n")[0]


def is_only_transient(error: Exception) -> bool:
    """Return whether the database's state caused the error, or all errors of a group."""
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
    if sqlstate is None:  # the driver refused the values before it asked the server
        return isinstance(error, DataError | IntegrityError)
    return sqlstate[:2] in OF_DATA


def is_busy(error: DBAPIError) -> bool:
    """Return whether SQLite's one write lock was held for longer than the timeout."""
    return isinstance(error.orig, sqlite3.OperationalError) and "locked" in str(error.orig)


def is_conflict(error: DBAPIError) -> bool:
    """Return whether the transaction conflicted with another one, so that it may be repeated."""
    return getattr(error.orig, "sqlstate", None) in RETRIED_SQLSTATES


@contextmanager
def conflicts_as_busy() -> Generator[None]:
    """Raise `DatabaseBusy` for a conflict in a caller's own transaction, which may repeat it."""
    try:
        yield
    except DBAPIError as error:
        if not is_conflict(error) and not is_busy(error):
            raise
        raise DatabaseBusy(
            "conflict with another transaction; roll this one back and repeat it"
        ) from error
