"""A pool of connections that are kept open, and the replacement of those that the server closed.

An engine checks out a connection, begins, commits and checks the connection in again around each
use, which takes as long as a single insert into SQLite. In a `ConnectionPool` a connection stays
checked out, and is passed from one use to the next.

A call on a closed connection fails and is not repeated, because it may have taken effect.
PostgreSQL sends a message on an idle connection only when it closes it. So a check whether data has
arrived shows, in a microsecond and without a round trip, whether the connection is closed.
"""

import time
from collections import deque
from contextlib import AbstractContextManager, suppress
from typing import Any, Final

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from typing_extensions import override

from horae.errors import DatabaseReadOnly
from horae.storage.engine.connections.timeouts import is_ready
from horae.storage.engine.dialect import SQLITE
from horae.storage.engine.sqlite import take_write_lock

WAS_IDLE: Final = "horae_was_idle"
SURE_FOR: Final = 0.002
"""Seconds after its last use during which a connection counts as open: the check takes a twentieth
of the time of an insert, which a program that starts jobs in a loop would pay for each of them.
"""


class ConnectionPool:
    """A pool of connections of an engine that keeps at most `keep` idle ones. Thread-safe."""

    def __init__(self, engine: Engine, keep: int) -> None:
        self._engine, self._keep = engine, keep
        self._idle: deque[tuple[Connection, float]] = deque()
        self._is_closed = False
        self.is_sqlite = engine.dialect.name == SQLITE

    def statement(self) -> "Statement":
        """Borrow a connection in autocommit mode for one statement.

        All its rows must be read within the block.
        """
        return Statement(self)

    def transaction(self) -> "Transaction":
        """Borrow a connection for a transaction: committed at the end, rolled back on an error."""
        return Transaction(self)

    def take(self) -> Connection:
        """Return an idle connection, or a new one."""
        while True:
            try:
                connection, used = self._idle.pop()
            except IndexError:
                return self._engine.connect()
            if self.is_sqlite or time.monotonic() - used < SURE_FOR:
                return connection
            if not is_stale(connection.connection.driver_connection):
                return connection
            connection.invalidate()
            connection.close()

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next use."""
        if len(self._idle) < self._keep:
            self._idle.append((connection, time.monotonic()))
            if self._is_closed:  # asked afterwards, so that `close` or this finds the connection
                self._close_idle()
        else:
            connection.close()

    def drop(self, connection: Connection, error: BaseException) -> None:
        """Close a connection after an error, which rolls back its open transaction."""
        connection.close()
        if isinstance(error, DatabaseReadOnly) or (
            isinstance(error, DBAPIError) and error.connection_invalidated
        ):
            # The server is gone or a standby now, so the idle connections are useless, too.
            self._close_idle()

    def close(self) -> None:
        """Close the idle connections, and the others when they are given back."""
        self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with suppress(IndexError):  # another thread may have taken the last one
            while True:
                self._idle.pop()[0].close()


class Statement(AbstractContextManager[Connection]):
    """A connection in use for one statement. This is a class because a generator is slower."""

    __slots__ = ("_connection", "_pool")

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool

    @override
    def __enter__(self) -> Connection:
        self._connection = self._pool.take()
        return self._connection

    @override
    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            self._pool.give_back(self._connection)
        else:
            self._pool.drop(self._connection, error)


class Transaction(Statement):
    """A connection in use for a transaction; on SQLite it takes the write lock at the start."""

    __slots__ = ()

    @override
    def __enter__(self) -> Connection:
        connection = super().__enter__()
        try:
            # SQLAlchemy calls it so after a statement that has committed by itself.
            if connection.in_transaction():
                connection.commit()
            connection.begin()
            if self._pool.is_sqlite:
                take_write_lock(connection)
        except BaseException as error:
            self._pool.drop(connection, error)
            raise
        return connection

    @override
    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            try:
                self._connection.commit()
            except BaseException as failure:
                # SQLAlchemy rolls back nothing after a commit that failed.
                self._connection.invalidate()
                self._pool.drop(self._connection, failure)
                raise
        super().__exit__(kind, error, traceback)


def is_stale(connection: Any) -> bool:
    """Return whether the server has closed an idle psycopg connection."""
    return connection.closed or is_ready(connection.fileno())


def replace_stale(engine: Engine) -> None:
    """Make the pool of an engine replace closed connections before it hands them out."""

    @event.listens_for(engine, "checkin")
    def note_idle(_connection: object, record: Any) -> None:
        record.info[WAS_IDLE] = True

    @event.listens_for(engine, "checkout")
    def check(connection: Any, record: Any, _proxy: object) -> None:
        # New connections are not checked, because TLS messages may be waiting to be read there.
        if record.info.pop(WAS_IDLE, False) and is_stale(
            getattr(connection, "driver_connection", connection)
        ):
            raise DisconnectionError
