"""Backfills: past nominal times are run once each, however often and by whomever they are asked for."""

import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from sqlalchemy import Connection

from horae import InvalidRequest
from horae.client.schedules import backfill as client_backfill
from horae.client.schedules.backfill import Backfill
from horae.storage.schedules import backfill
from tests.checker.__main__ import connection_to
from tests.checker.checks import Finding, check
from tests.harness.applications import rows
from tests.schedules.clock import MONDAY
from tests.schedules.driver import ENDED_BADLY, Driver
from tests.schedules.test_exclusions import run_until
from tests.storage.arrange import at_once

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def hourly(driver: Driver) -> Driver:
    """A schedule that runs at each full hour, at ten o'clock."""
    driver.horae.schedules.add("work", name="hourly", cron="0 * * * *")
    return driver


def problems_of(driver: Driver) -> list[Finding]:
    """What an outside look at the tables finds wrong with decisions and runs."""
    url = driver.database.engine.url.render_as_string(hide_password=False)
    with connection_to(url) as connection:
        return [
            found
            for found in check(connection)
            if "nominal time" in found.rule or "overlap" in found.rule
        ]


def ask(driver: Driver, start: datetime, end: datetime, **options: Any) -> Backfill:
    return driver.horae.schedules.backfill("hourly", start, end, **options)


def run_all(driver: Driver, most: int = 200) -> int:
    """Fire and run until nothing is due; the number of runs."""
    for number in range(most):
        if not driver.run(seconds=0.001):
            return number
    raise AssertionError("it does not end")


def fired(driver: Driver, reason: str = "backfill") -> list[datetime]:
    return [entry.nominal_time for entry in driver.entries("hourly") if entry.reason == reason]


def test_times_before_the_schedule_are_run_once_in_order(hourly: Driver) -> None:
    found = ask(hourly, MONDAY - 5 * HOUR, MONDAY)
    assert (found.times, found.added, found.known, found.excluded) == (5, 5, 0, 0)
    assert (found.first, found.last) == (MONDAY - 5 * HOUR, MONDAY - HOUR)
    assert hourly.get("hourly").next_start == MONDAY
    assert run_all(hourly) == 5
    assert fired(hourly) == [MONDAY - number * HOUR for number in range(5, 0, -1)]
    assert hourly.get("hourly").statistics.total_successes == 5
    assert hourly.get("hourly").next_start == MONDAY + HOUR
    assert ask(hourly, MONDAY - 5 * HOUR, MONDAY).added == 0
    assert run_all(hourly) == 0
    assert not hourly.horae.audit().findings
    run_until(hourly, "hourly", MONDAY + 2 * HOUR)
    assert not hourly.horae.audit().findings
    assert not problems_of(hourly)


def test_a_dry_run_counts_and_changes_nothing(hourly: Driver) -> None:
    before = hourly.get("hourly")
    found = ask(hourly, MONDAY - DAY, MONDAY, dry_run=True)
    assert (found.times, found.added) == (24, 24)
    assert hourly.get("hourly") == before
    assert run_all(hourly) == 0


def test_missed_times_get_a_new_decision_and_the_others_keep_theirs(hourly: Driver) -> None:
    hourly.clock.set(MONDAY + 10 * HOUR)
    run_all(hourly)
    assert hourly.ledger("hourly") == [("coalesced", 9, "catch_up"), ("fired", 1, "on_time")]
    found = ask(hourly, MONDAY + 3 * HOUR, MONDAY + 6 * HOUR)
    assert (found.times, found.added) == (3, 3)
    assert ask(hourly, MONDAY + 4 * HOUR, MONDAY + 11 * HOUR - HOUR).known == 2
    hourly.horae.schedules.undo_backfill("hourly")
    ask(hourly, MONDAY + 3 * HOUR, MONDAY + 6 * HOUR)
    assert run_all(hourly) == 3
    assert hourly.ledger("hourly") == [
        ("coalesced", 2, "catch_up"),
        ("fired", 1, "backfill"),
        ("fired", 1, "backfill"),
        ("fired", 1, "backfill"),
        ("coalesced", 4, "catch_up"),
        ("fired", 1, "on_time"),
    ]
    assert not hourly.horae.audit().findings
    assert not problems_of(hourly)


