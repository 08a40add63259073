"""Whether a connection pooler, such as PgBouncer, stands between this process and PostgreSQL.

In transaction mode a pooler may run each transaction in another session of the server. A statement that was prepared
in one session is unknown in the next, or is another statement there under the same name. So nothing is prepared behind
a pooler, and nothing that belongs to a session (advisory session locks, LISTEN) is relied on.
"""

from typing import Any, Final

from sqlalchemy import Engine, event

NOTICE: Final = "behind a connection pooler: no prepared statements, no session locks, polling instead of notifications"


class PoolerDetection:
    """What is known of the way to one database; found out with each new connection, unless it was told."""

    def __init__(self, told: bool | None) -> None:  # noqa: FBT001 - a setting of three values
        self._told = told
        self.found = told

    def listen(self, engine: Engine) -> None:
        """Set up the new connections of an engine."""
        event.listen(engine, "connect", self._connected)

    def _connected(self, connection: Any, _record: object) -> None:
        if self._told is None:
            self.found = is_pooled(connection)
        if self.found:
            getattr(connection, "driver_connection", connection).prepare_threshold = None


def is_pooled(connection: Any) -> bool:
    """Whether the server session is another than the one that was announced when this connection was made.

    A pooler announces a session of its own, for it cannot tell yet which sessions will serve the connection.
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
