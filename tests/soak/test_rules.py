"""Each rule of the soak holds for figures that stay flat, and is broken by figures that do not."""

from collections.abc import Callable, Sequence
from typing import Final

import pytest

from benchmarks.soak import rules
from benchmarks.soak.measures import Measures, Point, Series
from benchmarks.soak.rules import Allowance, Bounds, PickUp, Verdict, Window

WINDOW: Final = Window(20.0, 120.0)
BOUNDS: Final = Bounds()


def series(figure: str, value: Callable[[float], float], subject: str = "steady 1") -> Series:
    return Series(figure, subject, "MB", [Point(at, value(at)) for at in range(0, 120, 2)])


def growth(figure: str, value: Callable[[float], float]) -> Verdict:
    return rules.growth(series(figure, value), WINDOW, BOUNDS.growth[figure])


@pytest.mark.parametrize("figure", BOUNDS.growth)
class TestGrowth:
    def test_a_flat_figure_holds(self, figure: str) -> None:
        assert growth(figure, lambda _: 100.0).kept

    def test_a_figure_that_grows_past_its_allowance_is_broken(self, figure: str) -> None:
        allowed = BOUNDS.growth[figure].at(100.0)
        assert growth(figure, lambda at: 100.0 + 3 * allowed * at / WINDOW.length).kept is False

    def test_a_peak_does_not_count(self, figure: str) -> None:
        assert growth(figure, lambda at: 1_000_000.0 if 60 <= at <= 70 else 100.0).kept

    def test_the_warm_up_does_not_count(self, figure: str) -> None:
        assert growth(figure, lambda at: min(at, 20.0) * 1000).kept

    def test_few_values_are_not_judged(self, figure: str) -> None:
        few = Series(figure, "", "", [Point(at, at * 1000) for at in (30.0, 60.0, 90.0)])
        assert rules.growth(few, WINDOW, BOUNDS.growth[figure]).kept is None


def test_a_process_that_started_late_has_a_warm_up_of_its_own() -> None:
    late = Series(
        "memory", "killed 2", "MB", [Point(at, min(at - 40, 20) * 10) for at in range(40, 120, 2)]
    )
    assert rules.growth(late, WINDOW, Allowance(16, 0.1)).kept


def test_processes_that_were_soon_killed_are_left_out_and_tables_are_not() -> None:
    measures = Measures()
    for at in (30.0, 31.0):
        measures.add(at, "memory", "killed 1", 100, "MB")
        measures.add(at, "rows", "horae_jobs", 100, "")
    assert [verdict.subject for verdict in rules.growths(measures, WINDOW, BOUNDS, {})] == [
        "horae_jobs"
    ]


@pytest.mark.parametrize(("rows", "kept"), [(7, True), (8, False)])
def test_a_table_of_changes_may_have_one_row_for_each(rows: int, kept: bool) -> None:
    measures = Measures()
    measures.add(30.0, "rows", "horae_audit", rows, "")
    [verdict] = rules.growths(measures, WINDOW, BOUNDS, {"horae_audit": 7})
    assert verdict.kept is kept


def waits(first: float, last: float) -> list[PickUp]:
    middle = (WINDOW.start + WINDOW.end) / 2
    return [PickUp(at, first if at < middle else last) for at in range(20, 120)]


class TestPickUp:
    def test_equal_waits_hold(self) -> None:
        assert [verdict.kept for verdict in rules.pick_ups(waits(0.01, 0.01), WINDOW, BOUNDS)] == [
            True,
            True,
        ]

    def test_waits_that_get_longer_are_broken(self) -> None:
        assert [verdict.kept for verdict in rules.pick_ups(waits(0.01, 1.0), WINDOW, BOUNDS)] == [
            False,
            False,
        ]

    def test_only_late_jobs_that_get_later_break_the_late_one(self) -> None:
        found = waits(0.01, 0.01) + [PickUp(100.0, 3.0)] * 3
        assert [verdict.kept for verdict in rules.pick_ups(found, WINDOW, BOUNDS)] == [True, False]

    def test_few_jobs_are_not_judged(self) -> None:
        assert [
            verdict.kept for verdict in rules.pick_ups(waits(0.01, 9.0)[::10], WINDOW, BOUNDS)
        ] == [None, None]


def ends(first: int, last: int) -> list[float]:
    spans = ((first, WINDOW.third(0)), (last, WINDOW.third(2)))
    return [
        start + number * (end - start) / count
        for count, (start, end) in spans
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("created", "ended", "kept"),
    [
        ((100, 100), (100, 100), True),
        ((100, 50), (100, 50), True),
        ((100, 100), (100, 74), False),
        ((9, 9), (9, 0), False),
    ],
)
def test_the_rate(created: tuple[int, int], ended: tuple[int, int], kept: bool) -> None:
    assert rules.rate(ends(*created), ends(*ended), WINDOW, BOUNDS).kept is kept


@pytest.mark.parametrize(
    ("seconds", "kept"),
    [([], None), ([1.0, 2.0], True), ([1.0, 9.9, 10.1], False), ([float("inf")], False)],
)
def test_durations(seconds: Sequence[float], kept: bool | None) -> None:
    verdict = rules.longest("end after SIGTERM", [(f"node {each}", each) for each in seconds], 10.0)
    assert verdict.kept is kept
    assert verdict.subject == (f"node {max(seconds)}" if seconds else "")


def test_the_patience_factor_multiplies_only_times() -> None:
    patient = BOUNDS.with_patience(3.0)
    assert (patient.ends_within, patient.rescued_within) == (30.0, 45.0)
    assert patient.growth == BOUNDS.growth
    assert [verdict.kept for verdict in rules.pick_ups(waits(0.01, 0.065), WINDOW, BOUNDS)] == [
        False,
        True,
    ]
    assert [verdict.kept for verdict in rules.pick_ups(waits(0.01, 0.065), WINDOW, patient)] == [
        True,
        True,
    ]


@pytest.mark.parametrize(("problems", "kept"), [([], True), (["job 7 is lost"], False)])
def test_findings(problems: Sequence[str], kept: bool) -> None:
    verdict = rules.none_of("outside checker", problems)
    assert verdict.kept is kept
    assert all(problem in verdict.figure for problem in problems)
