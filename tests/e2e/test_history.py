"""The views "Queues" and "Types" and their charts: which queue falls behind since when, in few clicks."""

import re

import pytest
from playwright.sync_api import Page, expect

from horae.storage.engine.database import Database
from tests.e2e.history import let_a_queue_fall_behind
from tests.e2e.serving import Served
from tests.e2e.tasks import MOST_CLICKS, clicks
from tests.e2e.test_fit import CUT, IN_GERMAN
from tests.e2e.test_views import settle

pytestmark = pytest.mark.slow


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """Sixty queues with ten minutes of history. The pages look the same whatever the database is."""
    sqlite_database.transact(let_a_queue_fall_behind)
    return sqlite_database


def test_the_queue_that_falls_behind_is_found_among_sixty(counted: Page, node: Served) -> None:
    page = counted
    page.goto("")
    page.get_by_test_id("nav-queues").click()
    rows = page.get_by_test_id("queues").locator("tbody tr")
    expect(rows.first).to_contain_text("q-41")
    expect(rows.first).to_contain_text("since")
    assert rows.count() >= 60
    field = page.get_by_test_id("queue-filter")
    field.click()
    page.keyboard.type("q-41", delay=100)
    expect(field).to_have_value("q-41")
    expect(rows).to_have_count(1)
    page.get_by_role("link", name="q-41").click()
    expect(page.get_by_role("main")).to_contain_text("since")
    failures = page.locator("figure", has=page.get_by_role("heading", name="Throughput"))
    failures.get_by_text("Show as table").click()
    failed = failures.locator("td.number a").first
    failed.click()
    expect(page).to_have_url(re.compile(r"jobs\?q=finished:.*&states=failed&queue=q-41"))
    assert 1 < clicks(page) <= MOST_CLICKS


def test_what_is_typed_stays_when_the_page_is_refreshed(page: Page, node: Served) -> None:
    page.add_init_script(IN_GERMAN)
    page.set_viewport_size({"width": 1024, "height": 800})
    page.goto("queues")
    settle(page)
    expect(page.get_by_test_id("queue-q-41")).to_contain_text(re.compile(r"Rückstand\s*seit \d"))
    assert page.evaluate(CUT) == []
    field = page.get_by_test_id("queue-filter")
    field.press_sequentially("q-4")
    rows = page.get_by_test_id("queues").locator("tbody tr")
    expect(rows).to_have_count(10)
    page.evaluate("document.querySelector('[data-testid=refresh-now]').click()")
    settle(page)
    field.press_sequentially("1")
    expect(field).to_be_focused()
    expect(rows).to_have_count(1)
    page.get_by_test_id("show-paused").click()
    expect(page.get_by_text("Keine Warteschlange passt.")).to_be_visible()


def test_the_type_that_fails_most_since_a_deployment_comes_first(page: Page, node: Served) -> None:
    page.goto("")
    page.get_by_test_id("nav-types").click()
    first = page.get_by_test_id("types").locator("tbody tr").first
    expect(first).to_contain_text("letters")
    expect(first).to_contain_text("60%")
    page.get_by_test_id("compare").select_option("v2")
    page.get_by_role("button", name="1 h").click()
    expect(first).to_contain_text("60%about as before")
    page.get_by_test_id("type-letters").get_by_role("link", name="letters").click()
    expect(page.get_by_role("slider", name="Run")).to_be_visible()


def test_what_was_pressed_in_a_chart_stays_until_why_is_asked(page: Page, node: Served) -> None:
    page.goto("")
    day = page.get_by_test_id("day")
    plot, why = day.locator(".u-over"), day.get_by_role("link", name="Why? Failed")
    expect(why).to_be_visible()  # of the last step
    plot.click(position={"x": 100, "y": 50})
    page.mouse.move(0, 0)
    expect(why).to_have_count(0)
    plot.click(position={"x": 100, "y": 50})
    page.mouse.move(0, 0)
    why.click()
    expect(page).to_have_url(re.compile(r"/jobs\?q=finished:.+&states=failed$"))
