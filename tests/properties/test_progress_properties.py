"""Laws of progress that hold for every tree and every order of reports."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.domain.jobs.progress import Amount, Progress


class NaiveNode:
    """What a node means, said with fractions and without any haste."""

    def __init__(
        self, total: Fraction, parent: "NaiveNode | None" = None, represents: Fraction = Fraction(0)
    ) -> None:
        self.total = total
        self.parent = parent
        self.represents = represents
        self.value = self.peak = Fraction(0)
        if parent is not None and not total:
            parent.put(parent.value + represents)

    def put(self, value: Fraction) -> None:
        self.value = min(value, self.total)
        gained = max(self.value - self.peak, Fraction(0))
        self.peak += gained
        if self.parent is not None and gained:
            self.parent.put(self.parent.value + gained / self.total * self.represents)

    def may_show(self, percentage: int) -> bool:
        """Rounded up, but for a share of a percent that could be an error of rounding."""
        share = 100 * self.peak / self.total if self.total else Fraction(100)
        return ceil(share - Fraction(2, 1_000_000)) <= percentage <= ceil(share)


class Report(NamedTuple):
    """One call on the node number `node` (modulo how many there are)."""

    node: int
    verb: str
    amount: Amount
    total: Amount
    label: str | None


NODES = st.integers(0, 7)
LABELS = st.sampled_from([None, None, "a", "b"])


def amounts(highest: int) -> st.SearchStrategy[Amount]:
    return st.one_of(
        st.integers(0, highest),
        st.fractions(0, highest, max_denominator=30),
        st.floats(0, highest).map(lambda amount: round(amount, 3)),
    )


AMOUNTS = amounts(40)
# Small steps in large totals, else most of a play would happen in nodes that are full already.
REPORTS = st.one_of(
    st.builds(Report, NODES, st.just("child"), AMOUNTS, AMOUNTS, LABELS),
    st.builds(Report, NODES, st.just("increment"), amounts(3), AMOUNTS, LABELS),
    st.builds(Report, NODES, st.just("increment"), amounts(3), AMOUNTS, LABELS),
    st.builds(Report, NODES, st.just("set"), AMOUNTS, AMOUNTS, LABELS),
    st.builds(Report, NODES, st.just("finish"), AMOUNTS, AMOUNTS, LABELS),
)


@st.composite
def plays(draw: st.DrawFn) -> list[Report]:
    """A small tree first, so that steps have somewhere to go, then anything anywhere."""
    sizes = st.integers(1, 40)
    child = st.builds(Report, NODES, st.just("child"), sizes, sizes, LABELS)
    return draw(st.lists(child, max_size=5)) + draw(st.lists(REPORTS, max_size=40))


def exact(amount: Amount) -> Fraction:
    return Fraction(str(amount))


def play(nodes: list[Progress], report: Report) -> None:
    node = nodes[report.node % len(nodes)]
    match report.verb:
        case "child":
            nodes.append(node.child(report.amount, report.total))
        case "increment":
            node.increment(report.amount, report.label)
        case "set":
            node.set(report.amount, report.label)
        case _:
            node.finish(report.label)


def play_naively(nodes: list[NaiveNode], report: Report) -> None:
    node = nodes[report.node % len(nodes)]
    match report.verb:
        case "child":
            nodes.append(NaiveNode(exact(report.total), node, exact(report.amount)))
        case "increment":
            node.put(node.value + exact(report.amount))
        case "set":
            node.put(exact(report.amount))
        case _:
            node.put(node.total)


@pytest.mark.slow
@settings(max_examples=300)
@given(AMOUNTS, plays())
def test_a_tree_shows_what_exact_fractions_say(total: Amount, reports: Sequence[Report]) -> None:
    nodes, naive = [Progress(total)], [NaiveNode(exact(total))]
    for report in reports:
        play(nodes, report)
        play_naively(naive, report)
        assert all(
            model.may_show(node.percentage) for node, model in zip(nodes, naive, strict=True)
        )


@given(AMOUNTS, plays())
def test_there_is_an_event_for_every_change_and_for_nothing_else(
    total: Amount, reports: Sequence[Report]
) -> None:
    events: list[tuple[int, str | None]] = [(0, None)]
    root = Progress(total, on_change=lambda shown, label: events.append((shown, label)))
    nodes, expected = [root], [(0, None), (root.percentage, root.label)]
    for report in reports:
        play(nodes, report)
        expected.append((root.percentage, root.label))
    changes = [new for old, new in pairwise(expected) if new != old]
    assert events[1:] == changes


@given(AMOUNTS, plays())
def test_shown_progress_never_falls_or_leaves_the_range(
    total: Amount, reports: Sequence[Report]
) -> None:
    nodes = [Progress(total)]
    for report in reports:
        before = [node.percentage for node in nodes]
        play(nodes, report)
        after = [node.percentage for node in nodes]
        assert all(old <= new for old, new in zip(before, after, strict=False))
        assert all(0 <= percentage <= 100 for percentage in after)


@given(plays())
def test_every_report_passes_one_checkpoint(reports: Sequence[Report]) -> None:
    calls: list[int] = []
    nodes = [Progress(checkpoint=lambda: calls.append(1))]
    for report in reports:
        calls.clear()
        play(nodes, report)
        assert len(calls) == (report.verb != "child" or not report.total)


@given(st.data(), st.integers(1, 100), st.lists(st.integers(1, 60), min_size=1, max_size=8))
def test_finished_children_add_up_to_exactly_their_share(
    data: st.DataObject, whole: int, totals: list[int]
) -> None:
    weights = [data.draw(st.integers(1, 50)) for _ in totals]
    root = Progress()
    children = [
        root.child(Fraction(whole * weight, sum(weights)), total)
        for weight, total in zip(weights, totals, strict=True)
    ]
    steps = [child for child, total in zip(children, totals, strict=True) for _ in range(total)]
    for child in data.draw(st.permutations(steps)) if len(steps) < 50 else steps:
        child.increment()
    assert root.percentage == whole


Increments = list[tuple[int, Amount]]


def total_after(shares: list[tuple[Amount, Amount]], increments: Increments) -> list[int]:
    root = Progress(60)
    nodes = [root, *(root.child(represents, total) for represents, total in shares)]
    nodes.append(nodes[-1].child(3, 7))
    for index, amount in increments:
        nodes[index % len(nodes)].increment(amount)
    return [node.percentage for node in nodes]


@given(
    st.lists(st.tuples(AMOUNTS, AMOUNTS), max_size=5),
    st.lists(st.tuples(st.integers(0, 7), AMOUNTS), max_size=30),
    st.integers(0, 2**32),
)
def test_the_order_of_increments_does_not_matter(
    shares: list[tuple[Amount, Amount]], increments: Increments, seed: int
) -> None:
    shuffled = Random(seed).sample(increments, len(increments))
    assert total_after(shares, shuffled) == total_after(shares, increments)


@given(st.integers(0, 300), AMOUNTS, st.fractions(0, 100, max_denominator=20))
def test_a_loop_ends_at_exactly_its_share(items: int, before: Amount, represents: Fraction) -> None:
    root = Progress(200)
    root.increment(before)
    assert list(root.track(range(items), represents=represents)) == list(range(items))
    assert root.percentage == ceil((exact(before) + represents) / 2)
