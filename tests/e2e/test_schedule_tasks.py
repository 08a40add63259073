"""What people come to the schedules for, with few clicks."""

from typing import Any

import httpx
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from horae.storage.engine.database import Database
from tests.e2e.history import miss_last_nights_run
from tests.e2e.serving import ON_SQLITE, Served
from tests.e2e.tasks import COUNT_CLICKS, MOST_CLICKS, clicks, jobs_that_end
from tests.e2e.test_schedules import schedule
from tests.e2e.test_status import post

pytestmark = [pytest.mark.slow, ON_SQLITE]


@pytest.fixture
def missed(node: Served, database: Database) -> None:
    """`back_up` missed a time of last night, at which no node was up."""
    found = schedule(node, "back_up")["id"]
    database.transact(miss_last_nights_run, found)


def test_why_last_nights_run_did_not_happen(counted: Page, missed: None) -> None:
    page = counted
    page.goto("")
    page.get_by_role("link", name="Schedules", exact=True).first.click()
    field = page.get_by_role("searchbox")
    field.click()
    page.keyboard.type("back_", delay=100)
    expect(field).to_have_value("back_")
    expect(field).to_be_focused()
    page.get_by_test_id("schedules").locator("[data-outcome=missed]").click()
    expect(page.get_by_test_id("why-text")).to_contain_text("no node could start it on time")
    expect(page.get_by_test_id("why-text")).to_contain_text("No node was up until")
    assert 1 < clicks(page) <= MOST_CLICKS


def test_the_ledger_is_searched_for_what_did_not_run(
    page: Page, node: Served, missed: None
) -> None:
    found = schedule(node, "back_up")
    post(node, f"schedules/{found['id']}/run/")
    page.goto(f"schedules/{found['id']}")
    expect(page.get_by_test_id("ticks").get_by_role("row")).to_have_count(3)
    page.get_by_test_id("decision").select_option("coalesced,skipped,missed")
    expect(page.get_by_test_id("ticks").get_by_role("row")).to_have_count(2)
    page.get_by_role("button", name="Why?").click()
    expect(page.get_by_test_id("why-text")).to_contain_text("Missed")
    page.reload()
    expect(page.get_by_test_id("decision")).to_have_value("coalesced,skipped,missed")
    page.get_by_test_id("tab-changes").click()
    expect(page.get_by_test_id("schedule-changes")).to_contain_text("schedule.run")


def type_into(field: Locator, text: str) -> None:
    """Go to a field, as by the tab key, and replace its text key by key."""
    field.focus()
    field.press("ControlOrMeta+a")
    field.press_sequentially(text)
    expect(field).to_have_value(text)


def expect_berlin_in_october(page: Page) -> None:
    """Ten times at half past two, with the end of summer time among them."""
    page.get_by_test_id("preview-from").fill("2026-10-21")
    times = page.get_by_test_id("preview-time")
    expect(page.get_by_test_id("clock-change")).to_contain_text("back by 60 minutes")
    expect(page.get_by_test_id("clock-change")).to_contain_text("02:30 comes twice")
    expect(times).to_have_count(10)
    expect(times.first).to_contain_text("21 Oct 2026")
    expect(times.first).to_contain_text("02:30")


def test_a_cron_is_added_after_a_look_at_its_times(context: BrowserContext, node: Served) -> None:
    context.add_init_script(COUNT_CLICKS)
    page = context.new_page()
    with jobs_that_end(node):
        add_cron(page)
    added = schedule(node, "letters")
    assert (added["trigger"]["text"], added["timezone"]) == ("30 2 * * 0-6", "Europe/Berlin")
    assert added["params"]["customer"] == 7


def add_cron(page: Page) -> None:
    page.goto("schedules")
    page.get_by_test_id("new-schedule").click()
    page.get_by_test_id("save").press("Enter")
    expect(page.get_by_test_id("job-type")).to_be_focused()
    expect(page.get_by_test_id("job-type")).to_have_accessible_description("Choose a job type")
    page.get_by_test_id("job-type").select_option("send_letter")
    type_into(page.get_by_test_id("schedule-name"), "letters")
    type_into(page.get_by_label("customer *"), "seven")
    type_into(page.get_by_label("Cron expression"), "30 2 * * SUN-SAT")
    type_into(page.get_by_label("Time zone"), "Europe/Berlin")
    expect(page.get_by_test_id("instead")).to_have_text("Saved as 30 2 * * 0-6")
    expect(page.get_by_test_id("words")).to_have_text("At 02:30 (Europe/Berlin).")
    expect_berlin_in_october(page)
    page.get_by_test_id("save").click()
    expect(page.get_by_label("customer *")).to_be_focused()
    expect(page.get_by_label("customer *")).to_have_attribute("aria-invalid", "true")
    page.reload()  # nothing that was typed is lost
    expect(page.get_by_test_id("kept")).to_be_visible()
    expect(page.get_by_label("Cron expression")).to_have_value("30 2 * * SUN-SAT")
    page.get_by_label("customer *").fill("7")
    page.get_by_test_id("save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("letters")
    assert 1 < clicks(page) <= MOST_CLICKS


def test_a_change_by_somebody_else_is_told(context: BrowserContext, node: Served) -> None:
    found = added(node, "shared")
    page = context.new_page()
    page.goto(f"schedules/{found['id']}/edit")
    page.get_by_label("Cron expression").fill("0 5 * * *")
    patch(node, found["id"], priority=5)
    page.get_by_test_id("save").click()
    expect(page.get_by_test_id("conflict")).to_contain_text("priority: 0 → 5")
    page.get_by_test_id("mine").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("shared")
    now = schedule(node, "shared")
    assert (now["trigger"]["text"], now["priority"]) == ("0 5 * * *", 5)


def test_a_lost_server_loses_nothing_that_was_typed(context: BrowserContext, node: Served) -> None:
    found = added(node, "kept")
    page = context.new_page()
    page.goto(f"schedules/{found['id']}/edit")
    page.get_by_label("Cron expression").fill("0 5 * * *")
    node.kill()
    page.get_by_test_id("save").click()
    expect(page.get_by_test_id("refused")).to_contain_text("does not answer")
    node.start()
    page.get_by_test_id("save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("kept")
    assert schedule(node, "kept")["trigger"]["text"] == "0 5 * * *"


def test_a_copy_is_made_and_deleted(page: Page, node: Served) -> None:
    found = added(node, "first")
    page.goto(f"schedules/{found['id']}")
    page.get_by_test_id("duplicate").click()
    page.get_by_test_id("save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("first-copy")
    assert schedule(node, "first-copy")["params"]["customer"] == 1
    page.get_by_test_id("delete").click()
    page.get_by_test_id("confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")
    names = [each["name"] for each in node.read("schedules/")["schedules"]]
    assert "first-copy" not in names
    assert "first" in names


def added(node: Served, name: str) -> dict[str, Any]:
    body = {"job_type": "send_letter", "name": name, "cron": "0 3 * * *", "params": {"customer": 1}}
    post(node, "schedules/", **body)
    return schedule(node, name)


def patch(node: Served, schedule_id: int, **changes: object) -> None:
    answer = httpx.patch(f"{node.url}api/schedules/{schedule_id}/", json=changes, timeout=30)
    answer.raise_for_status()
