"""Exclusion calendars: days and ranges on which a schedule does not run, each with its reason in the ledger."""

from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from horae import Horae, InvalidRequest
from horae.domain.schedules.exclusion import excluded_spans
from horae.domain.schedules.tick import Decision, Reason
from tests.harness.applications import url_of
from tests.schedules.clock import MONDAY
from tests.schedules.conftest import Version
from tests.schedules.driver import Driver, check_ledger, fires

TUESDAY = (MONDAY + timedelta(days=1)).date()
WEDNESDAY = TUESDAY + timedelta(days=1)


def holidays(day: date) -> bool:
    """A calendar function: Wednesdays are holidays."""
    return day.weekday() == 2


def broken(day: date) -> bool:
    """A calendar function that fails."""
    raise LookupError(str(day))


def named(name: str) -> Any:
    def body() -> None: ...

    body.__name__ = body.__qualname__ = name
    return body


def run_until(driver: Driver, name: str, end: datetime) -> None:
    """Fire and run all that comes due up to a moment."""
    while True:
        wakes_at = driver.get(name).wakes_at
        if wakes_at is None or wakes_at > end:
            driver.clock.set(end)
            return
        driver.clock.set(max(wakes_at, driver.clock.now))
        driver.run()


def test_excluded_days_are_skipped_with_their_reason(driver: Driver) -> None:
    zone = "Europe/Berlin"
    added = driver.horae.schedules.add(
        "work",
        name="six",
        cron="0 */6 * * *",
        timezone=zone,
        exclude=[TUESDAY, (WEDNESDAY, WEDNESDAY)],
    )
    assert added.rules.exclude == ("2026-03-03", "2026-03-04..2026-03-04")
    run_until(driver, "six", MONDAY + timedelta(days=4))
    assert ("skipped", 8, "excluded") in driver.ledger("six")
    entries = driver.entries("six")
    days = {
        entry.nominal_time.astimezone(UTC).date() for entry in entries if entry.decision == "fired"
    }
    assert date(2026, 3, 5) in days
    excluded = next(entry for entry in entries if entry.reason == "excluded")
    assert (excluded.nominal_time, excluded.until) == (
        datetime(2026, 3, 2, 23, tzinfo=UTC),
        datetime(2026, 3, 4, 17, tzinfo=UTC),
    )
    assert not driver.horae.audit().findings


def test_the_next_start_is_the_next_run_and_previews_have_the_reasons(driver: Driver) -> None:
    driver.horae.schedules.add(
        "work", name="daily", cron="0 3 * * *", exclude=["2026-03-03..2026-03-04"]
    )
    view = driver.get("daily")
    assert view.next_start == datetime(2026, 3, 5, 3, tzinfo=UTC)
    assert view.wakes_at == datetime(2026, 3, 3, 3, tzinfo=UTC)
    assert view.upcoming(2) == [view.next_start, datetime(2026, 3, 6, 3, tzinfo=UTC)]
    (skipped,) = view.skips(view.next_start)
    assert (skipped.first, skipped.count, skipped.reason) == (view.wakes_at, 2, "excluded")


def test_all_excluded_for_ever_is_one_row_and_no_loop(driver: Driver) -> None:
    driver.horae.schedules.add(
        "work", name="never", cron="* * * * *", exclude="1970-01-01..2099-12-31"
    )
    driver.horae.schedules.add(
        "work", name="drifting", every="1m", exclude="1970-01-01..2099-12-31"
    )
    assert driver.get("never").next_start is None
    assert driver.get("never").upcoming(3) == []
    for name in ("never", "drifting"):
        run_until(driver, name, driver.clock.now + timedelta(minutes=20))
        ((decision, count, reason),) = driver.ledger(name)
        assert (decision, reason) == ("skipped", "excluded")
        assert count >= 20
    assert not driver.horae.audit().findings


