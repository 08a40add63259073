"""Schedules on the dashboard: paused with a note, run manually, and the row of each tick."""

from typing import Any

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.serving import Served

pytestmark = [pytest.mark.one_database, pytest.mark.slow]


def schedule(node: Served, name: str) -> dict[str, Any]:
    found = [each for each in node.read("schedules/")["schedules"] if each["name"] == name]
    assert len(found) == 1
    return node.read(f"schedules/{found[0]['id']}/")  # type: ignore[no-any-return]


def test_one_is_paused_with_a_note_and_goes_on_again(
    context: BrowserContext, page: Page, node: Served
) -> None:
    page.goto("schedules")
    page.get_by_test_id("schedules").get_by_role("link", name="back_up").click()
    expect(page.get_by_test_id("next-runs").get_by_role("listitem")).not_to_have_count(0)
    page.get_by_test_id("pause").click()
    page.get_by_label("Note for other users").fill("until the disk is mended")
    page.get_by_test_id("confirm").click()
    expect(page.get_by_test_id("pause-note")).to_have_text("until the disk is mended")
    expect(page.get_by_test_id("schedule-state")).to_have_attribute("data-state", "disabled")
    paused = schedule(node, "back_up")
    assert (paused["enabled"], paused["pause_note"], paused["next_runs"]) == (
        False,
        "until the disk is mended",
        [],
    )
    colleague = context.new_page()
    colleague.goto("schedules")
    expect(colleague.get_by_test_id("schedules")).to_contain_text("until the disk is mended")
    page.get_by_test_id("resume").click()
    expect(page.get_by_test_id("schedule-state")).to_have_attribute("data-state", "idle")
    expect(colleague.get_by_test_id("schedules")).not_to_contain_text("until the disk is mended")
    assert schedule(node, "back_up")["enabled"] is True


def test_a_run_by_hand_makes_a_job_and_a_line(page: Page, node: Served) -> None:
    page.goto(f"schedules/{schedule(node, 'back_up')['id']}")
    page.get_by_test_id("run-now").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("back_up #")
    expect(page.get_by_test_id("job-state")).to_have_attribute("data-state", "finished")
    page.go_back()
    line = page.get_by_test_id("ticks").get_by_role("row").nth(1)
    expect(line.locator(".badge--finished")).to_be_visible()
    expect(line).to_contain_text("manually")


def test_a_run_that_a_pause_of_its_queue_holds_back_does_not_count_as_running(
    page: Page, node: Served
) -> None:
    found = schedule(node, "back_up")
    httpx.post(f"{node.url}api/queues/{found['queue']}/pause/", json={}).raise_for_status()
    httpx.post(f"{node.url}api/schedules/{found['id']}/run/", json={}).raise_for_status()
    page.goto(f"schedules/{found['id']}")
    expect(page.get_by_test_id("schedule-state")).to_have_text("Run waits")
    expect(page.get_by_test_id("waits")).to_contain_text("paused")
    page.goto("schedules")
    row = page.get_by_test_id("schedules").get_by_role("row", name="back_up")
    expect(row.locator("[data-state]")).to_have_text("Run waits")
    page.go_back()
    httpx.post(f"{node.url}api/queues/{found['queue']}/resume/", json={}).raise_for_status()
    expect(page.get_by_test_id("schedule-state")).to_have_text("Waiting")


def test_a_pause_and_a_run_by_hand_show_the_user(page: Page, node: Served) -> None:
    page.goto(f"schedules/{schedule(node, 'back_up')['id']}")
    page.get_by_test_id("run-now").click()
    expect(page.get_by_test_id("job-state")).to_be_visible()
    page.goto("journal")
    expect(page.get_by_test_id("changes").get_by_role("row", name="schedule.run")).to_contain_text(
        "local"
    )
