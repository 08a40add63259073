"""The live nodes that claim the same jobs; their ids decide which ones respond to a hint."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Text, bindparam, cast, func, or_, select

from horae.domain.cluster import CELERY_WORKER, NodeRole
from horae.domain.jobs import NodeId
from horae.storage.engine import seconds_from_now
from horae.storage.jobs import nodes


@dataclass(frozen=True, slots=True)
class LivePeers:
    """Live workers.

    `alike`: those with the same job types and queues as the one that asks; `informed`: those with
    the same types.
    """

    alike: Sequence[NodeId] = ()
    informed: int = 1


_own = nodes.alias("own")
_types, _own_types = cast(nodes.c.types, Text()), cast(_own.c.types, Text())
_queues, _own_queues = cast(nodes.c.queues, Text()), cast(_own.c.queues, Text())
PEERS: Final = (
    select(
        nodes.c.id, (func.coalesce(_queues, "") == func.coalesce(_own_queues, "")).label("alike")
    )
    .join(_own, _own_types == _types)
    .where(
        _own.c.id == bindparam("node"),
        or_(
            *(
                cast(nodes.c.roles, Text()).contains(f'"{role}"', autoescape=True)
                for role in (NodeRole.WORKER, CELERY_WORKER)
            )
        ),
        # A node that has been silent for longer is not expected to respond.
        nodes.c.heartbeat_at > seconds_from_now(-5.0),
    )
)


def peers_of(connection: Connection, node: NodeId) -> LivePeers:
    """Return the live workers that know the job types of this one, itself included (PostgreSQL)."""
    rows = connection.execute(PEERS, {"node": node}).all()
    return LivePeers([NodeId(row.id) for row in rows if row.alike], max(1, len(rows)))
