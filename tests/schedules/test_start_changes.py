"""Changes of the next start that are made once: skip the next time, or start at another one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae import InvalidRequest
from horae.domain.schedules.statistics import Statistics
from tests.schedules.clock import MONDAY
from tests.schedules.driver import ENDED_BADLY, Driver
from tests.schedules.test_exclusions import run_until

HOUR = timedelta(hours=1)
ELEVEN = MONDAY + HOUR


@pytest.fixture
def hourly(driver: Driver) -> Driver:
    """A schedule that runs at each full hour, at ten o'clock."""
    driver.horae.schedules.add("work", name="hourly", cron="0 * * * *")
    return driver


def test_exactly_the_next_time_is_skipped(hourly: Driver) -> None:
    for _ in range(2):
        view = hourly.horae.schedules.skip_next("hourly")
        assert (view.next_start, view.wakes_at) == (ELEVEN + HOUR, ELEVEN)
        assert [(tick.first, tick.reason) for tick in view.skips()] == [(ELEVEN, "requested")]
    run_until(hourly, "hourly", MONDAY + 3 * HOUR)
    assert hourly.ledger("hourly") == [
        ("skipped", 1, "requested"),
        ("fired", 1, "on_time"),
        ("fired", 1, "on_time"),
    ]
    assert hourly.get("hourly").change is None
    assert not hourly.horae.audit().findings


def test_a_skip_is_undone(hourly: Driver) -> None:
    hourly.horae.schedules.skip_next("hourly")
    view = hourly.horae.schedules.undo_skip("hourly")
    assert (view.next_start, view.change, view.skips()) == (ELEVEN, None, [])
    run_until(hourly, "hourly", ELEVEN)
    assert hourly.ledger("hourly") == [("fired", 1, "on_time")]


def test_while_a_run_executes_the_time_after_it_is_skipped(hourly: Driver) -> None:
    hourly.until_due("hourly")
    hourly.fire_due()
    (claim,) = hourly.claim()
    hourly.horae.schedules.skip_next("hourly")
    hourly.clock.advance(seconds=10)
    hourly.end(claim)
    run_until(hourly, "hourly", MONDAY + 3 * HOUR)
    assert hourly.ledger("hourly") == [
        ("fired", 1, "on_time"),
        ("skipped", 1, "requested"),
        ("fired", 1, "on_time"),
    ]


def test_a_skipped_time_is_not_confused_with_a_retry(hourly: Driver) -> None:
    hourly.until_due("hourly")
    hourly.run(ENDED_BADLY)
    hourly.horae.schedules.skip_next("hourly")
    run_until(hourly, "hourly", MONDAY + 2 * HOUR)
    assert hourly.ledger("hourly") == [("fired", 1, "on_time"), ("skipped", 1, "requested")]


def test_the_next_start_moves_forward_once(hourly: Driver) -> None:
    start = ELEVEN - timedelta(minutes=20)
    view = hourly.horae.schedules.alter("hourly", next_start=start)
    assert (view.next_start, view.upcoming(3)) == (start, [start, ELEVEN + HOUR, ELEVEN + 2 * HOUR])
    run_until(hourly, "hourly", MONDAY + 2 * HOUR)
    assert hourly.ledger("hourly") == [
        ("fired", 1, "moved"),
        ("skipped", 1, "replaced"),
        ("fired", 1, "on_time"),
    ]
    assert hourly.entries("hourly")[0].nominal_time == start
    assert not hourly.horae.audit().findings


def test_the_next_start_moves_on_once_and_the_times_until_then_are_skipped(hourly: Driver) -> None:
    start = MONDAY + timedelta(hours=3, minutes=30)
    view = hourly.horae.schedules.alter("hourly", next_start=start)
    assert view.upcoming(2) == [start, MONDAY + 4 * HOUR]
    run_until(hourly, "hourly", MONDAY + 4 * HOUR)
    assert hourly.ledger("hourly") == [
        ("skipped", 1, "replaced"),
        ("skipped", 1, "replaced"),
        ("skipped", 1, "replaced"),
        ("fired", 1, "moved"),
        ("fired", 1, "on_time"),
    ]
    assert not hourly.horae.audit().findings


def test_a_moved_start_waits_for_a_run_by_hand(hourly: Driver) -> None:
    start = MONDAY + timedelta(minutes=20)
    hourly.horae.schedules.alter("hourly", next_start=start)
    hourly.horae.schedules.run_now("hourly")
    (claim,) = hourly.claim()
    hourly.clock.set(start + timedelta(minutes=5))
    assert hourly.fire_due() == []
    hourly.end(claim)
    assert len(hourly.run()) == 1
    assert [reason for _, _, reason in hourly.ledger("hourly")] == ["manual", "moved"]


def test_a_moved_start_is_undone(hourly: Driver) -> None:
    hourly.horae.schedules.alter("hourly", next_start=MONDAY + 5 * HOUR)
    assert hourly.horae.schedules.undo_skip("hourly").next_start == ELEVEN
    assert hourly.horae.schedules.alter("hourly", next_start=MONDAY).next_start == MONDAY


def test_a_new_schedule_may_start_at_another_time(driver: Driver) -> None:
    start = MONDAY + timedelta(minutes=5)
    added = driver.horae.schedules.add(
        "work", name="grid", every="1h", fixed=True, next_start=start
    )
    assert added.upcoming(2) == [start, MONDAY + 2 * HOUR]


def test_an_interval_from_the_finish_skips_its_next_time(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="often", every="10m", next_start=ELEVEN)
    view = driver.horae.schedules.skip_next("often")
    assert (view.next_start, view.wakes_at) == (ELEVEN + timedelta(minutes=10), ELEVEN)
    run_until(driver, "often", ELEVEN + timedelta(minutes=10))
    assert driver.ledger("often") == [("skipped", 1, "requested"), ("fired", 1, "on_time")]
    assert driver.get("often").statistics.total_runs == 1
    assert not driver.horae.audit().findings


def test_new_times_and_a_pause_end_a_change(hourly: Driver) -> None:
    hourly.horae.schedules.skip_next("hourly")
    assert hourly.horae.schedules.alter("hourly", cron="30 * * * *").change is None
    hourly.horae.schedules.skip_next("hourly")
    hourly.horae.schedules.pause("hourly")
    resumed = hourly.horae.schedules.resume("hourly")
    assert (resumed.change, resumed.next_start) == (None, MONDAY + timedelta(minutes=30))


@pytest.mark.parametrize("change", ["skip_next", "next_start"])
def test_a_disabled_schedule_has_no_next_start_to_change(hourly: Driver, change: str) -> None:
    schedules: Any = hourly.horae.schedules
    schedules.pause("hourly")
    with pytest.raises(
        InvalidRequest, match=rf"{change} has no effect on a schedule that is disabled \(paused\)"
    ):
        schedules.skip_next("hourly") if change == "skip_next" else schedules.alter(
            "hourly", next_start=ELEVEN
        )


def test_while_an_interval_executes_its_next_time_is_unknown(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="often", every="10m")
    driver.until_due("often")
    driver.fire_due()
    with pytest.raises(InvalidRequest, match="the next time is counted from its end"):
        driver.horae.schedules.skip_next("often")


def test_skipping_leaves_the_statistics_alone(hourly: Driver) -> None:
    hourly.horae.schedules.skip_next("hourly")
    run_until(hourly, "hourly", ELEVEN)
    assert hourly.get("hourly").statistics == Statistics()
    assert hourly.get("hourly").last_tick == datetime(2026, 3, 2, 11, tzinfo=UTC)
