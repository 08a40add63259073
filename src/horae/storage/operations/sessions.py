"""Log-ins of browsers: each lasts for hours without use, and for a week at most. Only hashes are stored."""

from typing import Any, Final

from sqlalchemy import Connection, Float, bindparam, delete, insert, select, update

from horae.storage.engine.dialect import database_now, seconds_from_now, seconds_since
from horae.storage.operations.audit_tables import sessions

IDLE: Final = 12 * 3600.0
LONGEST: Final = 7 * 24 * 3600.0
RENEWED_AFTER: Final = 600.0
"""Seconds of use after which the end is moved on: a request need not write."""

_key: Any = bindparam("key")
_idle: Any = bindparam("idle", type_=Float())
ADD: Final = insert(sessions).values(created_at=database_now(), expires_at=seconds_from_now(_idle))
FIND: Final = select(
    sessions.c.token_hash,
    seconds_since(sessions.c.created_at).label("age"),
    (-seconds_since(sessions.c.expires_at)).label("left"),
).where(sessions.c.key_hash == _key)
RENEW: Final = update(sessions).where(sessions.c.key_hash == _key).values(expires_at=seconds_from_now(_idle))
END: Final = delete(sessions).where(sessions.c.key_hash == _key)
EXPIRE: Final = delete(sessions).where(sessions.c.expires_at < database_now())


def add(connection: Connection, key_hash: str, token_hash: str) -> None:
    """Begin a session, and drop those that are over."""
    connection.execute(EXPIRE)
    connection.execute(ADD, {"key_hash": key_hash, "token_hash": token_hash, "idle": IDLE})


def find(connection: Connection, key_hash: str) -> tuple[str, bool] | None:
    """The hash of the token that a session stands for, and whether to renew it; None for none that lasts."""
    row = connection.execute(FIND, {"key": key_hash}).one_or_none()
    if row is None or row.left <= 0 or row.age >= LONGEST:
        return None
    return row.token_hash, row.left < IDLE - RENEWED_AFTER


def renew(connection: Connection, key_hash: str) -> None:
    """Move the end on."""
    connection.execute(RENEW, {"key": key_hash, "idle": IDLE})


def end(connection: Connection, key_hash: str) -> None:
    """End a session; harmless if it is over."""
    connection.execute(END, {"key": key_hash})
