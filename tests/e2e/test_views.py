"""Every view: it shows no errors, is accessible, fits a small screen, and works with a keyboard."""

from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.e2e.serving import ON_SQLITE, ROOT, Served
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.one_database

Theme: TypeAlias = Literal["light", "dark"]

AXE: Final = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
VIEWS: Final = (
    "",
    "jobs",
    "jobs?states=failed",
    "errors",
    "schedules",
    "schedules/new",
    "queues",
    "queues/default",
    "types",
    "types/print_report",
    "limits",
    "fleet",
    "journal",
    "nowhere",
)
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
LARGE: Final[ViewportSize] = {"width": 1280, "height": 720}
SMALL: Final[ViewportSize] = {"width": 375, "height": 740}
"""A small telephone."""
TOO_WIDE: Final = (
    "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
)


@pytest.fixture
def views(node: Served, tmp_path: Path) -> list[str]:
    """A node with jobs in every state and a schedule, so that all views have content."""
    failed, finished = node.begin("print_report"), node.begin("send_letter", customer=7)
    running = node.begin("wait_for_file", file=str(tmp_path / "gate"))
    wait_until(lambda: len(node.read("jobs/?states=failed,finished")["jobs"]) >= 2)
    schedule = node.read("schedules/")["schedules"][0]["id"]
    return [
        *VIEWS,
        f"schedules/{schedule}",
        f"schedules/{schedule}?tab=changes",
        f"schedules/{schedule}/edit",
        *(f"jobs/{job}" for job in (failed, finished, running)),
    ]


def settle(page: Page) -> None:
    """Wait until the view shows its content."""
    expect(page.locator("main h1, main h2").first).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    expect(page.get_by_test_id("live")).to_have_text("Live")


def violations(page: Page) -> list[str]:
    """Return the accessibility violations that axe finds."""
    report: dict[str, Any] = page.evaluate(
        "() => axe.run(document, { resultTypes: ['violations'] })"
    )
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:200]} {node['failureSummary']}"
        for rule in report["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_view_is_accessible_and_fits_a_small_screen(page: Page, views: list[str]) -> None:
    axe = AXE.read_text()
    found: dict[str, list[str]] = {}
    for view in views:
        page.set_viewport_size(SMALL)
        page.goto(view)
        settle(page)  # the errors on the page are checked at the end
        assert page.evaluate(TOO_WIDE) <= 0, f"{view} scrolls sideways"
        page.set_viewport_size(LARGE)
        page.evaluate(axe)
        for theme in THEMES:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            found[f"{view}, {theme}"] = violations(page)
    assert {view: problems for view, problems in found.items() if problems} == {}


def goes(page: Page, key: str, title: str) -> bool:
    """Press two keys, and return whether they led to the page: on a busy machine the second may be too late."""
    page.keyboard.press("g")
    page.keyboard.press(key)
    return page.get_by_role("heading", level=1).inner_text() == title


@ON_SQLITE
def test_keys_lead_everywhere_and_escape_closes_what_is_open(page: Page, views: list[str]) -> None:
    page.goto(views[0])
    settle(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    for key, title in (
        ("j", "Jobs"),
        ("s", "Schedules"),
        ("f", "Fleet"),
        ("q", "Queues"),
        ("c", "Journal"),
    ):
        wait_until(partial(goes, page, key, title))


@ON_SQLITE
def test_choices_are_in_the_address_and_survive_a_reload(page: Page, views: list[str]) -> None:
    page.goto(views[1])
    page.get_by_test_id("state-failed").click()
    expect(page.locator(".badge--finished")).to_have_count(0)
    page.reload()
    expect(page.get_by_test_id("state-failed")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_test_id("jobs").locator(".badge--failed")).to_have_count(1)


@ON_SQLITE
def test_the_theme_is_kept(page: Page, views: list[str]) -> None:
    page.goto(views[0])
    page.get_by_test_id("display").click()
    page.get_by_test_id("theme").select_option("dark")
    page.goto("jobs")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
