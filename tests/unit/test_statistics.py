"""The crash protocol of the run statistics, step by step."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from horae.domain.schedules.statistics import RunOutcome, Statistics

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=10)
FRESH = Statistics()


def run(statistics: Statistics, outcome: RunOutcome, *, others: int = 0) -> Statistics:
    return statistics.started().ended(outcome, LATER, began=NOON, others=others)


def test_a_start_is_committed_as_a_crash() -> None:
    assert FRESH.started() == Statistics(total_runs=1, total_crashes=1, consecutive_crashes=1)


def test_an_end_takes_the_crash_back() -> None:
    assert run(FRESH, RunOutcome.SUCCEEDED) == Statistics(
        last_start=NOON,
        last_finish=LATER,
        last_successful_finish=LATER,
        last_run_success=True,
        total_runs=1,
        total_successes=1,
        total_duration=timedelta(minutes=10),
    )
    assert run(FRESH, RunOutcome.FAILED) == Statistics(
        last_start=NOON,
        last_finish=LATER,
        last_run_success=False,
        total_runs=1,
        total_failures=1,
        total_duration_failures=timedelta(minutes=10),
        consecutive_failures=1,
    )


def test_a_crash_that_is_found_changes_no_count() -> None:
    started = FRESH.started()
    found = replace(started, last_start=NOON, last_finish=LATER, last_run_success=False)
    assert started.ended(RunOutcome.CRASHED, LATER, began=NOON) == found


def test_a_cancelled_run_is_a_failure_in_no_streak() -> None:
    failed_twice = run(run(FRESH, RunOutcome.FAILED), RunOutcome.FAILED)
    cancelled = run(failed_twice, RunOutcome.CANCELLED)
    assert (cancelled.total_failures, cancelled.consecutive_failures) == (3, 2)
    assert cancelled.last_run_success is False
    assert run(FRESH, RunOutcome.CANCELLED).streak() == 0


def test_failures_and_crashes_in_turn_are_one_streak() -> None:
    statistics = FRESH
    for length, outcome in enumerate(
        ["crashed", "failed", "crashed", "crashed", "failed"], start=1
    ):
        statistics = run(statistics, RunOutcome(outcome))
        assert statistics.streak() == length
    assert statistics.consecutive_failures == 5
    assert run(statistics, RunOutcome.CRASHED).consecutive_crashes == 1
    assert run(statistics, RunOutcome.CRASHED).consecutive_failures == 5  # a crash leaves them
    assert run(statistics, RunOutcome.SUCCEEDED).streak() == 0


def test_a_cancel_keeps_the_crashes_before_it_in_the_streak() -> None:
    crashed = run(FRESH, RunOutcome.CRASHED)
    assert run(crashed, RunOutcome.CANCELLED).streak() == 1


@pytest.mark.parametrize(
    "before", [[], ["succeeded"], ["failed", "crashed"], ["crashed", "cancelled"]]
)
def test_a_run_that_never_began_was_none(before: list[str]) -> None:
    statistics = FRESH
    for outcome in before:
        statistics = run(statistics, RunOutcome(outcome))
    assert run(statistics, RunOutcome.UNCOUNTED) == replace(statistics, last_finish=LATER)


def test_a_run_that_never_began_leaves_the_open_ones() -> None:
    two = (
        FRESH.started().started().started().ended(RunOutcome.UNCOUNTED, LATER, began=NOON, others=2)
    )
    assert (two.total_runs, two.total_crashes, two.streak(running=2)) == (2, 2, 0)
    resumed = run(FRESH, RunOutcome.CRASHED).started().resumed()
    assert resumed.ended(RunOutcome.UNCOUNTED, LATER, began=NOON).streak() == 0


def test_open_runs_are_no_crashes() -> None:
    three = FRESH.started().started().started()
    assert three.streak(running=3) == 0
    two = three.ended(RunOutcome.FAILED, LATER, began=NOON, others=2)
    assert (two.consecutive_failures, two.consecutive_crashes, two.streak(running=2)) == (1, 2, 1)
    one = two.ended(RunOutcome.SUCCEEDED, LATER, began=NOON, others=1)
    assert (one.streak(running=1), one.consecutive_crashes) == (0, 1)
    assert one.ended(RunOutcome.CRASHED, LATER, began=NOON).streak() == 1


def test_a_run_that_outlasts_a_resume_counts_once() -> None:
    resumed = run(FRESH, RunOutcome.FAILED).started().resumed()
    assert resumed.streak() == 0
    assert resumed.ended(RunOutcome.FAILED, LATER, began=NOON).streak() == 1
    assert resumed.ended(RunOutcome.CRASHED, LATER, began=NOON).streak() == 1
    assert resumed.ended(RunOutcome.CANCELLED, LATER, began=NOON).streak() == 0


def test_the_last_start_is_that_of_the_last_body() -> None:
    parallel = FRESH.started().started().ended(RunOutcome.SUCCEEDED, LATER, began=LATER, others=1)
    assert parallel.ended(RunOutcome.SUCCEEDED, LATER, began=NOON).last_start == LATER
    clock_set_back = parallel.ended(RunOutcome.SUCCEEDED, NOON, began=NOON)
    assert clock_set_back.last_start == NOON


def test_a_clock_that_steps_back_gives_no_negative_duration() -> None:
    assert FRESH.started().ended(
        RunOutcome.SUCCEEDED, NOON, began=LATER
    ).total_duration == timedelta(0)


def test_readers_see_when_the_last_body_began() -> None:
    ended = run(FRESH, RunOutcome.SUCCEEDED)
    assert ended.started().without_open(1, None) == ended
    assert ended.started().without_open(1, LATER) == replace(ended, last_start=LATER)
