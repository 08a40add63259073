"""A pool of open connections for single statements that commit by themselves.

An engine checks out a connection, begins, commits and checks the connection in again around each use, which takes as
long as a single insert into SQLite. Here a connection stays checked out, and is passed from one statement to the next.
"""

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from horae.storage.engine.connections.stale_connections import is_stale
from horae.storage.engine.dialect import SQLITE


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
            if isinstance(error, DBAPIError) and error.connection_invalidated:
                self.close()  # the server is gone, so the idle connections are broken, too
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
