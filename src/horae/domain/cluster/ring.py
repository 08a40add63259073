"""Who looks after which schedules: a ring of nodes, on which each partition has two owners.

A schedule hashes into one of 1,024 partitions, and the ring gives each partition two nodes. It is
a function of the set of node ids alone, so nodes that know of each other agree without a word. It
only saves work: the guarded start and the unique tick decide, whoever believes to own what.

- Every partition rates the nodes by a hash of both. Its owners are the two that it rates highest,
  unless one is full with partitions that rate it higher still; then it goes on to its next choice.
  The result does not depend on any order (Gale and Shapley's deferred acceptance).
- No node has more than 1.25 times the mean of partitions, as first owner or altogether.
- When a node leaves, its partitions pass to their second owner, which has their schedules loaded
  already, and a third becomes the second. So when one of n nodes comes or goes about 2/n of the
  partitions change an owner, which is as few as can be, and at most 3/n: it may have been one that
  had 1.25 times the mean, and an even load has its own price where there are many nodes.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b, shake_128
from heapq import heappush, heappushpop
from struct import Struct
from typing import Final, TypeAlias

from horae.domain.jobs.job import NodeId
from horae.errors import InvalidRequest

PARTITIONS: Final = 1024
GREATEST_LOAD: Final = 1.25
"""The load of a node, as a multiple of the mean, that the ring keeps below."""

_SCORES: Final = Struct(f">{PARTITIONS}I")

_Scores: TypeAlias = Sequence[int]
_Pair: TypeAlias = tuple[int, int]


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
    scores = [_SCORES.unpack(shake_128(node.encode()).digest(_SCORES.size)) for node in nodes]
    # Ties go to the node that sorts first: sorting is stable, also in reverse.
    choices = [sorted(range(len(nodes)), key=row.__getitem__, reverse=True) for row in zip(*scores, strict=True)]
    capacity = max(int(GREATEST_LOAD * PARTITIONS / len(nodes)), 1)
    while (pairs := _assigned(scores, choices, 2 * capacity)) is None:
        capacity += 1  # only two or three nodes of the most uneven ids could need it
    _level(pairs, len(nodes), capacity)
    return tuple((nodes[first], nodes[second]) for first, second in pairs)


def _assigned(scores: Sequence[_Scores], choices: Sequence[Sequence[int]], capacity: int) -> list[_Pair] | None:
    """Find each partition two nodes, the better one first; None if that is impossible.

    Partitions propose to nodes in the order of their choice, twice and after each refusal once; a
    full node keeps the highest scores.
    """
    held: list[list[tuple[int, int]]] = [[] for _ in scores]
    proposals = [iter(choice) for choice in choices]
    for newcomer in range(PARTITIONS):
        asking = [newcomer, newcomer]
        while asking:
            partition = asking.pop()
            node = next(proposals[partition], None)
            if node is None:
                return None
            proposal = (scores[node][partition], partition)
            if len(held[node]) < capacity:
                heappush(held[node], proposal)
            else:
                asking.append(heappushpop(held[node], proposal)[1])
    accepted = [set[int]() for _ in range(PARTITIONS)]
    for node, kept in enumerate(held):
        for _, partition in kept:
            accepted[partition].add(node)
    return [_in_order(choice, nodes) for choice, nodes in zip(choices, accepted, strict=True)]


def _in_order(choice: Sequence[int], nodes: set[int]) -> _Pair:
    first, second = (node for node in choice if node in nodes)
    return first, second


def _level(pairs: list[_Pair], count: int, capacity: int) -> None:
    """Swap first and second owners until no node is first of more than `capacity`.

    It always can be: no node is in more than twice as many pairs.
    """
    led: list[set[int]] = [set() for _ in range(count)]
    for partition, (first, _) in enumerate(pairs):
        led[first].add(partition)
    for node in range(count):
        while len(led[node]) > capacity:
            for partition in _way_to_room(pairs, led, node, capacity):
                first, second = pairs[partition]
                pairs[partition] = (second, first)
                led[first].remove(partition)
                led[second].add(partition)


def _way_to_room(pairs: Sequence[_Pair], led: Sequence[set[int]], start: int, capacity: int) -> Iterator[int]:
    """Find the shortest chain of partitions from a node to one that has room; yields it backwards."""
    reached_by: dict[int, int] = {}
    nodes = deque([start])
    node = start
    while len(led[node := nodes.popleft()]) >= capacity:
        for partition in sorted(led[node]):
            second = pairs[partition][1]
            if second != start and second not in reached_by:
                reached_by[second] = partition
                nodes.append(second)
    while node != start:
        partition = reached_by[node]
        node = pairs[partition][0]
        yield partition
