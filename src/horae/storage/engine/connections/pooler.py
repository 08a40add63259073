"""Detect a connection pooler, such as PgBouncer, between this process and PostgreSQL.

In transaction mode a pooler may run each transaction in another session of the server. A statement that was prepared in
one session is unknown in the next, or another statement has the same name there. So behind a pooler no statement is
prepared, and nothing that belongs to a session (advisory session locks, LISTEN) is used.
"""

from typing import Any, Final

from sqlalchemy import Engine, event

NOTICE: Final = "behind a connection pooler: no prepared statements, no session locks, polling instead of notifications"


class PoolerDetection:
    """Whether connections go through a pooler; detected with each new connection, unless it is configured."""

    def __init__(self, configured: bool | None) -> None:  # noqa: FBT001 - a setting of three values
        self._configured = configured
        self.found = configured

    def listen(self, engine: Engine) -> None:
        """Check and prepare the new connections of an engine."""
        event.listen(engine, "connect", self._connected)

    def _connected(self, connection: Any, _record: object) -> None:
        if self._configured is None:
            self.found = is_pooled(connection)
        if self.found:
            getattr(connection, "driver_connection", connection).prepare_threshold = None


def is_pooled(connection: Any) -> bool:
    """Return whether another server session answers than the one announced when this connection was made.

    A pooler announces a session id of its own, because it cannot know yet which sessions will serve the connection.
    """
    cursor = connection.cursor()
    try:
        cursor.execute("SELECT pg_backend_pid()")
        (serving,) = cursor.fetchone()
    finally:
        cursor.close()
        connection.rollback()
    announced: int = getattr(connection, "driver_connection", connection).info.backend_pid
    return bool(announced != serving)
