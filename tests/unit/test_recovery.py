"""When a schedule starts again after a failure or a crash."""

from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest
from typing_extensions import override

from horae.domain.backoff import Growth
from horae.domain.schedules.recovery import CRASH_WAIT, failure_delay, start_after_crash
from horae.domain.times.interval import Interval
from horae.errors import InvalidRequest

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Middle(Random):
    """Draws the middle, so that the nominal delay shows."""

    @override
    def randint(self, a: int, b: int) -> int:
        return (a + b) // 2


class Lowest(Random):
    """Draws the lower end."""

    @override
    def randint(self, a: int, b: int) -> int:
        return a


class Highest(Random):
    """Draws the upper end."""

    @override
    def randint(self, a: int, b: int) -> int:
        return b


def nominal(failures: int, retry: str, interval: str, growth: Growth = "exponential") -> timedelta:
    return failure_delay(
        failures, Interval.parse(retry), Interval.parse(interval), growth, Middle()
    )


@pytest.mark.parametrize(
    ("growth", "minutes"),
    [
        ("exponential", [1, 2, 4, 8, 16, 32, 50, 50]),
        ("linear", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("constant", [1, 1, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_the_wait_grows_to_five_intervals(growth: Growth, minutes: list[int]) -> None:
    waits = [nominal(failures, "1m", "10m", growth) for failures in range(1, 9)]
    assert waits == [timedelta(minutes=each) for each in minutes]


def test_a_linear_wait_stops_growing_after_twenty_steps() -> None:
    assert nominal(20, "1m", "1h", "linear") == timedelta(minutes=20)
    assert nominal(21, "1m", "1h", "linear") == timedelta(minutes=20)
    assert nominal(20, "1m", "1m", "linear") == timedelta(minutes=5)


def test_a_retry_period_longer_than_five_intervals_is_cut() -> None:
    assert nominal(1, "1h", "1m") == timedelta(minutes=5)
    assert nominal(1, "1h", "1 month") == timedelta(hours=1)
    assert nominal(99, "1h", "1 month") == timedelta(days=150)


@pytest.mark.parametrize(("failures", "minutes"), [(1, 8), (2, 16), (99, 50)])
def test_jitter_is_an_eighth_either_way_even_at_the_cap(failures: int, minutes: int) -> None:
    retry, interval = Interval.parse("8m"), Interval.parse("10m")
    low = failure_delay(failures, retry, interval, "exponential", Lowest())
    high = failure_delay(failures, retry, interval, "exponential", Highest())
    assert low == timedelta(minutes=minutes) * 7 / 8
    assert high == timedelta(minutes=minutes) * 9 / 8


def test_a_failure_is_counted_from_one() -> None:
    with pytest.raises(InvalidRequest):
        nominal(0, "1m", "10m")


def test_waits_are_elapsed_time_through_a_change_of_the_clocks() -> None:
    finish = datetime(2026, 10, 25, 2, 58, tzinfo=ZoneInfo("Europe/Berlin"))  # first pass
    instant = datetime(2026, 10, 25, 0, 58, tzinfo=UTC)
    assert start_after_crash(finish, finish).astimezone(UTC) == instant + CRASH_WAIT


def test_a_crashed_schedule_waits_five_minutes_after_the_scheduler_has_started() -> None:
    started = NOON
    assert start_after_crash(NOON, started) == NOON + timedelta(minutes=5)
    assert start_after_crash(NOON - timedelta(days=1), started) == NOON + timedelta(minutes=5)
    later = NOON + timedelta(hours=1)
    assert start_after_crash(later, started) == later
