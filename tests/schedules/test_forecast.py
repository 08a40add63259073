"""A forecast of a month decides each nominal time as the nodes did that recorded the month."""

from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

import pytest

from horae.domain.forecast.result import ScheduleForecast
from horae.domain.forecast.scenario import Bodies, Body, ForecastSchedule, Outage, Scenario
from horae.domain.forecast.simulation import simulate
from horae.domain.schedules.tick import Decision
from horae.storage.outcomes import run_ending
from horae.storage.schedules import reading
from horae.storage.schedules.rows import snapshot_of
from tests.schedules.clock import MONDAY
from tests.schedules.driver import Driver
from tests.schedules.virtual_node import VirtualNode

END: Final = MONDAY + timedelta(days=30)
"""The month contains a change of the clocks in New York (8 March) and in Berlin (29 March)."""
OUTAGES: Final = (
    Outage(MONDAY + timedelta(days=3, hours=15, minutes=7), timedelta(hours=7)),
    Outage(MONDAY + timedelta(days=12), timedelta(days=2, hours=1)),
    Outage(MONDAY + timedelta(days=26, hours=14), timedelta(minutes=40)),
)
SLOTS: Final = 2
EVERY_DECISION: Final = {
    ("fired", "on_time"),
    ("fired", "late"),
    ("fired", "catch_up"),
    ("fired", "buffered"),
    ("fired", "retry"),
    ("coalesced", "catch_up"),
    ("coalesced", "overlap"),
    ("skipped", "overlap"),
    ("missed", "limit"),
    ("missed", "window"),
    ("missed", "catch_up_none"),
}
LONGEST: Final = {"long": 350, "replacing": 600, "beside": 900, "made_up_for": 600}
"""Minutes of the longest body of a schedule; of others half an hour."""


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


def body(name: str, nominal: datetime) -> Body:
    """Return how long a run takes: the same for the same run, from some seconds to some hours."""
    rng = Random(f"{name} {nominal.isoformat()}")
    took = timedelta(seconds=rng.randint(5, 60 * LONGEST.get(name, 30)))
    return Body(took, succeeds=name != "flaky" or rng.random() < 0.5)


def as_ledger(forecast: ScheduleForecast) -> list[tuple[datetime, datetime, int, str, str]]:
    """Return the predicted decisions as the ledger has them."""
    fired = [
        (run.nominal, run.nominal, 1, Decision.FIRED.value, run.reason.value)
        for run in forecast.runs
    ]
    dropped = [
        (each.first, each.last, each.count, each.decision.value, each.reason.value)
        for each in forecast.dropped
    ]
    return sorted(fired + dropped)


@pytest.mark.slow
def test_a_forecast_decides_as_the_ledger_of_a_month(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(driver)
    driver.horae.deploy()
    seed = 4
    monkeypatch.setattr(
        run_ending, "JITTER", Random(f"{seed} flaky")
    )  # no other schedule draws delays
    begun = sorted(driver.database.autocommit(reading.all_of), key=lambda row: row.id)
    VirtualNode(driver, body, OUTAGES, SLOTS).run(END)
    schedules = tuple(
        ForecastSchedule(
            name=row.name,
            snapshot=snapshot_of(row),
            queue=row.queue,
            priority=row.priority,
            bodies=Bodies(
                recorded={
                    entry.nominal_time: body(row.name, entry.nominal_time)
                    for entry in driver.entries(row.name)
                }
            ),
        )
        for row in begun
    )
    forecast = simulate(
        Scenario(
            start=MONDAY,
            end=END,
            schedules=schedules,
            slots=SLOTS,
            outages=OUTAGES,
            seed=seed,
            keep=100_000,
        )
    )
    decisions = set[tuple[str, str]]()
    for schedule in schedules:
        recorded = [
            (entry.nominal_time, entry.until, entry.count, entry.decision, entry.reason)
            for entry in driver.entries(schedule.name)
        ]
        assert as_ledger(forecast[schedule.name]) == recorded, schedule.name
        decisions |= {(decision, reason) for *_, decision, reason in recorded}
    assert decisions == EVERY_DECISION
