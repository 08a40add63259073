"""The ring of nodes: its edges, and that every version gives the same answer."""

from collections import Counter

import pytest

from horae.domain.cluster.ring import PARTITIONS, Ring, partition_of
from horae.domain.jobs.job import NodeId
from horae.errors import InvalidRequest

GOLDEN_PARTITIONS = [291, 187, 692]
GOLDEN_OWNERS = "bccabccbacabbccabaacbaac"

A, B, C = NodeId("a"), NodeId("b"), NodeId("c")


def test_a_single_node_owns_everything_twice() -> None:
    ring = Ring([A])
    assert {ring.owners(partition) for partition in range(PARTITIONS)} == {(A, A)}
    assert ring.partitions_of(A) == frozenset(range(PARTITIONS))


def test_two_nodes_both_own_every_partition() -> None:
    ring = Ring([A, B])
    assert {ring.owners(partition) for partition in range(PARTITIONS)} == {(A, B), (B, A)}
    assert ring.partitions_of(A) == ring.partitions_of(B) == frozenset(range(PARTITIONS))


def test_a_ring_needs_a_node() -> None:
    with pytest.raises(InvalidRequest):
        Ring([])


def test_a_node_that_is_not_on_the_ring_owns_nothing() -> None:
    assert Ring([A, B]).partitions_of(C) == frozenset()


def test_a_node_counts_once() -> None:
    once, twice = Ring([A, B]), Ring([A, B, A])
    assert all(once.owners(each) == twice.owners(each) for each in range(PARTITIONS))


def test_two_versions_of_the_program_agree() -> None:
    """Changing these figures makes two versions disagree about who owns what during a rolling update."""
    assert [partition_of(key) for key in ("shop.purge", "shop.bill", "")] == GOLDEN_PARTITIONS
    ring = Ring([A, B, C])
    assert (
        "".join(node for partition in range(12) for node in ring.owners(partition)) == GOLDEN_OWNERS
    )


def test_more_nodes_than_partitions_have_one_each_at_most() -> None:
    ring = Ring([NodeId(str(number)) for number in range(PARTITIONS + 100)])
    firsts = Counter(ring.owners(partition)[0] for partition in range(PARTITIONS))
    assert max(firsts.values()) == 1
