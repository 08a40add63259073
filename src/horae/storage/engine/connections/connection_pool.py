"""Connections that are kept open: a pool for single statements, and replacing those that the server has closed.

An engine checks out a connection, begins, commits and checks the connection in again around each use, which takes as
long as a single insert into SQLite. In a `ConnectionPool` a connection stays checked out, and is passed from one
statement to the next.

A call on a closed connection fails and is not repeated, because it may have taken effect. PostgreSQL sends a message on
an idle connection only when it closes it. So checking whether data has arrived tells, in a microsecond and without a
round trip.
"""

import select
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError, DisconnectionError

from horae.errors import DatabaseReadOnly
from horae.storage.engine.dialect import SQLITE

WAS_IDLE: Final = "horae_was_idle"


class ConnectionPool:
    """A pool of connections of an engine in autocommit mode, of which at most `keep` are kept idle. Thread-safe."""

    def __init__(self, engine: Engine, keep: int) -> None:
        self._engine, self._keep = engine, keep
        self._idle: deque[Connection] = deque()

    @contextmanager
    def connection(self) -> Generator[Connection]:
        """Borrow a connection for one statement, whose rows must all be read within the block."""
        connection = self._take()
        try:
            yield connection
        except BaseException as error:
            connection.close()
            if isinstance(error, DatabaseReadOnly) or (isinstance(error, DBAPIError) and error.connection_invalidated):
                self.close()  # the server is gone or a standby now, so the idle connections are no use, either
            raise
        if len(self._idle) < self._keep:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def abandon(self) -> object:
        """Drop the idle connections without closing them; they stay open while the caller keeps the result."""
        abandoned, self._idle = self._idle, deque()
        return abandoned

    def _take(self) -> Connection:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._engine.connect()
            if self._engine.dialect.name == SQLITE or not is_stale(connection.connection.driver_connection):
                return connection
            connection.invalidate()
            connection.close()


def is_stale(connection: Any) -> bool:
    """Return whether the server has closed an idle psycopg connection."""
    if connection.closed:
        return True
    poller = select.poll()
    poller.register(connection.fileno(), select.POLLIN)
    return bool(poller.poll(0))


def replace_stale(engine: Engine) -> None:
    """Make the pool of an engine replace closed connections before it hands them out."""
    event.listen(engine, "checkin", _check_in)
    event.listen(engine, "checkout", _check_out)


def _check_in(_connection: object, record: Any) -> None:
    record.info[WAS_IDLE] = True


def _check_out(connection: Any, record: Any, _proxy: object) -> None:
    # New connections are not checked: messages of TLS may be waiting to be read there.
    if record.info.pop(WAS_IDLE, False) and is_stale(getattr(connection, "driver_connection", connection)):
        raise DisconnectionError
