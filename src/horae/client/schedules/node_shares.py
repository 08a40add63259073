"""Each node's share of the schedules, computed as the nodes do."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection

from horae.domain.cluster import PARTITIONS, Ring
from horae.domain.jobs import NodeId
from horae.storage.engine import Database
from horae.storage.nodes import nodes
from horae.storage.schedules import reading


@dataclass(frozen=True, slots=True)
class Share:
    """The share of one node: its partitions as first and second owner, and the schedules of the
    former.
    """

    node: NodeId
    name: str
    first: int
    second: int
    schedules: int

    @property
    def share(self) -> float:
        """Return the part of all partitions of which the node is the first owner."""
        return self.first / PARTITIONS


def ring_of(database: Database) -> list[Share]:
    """Return the shares of all nodes that fire schedules."""

    def read(connection: Connection) -> list[Share]:
        members = nodes.schedulers(connection)
        if not members:
            return []
        ring = Ring(members)
        names = {view.id: view.name for view in nodes.view(connection)}
        counts = reading.count_by_partition(connection)
        first, second, mine = Counter[NodeId](), Counter[NodeId](), Counter[NodeId]()
        for partition in range(PARTITIONS):
            owner, other = ring.owners(partition)
            first[owner] += 1
            second[other] += other != owner
            mine[owner] += counts.get(partition, 0)
        return [
            Share(node, names.get(node, ""), first[node], second[node], mine[node])
            for node in members
        ]

    return database.autocommit(read)


def first_shares(database: Database) -> dict[NodeId, float]:
    """Return each scheduler node's share of partitions, without counting schedules."""
    members = database.autocommit(nodes.schedulers)
    if not members:
        return {}
    ring = Ring(members)
    return {node: len(ring.first_owned_by(node)) / PARTITIONS for node in members}
