"""Nodes: a row for each incarnation, which is deleted when the node leaves or is declared dead."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Boolean,
    Connection,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    func,
    literal_column,
    null,
    or_,
    select,
    update,
)

from horae.domain.cluster import Capabilities, Death
from horae.domain.jobs import NODE_DIED_NOTE, NodeId
from horae.storage.engine import (
    PerDatabase,
    RawStatement,
    database_now,
    insert,
    member_of,
    raw_statement,
    readable,
    row_reader,
    seconds_from_now,
    seconds_since,
)
from horae.storage.jobs import jobs, nodes
from horae.storage.operations import change_log

SUSPECT_AFTER: Final = 1.2
"""Seconds without a heartbeat, sent each second, after which other nodes check a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """A node as it registers itself; `roles`, `queues` (None: all) and `types` are JSON text."""

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
class NodeView(Capabilities):
    """A stored node.

    `silence`: seconds since its last heartbeat; `lock_free`: whether its session lock is free.
    """

    id: NodeId
    name: str
    host: str
    pid: int
    version: str
    concurrency: int
    lock_key: int | None
    started_at: datetime
    heartbeat_at: datetime
    process_ended: bool
    silence: float
    lock_free: bool | None
    running: int
    """Number of jobs it holds: running, claimed ahead, ended but not settled, or waiting for
    others.
    """

    @property
    def may_end(self) -> bool:
        """Whether it is a program that ran jobs of its own and holds none, so that it may end
        without unregistering.
        """
        return self.is_caller and not self.running

    @property
    def slots_used(self) -> int:
        """The number of its slots that are taken; a body that waits and lends its slot counts."""
        return min(self.running, self.concurrency)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadNode:
    """A node that ended without unregistering, and was removed."""

    id: NodeId
    name: str
    host: str
    pid: int
    died_at: datetime
    jobs: Mapping[str, int]
    """The numbers of the jobs that it held by their new states; `pending` ones run again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLife:
    """When a node was up. `ended_at`: None while it is; `died`: it ended without unregistering."""

    id: NodeId
    name: str
    host: str
    pid: int
    started_at: datetime
    ended_at: datetime | None = None
    died: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesThen:
    """The nodes that were up at a moment, as far as it is known.

    `left_before`: when the last node ended before the moment; `came_after`: when the first one
    started after it.
    """

    up: list[NodeLife]
    left_before: datetime | None
    came_after: datetime | None


DIED_ENTRY: Final = {
    "actor": "horae",
    "action": "node.died",
    "outcome": "done",
    "note": NODE_DIED_NOTE,
}
LEFT_ENTRY: Final = {"actor": "horae", "action": "node.left", "outcome": "done"}
"""The entry of a node that has unregistered, so that it stays known when it was up."""

_change = update(nodes).where(nodes.c.id == bindparam("node"))
SET_TYPES: Final = _change.values(types=bindparam("known"))
# The row may exist already: a process that got no answer to its first registration registers again.
REGISTER: Final = (
    insert(nodes)
    .values({name: bindparam(name) for name in NodeRecord.__annotations__})
    .values(started_at=database_now(), heartbeat_at=database_now())
    .on_conflict_do_nothing(index_elements=[nodes.c.id])
)
_other = nodes.alias("other")
_is_silent = or_(_other.c.heartbeat_at < seconds_from_now(-SUSPECT_AFTER), _other.c.process_ended)
# After the clock was set back, the heartbeats before it lie ahead, also the last one of this node.
_is_ahead = _other.c.heartbeat_at > seconds_from_now(SUSPECT_AFTER)
_suspects = select(func.count()).where(or_(and_(_other.c.id != nodes.c.id, _is_silent), _is_ahead))
_beat = _change.values(heartbeat_at=database_now())
HEARTBEAT: Final = _beat.returning(_suspects.correlate(nodes).scalar_subquery())
_ended = _change.values(process_ended=True).returning(nodes.c.id).cte("ended")
# This notifies the other nodes at once, rather than with their next heartbeats.
PROCESS_ENDED: Final = select(func.pg_notify(bindparam("channel"), bindparam("news"))).select_from(
    _ended
)
# Finds the advisory lock of a living node without taking it; two columns hold the halves of its
# key.
_LOCK_FREE = """
lock_key IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_locks AS held
    WHERE held.locktype = 'advisory' AND held.objsubid = 1
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND ((held.classid::bigint << 32) | held.objid::bigint) = horae_nodes.lock_key)
"""


_running = select(func.count()).where(jobs.c.node_id == nodes.c.id).scalar_subquery()
_unknown: Any = null()
_lock_free: Any = PerDatabase(literal_column(_LOCK_FREE, Boolean()), _unknown)
VIEW: Final[Select[Any]] = select(
    nodes,
    seconds_since(nodes.c.heartbeat_at).label("silence"),
    _lock_free.label("lock_free"),
    _running.label("running"),
).order_by(nodes.c.started_at, nodes.c.id)
_read: Final = row_reader(NodeView, nodes.c)
REMOVE: Final = delete(nodes).where(member_of(nodes.c.id, "ids")).returning(nodes.c.id)
_has_jobs = select(jobs.c.id).where(jobs.c.node_id == nodes.c.id).exists()
_LIFE: Final = (nodes.c.id, nodes.c.name, nodes.c.host, nodes.c.pid, nodes.c.started_at)
"""The columns from which a `NodeLife` is made."""
REMOVE_DEAD: Final = delete(nodes).where(~_has_jobs, member_of(nodes.c.id, "ids")).returning(*_LIFE)
LEAVE: Final = delete(nodes).where(nodes.c.id == bindparam("node")).returning(*_LIFE)
LIVING: Final = select(*_LIFE).order_by(nodes.c.started_at)
TAKE_LOCK: Final = select(func.pg_try_advisory_lock(bindparam("key", type_=BigInteger())))


def take_lock(connection: Connection, key: int) -> bool:
    """Take a session lock until the connection ends (PostgreSQL); return False if it is taken."""
    return bool(connection.execute(TAKE_LOCK, {"key": key}).scalar_one())


SCHEDULERS: Final = (
    select(nodes.c.id)
    .where(cast(nodes.c.roles, Text()).contains('"scheduler"', autoescape=True))
    .order_by(nodes.c.id)
)


def schedulers(connection: Connection) -> list[NodeId]:
    """Return the nodes that fire schedules, including dead ones that have not been removed yet."""
    return [NodeId(row.id) for row in connection.execute(SCHEDULERS)]


def register(connection: Connection, record: NodeRecord) -> None:
    """Add the row of a new incarnation."""
    connection.execute(REGISTER, asdict(record))


def set_types(connection: Connection, node: NodeId, types: Collection[str]) -> None:
    """Store which job types a node knows now."""
    connection.execute(SET_TYPES, {"node": node, "known": json.dumps(sorted(types))})


def heartbeat(connection: Connection, node: NodeId) -> int | None:
    """Renew the heartbeat; return how many other nodes missed theirs, None if declared dead.

    A heartbeat from before the clock was set back counts as missed: the node then checks its clock.

    PostgreSQL only: on SQLite nodes hold file locks instead, and RETURNING could not use the table
    in two roles.
    """
    missing: int | None = connection.scalar(HEARTBEAT, {"node": node})
    return missing


class HelperStatements(NamedTuple):
    """The statements of a node's helper process.

    `ended`: the one to execute after the node's process has ended.
    """

    heartbeat: RawStatement
    ended: RawStatement
    lock: RawStatement | None


def helper_statements(record: NodeRecord, channel: str, news: str) -> HelperStatements:
    """Return the helper's statements; it sends `news` on the channel when the node has ended."""
    return HelperStatements(
        heartbeat=raw_statement(HEARTBEAT, node=record.id),
        ended=raw_statement(PROCESS_ENDED, node=record.id, channel=channel, news=news),
        lock=None if record.lock_key is None else raw_statement(TAKE_LOCK, key=record.lock_key),
    )


