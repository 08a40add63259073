"""Nodes: one row an incarnation, gone when the node left or was declared dead."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Boolean,
    ClauseElement,
    Connection,
    Text,
    bindparam,
    cast,
    delete,
    func,
    insert,
    literal_column,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql

from horae.domain.jobs.job import NodeId
from horae.storage.engine.dialect import (
    POSTGRESQL,
    PerDialect,
    database_now,
    member_of,
    seconds_from_now,
    seconds_since,
)
from horae.storage.engine.unreadable import readable
from horae.storage.jobs.tables import jobs, nodes
from horae.storage.operations import audit

SUSPECT_AFTER: Final = 1.2
"""Seconds of silence after which a beat tells that somebody should be looked at."""

_NUMBERED: Final = postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """A node as it announces itself; `roles`, `queues` (None: all) and `types` are JSON texts."""

    id: NodeId
    name: str
    host: str
    pid: int
    version: str
    roles: str
    queues: str | None
    types: str
    concurrency: int
    lock_key: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node as it is stored. `silence`: seconds since its last heartbeat; `lock_free`: None where unknown."""

    id: NodeId
    name: str
    host: str
    pid: int
    version: str
    roles: list[str]
    queues: list[str] | None
    types: list[str]
    concurrency: int
    lock_key: int | None
    started_at: datetime
    heartbeat_at: datetime
    process_ended: bool
    silence: float
    lock_free: bool | None
    running: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadNode:
    """A node that ended without leaving, and is no longer listed."""

    id: NodeId
    name: str
    host: str
    pid: int
    died_at: datetime
    jobs: Mapping[str, int]
    """How many of the jobs that it held became what: `pending` where they run again."""


DIED: Final = {
    "actor": "horae",
    "action": "node.died",
    "outcome": "done",
    "note": "It ended without leaving; what it held was taken over.",
}

SERVE: Final = update(nodes).where(nodes.c.id == bindparam("node")).values(types=bindparam("known"))
REGISTER: Final = insert(nodes).values(started_at=database_now(), heartbeat_at=database_now())

_other = nodes.alias("other")
_suspects = select(func.count()).where(
    _other.c.id != nodes.c.id,
    or_(_other.c.heartbeat_at < seconds_from_now(-SUSPECT_AFTER), _other.c.process_ended),
)
BEAT: Final = (
    update(nodes)
    .where(nodes.c.id == bindparam("node"))
    .values(heartbeat_at=database_now())
    .returning(_suspects.correlate(nodes).scalar_subquery())
)
_ended = (
    update(nodes).where(nodes.c.id == bindparam("node")).values(process_ended=True).returning(nodes.c.id).cte("ended")
)
# The others hear of it at once, and not only with their next beats.
PROCESS_ENDED: Final = select(func.pg_notify(bindparam("channel"), bindparam("news"))).select_from(_ended)
# The advisory lock of a living node, found without taking it; the two halves of the key stand in two columns.
_LOCK_FREE = """
lock_key IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_locks AS held
    WHERE held.locktype = 'advisory' AND held.objsubid = 1
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND ((held.classid::bigint << 32) | held.objid::bigint) = horae_nodes.lock_key)
"""


def _view(dialect: str) -> Any:
    lock_free = literal_column(_LOCK_FREE, Boolean()) if dialect == POSTGRESQL else null()
    running = select(func.count()).where(jobs.c.node_id == nodes.c.id).scalar_subquery()
    return select(
        nodes,
        seconds_since(nodes.c.heartbeat_at).label("silence"),
        lock_free.label("lock_free"),
        running.label("running"),
    ).order_by(nodes.c.started_at, nodes.c.id)


VIEW: Final = PerDialect(_view)
REMOVE: Final = PerDialect(
    lambda dialect: delete(nodes).where(member_of(dialect, nodes.c.id, "ids")).returning(nodes.c.id)
)
STRIKE_OFF: Final = PerDialect(
    lambda dialect: (
        delete(nodes)
        .where(
            member_of(dialect, nodes.c.id, "ids"),
            ~select(jobs.c.id).where(jobs.c.node_id == nodes.c.id).exists(),
        )
        .returning(nodes.c.id, nodes.c.name, nodes.c.host, nodes.c.pid)
    )
)
TAKE_LOCK: Final = select(func.pg_try_advisory_lock(bindparam("key", type_=BigInteger())))


