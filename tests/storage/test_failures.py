"""Which errors of a database pass, and which speak against the values."""

import sqlite3
from collections.abc import Callable

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from horae.errors import DatabaseBusy, SchemaMismatch
from horae.storage.engine.database import Database
from horae.storage.engine.failures import is_of_data, is_of_server, is_transient
from tests.storage.arrange import POSTGRESQL


def wrapped(origin: Exception, *, connection_lost: bool = False) -> DBAPIError:
    """As SQLAlchemy hands an error of a driver on."""
    module = psycopg.Error if isinstance(origin, psycopg.Error) else sqlite3.Error
    error = DBAPIError.instance(
        "SELECT 1", (), origin, module, connection_invalidated=connection_lost
    )
    assert isinstance(error, DBAPIError)
    return error


@pytest.mark.parametrize(
    "origin",
    [
        errors.ReadOnlySqlTransaction(),
        errors.AdminShutdown(),
        errors.CannotConnectNow(),
        errors.TooManyConnections(),
        errors.DiskFull(),
        errors.OutOfMemory(),
        errors.ProtocolViolation(),
        errors.InvalidSqlStatementName(),
        errors.DuplicatePreparedStatement(),
        errors.UndefinedTable(),
        errors.UndefinedColumn(),
        errors.LockNotAvailable(),
        errors.QueryCanceled(),
        errors.IdleInTransactionSessionTimeout(),
        errors.InternalError_(),
        errors.FeatureNotSupported(),
        errors.InsufficientPrivilege(),
        errors.SerializationFailure(),
        psycopg.OperationalError(),
        psycopg.ProgrammingError(),
        psycopg.InternalError(),
        psycopg.InterfaceError(),
        sqlite3.OperationalError("database is locked"),
        sqlite3.OperationalError("attempt to write a readonly database"),
        sqlite3.OperationalError("disk I/O error"),
        sqlite3.OperationalError("no such table: horae_jobs"),
        sqlite3.DatabaseError("database disk image is malformed"),
        sqlite3.ProgrammingError("Cannot operate on a closed database."),
    ],
    ids=repr,
)
def test_the_state_of_a_server_passes(origin: Exception) -> None:
    assert is_transient(wrapped(origin))
    assert not is_of_data(wrapped(origin))


@pytest.mark.parametrize(
    "origin",
    [
        errors.NumericValueOutOfRange(),
        errors.UntranslatableCharacter(),
        errors.InvalidTextRepresentation(),
        errors.CheckViolation(),
        errors.ForeignKeyViolation(),
        errors.NotNullViolation(),
        errors.ProgramLimitExceeded(),
        errors.RaiseException(),
        psycopg.DataError("a NUL"),
        sqlite3.IntegrityError("CHECK constraint failed"),
        sqlite3.DataError("string or blob too big"),
        sqlite3.ProgrammingError("Error binding parameter 1"),
    ],
    ids=repr,
)
def test_values_that_cannot_be_stored_never_can(origin: Exception) -> None:
    assert is_of_data(wrapped(origin))
    assert not is_transient(wrapped(origin))


@pytest.mark.parametrize(
    ("origin", "of_server"),
    [
        (errors.AdminShutdown(), True),
        (errors.CannotConnectNow(), True),
        (errors.TooManyConnections(), True),
        (errors.DiskFull(), True),
        (errors.IoError(), True),
        (errors.ConnectionFailure(), True),
        (psycopg.OperationalError("connection refused"), True),
        (errors.UndefinedTable(), False),
        (errors.InsufficientPrivilege(), False),
        (errors.CheckViolation(), False),
        (psycopg.ProgrammingError(), False),
        (psycopg.DataError("a NUL"), False),
        (sqlite3.OperationalError("no such table: horae_jobs"), False),
        (sqlite3.IntegrityError("CHECK failed"), False),
    ],
    ids=repr,
)
def test_some_errors_come_from_the_server_and_not_from_the_statement(
    origin: Exception, *, of_server: bool
) -> None:
    assert is_of_server(wrapped(origin)) is of_server
    assert is_of_server(PoolTimeout())
    assert not is_of_server(LookupError())


def test_a_lost_connection_does_not_blame_the_values() -> None:
    assert is_transient(wrapped(errors.NumericValueOutOfRange(), connection_lost=True))


@pytest.mark.parametrize("error", [DatabaseBusy(), SchemaMismatch(), PoolTimeout()], ids=repr)
def test_a_busy_database_is_transient(error: Exception) -> None:
    assert (is_transient(error), is_of_data(error)) == (True, False)


@pytest.mark.parametrize(
    "error",
    [StatementError("no", None, None, ValueError()), OverflowError(), TypeError()],
    ids=repr,
)
def test_a_statement_that_never_reached_the_server_is_at_fault(error: Exception) -> None:
    assert (is_transient(error), is_of_data(error)) == (False, True)


def test_an_error_of_another_kind_is_neither() -> None:
    assert (is_transient(LookupError()), is_of_data(LookupError())) == (False, False)


def raised(database: Database, sql: str) -> DBAPIError:
    def ask(connection: Connection) -> None:
        connection.execute(text(sql))

    call: Callable[[], None] = lambda: database.transact(ask)  # noqa: E731 - reads as what it is
    with pytest.raises(DBAPIError) as caught:
        call()
    return caught.value


@POSTGRESQL
@pytest.mark.parametrize(
    ("sql", "passes"),
    [
        pytest.param(
            "SET TRANSACTION READ ONLY; CREATE TABLE t ()", True, marks=pytest.mark.direct
        ),
        ("SELECT * FROM missing", True),
        ("SELECT 1 / 0", False),
    ],
)
def test_an_error_is_classified_by_its_code(database: Database, sql: str, *, passes: bool) -> None:
    error = raised(database, sql)
    assert (is_transient(error), is_of_data(error)) == (passes, not passes)
