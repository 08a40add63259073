"""The audit log: entries are written once, read in pages, and deleted when they are old."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    RowMapping,
    String,
    bindparam,
    cast,
    delete,
    insert,
    or_,
    select,
)

from horae.storage.engine import database_now, readable_page, seconds_ago
from horae.storage.operations.change_log_tables import change_log


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEntry:
    """Who did what, when, and with what outcome: `done`, or the code of an error."""

    id: int
    at: datetime
    actor: str
    action: str
    target: str
    outcome: str
    note: str | None
    channel: str | None
    before: Any
    after: Any


ADD: Final = insert(change_log).values(at=database_now()).returning(change_log.c.id)
_before: Any = bindparam("before", type_=BigInteger())
_actor: Any = bindparam("actor", type_=String())
PAGE: Final = (
    select(*(change_log.c[field.name] for field in fields(ChangeEntry)))
    .where(
        or_(cast(_before, BigInteger()).is_(None), change_log.c.id < _before),
        or_(cast(_actor, String()).is_(None), change_log.c.actor == _actor),
    )
    .order_by(change_log.c.id.desc())
    .limit(bindparam("limit"))
)
LATEST: Final = (
    select(*(change_log.c[field.name] for field in fields(ChangeEntry)))
    .where(
        change_log.c.at > seconds_ago("seconds"),
        change_log.c.action == bindparam("action", type_=String()),
    )
    .order_by(change_log.c.at.desc(), change_log.c.id.desc())
    .limit(100)
)
EXPIRE: Final = delete(change_log).where(change_log.c.at < seconds_ago("keep"))


def add(connection: Connection, entry: Mapping[str, Any]) -> int:
    """Write an entry, and return its id."""
    identity: int = connection.execute(ADD, entry).scalar_one()
    return identity


def page(
    connection: Connection, *, before: int | None, actor: str | None, limit: int
) -> list[ChangeEntry]:
    """Return a page of entries, the newest first; `before` is the last id of the previous page."""

    def fetch(before: int | None) -> Sequence[RowMapping]:
        return (
            connection.execute(PAGE, {"before": before, "actor": actor, "limit": limit})
            .mappings()
            .all()
        )

    return readable_page(
        change_log.name,
        fetch,
        lambda row: ChangeEntry(**row),
        start=before,
        place=lambda row: row["id"],
        limit=limit,
    )


def latest(connection: Connection, action: str, seconds: float) -> list[ChangeEntry]:
    """Return up to a hundred entries of this action from the last `seconds`, the newest first."""
    rows = connection.execute(LATEST, {"action": action, "seconds": seconds}).mappings()
    return [ChangeEntry(**row) for row in rows]


def expire(connection: Connection, keep_seconds: float) -> int:
    """Delete the entries that are older than `keep_seconds`, and return their number."""
    return connection.execute(EXPIRE, {"keep": keep_seconds}).rowcount
