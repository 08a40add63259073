"""Which nodes look after which schedules: rendezvous hashing with a bound on the load of each node.

A schedule hashes into one of 1,024 partitions, and each partition has two owners among the live
nodes. The owners follow from the set of node ids alone, so nodes that know the same members agree
without communicating. The ring only saves work: the guarded start and the unique tick prevent
double runs, whatever nodes believe they own.

- Every partition ranks the nodes by a hash of both ids (rendezvous hashing). Its first owner is the
  highest-ranked node that is not full, its second owner the next one that is not full.
- A node is full at 1.25 times the mean number of partitions, as first owner and in total. The
  partitions are assigned in the order of their numbers, so the result is the same on every node.
- When a node leaves, nearly all its partitions pass to their second owner, which has their
  schedules loaded already, and a third node becomes the second owner. When one of n nodes joins or
  leaves, about 2/n of the partitions change an owner, which is the minimum, and rarely more than
  3/n: the load bound moves a few more where there are many nodes.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b, shake_128
from struct import Struct
from typing import Final

from horae.domain.jobs import NodeId
from horae.errors import InvalidRequest

PARTITIONS: Final = 1024
"""Number of partitions; a change would move every schedule to other nodes."""
GREATEST_LOAD: Final = 1.25
"""The upper bound of a node's load, as a multiple of the mean load."""

_SCORES: Final = Struct(f">{PARTITIONS}I")


def partition_of(key: str) -> int:
    """Hash a schedule's key to a partition, 0 to 1023; the same in every process and version."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) % PARTITIONS


class Ring:
    """The owners of all partitions for one set of nodes.

    Raises `InvalidRequest` for an empty set.
    """

    __slots__ = ("_owners",)

    def __init__(self, nodes: Iterable[NodeId]) -> None:
        members = sorted(frozenset(nodes))
        if not members:
            raise InvalidRequest("a ring needs at least one node")
        self._owners: Final = _owners(members)

    def owners(self, partition: int) -> tuple[NodeId, NodeId]:
        """Return the two owners of a partition; they differ if there are at least two nodes."""
        return self._owners[partition]

    def partitions_of(self, node: NodeId) -> frozenset[int]:
        """Return the partitions of which a node is an owner; empty if it is not on the ring."""
        return frozenset([partition for partition, pair in enumerate(self._owners) if node in pair])

    def first_owned_by(self, node: NodeId) -> frozenset[int]:
        """Return the partitions whose first owner is this node; empty if it is not on the ring."""
        return frozenset(
            [partition for partition, (first, _) in enumerate(self._owners) if first == node]
        )


def _owners(nodes: Sequence[NodeId]) -> tuple[tuple[NodeId, NodeId], ...]:
    if len(nodes) == 1:
        return ((nodes[0], nodes[0]),) * PARTITIONS
    scores = [_SCORES.unpack(shake_128(node.encode()).digest(_SCORES.size)) for node in nodes]
    # For each partition the nodes by their index, best first. On equal scores the smaller id wins:
    # sorting is stable, also in reverse.
    rankings = [
        sorted(range(len(nodes)), key=row.__getitem__, reverse=True)
        for row in zip(*scores, strict=True)
    ]
    most_first, most_in_total = _most(PARTITIONS, len(nodes)), _most(2 * PARTITIONS, len(nodes))
    owned = [0] * len(nodes)
    firsts = [_assign(ranking, owned, most_first) for ranking in rankings]
    seconds = [
        _assign([node for node in ranking if node != first], owned, most_in_total)
        for ranking, first in zip(rankings, firsts, strict=True)
    ]
    return tuple(
        (nodes[first], nodes[second]) for first, second in zip(firsts, seconds, strict=True)
    )


def _most(places: int, nodes: int) -> int:
    """Return the load at which a node is full; never below the mean, because 900 nodes cannot share
    1,024 places evenly.
    """
    return max(int(GREATEST_LOAD * places / nodes), -(-places // nodes))


def _assign(ranking: Sequence[int], owned: list[int], most: int) -> int:
    """Assign the partition to its best node with fewer than `most`, or to the best of all."""
    chosen = next((node for node in ranking if owned[node] < most), ranking[0])
    owned[chosen] += 1
    return chosen
