"""Everything is paused on one page, said on every page, and resumed from any of them."""

import re

import pytest
from playwright.sync_api import Page, expect

from horae.storage.engine.database import Database
from tests.e2e.serving import Served
from tests.e2e.test_views import TOO_WIDE, settle

pytestmark = pytest.mark.slow


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The page looks the same whatever the database is."""
    return sqlite_database


def test_everything_is_paused_and_resumed(page: Page, node: Served) -> None:
    page.goto("queues")
    settle(page)
    page.get_by_test_id("pause-everything").click()
    page.get_by_label("Note for other users").fill("moving house")
    page.keyboard.press("Enter")
    banner = page.get_by_test_id("everything-paused")
    expect(banner).to_contain_text(re.compile(r"(now|ago) by local: moving house"))
    expect(page.get_by_test_id("pause-everything")).to_have_count(0)
    job = node.begin("send_letter", customer=7)
    page.goto(f"jobs/{job}")
    expect(page.locator("main")).to_contain_text("Everything is paused.")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate(TOO_WIDE) <= 0
    page.get_by_test_id("resume-everything").click()
    expect(banner).to_have_count(0)
    expect(page.get_by_test_id("job-state")).to_have_attribute("data-state", "finished")
