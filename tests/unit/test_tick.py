"""Decisions about times that passed, by example; counting of times, and the hashed delay."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.domain.schedules.schedule import CatchUp, Overlap, Rules
from horae.domain.schedules.tick import (
    ON_TIME_WITHIN,
    REASONS,
    Decision,
    Reason,
    Ticks,
    judge_late,
    judge_overlapped,
    passed_over,
)
from horae.domain.schedules.timeline import Timeline
from horae.domain.schedules.trigger import parse_trigger

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTELY = parse_trigger("cron", "* * * * *")
EVERY_SECOND = parse_trigger("cron", "* * * * * *")
WEEK = timedelta(days=7)
JITTER_OF_NOON, JITTER_OF_ONE = 23_665_122, 14_917_244

Row = tuple[int, int, int, str, str]
NO_ROWS: list[Row] = []


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def minutely(**options: Any) -> Rules:
    return Rules(key="shop.purge", trigger=MINUTELY, **options)


def row(tick: Ticks) -> Row:
    """First and last in minutes after noon, count, decision and reason."""
    first, last = ((moment - NOON) // minutes(1) for moment in (tick.first, tick.last))
    return (first, last, tick.count, tick.decision.value, tick.reason.value)


def late(passed: timedelta, **options: Any) -> tuple[list[Row], int]:
    rules = minutely(**options)
    judgement = judge_late(rules, Timeline.of(rules), NOON, NOON + passed)
    return [row(tick) for tick in judgement.dropped], judgement.kept


def overlapped(waited: timedelta, ran: timedelta, **options: Any) -> tuple[list[Row], int]:
    rules = minutely(**options)
    started = NOON + waited
    judgement = judge_overlapped(rules, Timeline.of(rules), NOON, started, started + ran)
    return [row(tick) for tick in judgement.dropped], judgement.kept


def test_last_runs_once_for_all_that_was_late() -> None:
    assert late(minutes(5.5)) == ([(1, 4, 4, "coalesced", "catch_up")], 1)
    assert late(minutes(1.5)) == ([], 1)
    assert late(minutes(0.5)) == ([], 0)


def test_a_window_is_for_the_last_one() -> None:
    assert late(minutes(5.5), catch_up_window=timedelta(seconds=40)) == (
        [(1, 4, 4, "coalesced", "catch_up")],
        1,
    )
    assert late(minutes(5.5), catch_up_window=timedelta(seconds=20)) == (
        [(1, 5, 5, "missed", "window")],
        0,
    )


def test_catch_up_none_runs_only_punctual_times() -> None:
    options = {"catch_up": CatchUp.NONE}
    assert late(minutes(5) + ON_TIME_WITHIN, **options) == (
        [(1, 5, 5, "missed", "catch_up_none")],
        0,
    )
    assert late(minutes(5) + ON_TIME_WITHIN - timedelta(microseconds=1), **options) == (
        [(1, 4, 4, "missed", "catch_up_none")],
        1,
    )


def test_catch_up_none_runs_once_for_all_punctual_times() -> None:
    rules = Rules(key="shop.purge", trigger=EVERY_SECOND, catch_up=CatchUp.NONE)
    judgement = judge_late(rules, Timeline.of(rules), NOON, NOON + timedelta(seconds=100))
    assert [(tick.count, tick.reason) for tick in judgement.dropped] == [
        (70, "catch_up_none"),
        (29, "late"),
    ]
    assert judgement.kept == 1


def test_all_runs_what_is_within_the_window_and_the_limit() -> None:
    options = {"catch_up": CatchUp.ALL, "catch_up_limit": 3, "catch_up_window": minutes(8)}
    assert late(minutes(2.5), **options) == ([], 2)
    assert late(minutes(5.5), **options) == ([(1, 2, 2, "missed", "limit")], 3)
    assert late(minutes(20), **options) == (
        [(1, 12, 12, "missed", "window"), (13, 17, 5, "missed", "limit")],
        3,
    )


def test_a_week_of_seconds_is_one_range() -> None:
    rules = Rules(key="shop.purge", trigger=EVERY_SECOND)
    (tick,) = judge_late(rules, Timeline.of(rules), NOON, NOON + WEEK).dropped
    assert tick.count == 7 * 86_400 - 1
    assert (tick.first, tick.last) == (
        NOON + timedelta(seconds=1),
        NOON + WEEK - timedelta(seconds=1),
    )


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        (Overlap.SKIP, ([(1, 4, 4, "skipped", "overlap")], 0)),
        (Overlap.BUFFER_ONE, ([(1, 3, 3, "coalesced", "overlap")], 1)),
        (Overlap.CANCEL_OTHER, ([(1, 3, 3, "coalesced", "overlap")], 1)),
        (Overlap.TERMINATE_OTHER, ([(1, 3, 3, "coalesced", "overlap")], 1)),
        (Overlap.BUFFER_ALL, ([(1, 1, 1, "missed", "limit")], 3)),
        (Overlap.ALLOW_ALL, (NO_ROWS, 4)),
    ],
)
def test_a_run_of_four_periods(overlap: Overlap, expected: tuple[list[Row], int]) -> None:
    assert overlapped(timedelta(0), minutes(4.5), overlap=overlap, catch_up_limit=3) == expected
    assert overlapped(timedelta(0), minutes(0.5), overlap=overlap) == ([], 0)


def test_a_backlog_keeps_its_length_through_an_overrun() -> None:
    options = {"catch_up": CatchUp.ALL}
    assert overlapped(minutes(3), minutes(2.5), **options) == ([(1, 2, 2, "skipped", "overlap")], 3)
    assert overlapped(minutes(3), minutes(0.5), **options) == ([], 3)
    one = {"catch_up": CatchUp.ALL, "overlap": Overlap.BUFFER_ONE}
    assert overlapped(minutes(3), minutes(2.5), **one) == ([(1, 2, 2, "coalesced", "overlap")], 3)


def test_a_pause_skips_every_time_as_one_range() -> None:
    (tick,) = passed_over(Timeline.of(minutely()), NOON, NOON + minutes(10), Reason.PAUSED)
    assert row(tick) == (1, 10, 10, "skipped", "paused")
    assert passed_over(Timeline.of(minutely()), NOON, NOON, Reason.PAUSED) == ()


def test_every_reason_belongs_to_a_decision() -> None:
    assert set(REASONS) == set(Decision)
    assert frozenset[Reason]().union(*REASONS.values()) == set(Reason)


def test_jitter_is_the_same_for_everybody_and_differs_by_time_and_schedule() -> None:
    """The figures are the same in every process and version: nodes must agree on a start."""
    nominal = NOON + timedelta(hours=1)
    timeline = Timeline.of(minutely(jitter=timedelta(seconds=30)))
    assert timeline.start_of(nominal) - nominal == timedelta(microseconds=JITTER_OF_ONE)
    assert timeline.start_of(NOON) - NOON == timedelta(microseconds=JITTER_OF_NOON)
    other = Rules(key="shop.bill", trigger=MINUTELY, jitter=timedelta(seconds=30))
    assert Timeline.of(other).start_of(NOON) != timeline.start_of(NOON)


def test_jitter_never_reaches_the_next_time() -> None:
    timeline = Timeline.of(minutely(jitter=timedelta(days=1)))
    moment = NOON
    for _ in range(500):
        following = timeline.after(moment)
        assert following is not None
        assert moment <= timeline.start_of(moment) < following
        moment = following


def test_jitter_of_the_very_last_time_has_no_next_one() -> None:
    trigger = parse_trigger("cron", "0 0 0 31 12 * 2099")
    timeline = Timeline.of(Rules(key="shop.purge", trigger=trigger, jitter=timedelta(days=3)))
    last = timeline.after(NOON)
    assert last is not None
    assert last < timeline.start_of(last) < last + timedelta(days=3)
    assert timeline.next_start_past(NOON, last + timedelta(days=4)) is None


def test_a_time_is_due_at_its_start_not_before() -> None:
    timeline = Timeline.of(minutely(jitter=timedelta(seconds=30)))
    start = timeline.start_of(NOON + minutes(1))
    assert timeline.due(NOON, start - timedelta(microseconds=1)) == 0
    assert timeline.due(NOON, start) == 1


def test_both_passes_of_a_fold_are_times_of_their_own() -> None:
    trigger = parse_trigger("cron", "30 2 * * *; dst_fold=both", "Europe/Berlin")
    timeline = Timeline.of(Rules(key="shop.purge", trigger=trigger))
    mark = datetime(2026, 10, 25, tzinfo=UTC)
    assert timeline.count(mark, mark + timedelta(days=1)) == 2
    assert timeline.nth(mark, 2, mark + timedelta(days=1)) == datetime(
        2026, 10, 25, 1, 30, tzinfo=UTC
    )


@pytest.mark.parametrize("text", ["20s; fixed", "1 day; fixed", "1 month; fixed"])
def test_points_of_a_grid_are_counted_from_any_moment(text: str) -> None:
    timeline = Timeline.of(Rules(key="shop.purge", trigger=parse_trigger("interval", text)))
    until = NOON + timedelta(days=700)
    count = timeline.count(NOON, until)
    assert timeline.nth(NOON, count, until) <= until
    assert timeline.after(timeline.nth(NOON, count, until)) == timeline.after(until)


def test_a_grid_that_begins_later_has_no_points_yet() -> None:
    trigger = parse_trigger("interval", "1s; fixed; initial_start=2026-01-01T13:00:00+00:00")
    timeline = Timeline.of(Rules(key="shop.purge", trigger=trigger))
    hour = NOON + timedelta(hours=1)
    assert timeline.count(NOON, hour - timedelta(seconds=1)) == 0
    assert timeline.count(NOON, hour) == 1
    assert timeline.count(NOON, hour + timedelta(seconds=99)) == 100
    assert timeline.nth(NOON, 1, hour) == hour
