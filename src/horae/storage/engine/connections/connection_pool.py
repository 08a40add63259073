"""Open connections for statements that are transactions of their own, passed on from one to the next.

An engine makes a connection, begins, commits and checks it in again around each use. For a single insert into SQLite
that took as long as the insert.
"""

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from horae.storage.engine.connections.health import has_gone
from horae.storage.engine.dialect import SQLITE


class ConnectionPool:
    """Lends connections of an engine in autocommit mode, and keeps at most `keep` that nobody uses. Thread-safe."""

    def __init__(self, engine: Engine, keep: int) -> None:
        self._engine, self._keep = engine, keep
        self._idle: deque[Connection] = deque()

    @contextmanager
    def lend(self) -> Generator[Connection]:
        """A connection for one statement; whoever has it reads all of its rows."""
        connection = self._taken()
        try:
            yield connection
        except BaseException as error:
            connection.close()
            if isinstance(error, DBAPIError) and error.connection_invalidated:
                self.close()  # the server has gone away, and with it the others
            raise
        if len(self._idle) < self._keep:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close what nobody uses."""
        while self._idle:
            self._idle.pop().close()

    def give_up(self) -> object:
        """Forget what nobody uses without closing it; whoever takes the answer keeps it from being closed."""
        given_up, self._idle = self._idle, deque()
        return given_up

    def _taken(self) -> Connection:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._engine.connect()
            if self._engine.dialect.name == SQLITE or not has_gone(connection.connection.driver_connection):
                return connection
            connection.invalidate()
            connection.close()
