"""What a transaction sees of others, and how it keeps them out.

SQLite has one writer at a time, so a transaction that writes there sees all that others have
committed, is never blocked within, and needs no locks of its own.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Text, bindparam, func, select, text

from horae.storage.engine.dialect import POSTGRESQL

SEES_COMMITTED: Final = ("read committed", "read uncommitted")
"""PostgreSQL's levels in which each statement sees what others have committed since the transaction
began.
"""
_key: Final = bindparam("key", type_=Text())
LOCK: Final = select(func.pg_advisory_xact_lock(func.hashtextextended(_key, 1)))
TRY_LOCK: Final = select(
    func.pg_try_advisory_xact_lock(func.hashtextextended(_key, 0)).label("taken"),
    func.current_setting("transaction_isolation").label("isolation"),
)
# A virtual transaction identifies the holder, because all roles may see it. Two columns hold the
# halves of the key.
HOLDER: Final = text("""
    SELECT virtualtransaction FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND ((classid::bigint << 32) | objid::bigint) = hashtextextended(:key, 0)
""")


class TriedLock(NamedTuple):
    """Whether a lock was taken, or else which transaction holds it.

    `hides`: the isolation level, if the transaction does not see what others commit.
    """

    taken: bool
    holder: str | None = None
    hides: str | None = None


def lock(connection: Connection, key: str) -> None:
    """Take the lock of this key until the end of the transaction."""
    if connection.dialect.name == POSTGRESQL:
        connection.execute(LOCK, {"key": key})


def try_lock(connection: Connection, key: str) -> TriedLock:
    """Take the lock of this key until the end of the transaction, unless another one holds it."""
    if connection.dialect.name != POSTGRESQL:
        return TriedLock(taken=True)
    taken, isolation = connection.execute(TRY_LOCK, {"key": key}).one()
    if not taken:
        return TriedLock(taken=False, holder=connection.scalar(HOLDER, {"key": key}))
    return TriedLock(taken=True, hides=None if isolation in SEES_COMMITTED else isolation)


def sees_what_others_commit(connection: Connection) -> bool:
    """Return whether each statement sees what others have committed since the transaction began."""
    return (
        connection.dialect.name != POSTGRESQL
        or connection.get_isolation_level().lower() in SEES_COMMITTED
    )


def repeatable(connection: Connection) -> AbstractContextManager[Any]:
    """Return a savepoint, for statements that another transaction may block.

    SQLite has none: its driver would also commit a transaction that begins with one.
    """
    return connection.begin_nested() if connection.dialect.name == POSTGRESQL else nullcontext()