def test_requests_at_the_same_time_add_each_time_once(hourly: Driver) -> None:
    results = at_once([lambda: ask(hourly, MONDAY - DAY, MONDAY)] * 4)
    assert sorted(found.added for found in results if isinstance(found, Backfill)) == [0, 0, 0, 24]
    assert run_all(hourly) == 24
    assert len(set(fired(hourly))) == 24


def test_a_killed_backfill_is_completed_by_another_node(
    hourly: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_backfill, "BATCH", 5)
    monkeypatch.setattr("horae.client.schedules.schedules.BATCH", 5)
    add, calls = backfill.add, list[int]()

    def add_then_die(connection: Connection, schedule_id: int, times: list[datetime]) -> None:
        calls.append(len(times))
        add(connection, schedule_id, times)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(backfill, "add", add_then_die)
        with pytest.raises(KeyboardInterrupt):
            ask(hourly, MONDAY - DAY, MONDAY)
    assert calls == [5, 5, 5]
    assert hourly.run() != []
    found = ask(hourly, MONDAY - DAY, MONDAY)
    assert (found.times, found.added, found.known) == (24, 14, 10)
    assert run_all(hourly) == 23
    assert len(set(fired(hourly))) == 24
    assert rows(hourly.horae, "SELECT * FROM horae_backfill_times") == []


def test_a_backfilled_run_stays_alone_and_the_newest_time_waits(hourly: Driver) -> None:
    ask(hourly, MONDAY - 2 * HOUR, MONDAY)
    hourly.fire_due()
    (claim,) = hourly.claim()
    assert hourly.fire_due() == []
    hourly.clock.set(MONDAY + 3 * HOUR + timedelta(minutes=1))
    hourly.end(claim)
    run_all(hourly)
    assert [(entry.decision, entry.reason) for entry in hourly.entries("hourly")] == [
        ("fired", "backfill"),
        ("fired", "backfill"),
        ("skipped", "overlap"),
        ("fired", "late"),
    ]
    assert not hourly.horae.audit().findings


def test_with_allow_all_they_run_at_once(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="hourly", cron="0 * * * *", overlap="allow_all")
    ask(driver, MONDAY - 4 * HOUR, MONDAY)
    jobs = [job for _ in range(6) for job in driver.fire_due()]
    assert len(jobs) == 4
    assert driver.get("hourly").next_start == MONDAY + HOUR
    for claim in driver.claim():
        driver.end(claim)
    assert driver.get("hourly").statistics.total_successes == 4


def test_a_failing_run_does_not_end_a_backfill(hourly: Driver) -> None:
    ask(hourly, MONDAY - 3 * HOUR, MONDAY)
    for _ in range(3):
        assert len(hourly.run(ENDED_BADLY)) == 1
    assert len(fired(hourly)) == 3
    assert hourly.get("hourly").statistics.total_failures == 3
    assert hourly.get("hourly").next_start == MONDAY + HOUR


def test_excluded_times_are_left_out(hourly: Driver) -> None:
    hourly.horae.schedules.alter("hourly", exclude=[(MONDAY - DAY).date()])
    found = ask(hourly, MONDAY - DAY, MONDAY)
    assert (found.times, found.excluded) == (10, 14)
    assert run_all(hourly) == 10


def test_waiting_times_are_withdrawn(hourly: Driver) -> None:
    ask(hourly, MONDAY - 5 * HOUR, MONDAY)
    hourly.run()
    assert hourly.horae.schedules.undo_backfill("hourly") == 4
    assert (hourly.get("hourly").backfill_next, hourly.get("hourly").next_start) == (
        None,
        MONDAY + HOUR,
    )
    assert run_all(hourly) == 0


