"""Which nodes respond to a hint: as many as there are jobs and two more, whichever they are, and others each time."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.domain.cluster.responders import SPARE, responds
from horae.domain.jobs.job import NodeId

NODES = [NodeId(f"{number:016x}") for number in range(50)]


def responding(nodes: list[NodeId], seed: int, count: int) -> list[NodeId]:
    return [
        node
        for node in nodes
        if responds(node, [other for other in nodes if other != node], seed, count)
    ]


@given(st.integers(1, 50), st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_each_job_has_a_node_and_two_are_spare(size: int, seed: int, count: int) -> None:
    assert len(responding(NODES[:size], seed, count)) == min(size, count + SPARE)


@given(st.integers(0, 2**32 - 1))
def test_nodes_that_were_chosen_are_followed_by_others_when_they_are_busy(seed: int) -> None:
    first = responding(NODES, seed, 1)
    free = [node for node in NODES if node not in first]
    assert set(responding(free, seed, 1)).isdisjoint(first)


def test_hints_are_spread_over_all_nodes() -> None:
    rng = Random(1)
    counts = Counter(
        node for _ in range(1000) for node in responding(NODES, rng.getrandbits(32), 1)
    )
    mean = 1000 * (1 + SPARE) / len(NODES)
    assert len(counts) == len(NODES)
    assert 0.5 * mean < min(counts.values()) <= max(counts.values()) < 1.6 * mean


@pytest.mark.parametrize("count", [1, 2])
def test_a_node_that_knows_no_others_responds(count: int) -> None:
    assert responds(NODES[0], [], 7, count)
