"""A forecast of runs under limits by key and in a fair queue begins each of them when nodes do, in virtual time."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from horae import Limit
from horae.client.forecast.forecasting import Forecasting, options_of
from horae.client.forecast.known import known_to
from horae.domain.forecast.groups import Run
from horae.domain.forecast.scenario import Body
from horae.domain.forecast.simulation import Simulation
from tests.schedules.clock import MONDAY
from tests.schedules.driver import Driver
from tests.schedules.virtual_node import VirtualNode

LENGTH: Final = timedelta(minutes=40)
SLOTS: Final = 4
SECONDS: Final[Mapping[str, int]] = {
    "call-a": 100,
    "call-b": 40,
    "text-1": 5,
    "text-2": 5,
    "mail-x": 70,
    "mail-y": 70,
}
"""How long the bodies of each schedule take; with other schedules one second."""


class Recording(Simulation):
    """A simulation that notes when each body begins."""

    begun: list[tuple[str, datetime | None, datetime]]

    def began(self, run: Run, now: datetime) -> None:
        names = [self._scenario.schedules[member].name for member in run.members]
        self.begun += [(name, run.nominal, now) for name in names]
        super().began(run, now)


def declare(driver: Driver) -> None:
    """Declare schedules whose runs hold each other back: by a key, by a rate for all, and by turns in a queue."""
    calls = [Limit(concurrency=1, key="{to}"), Limit(rate="20/h", burst=2)]
    for name in ("call-a", "call-b"):
        options: dict[str, Any] = {
            "overlap": "buffer_one",
            "params": {"to": name[-1]},
            "limits": calls,
        }
        driver.horae.cron("*/2 * * * *", name=name, **options)(call)
    for name in ("text-1", "text-2"):
        sliding = [Limit(rate="3/10m", window="sliding", name="texts")]
        driver.horae.cron(
            "*/3 * * * *", name=name, overlap="allow_all", catch_up="none", limits=sliding
        )(text)
    driver.horae.queue("mail", fair_by="to", concurrency=1)
    for name in ("mail-x", "mail-y"):
        driver.horae.cron(
            "*/4 * * * *", name=name, queue="mail", params={"to": name[-1]}, overlap="skip"
        )(call)
    driver.horae.cron("*/10 * * * *", name="plain")(text)


def call(to: str) -> None:
    del to


def text() -> None: ...


def body(name: str, _nominal: datetime) -> Body:
    return Body(timedelta(seconds=SECONDS.get(name, 1)))


def test_runs_under_limits_begin_as_forecast(driver: Driver) -> None:
    declare(driver)
    driver.horae.deploy()
    horae = driver.horae
    durations = {name: timedelta(seconds=seconds) for name, seconds in SECONDS.items()}
    options = options_of({"start": MONDAY, "slots": SLOTS, "durations": durations})
    known = known_to(driver.database, horae.module)
    made = Forecasting(horae.module, horae.declared, horae.registry, known, options)
    recording = Recording(replace(made.scenario, end=MONDAY + LENGTH))
    recording.begun = []
    forecast = recording.run()
    node = VirtualNode(driver, body, (), SLOTS)
    node.run(MONDAY + LENGTH)
    assert sorted(recording.begun) == sorted(node.begun)
    assert len(node.begun) > 50
    for name in ("call-a", "call-b", "text-1", "text-2", "mail-y"):
        assert forecast[name].waited > 0, name
