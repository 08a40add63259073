"""Forecasts by example: what runs, what overlaps, what a change adds and drops, and what clocks do."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

import pytest

from horae.domain.forecast import (
    MOST_RUNS,
    Forecast,
    ForecastSchedule,
    Peak,
    ScheduleComparison,
    compare,
    forecast,
)
from horae.domain.schedules.clock_changes import ClockSurprise, surprises_of
from horae.domain.schedules.plan import plan
from horae.domain.schedules.planning_state import Activated, ScheduleSnapshot
from horae.domain.schedules.schedule import DisabledReason, Rules
from horae.domain.schedules.tick import Decision, Reason
from horae.domain.schedules.trigger import parse_trigger
from horae.errors import InvalidRequest

START: Final = datetime(2026, 3, 2, tzinfo=UTC)
DAY: Final = timedelta(days=1)
HOUR: Final = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)


def rules(text: str, *, zone: str = "UTC", key: str = "shop.work", **options: Any) -> Rules:
    kind = "cron" if " " in text.partition(";")[0].strip() else "interval"
    return Rules(key=key, trigger=parse_trigger(kind, text, zone), **options)


def schedule(
    name: str, text: str, *, took: timedelta = timedelta(seconds=10), **options: Any
) -> ForecastSchedule:
    snapshot = ScheduleSnapshot(rules=rules(text, key=f"shop.{name}", **options))
    made = plan(snapshot, Activated(), START, Random(1))
    begun = replace(
        snapshot, last_tick=made.last_tick, next_start=made.next_start, disabled=made.disabled
    )
    return ForecastSchedule(name, begun, took)


def during(*schedules: ForecastSchedule, length: timedelta = DAY) -> Forecast:
    return forecast(schedules, START, START + length)


def starts(found: Forecast, name: str) -> list[str]:
    return [f"{run.nominal_time:%H:%M}>{run.start:%H:%M} {run.reason}" for run in found[name].runs]


def test_each_time_runs_once_when_nothing_is_in_the_way() -> None:
    found = during(schedule("hourly", "0 * * * *"))
    assert found["hourly"].decisions == {
        (Decision.FIRED, Reason.ON_TIME): 23
    }  # the period begins at a full hour
    assert found.peaks() == []


def test_a_run_that_takes_too_long_skips_times() -> None:
    found = during(schedule("slow", "*/10 * * * *", took=15 * MINUTE), length=HOUR)
    assert starts(found, "slow") == [
        "00:10>00:10 on_time",
        "00:30>00:30 on_time",
        "00:50>00:50 on_time",
    ]
    assert found["slow"].count(Decision.SKIPPED) == 2  # that of 01:00 is decided after the period


def test_a_time_waits_for_the_run_before_it() -> None:
    found = during(
        schedule("buffered", "*/10 * * * *", took=15 * MINUTE, overlap="buffer_one"), length=HOUR
    )
    assert starts(found, "buffered")[:2] == ["00:10>00:10 on_time", "00:20>00:25 buffered"]


def test_a_run_makes_way_for_the_next_one() -> None:
    found = during(
        schedule("latest", "*/10 * * * *", took=15 * MINUTE, overlap="cancel_other"), length=HOUR
    )
    assert starts(found, "latest") == [
        "00:10>00:10 on_time",
        *(f"00:{minute}>00:{minute} buffered" for minute in (20, 30, 40, 50)),
    ]
    assert [run.cancelled for run in found["latest"].runs] == [True] * 4 + [False]
    assert found["latest"].runs[0].end == found["latest"].runs[1].start


def test_an_interval_counts_from_the_finish() -> None:
    found = during(schedule("interval", "20m", took=10 * MINUTE), length=HOUR)
    assert [f"{run.start:%H:%M}" for run in found["interval"].runs] == ["00:00", "00:30"]


def test_peaks_name_what_overlaps_first_and_how_often() -> None:
    found = during(
        schedule("beside", "*/10 * * * *", took=25 * MINUTE, overlap="allow_all"),
        schedule("hourly", "0 * * * *", took=MINUTE),
        schedule("at_once", "0 * * * *", took=timedelta(0)),
        length=3 * HOUR,
    )
    both = ("beside", "hourly")
    assert found.peaks() == [
        Peak(4, START + HOUR, both, 2),
        Peak(3, START + HOUR / 2, ("beside",), 13),
    ]
    assert found.peaks(most=1) == found.peaks()[:1]


def test_the_runs_of_all_schedules_are_one_list() -> None:
    found = during(schedule("a", "30 * * * *"), schedule("b", "15 * * * *"), length=2 * HOUR)
    assert [run.schedule for run in found.runs] == ["b", "a", "b", "a"]


def test_a_schedule_whose_years_are_over_is_exhausted() -> None:
    found = during(schedule("once", "0 0 6 2 3 * 2026"))["once"]
    assert (len(found.runs), found.disabled) == (1, DisabledReason.EXHAUSTED)


def test_a_paused_schedule_does_not_run() -> None:
    nightly = schedule("nightly", "0 3 * * *")
    paused = replace(nightly, snapshot=replace(nightly.snapshot, disabled=DisabledReason.PAUSED))
    found = during(paused)["nightly"]
    assert (found.runs, found.disabled, found.disabled_at) == ((), DisabledReason.PAUSED, START)


def test_progress_grows_to_the_end() -> None:
    told: list[float] = []
    forecast(
        [schedule("one", "* * * * *"), schedule("two", "* * * * *")],
        START,
        START + DAY,
        told.append,
    )
    assert told == sorted(told)
    assert told[0] < 0.1
    assert 0.5 < told[-1] <= 1


def of_zone(text: str, zone: str, day: datetime, **options: Any) -> list[ClockSurprise]:
    return list(surprises_of("work", rules(text, zone=zone, **options), day, day + 2 * DAY))


SPRING, AUTUMN = datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "day", "expected"),
    [
        ("30 2 * * *", SPRING, "02:30 is left out: 1 run, at 03:00+02"),
        ("30 2 * * *; dst_gap=skip", SPRING, "02:30 is left out: no run"),
        ("0,30 2 * * *", SPRING, "02:00, 02:30 are left out: 1 run, at 03:00+02"),
        ("0 2,3 * * *", SPRING, "02:00 is left out: no run"),  # that of 03:00 has its own time
        ("*/30 * * * *", SPRING, "02:00, 02:30 are left out: no run"),
        ("30 2 * * *", AUTUMN, "02:30 comes twice: 1 run, at 02:30+02"),
        ("30 2 * * *; dst_fold=second", AUTUMN, "02:30 comes twice: 1 run, at 02:30+01"),
        ("30 2 * * *; dst_fold=both", AUTUMN, "02:30 comes twice: 2 runs, at 02:30+02, 02:30+01"),
        (
            "*/10 2 * * *",
            AUTUMN,
            (
                "02:00, 02:10, 02:20 and 3 more come twice: "
                "12 runs, at 02:00+02, 02:10+02, 02:20+02, 02:30+02, 02:40+02, 02:50+02 and 6 more"
            ),
        ),
    ],
)
def test_a_change_of_the_clocks_surprises(text: str, day: datetime, expected: str) -> None:
    assert [surprise.text for surprise in of_zone(text, "Europe/Berlin", day)] == [expected]


@pytest.mark.parametrize(
    ("text", "zone"), [("30 4 * * *", "Europe/Berlin"), ("30 2 * * *", "UTC"), ("10m", "UTC")]
)
def test_other_times_do_not_surprise(text: str, zone: str) -> None:
    assert of_zone(text, zone, SPRING) == []


def test_a_period_of_too_many_runs_is_refused() -> None:
    every_second = schedule("seconds", "* * * * * *")
    with pytest.raises(
        InvalidRequest, match=f"{30 * 86_400:,} runs, and {MOST_RUNS:,} are possible"
    ):
        during(every_second, length=30 * DAY)


@pytest.mark.parametrize("length", [timedelta(0), 4_000 * DAY])
def test_a_period_without_end_is_refused(length: timedelta) -> None:
    with pytest.raises(InvalidRequest, match="more than zero and at most 3660 days"):
        during(schedule("hourly", "0 * * * *"), length=length)


def test_a_negative_duration_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="duration -60s: expected zero or more"):
        schedule("hourly", "0 * * * *", took=-MINUTE)


def compared(old: str, new: str, **options: Any) -> tuple[ScheduleComparison, ...]:
    before = during(schedule("work", old), length=7 * DAY)
    after = during(schedule("work", new, **options), length=7 * DAY)
    return compare(before, after, {}).schedules


def test_the_same_schedules_do_not_differ() -> None:
    assert compared("0 * * * *", "0 * * * *") == ()


def test_another_time_of_day_drops_each_run_and_adds_another() -> None:
    (found,) = compared("0 3 * * *", "0 4 * * *")
    assert (found.same, len(found.added), len(found.dropped)) == (0, 7, 7)
    assert (found.added[0], found.dropped[0]) == (START + 4 * HOUR, START + 3 * HOUR)


def test_fewer_runs_are_dropped_and_more_are_added() -> None:
    (fewer,), (more,) = (
        compared("0 * * * *", "0 */2 * * *"),
        compared("0 */2 * * *", "0 * * * *"),
    )
    assert (fewer.added, more.dropped) == ((), ())
    assert len(fewer.dropped) == len(more.added) == 7 * 12
    assert fewer.dropped == more.added


def test_new_and_removed_schedules_add_and_drop_all_their_runs() -> None:
    before, after = during(schedule("old", "0 3 * * *")), during(schedule("new", "0 3 * * *"))
    comparison = compare(before, after, {"new": ["new: 0 3 * * *"]})
    assert (comparison.added, comparison.dropped, comparison.different) == (1, 1, True)
    assert [found.name for found in comparison.schedules] == ["new", "old"]
