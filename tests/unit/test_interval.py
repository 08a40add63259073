"""Intervals: their texts, what is refused, and one step on the calendar."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from horae.domain.times.interval import Interval
from horae.errors import InvalidInterval, InvalidRequest

SECOND = 1_000_000
HOUR = 3600 * SECOND
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("30s", Interval(microseconds=30 * SECOND)),
        ("10m", Interval(microseconds=600 * SECOND)),
        ("1h30m", Interval(microseconds=5400 * SECOND)),
        ("1 hour 30 minutes", Interval(microseconds=5400 * SECOND)),
        ("90 Min", Interval(microseconds=5400 * SECOND)),
        ("1.5h", Interval(microseconds=5400 * SECOND)),
        ("0.1s", Interval(microseconds=SECOND // 10)),
        ("250ms", Interval(microseconds=SECOND // 4)),
        ("7us", Interval(microseconds=7)),
        ("24h", Interval(microseconds=24 * HOUR)),
        ("1d", Interval(days=1)),
        ("2 days", Interval(days=2)),
        ("1 week 1 day", Interval(days=8)),
        ("0.5w3.5d", Interval(days=7)),
        ("1 month", Interval(months=1)),
        ("3mo", Interval(months=3)),
        ("1 year 6 months", Interval(months=18)),
        (" 10 m ", Interval(microseconds=600 * SECOND)),
        ("PT10M", Interval(microseconds=600 * SECOND)),
        ("PT1H30M", Interval(microseconds=5400 * SECOND)),
        ("PT1,5S", Interval(microseconds=1_500_000)),
        ("P1D", Interval(days=1)),
        ("P2W", Interval(days=14)),
        ("P1M", Interval(months=1)),
        ("P1Y2M", Interval(months=14)),
        (timedelta(minutes=10), Interval(microseconds=600 * SECOND)),
        (timedelta(days=2), Interval(days=2)),
        (timedelta(days=1, hours=12), Interval(microseconds=36 * HOUR)),
        (timedelta(microseconds=1), Interval(microseconds=1)),
        (Interval(days=3), Interval(days=3)),
    ],
)
def test_texts_and_timedeltas_are_read(
    text: str | timedelta | Interval, interval: Interval
) -> None:
    assert Interval.parse(text) == interval


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0s", "'0s': it must be longer than zero"),
        ("0 days", "longer than zero"),
        ("PT0S", "longer than zero"),
        ("P", "longer than zero"),
        ("PT", "longer than zero"),
        (timedelta(0), "longer than zero"),
        ("-10m", "'-10m': it must be positive"),
        ("P-1D", "it must be positive"),
        ("1h -5m", "it must be positive"),
        (timedelta(seconds=-1), "it must be positive"),
        (timedelta(days=-2), "it must be positive"),
        ("1 month 1 day", "cannot be mixed; use one of them"),
        ("P1M1D", "cannot be mixed"),
        ("1 month 1h", "cannot be mixed; use one of them"),
        ("1 day 12 hours", "cannot be mixed; as elapsed time write 36h"),
        ("P1DT12H", "as elapsed time write 36h"),
        ("600", "it has no unit: for seconds write 600s"),
        ("1.5", "for seconds write 1.5s"),
        ("10M", "'M' is not a unit: m is minutes, mo is months"),
        ("3 fortnights", "'fortnights' is not a unit"),
        ("1h 2h", "a unit comes twice"),
        ("5m\n\n5h", "it has more than one line"),
        ("1 day\r2h", "it has more than one line"),
        ("1h 2 hours", "a unit comes twice"),
        ("0.5 days", "days are whole"),
        ("0.5 months", "months and days are whole"),
        ("0.5us", "finer than a microsecond"),
        ("101 years", "longer than 100 years"),
        ("1000000000000h", "longer than 100 years"),
        ("99999999999999999999999999 days", "longer than 100 years"),
        ("9" * 10_000 + "s", "too long"),
        ("", "cannot be read"),
        ("soon", "cannot be read"),
        ("h", "cannot be read"),
        ("1..5h", "cannot be read"),
        ("1e3s", "'e' is not a unit"),
        ("P1H", "cannot be read"),
        ("\u0661h", "cannot be read"),
        ("1\u00a0h", "cannot be read"),
        ("1 h and 5 m", "cannot be read"),
    ],
)
def test_an_unusable_interval_is_refused(text: str | timedelta, words: str) -> None:
    with pytest.raises(InvalidInterval, match=re.escape(words)):
        Interval.parse(text)


def test_a_number_without_a_unit_is_refused_with_advice() -> None:
    with pytest.raises(InvalidInterval, match="for seconds write 600s"):
        Interval.parse(600)  # type: ignore[arg-type] # what is refused


@pytest.mark.parametrize(
    "parts",
    [
        (0, 0, 0),
        (-1, 0, 0),
        (0, -1, 0),
        (0, 0, -1),
        (1, 1, 0),
        (1, 0, 1),
        (0, 1, 1),
        (1, -1, 0),
        (0, 0, 10**30),
    ],
)
def test_no_bad_interval_can_be_made_at_all(parts: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidInterval):
        Interval(*parts)


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(months=1), "1 month"),
        (Interval(months=18), "18 months"),
        (Interval(days=1), "1 day"),
        (Interval(days=14), "14 days"),
        (Interval(microseconds=24 * HOUR), "24h"),
        (Interval(microseconds=5400 * SECOND), "1h30m"),
        (Interval(microseconds=1_500_001), "1s500ms1us"),
    ],
)
def test_str_is_short(interval: Interval, text: str) -> None:
    assert str(interval) == text


def test_nominal_lengths() -> None:
    assert Interval.parse("1 month").nominal == timedelta(days=30)
    assert Interval.parse("2 days").nominal == timedelta(days=2)
    assert Interval.parse("90m").nominal == timedelta(minutes=90)


def test_a_day_later_is_the_same_time_on_the_wall_and_24_hours_are_elapsed() -> None:
    evening = datetime(2026, 3, 28, 20, tzinfo=BERLIN)  # the clocks go forward that night
    assert Interval.parse("1 day").after(evening, "Europe/Berlin") == datetime(
        2026, 3, 29, 20, tzinfo=BERLIN
    )
    assert Interval.parse("24h").after(evening, "Europe/Berlin") == datetime(
        2026, 3, 29, 21, tzinfo=BERLIN
    )
    assert Interval.parse("1 day").after(evening) == datetime(2026, 3, 29, 19, tzinfo=UTC)


def test_a_step_into_a_gap_ends_after_it_and_into_a_fold_in_its_first_pass() -> None:
    day = Interval(days=1)
    before_gap = datetime(2026, 3, 28, 2, 30, tzinfo=BERLIN)
    assert day.after(before_gap, "Europe/Berlin") == datetime(2026, 3, 29, 1, tzinfo=UTC)
    before_fold = datetime(2026, 10, 24, 2, 30, tzinfo=BERLIN)
    assert day.after(before_fold, "Europe/Berlin") == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "months", "end"),
    [
        ("2026-01-31", 1, "2026-02-28"),
        ("2028-01-31", 1, "2028-02-29"),
        ("2026-01-31", 2, "2026-03-31"),
        ("2026-11-30", 3, "2027-02-28"),
        ("2026-12-15", 1, "2027-01-15"),
        ("2024-02-29", 12, "2025-02-28"),
    ],
)
def test_months_end_at_the_last_day_of_a_shorter_one(start: str, months: int, end: str) -> None:
    moment = datetime.fromisoformat(f"{start}T12:34:56.789+00:00")
    assert (
        f"{Interval(months=months).after(moment):%Y-%m-%d %H:%M:%S.%f}" == f"{end} 12:34:56.789000"
    )


def test_a_naive_moment_and_an_unknown_zone_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="time zone"):
        Interval(days=1).after(datetime(2026, 1, 1))  # noqa: DTZ001 - what is refused
    with pytest.raises(InvalidRequest, match="unknown time zone"):
        Interval(days=1).after(datetime(2026, 1, 1, tzinfo=UTC), "Europe/Berln")
