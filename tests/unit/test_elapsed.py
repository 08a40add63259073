"""Ages by two clocks of which one may be set."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.domain.elapsed import Elapsed

TEN: Final = datetime(2026, 3, 2, 10, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)
HOUR: Final = timedelta(hours=1)


def watched(*steps: tuple[datetime, float]) -> Elapsed:
    elapsed = Elapsed()
    for wall, monotonic in steps:
        elapsed.observe(wall, monotonic)
    return elapsed


def test_elapsed_time_is_unknown_before_the_first_reading() -> None:
    assert Elapsed().age(TEN, 5.0) == 0.0


def test_a_steady_clock_is_believed() -> None:
    elapsed = watched((TEN, 100.0), (TEN + 20 * SECOND, 120.0))
    assert elapsed.age(TEN + 5 * SECOND, 130.0) == 25.0
    assert elapsed.age(TEN - 60 * SECOND, 130.0) == 90.0


def test_a_clock_set_forward_adds_no_age() -> None:
    elapsed = watched((TEN, 0.0), (TEN + HOUR + 20 * SECOND, 20.0))
    assert elapsed.age(TEN + 5 * SECOND, 30.0) == 25.0
    assert elapsed.age(TEN + HOUR + 25 * SECOND, 30.0) == 5.0
    assert (
        elapsed.age(TEN + HOUR, 30.0) == 10.0
    )  # at least: it may have been just after the look before


def test_a_repeated_clock_time_counts_from_its_second_occurrence() -> None:
    elapsed = watched((TEN, 0.0), (TEN - 70 * SECOND, 20.0))
    assert elapsed.age(TEN + 5 * SECOND, 30.0) == 0.0
    assert elapsed.age(TEN - 65 * SECOND, 30.0) == 5.0


@pytest.mark.parametrize("drift", [0.9, -0.9])
def test_a_slow_drift_is_no_step(drift: float) -> None:
    elapsed = watched((TEN, 0.0), (TEN + timedelta(seconds=3600 + drift), 3600.0))
    assert elapsed.age(TEN, 3600.0) == 3600.0


def test_a_clock_set_forward_adds_to_what_must_be_older() -> None:
    elapsed = watched((TEN, 0.0), (TEN + HOUR + 20 * SECOND, 20.0))
    assert elapsed.surplus(20.0, 30.0) == 3600.0  # it ended before the step
    assert elapsed.surplus(90.0, 30.0) == 3600.0  # and before the first reading
    assert elapsed.surplus(5.0, 30.0) == 0.0
    assert elapsed.surplus(20.0, 50.0) == 0.0  # all that ended before the step is so old now


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [(TEN, 0.0)],
        [(TEN, 0.0), (TEN - HOUR, 20.0)],
        [(TEN, 0.0), (TEN + HOUR, 20.0), (TEN + 40 * SECOND, 40.0)],
    ],
)
def test_a_clock_that_is_right_again_adds_nothing(steps: list[tuple[datetime, float]]) -> None:
    assert watched(*steps).surplus(90.0, 60.0) == 0.0


@given(
    st.lists(st.tuples(st.integers(1, 100), st.integers(-7200, 7200)), max_size=6),
    st.integers(0, 6),
    st.integers(0, 99),
    st.integers(0, 10_000),
)
def test_nothing_counts_as_older_than_it_is(
    steps: list[tuple[int, int]], ends_after: int, ends_within: int, seconds: int
) -> None:
    """Seconds between two looks, and by how much the clock is set just before the later one."""
    elapsed, real, wall, end = Elapsed(), 0.0, TEN, (TEN, 0.0)
    elapsed.observe(wall, real)
    for number, (pause, step) in enumerate(steps):
        if number == ends_after:
            within = min(ends_within, pause - 1)
            end = (wall + within * SECOND, real + within)
        real += pause
        wall += (pause + step) * SECOND
        elapsed.observe(wall, real)
    if end[0] < wall - (seconds + elapsed.surplus(seconds, real)) * SECOND:
        assert real - end[1] >= seconds - 1.0


@given(
    st.lists(st.tuples(st.integers(1, 100), st.integers(-7200, 7200)), max_size=6),
    st.integers(0, 6),
    st.integers(0, 99),
)
def test_an_age_is_never_overestimated(
    steps: list[tuple[int, int]], begin_after: int, begin_within: int
) -> None:
    """Seconds between two looks, and by how much the clock is set just before the later one."""
    elapsed, real, wall, began = Elapsed(), 0.0, TEN, None
    elapsed.observe(wall, real)
    for number, (pause, step) in enumerate(steps):
        if number == begin_after:
            within = min(begin_within, pause)
            began = (wall + within * SECOND, real + within)
        real += pause
        wall += (pause + step) * SECOND
        elapsed.observe(wall, real)
    moment, at = began or (wall, real)
    assert elapsed.age(moment, real) <= real - at + 1.0
