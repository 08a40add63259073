"""Laws of the ring for every set of nodes."""

from collections import Counter
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from horae.domain.cluster.ring import GREATEST_LOAD, PARTITIONS, Ring, partition_of
from horae.domain.jobs.job import NodeId

# 2.0 / n on average up to ten nodes; 2.9 / n was the most in 2,000 random rings of 3 to 50 nodes, and more is rare.
MOST_MOVED = 3.5

node_ids = st.text(min_size=1, max_size=40).map(NodeId)


def random_nodes(count: int, seed: int) -> list[NodeId]:
    rng = Random(seed)
    return [NodeId(f"{rng.getrandbits(128):032x}") for _ in range(count)]


rings = st.builds(random_nodes, st.integers(3, 50), st.integers(0, 2**32))


@settings(max_examples=40)
@given(st.one_of(rings, st.lists(node_ids, min_size=3, max_size=50, unique=True)))
def test_the_load_is_even(nodes: list[NodeId]) -> None:
    ring = Ring(nodes)
    firsts = Counter(ring.owners(partition)[0] for partition in range(PARTITIONS))
    mean = PARTITIONS / len(nodes)
    assert max(firsts.values()) <= GREATEST_LOAD * mean
    assert max(len(ring.partitions_of(node)) for node in nodes) <= GREATEST_LOAD * 2 * mean


@settings(max_examples=40)
@given(st.integers(2, 49), st.integers(0, 2**32))
@example(45, 526)  # 3.06 / n
def test_few_partitions_move_when_a_node_joins_or_leaves(count: int, seed: int) -> None:
    *stay, newcomer = random_nodes(count + 1, seed)
    fewer, more = Ring(stay), Ring([*stay, newcomer])
    moved = sum(
        set(fewer.owners(partition)) != set(more.owners(partition))
        for partition in range(PARTITIONS)
    )
    assert moved <= MOST_MOVED / (count + 1) * PARTITIONS


@settings(max_examples=30)
@given(st.data(), st.lists(node_ids, min_size=1, max_size=12, unique=True))
def test_owners_are_two_and_the_same_in_any_order(data: st.DataObject, nodes: list[NodeId]) -> None:
    ring, other = Ring(nodes), Ring(data.draw(st.permutations(nodes)))
    for partition in range(PARTITIONS):
        pair = ring.owners(partition)
        assert pair == other.owners(partition)
        assert set(pair) <= set(nodes)
        assert len(set(pair)) == min(len(nodes), 2)
        assert all((partition in ring.partitions_of(node)) == (node in pair) for node in nodes)


@settings(max_examples=20)
@given(st.integers(3, 12), st.integers(0, 2**32))
def test_a_node_that_leaves_is_mostly_followed_by_its_second(count: int, seed: int) -> None:
    nodes = random_nodes(count, seed)
    before, after = Ring(nodes), Ring(nodes[1:])
    led = [partition for partition in range(PARTITIONS) if before.owners(partition)[0] == nodes[0]]
    followed = [
        partition for partition in led if after.owners(partition)[0] == before.owners(partition)[1]
    ]
    assert len(followed) >= 0.75 * len(led)


@given(st.text())
@example("shop.purge_sessions")
def test_a_key_has_a_partition(key: str) -> None:
    assert 0 <= partition_of(key) < PARTITIONS
    assert partition_of(key) == partition_of(key)