def take_lock(connection: Connection, key: int) -> bool:
    """Hold a session lock until the connection ends (PostgreSQL); False if another connection holds it."""
    return bool(connection.execute(TAKE_LOCK, {"key": key}).scalar_one())


SCHEDULERS: Final = (
    select(nodes.c.id).where(cast(nodes.c.roles, Text()).contains('"scheduler"', autoescape=True)).order_by(nodes.c.id)
)


def schedulers(connection: Connection) -> list[NodeId]:
    """The nodes that fire schedules; a dead one until it is struck off."""
    return [NodeId(row.id) for row in connection.execute(SCHEDULERS)]


def register(connection: Connection, record: NodeRecord) -> None:
    """Announce a new incarnation."""
    connection.execute(REGISTER, asdict(record))


def serve(connection: Connection, node: NodeId, types: Collection[str]) -> None:
    """Write down which job types a node knows now."""
    connection.execute(SERVE, {"node": node, "known": json.dumps(sorted(types))})


def beat(connection: Connection, node: NodeId) -> int | None:
    """Renew the heartbeat; how many others have missed theirs, or None if this node has been declared dead.

    Only PostgreSQL's nodes beat; it is SQLite's RETURNING that could not name the two roles of the table.
    """
    return connection.execute(BEAT, {"node": node}).scalar_one_or_none()


class Question(NamedTuple):
    """A statement for PostgreSQL and its values as text, for a connection without SQLAlchemy."""

    text: str
    values: list[str]


class Questions(NamedTuple):
    """What a node's helper process says to the database. `ended`: the node's process is gone."""

    beat: Question
    ended: Question
    lock: Question | None


def questions_of(record: NodeRecord, channel: str, news: str) -> Questions:
    """The statements of a node's helper process; when the node has ended, it sends `news` on the channel."""
    return Questions(
        beat=_question(BEAT, node=record.id),
        ended=_question(PROCESS_ENDED, node=record.id, channel=channel, news=news),
        lock=None if record.lock_key is None else _question(TAKE_LOCK, key=record.lock_key),
    )


def _question(statement: ClauseElement, **values: Any) -> Question:
    compiled = statement.compile(dialect=_NUMBERED)
    given = compiled.construct_params(values) or {}
    return Question(str(compiled), [str(given[name]) for name in getattr(compiled, "positiontup", None) or ()])


def view(connection: Connection) -> list[NodeView]:
    """All nodes, the oldest first."""
    return readable(nodes.name, connection.execute(VIEW.on(connection)).mappings(), lambda row: NodeView(**row))


def remove(connection: Connection, ids: Collection[NodeId]) -> set[NodeId]:
    """Strike nodes off, whatever they hold; the ones that were still there."""
    return {NodeId(id_) for id_ in connection.execute(REMOVE.on(connection), {"ids": list(ids)}).scalars()}


def strike_off(
    connection: Connection, dead: Collection[NodeId], fates: Mapping[NodeId, Mapping[str, int]] = MappingProxyType({})
) -> set[NodeId]:
    """Strike off those of the dead that hold nothing any more.

    A rescue passes over rows that are locked, as by the last statement of the dead: they are for the next look, which
    is soon as long as the node is listed. Each leaves an entry among the changes, for whoever looks a little later.
    `fates`: what became of the jobs that they held.
    """
    gone = connection.execute(STRIKE_OFF.on(connection), {"ids": list(dead)}).all()
    for row in gone:
        before, after = json.dumps(row._asdict()), json.dumps(dict(fates.get(NodeId(row.id), {})))
        audit.add(connection, {**DIED, "target": row.name, "before": before, "after": after})
    return {NodeId(row.id) for row in gone}


def died(connection: Connection, seconds: float) -> list[DeadNode]:
    """The nodes that were struck off in the last `seconds`, the latest first."""
    entries = audit.latest(connection, DIED["action"], seconds)
    return [DeadNode(**entry.before, died_at=entry.at, jobs=entry.after or {}) for entry in entries]