def test_an_outage_over_excluded_times_leaves_no_gap(driver: Driver) -> None:
    driver.horae.schedules.add(
        "work",
        name="hourly",
        cron="0 * * * *",
        exclude=["2026-03-03"],
        catch_up="all",
        catch_up_limit=3,
    )
    begin, end = driver.clock.now, datetime(2026, 3, 4, 2, 30, tzinfo=UTC)
    driver.clock.set(end)
    for _ in range(5):
        driver.run(seconds=0)
    assert driver.ledger("hourly") == [
        ("missed", 13, "limit"),
        ("skipped", 24, "excluded"),
        ("fired", 1, "catch_up"),
        ("fired", 1, "catch_up"),
        ("fired", 1, "catch_up"),
    ]
    check_ledger(driver.entries("hourly"), fires("0 * * * *", begin, end))
    assert not driver.horae.audit().findings


def test_a_calendar_function_is_asked_ahead_and_by_name_only(
    driver: Driver, version: Version
) -> None:
    shop = version()
    shop.cron("0 3 * * *", exclude=holidays)(named("purge"))
    assert "+exclude calendar:tests.schedules.test_exclusions.holidays" in shop.schema
    shop.deploy()
    view = driver.get("purge")  # of an application that does not know the function
    assert view.rules.exclude == (f"calendar:{__name__}.holidays",)
    assert WEDNESDAY in view.rules.calendar_days
    assert WEDNESDAY not in {start.date() for start in view.upcoming(4)}
    changed = shop.schedules.alter("purge", exclude=[f"calendar:{__name__}.holidays", "2026-03-05"])
    assert [start.day for start in changed.upcoming(2)] == [3, 6]
    with pytest.raises(
        InvalidRequest, match=r"unknown calendar function 'shop\.feasts'; registered here: tests\."
    ):
        shop.schedules.alter("purge", exclude=["calendar:shop.feasts"])


@pytest.mark.one_database
def test_an_unknown_calendar_is_refused_where_it_is_named(version: Version) -> None:
    shop = version()
    declare = shop.cron("0 3 * * *", exclude=["calendar:shop.feasts"])
    with pytest.raises(
        InvalidRequest, match=r"unknown calendar function 'shop\.feasts'; registered here: none"
    ):
        declare(named("purge"))
    shop.calendar(holidays)
    shop.cron("0 3 * * *", exclude=[f"calendar:{__name__}.holidays"])(named("purge"))
    assert [each.name for each in shop.declared] == ["purge"]


def test_a_calendar_that_is_declared_again_has_its_days_at_once(version: Version) -> None:
    shop = version()
    shop.cron("0 3 * * *", exclude=holidays)(named("purge"))
    shop.deploy()
    assert shop.schedules.alter("purge", exclude=[]).rules.calendar_days == ()
    assert WEDNESDAY in shop.schedules.reset("purge").rules.calendar_days
    shop.schedules.alter("purge", exclude=[TUESDAY])
    again = version()
    again.cron("0 3 * * *", exclude=[holidays, "2026-03-06"])(named("purge"))
    again.deploy()
    assert [start.day for start in again.schedules.get("purge").upcoming(3)] == [3, 5, 7]


