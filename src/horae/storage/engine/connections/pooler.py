"""Detect a connection pooler, such as PgBouncer, between this process and PostgreSQL.

In transaction mode a pooler may run each transaction in another session of the server. A statement
that was prepared in one session is unknown in the next, or another statement has the same name
there. So behind a pooler no statement is prepared unless the settings demand it, and nothing that
belongs to a session (advisory session locks, LISTEN) is used.
"""

from typing import Any, Final

from sqlalchemy import Engine, ExceptionContext, event

from horae.errors import ConfigurationError, Unavailable
from horae.storage.engine.connections.session import closed_on_failure
from horae.storage.engine.connections.timeouts import SET_BOUNDS, server_bounds

UNPREPARED: Final = "no prepared statements, no session locks"
PREPARED: Final = "prepared statements, as the settings demand, but no session locks"
FIRST_QUERY: Final = f"""
    SELECT pg_backend_pid(),
        CASE WHEN pg_backend_pid() = %s THEN ({SET_BOUNDS.format("%s", "%s")}) END
"""
NO_TRANSACTIONS: Final = "statement pooling mode"
"""A part of PgBouncer's error when a client begins a transaction in statement pooling mode."""
PROBE: Final = "horae_probe"
"""The name under which `keeps_prepared_statements` prepares a statement as a test."""


class PoolerDetection:
    """Whether connections go through a pooler: as configured, or as each new connection shows."""

    # Neither is an option to be named: both may also be None, for "unknown".
    def __init__(self, configured: bool | None, prepares: bool | None = None) -> None:  # noqa: FBT001
        """`prepares`: whether to prepare statements on the server; None: only without a pooler."""
        self._configured, self._prepares = configured, prepares
        self.found = configured

    @property
    def consequences(self) -> str:
        """Return what is not used behind a pooler, for the log and `horae doctor`."""
        return PREPARED if self._prepares else UNPREPARED

    def listen(self, engine: Engine) -> None:
        """Check and prepare the new connections of an engine."""
        event.listen(engine, "handle_error", explain_statement_mode, retval=True)

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _record: object) -> None:
            if not self._configured:
                with closed_on_failure(connection):
                    pooled = is_pooled(connection)
                self.found = pooled if self._configured is None else False
            if self.found and self._prepares:
                check_driver()
            prepares = not self.found if self._prepares is None else self._prepares
            if not prepares:
                getattr(connection, "driver_connection", connection).prepare_threshold = None


def is_pooled(connection: Any) -> bool:
    """Return whether another server session answers than the one announced at connection time.

    A pooler announces a session id of its own, because it cannot know yet which sessions will serve
    the connection. Without a pooler, the session gets the time limits of the connection in the same
    round trip (`server_bounds`).
    """
    driver = getattr(connection, "driver_connection", connection)
    announced: int = driver.info.backend_pid
    bounds = server_bounds(driver)
    cursor = connection.cursor()
    try:
        cursor.execute(FIRST_QUERY, (announced, list(bounds), list(bounds.values())))
        serving, _ = cursor.fetchone()
    finally:
        cursor.close()
        connection.commit()
    return bool(announced != serving)


def explain_statement_mode(context: ExceptionContext) -> Unavailable | None:
    """Return advice if a pooler refuses transactions; its own error does not name the setting."""
    if NO_TRANSACTIONS not in str(context.original_exception):
        return None
    return Unavailable(
        "the pooler is in statement mode, which allows no transactions: set pool_mode = transaction"
        " in PgBouncer"
    )


def check_driver() -> None:
    """Raise `ConfigurationError` if the driver cannot drop prepared statements through a pooler."""
    import psycopg

    if not psycopg.capabilities.has_send_close_prepared():
        raise ConfigurationError(
            "prepared_statements (HORAE_PREPARED_STATEMENTS): behind a pooler this needs libpq 17"
            f" or newer, and this process has libpq {psycopg.pq.version() // 10_000}; install"
            " psycopg[binary], or leave the setting out"
        )


def keeps_prepared_statements(arguments: dict[str, Any]) -> bool:
    """Return whether a pooler tracks prepared statements, as PgBouncer's `max_prepared_statements`.

    Such a pooler gives each statement a name of its own, under which it prepares it in every
    session that needs it. Other poolers leave a statement known only in the session that prepared
    it. `arguments`: those of a connection.
    """
    import psycopg

    with (
        psycopg.connect(**arguments, prepare_threshold=None) as connection,
        connection.transaction(),
    ):
        connection.pgconn.prepare(PROBE.encode(), b"SELECT 1")
        name = connection.execute(
            "SELECT name FROM pg_prepared_statements WHERE name = %s", [PROBE]
        ).fetchone()
        if name is not None:
            # The session stays open, and serves other clients.
            connection.execute(f"DEALLOCATE {PROBE}")
        return name is None
