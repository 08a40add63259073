"""Which live nodes run jobs of a type and queue, and how many of their slots are free.

A node that was killed keeps its row until another one removes it, and the last one keeps it until
there is another. So a row alone is no sign of life: on PostgreSQL the heartbeat is asked as well,
and on SQLite the lock that the process holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, and_, func, select, true

from horae.domain.cluster import Capabilities, LivenessLimits
from horae.domain.jobs import BULK_QUEUE, BULK_TYPE, NodeId, WaitReason
from horae.storage.engine import (
    LOCK_SUFFIX,
    SQLITE,
    PerDatabase,
    is_abandoned,
    readable,
    seconds_from_now,
    side_car_path,
)
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.tables import jobs, nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveNode(Capabilities):
    """A node that lives, with its slots. `running`: the number of jobs that it holds."""

    id: NodeId
    concurrency: int
    running: int

    @property
    def free(self) -> int:
        """The number of its free slots."""
        return max(0, self.concurrency - self.running)


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Live nodes that claim the same jobs.

    `free`: their free slots; `slots`: all of their slots.
    """

    scope: ClaimScope
    free: int
    slots: int


_beats = and_(
    nodes.c.heartbeat_at > seconds_from_now(-LivenessLimits().silence), ~nodes.c.process_ended
)
_running = select(func.count()).where(jobs.c.node_id == nodes.c.id).scalar_subquery()
LIVE: Final = select(
    nodes.c.id,
    nodes.c.roles,
    nodes.c.queues,
    nodes.c.types,
    nodes.c.concurrency,
    _running.label("running"),
).where(PerDatabase(_beats, true()))

WHY_NOT: Final[Mapping[WaitReason, str]] = {
    WaitReason.NO_NODE: "no node runs jobs",
    WaitReason.UNKNOWN_TYPE: "no node that runs knows its type",
    WaitReason.UNSERVED_QUEUE: "no node that runs and knows its type serves its queue",
}


def live_nodes(connection: Connection) -> list[LiveNode]:
    """Return the nodes that live; a row that no node has written is left out."""
    rows = connection.execute(LIVE).mappings()
    found = readable(nodes.name, rows, lambda row: LiveNode(**row))
    if connection.dialect.name != SQLITE:
        return found
    locks = side_car_path(connection.engine, "nodes")
    return [node for node in found if not is_abandoned(locks / f"{node.id}{LOCK_SUFFIX}")]


def why_no_node(connection: Connection, job_type: str, queue: str) -> str | None:
    """Return why no running node would ever start a job of this type and queue, or None."""
    reason = reason_of(live_nodes(connection), job_type, queue)
    return None if reason is None else WHY_NOT[reason]


def reason_of(live: Sequence[Capabilities], job_type: str, queue: str) -> WaitReason | None:
    """Return why none of these nodes would ever start a job of this type and queue, or None."""
    workers = [node for node in live if node.is_worker]
    if not workers:
        return WaitReason.NO_NODE
    if not any(node.knows(job_type) for node in workers):
        return WaitReason.UNKNOWN_TYPE
    if not any(node.can_run(job_type, queue) for node in workers):
        return WaitReason.UNSERVED_QUEUE
    return None


def serving(live: Sequence[LiveNode], job_type: str, queue: str) -> list[Serving]:
    """Return the nodes that run jobs of this type and queue, those together that are alike."""
    alike: dict[tuple[Any, ...], list[LiveNode]] = {}
    for node in live:
        if node.can_run(job_type, queue):
            served = None if node.queues is None else tuple(sorted(node.queues))
            alike.setdefault((tuple(sorted(node.types)), served), []).append(node)
    kinds = [
        Serving(
            scope=ClaimScope(
                node=of_kind[0].id,
                types=(*types, BULK_TYPE),
                queues=None if queues is None else (*queues, BULK_QUEUE),
            ),
            free=sum(node.free for node in of_kind),
            slots=sum(node.concurrency for node in of_kind),
        )
        for (types, queues), of_kind in alike.items()
    ]
    # Few applications have more kinds of nodes.
    return sorted(kinds, key=lambda kind: (-kind.free, -kind.slots))[:5]
