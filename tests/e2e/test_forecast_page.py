"""The page of `horae simulate` in a browser: it loads nothing, fits its window and is readable in both themes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser

from horae.cli.printing.forecast_page import forecast_page
from horae.domain.forecast.scenario import Outage, Scenario
from horae.domain.forecast.simulation import simulate
from tests.unit.test_forecast import schedule

pytestmark = pytest.mark.slow

START = datetime(2026, 3, 2, tzinfo=UTC)
OUTAGE = Outage(START + timedelta(days=3), timedelta(hours=9))
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
LOADED = "performance.getEntriesByType('resource').length"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with trouble of each kind, and a name that is too long for its column."""
    schedules = (
        schedule(
            "import_orders",
            "*/5 * * * *",
            took=timedelta(minutes=7),
            catch_up="all",
            catch_up_limit=3,
        ),
        schedule("nightly_" + "invoices_" * 12, "30 2 * * *", zone="Europe/Berlin"),
        schedule("<script>alert(1)</script>", "0 * * * *", succeeds=False),
    )
    end = START + timedelta(days=30)
    forecast = simulate(
        Scenario(start=START, end=end, schedules=schedules, outages=(OUTAGE,), slots=1)
    )
    file = tmp_path_factory.mktemp("forecast") / "page.html"
    file.write_text(forecast_page(forecast, "Europe/Berlin", 20, measured={}), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_loads_nothing_fits_and_follows_the_theme(
    browser: Browser, page_file: Path, theme: Literal["light", "dark"], width: int
) -> None:
    with browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=theme
    ) as context:
        problems: list[Any] = []
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.goto(page_file.as_uri())
        assert page.get_by_role("heading", level=1).inner_text() == "Forecast of 3 schedules"
        assert page.evaluate(LOADED) == 0
        assert not page.evaluate(TOO_WIDE)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, background[4:-1].split(","))) > 3 * 128) == (theme == "light")
        assert page.locator("svg path").count() == 2  # running and waiting
        assert page.locator("rect.outage").count() == 2
        assert page.locator("i.missed").count() >= 1
        assert problems == []
