"""Recognize a PostgreSQL server that accepts no writes: a standby, or a read-only primary.

Such a server answers, so no other sign shows that the application's writes belong elsewhere. The
connections to it are closed: another server of the URL, or of the same name, may be the primary
now, and only a new connection reaches it.

A transaction that was made read-only by its own code fails in the same way, and says nothing about
the server.
"""

from typing import Any, Final

from sqlalchemy import Engine, ExceptionContext, event

from horae.errors import DatabaseReadOnly

REFUSED_WRITE: Final = "25006"
"""The SQLSTATE of a write in a read-only transaction, and of any write on a standby."""
REFUSED_SESSION: Final = "session is read-only"
"""libpq's error text if `target_session_attrs=read-write` finds such a server; no SQLSTATE."""
STANDBY: Final = "the server is a standby"
READ_ONLY: Final = "default_transaction_read_only is on"
EITHER: Final = f"{STANDBY}, or {READ_ONLY}"


def is_read_only(error: BaseException | None) -> bool:
    """Return whether the driver's error shows that the server accepts no writes."""
    return getattr(error, "sqlstate", None) == REFUSED_WRITE or REFUSED_SESSION in str(error)


def leave_read_only(engine: Engine) -> None:
    """Close connections to a server that refuses a write; bodies get the driver's error."""

    @event.listens_for(engine, "handle_error")
    def leave(context: ExceptionContext) -> None:
        if is_read_only(context.original_exception) and _reason(context) is not None:
            context.is_disconnect = True


def report_read_only(engine: Engine) -> None:
    """Close an engine's connections to a server that refuses a write; raise `DatabaseReadOnly`."""

    @event.listens_for(engine, "handle_error", retval=True)
    def report(context: ExceptionContext) -> DatabaseReadOnly | None:
        reason = _reason(context) if is_read_only(context.original_exception) else None
        if reason is None:
            return None
        context.is_disconnect = True
        return DatabaseReadOnly(f"the database accepts no writes now: {reason}")


def _reason(context: ExceptionContext) -> str | None:
    """Return why the server refuses writes; None if only the transaction was read-only.

    The server reports both reasons to every connection, without a query; a pooler may repeat an old
    report.
    """
    if context.connection is None:
        return f"no server that answers does ({EITHER})"
    connection = context.connection.connection.dbapi_connection
    # SQLAlchemy names no driver's connection of one that was detached from its pool.
    driver: Any = getattr(connection, "driver_connection", connection)
    reported = [
        driver.info.parameter_status(name)
        for name in ("in_hot_standby", "default_transaction_read_only")
    ]
    if reported[0] == "on":
        return STANDBY
    if reported[1] == "on":
        return READ_ONLY
    return EITHER if None in reported or driver.prepare_threshold is None else None