def test_withdrawing_nothing_is_allowed(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="hourly", every="1h", next_start=MONDAY + HOUR)
    before = driver.get("hourly")
    assert driver.horae.schedules.undo_backfill("hourly") == 0
    assert driver.get("hourly") == before


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize(
    "trigger", [{"cron": "30 * * * *"}, {"every": "1h", "fixed": True}, {"every": "1h"}]
)
def test_another_trigger_ends_a_backfill(hourly: Driver, trigger: Any, paused: bool) -> None:
    ask(hourly, MONDAY - 5 * HOUR, MONDAY)
    if paused:
        hourly.horae.schedules.pause("hourly")
    assert hourly.horae.schedules.alter("hourly", **trigger).backfill_next is None
    assert rows(hourly.horae, "SELECT * FROM horae_backfill_times") == []
    if paused:
        hourly.horae.schedules.resume("hourly")
    assert run_all(hourly) == (1 if trigger == {"every": "1h"} else 0)
    assert fired(hourly) == []


def test_a_pause_holds_it_and_resuming_goes_on(hourly: Driver) -> None:
    ask(hourly, MONDAY - 3 * HOUR, MONDAY)
    hourly.horae.schedules.pause("hourly")
    assert run_all(hourly) == 0
    hourly.horae.schedules.resume("hourly")
    assert run_all(hourly) == 3


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("start", "end", "options", "said"),
    [
        (
            MONDAY - DAY,
            MONDAY + HOUR,
            {},
            "in the future: the schedule itself runs the times to come",
        ),
        (MONDAY, MONDAY - DAY, {}, "which is not after its start"),
        (MONDAY - DAY, MONDAY, {"limit": 23}, "24 nominal times .* are more than the limit of 23"),
        (MONDAY - DAY, MONDAY, {"limit": 0}, "limit is 0"),
        (MONDAY - DAY, MONDAY, {"limit": 100_001}, "limit is 100,001, expected at most 100,000"),
        (datetime(2026, 3, 1), MONDAY, {}, "start .* expected a datetime with a time zone"),  # noqa: DTZ001
    ],
)
def test_an_invalid_range_is_refused(
    hourly: Driver, start: datetime, end: datetime, options: Any, said: str
) -> None:
    with pytest.raises(InvalidRequest, match=said):
        ask(hourly, start, end, **options)
    assert rows(hourly.horae, "SELECT * FROM horae_backfill_times") == []


def test_a_schedule_without_past_times_or_disabled_is_refused(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="hourly", every="1h")
    with pytest.raises(InvalidRequest, match="counted from the finish has no past times"):
        ask(driver, MONDAY - DAY, MONDAY)
    driver.horae.schedules.alter("hourly", fixed=True)
    driver.horae.schedules.pause("hourly")
    with pytest.raises(InvalidRequest, match=r"disabled \(paused\)"):
        ask(driver, MONDAY - DAY, MONDAY)
    assert datetime(2026, 3, 2, 10, tzinfo=UTC) == MONDAY


KILLED: Final = """
import os, signal, sys
from datetime import datetime
from horae import Horae
from horae.client.schedules import backfill as client, schedules
from horae.storage.schedules import backfill
client.BATCH = schedules.BATCH = 5
add, calls = backfill.add, []
def add_then_die(*arguments):
    add(*arguments)
    calls.append(1)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
backfill.add = add_then_die
horae = Horae(sys.argv[1])
horae.job(name="work")(lambda: None)
horae.schedules.backfill("hourly", *map(datetime.fromisoformat, sys.argv[2:]))
"""


def test_a_process_that_is_killed_leaves_whole_batches(hourly: Driver) -> None:
    """What its third transaction had written is rolled back; another process completes the request."""
    url = hourly.database.engine.url.render_as_string(hide_password=False)
    start, end = MONDAY - DAY, MONDAY
    command = [sys.executable, "-c", KILLED, url, start.isoformat(), end.isoformat()]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    found = ask(hourly, start, end)
    assert (found.times, found.added, found.known) == (24, 14, 10)
    assert run_all(hourly) == 24
    assert len(set(fired(hourly))) == 24
    assert not hourly.horae.audit().findings