def test_a_function_that_raises_keeps_the_days_that_are_known(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    driver.horae.schedules.add("work", name="daily", cron="0 3 * * *", exclude=[broken, WEDNESDAY])
    assert [start.day for start in driver.get("daily").upcoming(3)] == [3, 5, 6]
    assert "calendar function tests.schedules.test_exclusions.broken failed" in caplog.text


def test_a_changed_calendar_is_an_alteration(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="daily", cron="0 3 * * *", exclude=[TUESDAY])
    run_until(driver, "daily", datetime(2026, 3, 3, 12, tzinfo=UTC))
    driver.horae.schedules.alter("daily", exclude=[])
    run_until(driver, "daily", datetime(2026, 3, 5, 12, tzinfo=UTC))
    assert driver.ledger("daily") == [
        ("skipped", 1, "excluded"),
        ("fired", 1, "on_time"),
        ("fired", 1, "on_time"),
    ]
    assert not driver.horae.audit().findings


def test_a_forecast_leaves_excluded_times_out(version: Version) -> None:
    shop = version()
    shop.cron("0 3 * * *", exclude=[holidays, "2026-03-06"])(named("purge"))
    (purge,) = shop.forecasting(start=MONDAY, days=7, with_database=False).forecast().schedules
    assert len(purge.runs) == 5
    assert purge.decisions[Decision.SKIPPED, Reason.EXCLUDED] == 2


@pytest.mark.parametrize(
    ("exclude", "said"),
    [
        ("2026-13-24", "exclude '2026-13-24': expected a date such as 2026-12-24"),
        ("2026-12-26..2026-12-24", "the range ends before it begins"),
        (["2026-12-24T12:00..2026-12-24T18:00"], "expected a date such as"),
        ([datetime(2026, 12, 24, tzinfo=UTC)], "for a part of a day give a pair of moments"),
        ((date(2026, 12, 24), date(2026, 12, 26)), "expected a list of dates"),
        ([(date(2026, 12, 24),)], "expected a list of dates"),
        (7, "exclude 7: expected a list of dates"),
        ([lambda: True], "takes one argument, the date"),
        (["2026-12-24"] * 1001, "1,001 entries, expected at most 1,000"),
    ],
)
def test_a_calendar_that_cannot_be_read_is_refused(exclude: Any, said: str) -> None:
    horae = Horae("sqlite:///never-opened.db", module="shop")
    with pytest.raises(InvalidRequest, match=said):
        horae.cron("0 3 * * *", exclude=exclude)(named("purge"))
    assert horae.declared == []


def test_days_are_those_of_the_zone_also_when_clocks_change() -> None:
    (span,) = excluded_spans(("2026-03-29",), (), "Europe/Berlin")
    assert (span.start, span.end) == (
        datetime(2026, 3, 28, 23, tzinfo=UTC),
        datetime(2026, 3, 29, 22, tzinfo=UTC),
    )


def test_functions_are_asked_again_when_the_same_version_is_deployed_again(
    driver: Driver, version: Version
) -> None:
    feasts = {WEDNESDAY}

    def feast(day: date) -> bool:
        return day in feasts

    shop = version()
    shop.cron("0 3 * * *", exclude=feast)(named("purge"))
    shop.deploy()
    shop.schedules.add("purge", name="added", cron="0 3 * * *", exclude=[feast])
    feasts.add(TUESDAY)
    assert not shop.deploy().changed
    for name in ("purge", "added"):
        assert [start.day for start in driver.get(name).upcoming(2)] == [5, 6]
    feasts.clear()
    shop.deploy()
    assert driver.get("purge").upcoming(1)[0].day == 3


def test_a_backfill_asks_calendar_functions_for_days_long_ago(driver: Driver) -> None:
    driver.horae.calendar(holidays)
    driver.horae.schedules.add(
        "work", name="daily", cron="0 3 * * *", timezone="Europe/Berlin", exclude=[holidays]
    )
    start = MONDAY - timedelta(days=357)  # a Tuesday
    found = driver.horae.schedules.backfill("daily", start, start + timedelta(days=7))
    assert (found.times, found.added, found.excluded) == (6, 6, 1)
    with pytest.raises(InvalidRequest, match="in the future"):
        driver.horae.schedules.backfill("daily", start, datetime(2099, 12, 31, tzinfo=UTC))
    while driver.run(seconds=0.001):
        pass
    fired = [
        entry.nominal_time.weekday()
        for entry in driver.entries("daily")
        if entry.reason == "backfill"
    ]
    assert sorted(fired) == [0, 1, 3, 4, 5, 6]


def test_a_backfill_is_refused_where_nobody_knows_the_days(driver: Driver) -> None:
    driver.horae.calendar(broken)
    driver.horae.schedules.add("work", name="daily", cron="0 3 * * *", exclude=[broken])
    week = (MONDAY - timedelta(days=7), MONDAY)
    with pytest.raises(InvalidRequest, match="broken failed: LookupError: 2026"):
        driver.horae.schedules.backfill("daily", *week)
    stranger = Horae(url_of(driver.database))
    with closing(stranger), pytest.raises(InvalidRequest, match="--app names the application"):
        stranger.schedules.backfill("daily", *week, dry_run=True)
