"""Whether a connection is still there after nobody has used it for a while.

The call that finds it gone fails, and is not repeated, for it may have had its effect. PostgreSQL says farewell on each
connection that it closes, and else nothing on an idle one: to see whether something has arrived costs a microsecond
and no round trip.
"""

import select
from typing import Any, Final

from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError

RESTED: Final = "horae_rested"


def has_gone(connection: Any) -> bool:
    """Whether the server of an idle psycopg connection has spoken, or is gone."""
    if connection.closed:
        return True
    poller = select.poll()
    poller.register(connection.fileno(), select.POLLIN)
    return bool(poller.poll(0))


def listen(engine: Engine) -> None:
    """Let the pool of an engine replace what has gone before it hands it out."""
    event.listen(engine, "checkin", _rest)
    event.listen(engine, "checkout", _look)


def _rest(_connection: object, record: Any) -> None:
    record.info[RESTED] = True


def _look(connection: Any, record: Any, _proxy: object) -> None:
    # What was just opened is not looked at: there TLS may have something to say.
    if record.info.pop(RESTED, False) and has_gone(getattr(connection, "driver_connection", connection)):
        raise DisconnectionError
