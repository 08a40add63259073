"""Every view: it shows no errors, is accessible, fits a small screen, and works with a keyboard."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

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
SMALL: Final = 375
"""Pixels; the width of a small telephone."""
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


@pytest.fixture
def searched(browser: Browser, node: Served) -> Iterator[BrowserContext]:
    """A browser that ignores the page's Content-Security-Policy, so that a test can inject a script."""
    with browser.new_context(
        base_url=node.url, bypass_csp=True, reduced_motion="reduce"
    ) as context:
        yield context


def settle(page: Page) -> None:
    """Wait until the view shows its content."""
    expect(page.locator("main h1, main h3").first).to_be_visible()
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
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def test_every_view_opens_without_a_complaint(page: Page, views: list[str]) -> None:
    for view in views:
        page.goto(view)
        settle(page)  # the errors on the page are checked at the end


@ON_SQLITE
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.slow
def test_every_view_is_accessible(searched: BrowserContext, views: list[str], theme: Theme) -> None:
    found: dict[str, list[str]] = {}
    page = searched.new_page()
    page.emulate_media(color_scheme=theme)
    for view in views:
        page.goto(view)
        settle(page)
        page.add_script_tag(path=AXE)
        if problems := violations(page):
            found[view] = problems
    assert found == {}


@ON_SQLITE
def test_no_view_is_wider_than_a_small_screen(page: Page, views: list[str]) -> None:
    page.set_viewport_size({"width": SMALL, "height": 740})
    for view in views:
        page.goto(view)
        settle(page)
        assert page.evaluate(TOO_WIDE) <= 0, f"{view} scrolls sideways"


@ON_SQLITE
def test_it_can_be_used_without_a_mouse(page: Page, views: list[str]) -> None:
    job = views[-1].rpartition("/")[2]
    page.goto("jobs")
    settle(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    link = page.get_by_test_id(f"job-{job}").get_by_role("link")
    for _ in range(40):
        if link.evaluate("each => each === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("job-state")).to_have_text("Waiting for file")


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