def view(connection: Connection) -> list[NodeView]:
    """Return all nodes, the oldest first."""
    return readable(nodes.name, connection.execute(VIEW).mappings(), _read)


def remove(connection: Connection, ids: Collection[NodeId]) -> set[NodeId]:
    """Delete the rows of nodes, even if they hold jobs, and return the nodes that were deleted."""
    return {NodeId(id_) for id_ in connection.scalars(REMOVE, {"ids": ids})}


def remove_dead(
    connection: Connection,
    dead: Mapping[NodeId, Death],
    job_states: Mapping[NodeId, Mapping[str, int]] = MappingProxyType({}),
) -> set[NodeId]:
    """Delete dead nodes that hold no jobs any more, and add an entry to the audit log for each.

    A rescue skips rows that are locked, for example by the last statement of a dead node. They are
    rescued with the next check, which is soon as long as the node has a row. `job_states`: the new
    states of the jobs that they held, with their numbers.
    """
    gone = connection.execute(REMOVE_DEAD, {"ids": list(dead)}).all()
    for row in gone:
        states = dict(job_states.get(row.id, {}))
        entry = {"target": row.name, "before": _life(row)}
        if dead[row.id].expected and not states:
            change_log.add(connection, {**LEFT_ENTRY, **entry})
        else:
            change_log.add(connection, {**DIED_ENTRY, **entry, "after": json.dumps(states)})
    return {NodeId(row.id) for row in gone}


