"""Replace idle connections that the server has closed, before they are used.

A call on a closed connection fails and is not repeated, because it may have taken effect. PostgreSQL sends a message on
an idle connection only when it closes it. So checking whether data has arrived tells, in a microsecond and without a
round trip.
"""

import select
from typing import Any, Final

from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError

WAS_IDLE: Final = "horae_was_idle"


def is_stale(connection: Any) -> bool:
    """Return whether the server has closed an idle psycopg connection."""
    if connection.closed:
        return True
    poller = select.poll()
    poller.register(connection.fileno(), select.POLLIN)
    return bool(poller.poll(0))


def listen(engine: Engine) -> None:
    """Make the pool of an engine replace closed connections before it hands them out."""
    event.listen(engine, "checkin", _mark_idle)
    event.listen(engine, "checkout", _replace_stale)


def _mark_idle(_connection: object, record: Any) -> None:
    record.info[WAS_IDLE] = True


def _replace_stale(connection: Any, record: Any, _proxy: object) -> None:
    # New connections are not checked: messages of TLS may be waiting to be read there.
    if record.info.pop(WAS_IDLE, False) and is_stale(getattr(connection, "driver_connection", connection)):
        raise DisconnectionError
