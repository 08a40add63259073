"""A forecast of a month decides each nominal time as the nodes did that recorded the month."""

from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from horae.domain.forecast import ForecastSchedule, ScheduleForecast, forecast
from horae.domain.schedules.tick import Decision
from horae.storage.schedules import reading
from horae.storage.schedules.rows import snapshot_of
from tests.schedules.clock import MONDAY
from tests.schedules.driver import Driver
from tests.schedules.virtual_node import VirtualNode

END: Final = MONDAY + timedelta(days=30)
"""The month contains a change of the clocks in New York (8 March) and in Berlin (29 March)."""
EVERY_DECISION: Final = {
    ("fired", "on_time"),
    ("fired", "buffered"),
    ("coalesced", "overlap"),
    ("skipped", "overlap"),
    ("missed", "limit"),
}
MINUTES: Final = {"long": 350, "replacing": 600, "beside": 900, "made_up_for": 600, "nightly": 3500}
"""How many minutes the bodies of a schedule take; those of others take a quarter of an hour."""


CRONS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "nightly": ("30 2 * * *", {"timezone": "Europe/Berlin", "overlap": "buffer_one"}),
    "twice_a_day": (
        "15 2,14 * * *",
        {"timezone": "America/New_York", "dst_gap": "skip", "catch_up": "none", "priority": 5},
    ),
    "long": ("0 */4 * * *", {}),
    "made_up_for": (
        "40 */8 * * *",
        {"catch_up": "all", "catch_up_limit": 4, "overlap": "buffer_all"},
    ),
    "replacing": ("10 */8 * * *", {"overlap": "cancel_other", "queue": "other"}),
    "beside": ("20 */12 * * *", {"overlap": "allow_all", "catch_up": "all"}),
    "spread": ("0 */8 * * *", {"jitter": "50m", "catch_up_window": "2h"}),
    "flaky": ("5 */12 * * *", {"retry_period": "11m", "max_retries": 6}),
}
"""Schedules with every policy, so that each kind of decision is made."""


def declare(driver: Driver) -> None:
    """Declare the schedules."""

    def nothing() -> None: ...

    for name, (expression, options) in CRONS.items():
        driver.horae.cron(expression, name=name, **options)(nothing)
    driver.horae.every("9h", name="after_each_finish")(nothing)
    driver.horae.every("13h", fixed=True, name="on_a_grid")(nothing)


def took(name: str) -> timedelta:
    """Return how long the runs of a schedule take."""
    return timedelta(minutes=MINUTES.get(name, 15))


def as_ledger(found: ScheduleForecast) -> list[tuple[datetime, datetime, int, str, str]]:
    """Return the predicted decisions as the ledger has them."""
    fired = [
        (run.nominal_time, run.nominal_time, 1, Decision.FIRED.value, run.reason.value)
        for run in found.runs
    ]
    dropped = [
        (each.first, each.last, each.count, each.decision.value, each.reason.value)
        for each in found.not_run
    ]
    return sorted(fired + dropped)


@pytest.mark.slow
@pytest.mark.parametrize("clocked_database", ["sqlite"], indirect=True)
def test_a_forecast_decides_as_the_ledger_of_a_month(driver: Driver) -> None:
    """On one kind of database: the forecast reads none, and the firing is tested on both."""
    declare(driver)
    driver.horae.deploy()
    begun = driver.database.autocommit(reading.all_of)
    VirtualNode(driver, took).run(END)
    schedules = [ForecastSchedule(row.name, snapshot_of(row), took(row.name)) for row in begun]
    found = forecast(schedules, MONDAY, END)
    decisions = set[tuple[str, str]]()
    for schedule in schedules:
        recorded = [
            (entry.nominal_time, entry.until, entry.count, entry.decision, entry.reason)
            for entry in driver.entries(schedule.name)
        ]
        assert as_ledger(found[schedule.name]) == recorded, schedule.name
        decisions |= {(decision, reason) for *_, decision, reason in recorded}
    assert decisions == EVERY_DECISION