def leave(connection: Connection, node: NodeId) -> None:
    """Delete the row of a node that stops in an orderly way, and add an entry to the audit log."""
    for row in connection.execute(LEAVE, {"node": node}).all():
        change_log.add(connection, {**LEFT_ENTRY, "target": row.name, "before": _life(row)})


def _life(row: Any) -> str:
    """Return the values of a node that its entry in the audit log keeps."""
    return json.dumps({**row._asdict(), "started_at": row.started_at.isoformat()})


def up_at(connection: Connection, moment: datetime) -> NodesThen:
    """Return the nodes that were up at a moment: those that live, and those that ended since."""
    ends = change_log.around(connection, [DIED_ENTRY["action"], LEFT_ENTRY["action"]], moment)
    lives = [
        *(NodeLife(**row._asdict()) for row in connection.execute(LIVING)),
        *(life for entry in ends if (life := _ended_life(entry)) is not None),
    ]
    ended = [life.ended_at for life in lives if life.ended_at is not None]
    return NodesThen(
        up=[
            life
            for life in lives
            if life.started_at <= moment and (life.ended_at is None or moment < life.ended_at)
        ],
        left_before=max((each for each in ended if each <= moment), default=None),
        came_after=min(
            (life.started_at for life in lives if life.started_at > moment), default=None
        ),
    )


def _ended_life(entry: change_log.ChangeEntry) -> NodeLife | None:
    """Return the life of a node that has ended; None for an entry that does not tell it all."""
    try:
        kept: Any = entry.before
        return NodeLife(
            id=NodeId(kept["id"]),
            name=kept["name"],
            host=kept["host"],
            pid=kept["pid"],
            started_at=datetime.fromisoformat(kept["started_at"]),
            ended_at=entry.at,
            died=entry.action == DIED_ENTRY["action"],
        )
    except (LookupError, TypeError, ValueError):
        return None


def recently_died(connection: Connection, seconds: float) -> list[DeadNode]:
    """Return the dead nodes that were removed in the last `seconds`, the latest first."""
    entries = change_log.latest(connection, DIED_ENTRY["action"], seconds)
    return [
        DeadNode(
            **{name: entry.before.get(name) for name in ("id", "name", "host", "pid")},
            died_at=entry.at,
            jobs=entry.after or {},
        )
        for entry in entries
    ]
