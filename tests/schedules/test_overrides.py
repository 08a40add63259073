"""What is changed of a declared schedule at run time survives deployments, and can be taken back."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from horae import InvalidRequest
from tests.schedules.conftest import Version
from tests.schedules.driver import Driver
from tests.storage.arrange import at_once


def test_a_change_survives_a_deployment_that_changes_another_schedule(
    driver: Driver, version: Version
) -> None:
    shop = version(purge="0 3 * * *", bill="0 4 * * *")
    shop.deploy()
    shop.schedules.alter("purge", cron="0 5 * * *", priority=7)
    shop.schedules.alter("purge", overlap="buffer_one")
    before = driver.get("purge")
    assert before.overrides == {
        "trigger": {"kind": "cron", "text": "0 3 * * *", "timezone": "UTC"},
        "priority": 0,
        "overlap": "skip",
    }

    assert version(purge="0 3 * * *", bill="30 4 * * *").deploy().changed
    after = driver.get("purge")
    assert (after.rules, after.priority, after.next_start) == (before.rules, 7, before.next_start)
    assert after.overrides == before.overrides
    assert driver.get("bill").rules.trigger.text == "30 4 * * *"
    assert driver.get("bill").overrides == {}


def test_a_new_declaration_of_a_field_counts_and_the_other_fields_stay_changed(
    driver: Driver, version: Version
) -> None:
    shop = version(purge={"cron": "0 3 * * *", "queue": "slow"})
    shop.deploy()
    shop.schedules.alter("purge", priority=7, queue="fast", timezone="Europe/Berlin")
    shop = version(purge={"cron": "0 3 * * *", "queue": "slower"})
    shop.deploy()
    purge = driver.get("purge")
    assert (purge.queue, purge.priority, purge.rules.trigger.timezone) == (
        "slower",
        7,
        "Europe/Berlin",
    )
    assert purge.overrides.keys() == {"priority", "trigger"}


def test_reset_undoes_the_changes(driver: Driver, version: Version) -> None:
    shop = version(purge={"cron": "0 3 * * *", "jitter": "5m"})
    shop.deploy()
    declared = driver.get("purge")
    shop.schedules.alter("purge", every="1h", fixed=True, jitter="1m")
    shop.schedules.pause("purge", "for now")
    reset = shop.schedules.reset("purge")
    assert (reset.rules, reset.overrides, reset.pause_note) == (declared.rules, {}, "for now")
    assert shop.schedules.reset("purge").version == reset.version


def test_a_change_back_to_the_declared_value_is_no_override(
    driver: Driver, version: Version
) -> None:
    shop = version(purge="0 3 * * *")
    shop.deploy()
    shop.schedules.alter("purge", priority=7)
    assert shop.schedules.alter("purge", priority=0).overrides == {}


def test_a_change_that_no_longer_fits_is_dropped(
    driver: Driver, version: Version, caplog: pytest.LogCaptureFixture
) -> None:
    shop = version(purge={"every": "10m", "fixed": True})
    shop.deploy()
    shop.schedules.alter("purge", overlap="buffer_all", priority=3)
    shop = version(purge={"every": "10m"})
    shop.deploy()
    purge = driver.get("purge")
    assert (purge.rules.overlap, purge.priority, purge.overrides) == ("skip", 0, {})
    assert "purge: what was changed at run time no longer fits" in caplog.text


def report(region: str) -> None: ...


def report_with_days(region: str, days: int) -> None: ...


def test_changed_parameters_survive_only_if_the_function_accepts_them(version: Version) -> None:
    for function, params, hour in (
        (report, {"region": "eu"}, 3),
        (report, {"region": "eu"}, 4),
        (report_with_days, {"region": "eu", "days": 7}, 4),
    ):
        shop = version()
        declared: Any = function
        shop.cron(f"0 {hour} * * *", name="report", params=params)(declared)
        shop.deploy()
        if hour == 3:
            shop.schedules.alter("report", config={"region": "us"})
        else:
            assert shop.schedules.get("report").config == (
                {"region": "us"} if function is report else params
            )


def test_a_schedule_that_was_added_has_nothing_to_take_back(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="work", every="10m")
    assert driver.horae.schedules.alter("work", priority=4).overrides == {}
    with pytest.raises(InvalidRequest, match="'work' was added at run time"):
        driver.horae.schedules.reset("work")


def test_a_change_and_a_deployment_at_the_same_time_both_count(
    driver: Driver, version: Version
) -> None:
    shop = version(purge="0 3 * * *", bill="0 4 * * *")
    shop.deploy()
    versions = [version(purge="0 3 * * *", bill=f"{minute} 4 * * *") for minute in range(1, 4)]
    calls: list[Callable[[], object]] = [shop.deploy for shop in versions]
    at_once(
        [
            *calls,
            lambda: shop.schedules.alter("purge", priority=7),
            lambda: shop.schedules.alter("purge", jitter="5m"),
        ]
    )
    purge = driver.get("purge")
    assert (purge.priority, purge.rules.jitter) == (7, timedelta(minutes=5))
    assert purge.overrides == {"priority": 0, "jitter": 0.0}


def test_a_forecast_of_the_next_deployment_keeps_the_changes(
    driver: Driver, version: Version
) -> None:
    shop = version(purge="0 3 * * *", bill="0 4 * * *")
    shop.deploy()
    shop.schedules.alter("purge", cron="0 5 * * *")
    coming = version(purge="0 3 * * *", bill="0 6 * * *")
    changes = coming.forecasting(days=2).changes()
    assert [schedule.name for schedule in changes.schedules] == ["bill"]
