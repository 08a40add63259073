"""Who looks after which schedules: a ring of nodes, on which each partition has two owners.

A schedule hashes into one of 1,024 partitions, and the ring gives each partition two nodes. It is
a function of the set of node ids alone, so nodes that know of each other agree without a word. It
only saves work: the guarded start and the unique tick decide, whoever believes to own what.

- Every partition rates the nodes by a hash of both. It goes to the node it rates highest, unless
  that one is full with partitions that rate it higher still; then to its next choice. The result
  does not depend on any order (Gale and Shapley's deferred acceptance).
- No node is the first owner of more than 1.25 times the mean, nor the second: so for both together.
- When a node leaves, its partitions pass to their next choice, usually their second owner, which
  has their schedules loaded already. When one of n comes or goes about 2/n of the partitions change
  an owner, the least that is possible; with many nodes the even load costs more, in random trials
  up to 2.9/n for 50 nodes.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b, shake_128
from heapq import heappush, heappushpop
from struct import Struct
from typing import Final

from horae.domain.job import NodeId
from horae.errors import InvalidRequest

PARTITIONS: Final = 1024
GREATEST_LOAD: Final = 1.25
"""The load of a node, as a multiple of the mean, that the ring keeps below."""

_SCORES: Final = Struct(f">{PARTITIONS}I")

_Scores = Sequence[int]


def partition_of(key: str) -> int:
    """Hash a schedule's key into 0 to 1023; the same in every process and version."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) % PARTITIONS


class Ring:
    """The owners of all partitions for one set of nodes; raises `InvalidRequest` for an empty one."""

    __slots__ = ("_owners", "_partitions", "nodes")

    def __init__(self, nodes: Iterable[NodeId]) -> None:
        self.nodes: Final = frozenset(nodes)
        if not self.nodes:
            raise InvalidRequest("a ring needs at least one node")
        self._owners: Final = _owners(sorted(self.nodes))
        owned: dict[NodeId, list[int]] = {node: [] for node in self.nodes}
        for partition, pair in enumerate(self._owners):
            for node in set(pair):
                owned[node].append(partition)
        self._partitions: Final = {node: frozenset(partitions) for node, partitions in owned.items()}

    def owners(self, partition: int) -> tuple[NodeId, NodeId]:
        """The first and the second owner of a partition; they differ if there are two nodes."""
        return self._owners[partition]

    def partitions_of(self, node: NodeId) -> frozenset[int]:
        """The partitions that a node is first or second owner of; none if it is not on the ring."""
        return self._partitions.get(node, frozenset())


def _owners(nodes: Sequence[NodeId]) -> tuple[tuple[NodeId, NodeId], ...]:
    if len(nodes) == 1:
        return ((nodes[0], nodes[0]),) * PARTITIONS
    scores = [_scores_of(node) for node in nodes]
    # Ties go to the node that sorts first: sorting is stable, also in reverse.
    choices = [sorted(range(len(nodes)), key=row.__getitem__, reverse=True) for row in zip(*scores, strict=True)]
    firsts = _evenly_assigned(scores, choices)
    others = [[node for node in choice if node != first] for choice, first in zip(choices, firsts, strict=True)]
    seconds = _evenly_assigned(scores, others)
    return tuple((nodes[first], nodes[second]) for first, second in zip(firsts, seconds, strict=True))


def _scores_of(node: NodeId) -> _Scores:
    """How much each partition likes a node: one long hash is far faster than 1,024 short ones."""
    return _SCORES.unpack(shake_128(node.encode()).digest(_SCORES.size))


def _evenly_assigned(scores: Sequence[_Scores], choices: Sequence[Sequence[int]]) -> list[int]:
    """Give each partition a node of its choices, within the greatest load if that is possible."""
    capacity = max(int(GREATEST_LOAD * PARTITIONS / len(scores)), 1)
    while (assigned := _assigned(scores, choices, capacity)) is None:
        capacity += 1  # more nodes than partitions, or three nodes with freak ids
    return assigned


def _assigned(scores: Sequence[_Scores], choices: Sequence[Sequence[int]], capacity: int) -> list[int] | None:
    """Let partitions propose to nodes, which keep the highest scores; None if one finds no node."""
    held: list[list[tuple[int, int]]] = [[] for _ in scores]
    proposals = [iter(choice) for choice in choices]
    for newcomer in range(PARTITIONS):
        partition = newcomer
        while partition >= 0:
            node = next(proposals[partition], None)
            if node is None:
                return None
            partition = _propose(held[node], (scores[node][partition], partition), capacity)
    owner_of = {partition: node for node, kept in enumerate(held) for _, partition in kept}
    return [owner_of[partition] for partition in range(PARTITIONS)]


def _propose(held: list[tuple[int, int]], proposal: tuple[int, int], capacity: int) -> int:
    """Offer a partition to a node; the answer is the partition that it turns away, or -1."""
    if len(held) < capacity:
        heappush(held, proposal)
        return -1
    return heappushpop(held, proposal)[1]
