"""The count under a progress node: whole steps, scales that change, and moves that are not shown."""

from fractions import Fraction

import pytest

from horae.domain.jobs.progress_arithmetic import ExactCount


def count(total: int, parent: ExactCount | None = None, represents: int = 0) -> ExactCount:
    return ExactCount(Fraction(total), parent, Fraction(represents))


def advance(node: ExactCount, amount: Fraction) -> bool:
    steps = node.steps(amount)
    return node.move(node.value + steps)


def test_only_a_move_that_changes_the_percentage_is_shown() -> None:
    root = count(1000)
    assert [root.move(value) for value in (1, 2, 10, 11, 12, 20, 21)] == [
        True,
        False,
        False,
        True,
        False,
        False,
        True,
    ]


def test_a_finer_scale_of_the_parent_reaches_its_own_parent() -> None:
    root = count(100)
    middle = count(10, root, 50)
    advance(middle, Fraction(1))
    advance(count(3, middle, 1), Fraction(1))
    assert Fraction(root.value, root.scale) == 5 + Fraction(5, 3)


def test_a_finer_scale_of_the_parent_reaches_its_other_children() -> None:
    root = count(100)
    first, second = count(3, root, 10), count(7, root, 10)
    for _ in range(2):
        advance(first, Fraction(1))
        advance(second, Fraction(1))
    assert Fraction(root.value, root.scale) == Fraction(20, 3) + Fraction(20, 7)


def test_the_next_shown_value_follows_the_scale() -> None:
    root = count(100)
    advance(root, Fraction(1, 1000))
    advance(root, Fraction(999, 1000))
    assert (root.value, root.scale) == (1000, 1000)
    assert not root.move(root.value + root.steps(Fraction(0)))
    assert advance(root, Fraction(1, 3))  # the thousandths are dropped: 101 is past 100 thirds
    assert root.percentage == 2


@pytest.mark.parametrize("back", [Fraction(3), Fraction(7, 2)])
def test_a_coarser_scale_keeps_the_value_and_the_peak(back: Fraction) -> None:
    root = count(100)
    for value in (Fraction(11, 2), back, back + Fraction(1, 3)):
        root.move(root.steps(value))
    assert Fraction(root.value, root.scale) == back + Fraction(1, 3)
    assert Fraction(root.peak, root.scale) == Fraction(11, 2)


def test_a_whole_peak_does_not_round_the_value() -> None:
    root = count(100)
    root.move(root.steps(Fraction(6)))
    root.move(root.steps(Fraction(11, 2)))
    steps = root.steps(Fraction(1, 3))
    assert Fraction(root.value + steps, root.scale) == Fraction(11, 2) + Fraction(1, 3)


def test_totals_of_many_children_do_not_pile_up_in_the_scale() -> None:
    root = count(1000)
    for total in range(1, 1001):
        child = count(total, root, 1)
        advance(child, Fraction(1))
        child.move(child.limit)
        assert root.scale <= total
    assert root.percentage == 100
