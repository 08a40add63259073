"""The palette, the language and the zone: what every view has, without a mouse."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from horae.storage.engine.database import Database
from tests.e2e.application import LONG_NAME
from tests.e2e.browser import Faults
from tests.e2e.serving import Served
from tests.e2e.test_views import AXE, SMALL, TOO_WIDE, settle, violations
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The page looks the same whatever the database is."""
    return sqlite_database


def names_in(answer: dict[str, Any]) -> set[str]:
    return {each["name"] for each in answer["queues"]}


def open_palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    expect(page.get_by_test_id("palette")).to_be_focused()


def test_the_palette_leads_everywhere_by_key(page: Page, node: Served) -> None:
    job = node.begin("send_letter", customer=7)
    idle = f"{LONG_NAME}_queue"
    node.begin(LONG_NAME)
    wait_until(lambda: idle in names_in(node.read("history/queues/?span=24h")))
    wait_until(lambda: idle not in names_in(node.read("queues/")))
    page.goto("jobs")
    settle(page)
    field = page.get_by_test_id("palette")
    for query, title, address in (
        ("queu", "Queues", r"/queues$"),
        (f"#{job}", f"Job #{job}", rf"/jobs/{job}$"),
        ("back_", "0 3 1 1 *", r"/schedules/\d+$"),
        ("print_rep", "print_report", r"/types/print_report$"),
        (idle, idle, rf"/queues/{idle}$"),
    ):
        open_palette(page)
        page.keyboard.insert_text(query)
        first = page.locator("[role=option]").first
        expect(first).to_contain_text(title)
        expect(first).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("dialog").get_by_role("status")).to_have_text(
            re.compile(r"\d results?")
        )
        expect(field).to_have_attribute("aria-activedescendant", first.get_attribute("id") or "")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(address))
        expect(field).to_have_count(0)


def test_keys_typed_before_the_results_have_arrived_belong_to_the_palette(
    page: Page, node: Served, tmp_path: Path
) -> None:
    job = node.begin("wait_for_file", file=str(tmp_path / "gate"))
    wait_until(lambda: node.read("jobs/?states=started")["jobs"])
    page.goto(f"jobs/{job}")
    settle(page)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/assets/palette-*.js", hold)
    page.keyboard.press("Control+k")
    page.keyboard.type("sched")  # on the page, `c` would cancel the job
    expect(page.get_by_test_id("palette")).to_have_value("sched")
    expect(page.locator("[role=option]")).to_have_count(0)
    held[0].continue_()
    expect(page.locator("[role=option]").first).to_contain_text("Schedules")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/schedules$"))
    assert node.read("jobs/?states=started")["jobs"]


def test_a_palette_that_cannot_be_fetched_says_so_and_is_fetched_again(
    page: Page, node: Served, faults: Faults
) -> None:
    page.goto("queues")
    settle(page)
    page.route("**/assets/palette-*.js", lambda route: route.abort())
    page.keyboard.press("Control+k")
    expect(page.get_by_test_id("notice-failed")).to_be_visible()
    expect(page.get_by_test_id("palette")).to_have_count(0)
    page.unroute_all()
    open_palette(page)
    expect(page.locator("[role=option]").first).to_be_visible()
    faults.forgive()


def test_the_palette_pauses_everything_and_resumes_it(page: Page, node: Served) -> None:
    page.goto("schedules")
    settle(page)
    banner = page.get_by_test_id("everything-paused")
    open_palette(page)
    page.keyboard.insert_text("pause every")
    expect(page.locator("[role=option]").first).to_have_text("Pause everything")
    page.keyboard.press("Enter")
    page.keyboard.insert_text("moving house")
    page.keyboard.press("Enter")
    expect(banner).to_contain_text("moving house")
    assert node.read("everything/")["paused"]
    open_palette(page)
    page.keyboard.insert_text("resume")
    expect(page.locator("[role=option]").first).to_have_text("Resume everything")
    page.keyboard.press("Enter")
    expect(banner).to_have_count(0)


def test_the_palette_says_what_it_finds_and_keeps_what_is_typed_beside_it(
    page: Page, node: Served, faults: Faults
) -> None:
    page.goto("jobs")
    settle(page)
    search = page.get_by_test_id("search")
    search.fill("half a wor")
    open_palette(page)
    page.keyboard.insert_text("nothing is called so")
    status = page.get_by_role("dialog").get_by_role("status")
    expect(status).to_contain_text("Nothing found")
    page.route("**/api/schedules/?*", lambda route: route.abort())
    page.keyboard.insert_text("!")
    expect(status).to_contain_text("Connection failed")
    page.keyboard.press("Escape")
    expect(search).to_be_focused()
    expect(search).to_have_value("half a wor")
    faults.forgive()


def test_the_palette_is_accessible_and_fits_a_telephone(page: Page) -> None:
    page.set_viewport_size(SMALL)
    page.goto("queues")
    settle(page)
    page.get_by_test_id("open-palette").click()
    expect(page.locator("[role=option]").first).to_be_visible()
    page.evaluate(AXE.read_text())
    assert violations(page) == []
    assert page.evaluate(TOO_WIDE) <= 0


def test_the_language_is_chosen_kept_and_told_to_screen_readers(
    page: Page, node: Served, tmp_path: Path
) -> None:
    node.begin("wait_for_file", file=str(tmp_path / "gate"))
    wait_until(lambda: node.read("jobs/?states=started")["jobs"])
    page.goto("limits")
    settle(page)
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.get_by_test_id("display").click()
    page.get_by_test_id("language").select_option("de")
    expect(page.get_by_test_id("nav-queues")).to_have_text("Warteschlangen")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.reload()
    expect(page.get_by_test_id("nav-queues")).to_have_text("Warteschlangen")
    expect(page).to_have_title("Limits · Horae")
    page.keyboard.press("z")
    expect(page.get_by_test_id("utc")).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(page.get_by_test_id("utc")).to_have_attribute("aria-pressed", "true")


def test_a_german_browser_is_served_in_german(browser: Browser, node: Served) -> None:
    with browser.new_context(base_url=node.url, locale="de-AT") as german:
        page = german.new_page()
        page.goto("nowhere")
        expect(page.get_by_role("link", name="Sehen, was jetzt nicht stimmt")).to_be_visible()
        expect(page.locator("html")).to_have_attribute("lang", "de")
