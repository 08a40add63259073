"""`schedules.put`: adds a schedule, changes it, or finds that it is as it should be."""

from datetime import date
from typing import Any

import pytest

from horae import CronSyntaxError, InvalidRequest, ScheduleIsDeclared
from horae.client.schedules.schedules import PutSchedule
from horae.storage.engine.database import Database
from tests.harness.applications import application, rows
from tests.schedules.conftest import Version
from tests.schedules.driver import Driver
from tests.storage.arrange import at_once


def test_it_is_created_then_unchanged_then_changed(driver: Driver) -> None:
    schedules = driver.horae.schedules
    created = schedules.put("nightly", "work", cron="0 3 * * *", priority=4)
    again = schedules.put("nightly", "work", cron="0 3 * * *", priority=4)
    assert (created.outcome, again.outcome) == ("created", "unchanged")
    assert again.schedule == created.schedule

    driver.until_due("nightly")
    driver.run()
    before = driver.get("nightly")
    changed = schedules.put("nightly", "work", cron="0 3 * * *", jitter="0s")
    after = changed.schedule
    assert (changed.outcome, after.id, after.priority) == ("changed", before.id, 0)
    assert (after.next_start, after.statistics) == (before.next_start, before.statistics)

    moved = schedules.put("nightly", "work", cron="0 4 * * *").schedule
    assert moved.next_start == driver.clock.now.replace(hour=4, second=0)
    assert moved.statistics == before.statistics


def test_a_paused_schedule_stays_paused_unless_the_caller_says_otherwise(driver: Driver) -> None:
    schedules = driver.horae.schedules
    assert not schedules.put("nightly", "work", cron="0 3 * * *", enabled=False).schedule.enabled
    assert schedules.put("nightly", "work", cron="0 3 * * *").outcome == "unchanged"
    resumed = schedules.put("nightly", "work", cron="0 3 * * *", enabled=True)
    assert (resumed.outcome, resumed.schedule.enabled) == ("changed", True)
    paused = schedules.put("nightly", "work", cron="0 3 * * *", enabled=False)
    assert (paused.outcome, paused.schedule.disabled_reason) == ("changed", "paused")


def test_callers_at_the_same_time_add_one_schedule(driver: Driver) -> None:
    outcomes = at_once(
        [lambda: driver.horae.schedules.put("nightly", "work", cron="0 3 * * *")] * 4
    )
    assert sorted(put.outcome for put in outcomes if isinstance(put, PutSchedule)) == [
        "created",
        "unchanged",
        "unchanged",
        "unchanged",
    ]
    assert len(driver.horae.schedules.list()) == 1


def test_it_leaves_an_audit_entry_only_if_it_changed_something(driver: Driver) -> None:
    for priority in (1, 1, 2):
        driver.horae.schedules.put("nightly", "work", cron="0 3 * * *", priority=priority)
    assert len(rows(driver.horae, "SELECT id FROM horae_audit WHERE action = 'schedule.put'")) == 2


def test_a_declared_schedule_is_not_put(driver: Driver, version: Version) -> None:
    version(purge="0 3 * * *").deploy()
    with pytest.raises(ScheduleIsDeclared, match="'purge' is declared by module 'shop'"):
        driver.horae.schedules.put("purge", "work", cron="0 4 * * *")
    assert driver.get("purge").rules.trigger.text == "0 3 * * *"


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({}, InvalidRequest, "a schedule needs either cron"),
        ({"cron": "0 0 3 1 1 * 1999"}, CronSyntaxError, "1999"),
        ({"cron": "0 3 * * *", "when": "now"}, InvalidRequest, "no option 'when'"),
        (
            {"every": "10m", "next_start": None},
            InvalidRequest,
            "next_start is a change that is made once",
        ),
    ],
)
def test_invalid_values_are_refused(
    driver: Driver, options: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        driver.horae.schedules.put("nightly", "work", **options)
    assert driver.horae.schedules.list() == []


def test_put_asks_calendar_functions_again(database: Database) -> None:
    """The definition is the same, and so is the next start; what the function excludes is not."""
    excluded = {date(2027, 1, 1)}

    def holidays(day: date) -> bool:
        return day in excluded

    with application(database) as horae:

        @horae.job
        def work() -> None: ...

        def put() -> PutSchedule:
            return horae.schedules.put("nightly", work, cron="0 3 * * *", exclude=[holidays])

        assert put().schedule.rules.calendar_days == (date(2027, 1, 1),)
        excluded.add(date(2027, 1, 6))
        again = put()
        assert again.outcome == "unchanged"
        assert again.schedule.rules.calendar_days == (date(2027, 1, 1), date(2027, 1, 6))
