"""The audit log: entries are written once, read in pages, and deleted when they are old."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    bindparam,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
)

from horae.storage.engine import (
    Instant,
    database_now,
    member_of,
    readable,
    readable_page,
    row_reader,
    seconds_ago,
)
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


@dataclass(frozen=True, slots=True)
class LastChange:
    """When something was changed last in some way, and by whom."""

    at: datetime
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFilter:
    """Which entries to read; None does not filter.

    `targets`: names of what was changed; `kind`: the first part of actions, such as `schedule`;
    `since` and `until`: the first moment, and the first one after the last.
    """

    targets: Collection[str] | None = None
    kind: str | None = None
    actions: Collection[str] | None = None
    actor: str | None = None
    channel: str | None = None
    since: datetime | None = None
    until: datetime | None = None


EVERY_CHANGE: Final = ChangeFilter()

ADD: Final = insert(change_log).values(at=database_now()).returning(change_log.c.id)
_read: Final = row_reader(ChangeEntry, change_log.c)
_entries = select(*(change_log.c[field.name] for field in fields(ChangeEntry)))
LATEST: Final = (
    _entries.where(
        change_log.c.at > seconds_ago("seconds"),
        change_log.c.action == bindparam("action"),
    )
    .order_by(change_log.c.at.desc(), change_log.c.id.desc())
    .limit(100)
)
_last_ids = (
    select(func.max(change_log.c.id).label("id"))
    .where(
        member_of(change_log.c.target, "targets"),
        change_log.c.action == bindparam("action"),
        change_log.c.outcome == "done",
    )
    .group_by(change_log.c.target)
    .subquery("last")
)
LAST_OF: Final = _entries.join(_last_ids, _last_ids.c.id == change_log.c.id)


def _searched(condition: ColumnElement[bool], *, newest_first: bool) -> Any:
    """Select the entries on one side of a moment that are searched, by their index."""
    order = change_log.c.at.desc() if newest_first else change_log.c.at
    return _entries.where(condition).order_by(order).limit(100_000).subquery("searched")


_moment = bindparam("moment", type_=Instant())
_until = _searched(change_log.c.at <= _moment, newest_first=True)
_since = _searched(change_log.c.at > _moment, newest_first=False)
LAST_BEFORE: Final = (
    select(_until)
    .where(member_of(_until.c.action, "actions"))
    .order_by(_until.c.at.desc(), _until.c.id.desc())
    .limit(1)
)
FIRST_AFTER: Final = (
    select(_since)
    .where(member_of(_since.c.action, "actions"))
    .order_by(_since.c.at, _since.c.id)
    .limit(200)
)
_expired = (
    select(change_log.c.id)
    .where(change_log.c.at < seconds_ago("keep"))
    .order_by(change_log.c.at)
    .limit(bindparam("limit"))
)
EXPIRE: Final = delete(change_log).where(change_log.c.id.in_(_expired))


def add(connection: Connection, entry: Mapping[str, Any]) -> int:
    """Write an entry, and return its id."""
    identity: int = connection.execute(ADD, entry).scalar_one()
    return identity


def page(
    connection: Connection, which: ChangeFilter, *, before: int | None, limit: int
) -> list[ChangeEntry]:
    """Return a page of entries, the newest first; `before` is the last id of the previous page."""
    wanted = _wanted(which)

    def fetch(before: int | None) -> Sequence[RowMapping]:
        older = wanted if before is None else wanted.where(change_log.c.id < before)
        return connection.execute(older.limit(limit)).mappings().all()

    return readable_page(
        change_log.name,
        fetch,
        _read,
        start=before,
        place=lambda row: row["id"],
        limit=limit,
    )


def _wanted(which: ChangeFilter) -> Select[Any]:
    """Return the statement for these entries.

    Only the conditions that are given are part of it, so that each filter finds its own index.
    """
    columns = change_log.c
    statement = _entries.order_by(columns.id.desc())
    if which.targets is not None:
        statement = statement.where(columns.target.in_(list(which.targets)))
    if which.actions is not None:
        statement = statement.where(columns.action.in_(list(which.actions)))
    if which.kind is not None:
        statement = statement.where(
            or_(
                columns.action == which.kind,
                columns.action.startswith(f"{which.kind}.", autoescape=True),
            )
        )
    if which.actor is not None:
        statement = statement.where(columns.actor == which.actor)
    if which.channel is not None:
        statement = statement.where(columns.channel == which.channel)
    if which.since is not None:
        statement = statement.where(columns.at >= literal(which.since, Instant()))
    if which.until is not None:
        statement = statement.where(columns.at < literal(which.until, Instant()))
    return statement


def last_of(connection: Connection, action: str, targets: Collection[str]) -> dict[str, LastChange]:
    """Return the last successful change of this kind of each target that has any."""
    if not targets:
        return {}
    found = _readable(connection, LAST_OF, {"action": action, "targets": targets})
    return {entry.target: LastChange(entry.at, entry.actor) for entry in found}


def latest(connection: Connection, action: str, seconds: float) -> list[ChangeEntry]:
    """Return up to a hundred entries of this action from the last `seconds`, the newest first."""
    return _readable(connection, LATEST, {"action": action, "seconds": seconds})


def around(connection: Connection, actions: Collection[str], moment: datetime) -> list[ChangeEntry]:
    """Return the last entry of these actions up to a moment, and the first ones after it."""
    values = {"actions": actions, "moment": moment}
    return [
        entry
        for statement in (LAST_BEFORE, FIRST_AFTER)
        for entry in _readable(connection, statement, values)
    ]


def expire(connection: Connection, keep_seconds: float, limit: int) -> int:
    """Delete up to `limit` entries that are older than `keep_seconds`; return their number."""
    return connection.execute(EXPIRE, {"keep": keep_seconds, "limit": limit}).rowcount


def _readable(
    connection: Connection, statement: Select[Any], values: Mapping[str, Any]
) -> list[ChangeEntry]:
    return readable(change_log.name, connection.execute(statement, values).mappings(), _read)
