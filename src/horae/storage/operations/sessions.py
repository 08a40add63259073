"""Sessions of browsers that have logged in. Only hashes of the keys are stored."""

from typing import Any, Final

from sqlalchemy import Connection, Float, bindparam, delete, insert, select, update

from horae.storage.engine import database_now, seconds_from_now, seconds_since
from horae.storage.operations.change_log_tables import sessions

IDLE: Final = 12 * 3600.0
"""Seconds without a request after which a session expires: a working day."""
LONGEST: Final = 7 * 24 * 3600.0
"""Seconds after which a session expires even if it is used: a week."""
RENEWED_AFTER: Final = 600.0
"""Seconds after which a request postpones the expiry, so that not every request has to write."""

_key: Any = bindparam("key")
_idle: Any = bindparam("idle", type_=Float())
ADD: Final = insert(sessions).values(created_at=database_now(), expires_at=seconds_from_now(_idle))
FIND: Final = select(
    sessions.c.token_hash,
    seconds_since(sessions.c.created_at).label("age"),
    (-seconds_since(sessions.c.expires_at)).label("left"),
).where(sessions.c.key_hash == _key)
RENEW: Final = (
    update(sessions).where(sessions.c.key_hash == _key).values(expires_at=seconds_from_now(_idle))
)
END: Final = delete(sessions).where(sessions.c.key_hash == _key)
EXPIRE: Final = delete(sessions).where(sessions.c.expires_at < database_now())


def add(connection: Connection, key_hash: str, token_hash: str) -> None:
    """Add a session, and delete the expired ones."""
    connection.execute(EXPIRE)
    connection.execute(ADD, {"key_hash": key_hash, "token_hash": token_hash, "idle": IDLE})


def find(connection: Connection, key_hash: str) -> tuple[str, bool] | None:
    """Return a session's token hash and whether to renew it; None if unknown or expired."""
    row = connection.execute(FIND, {"key": key_hash}).one_or_none()
    if row is None or row.left <= 0 or row.age >= LONGEST:
        return None
    return row.token_hash, row.left < IDLE - RENEWED_AFTER


def renew(connection: Connection, key_hash: str) -> None:
    """Postpone the expiry of a session."""
    connection.execute(RENEW, {"key": key_hash, "idle": IDLE})


def end(connection: Connection, key_hash: str) -> None:
    """Delete a session; idempotent."""
    connection.execute(END, {"key": key_hash})
