"""What people come to a job's page for, with few clicks: why it waits, until when, and with which parameters."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.serving import ON_SQLITE, Served
from tests.e2e.tasks import MOST_CLICKS, clicks
from tests.e2e.test_status import post

pytestmark = [pytest.mark.slow, ON_SQLITE]


def open_job(page: Page, job: int) -> None:
    """Go from the first page to a job, as somebody does who has heard of it."""
    page.goto("")
    page.get_by_role("link", name="Jobs", exact=True).first.click()
    field = page.get_by_test_id("search")
    field.click()
    page.keyboard.type(f"id:{job}", delay=100)
    expect(field).to_have_value(f"id:{job}")
    page.keyboard.press("Enter")
    page.get_by_test_id(f"job-{job}").get_by_role("link").first.click()
    expect(page.get_by_test_id("why")).to_be_visible()


def test_why_a_job_waits_and_until_when(counted: Page, node: Served) -> None:
    page = counted
    retried = node.begin("call_supplier")
    open_job(page, retried)
    expect(page.get_by_test_id("why")).to_contain_text("Waits for another attempt")
    expect(page.get_by_test_id("waits")).to_contain_text(
        re.compile(r"Its next attempt is due at \d")
    )
    expect(page.get_by_test_id("estimate").locator("time")).to_have_count(1)
    assert 1 < clicks(page) <= MOST_CLICKS


def test_who_paused_what_a_job_waits_for_and_why(counted: Page, node: Served) -> None:
    page = counted
    post(node, "queues/default/pause/", note="the disk of the importer is full")
    job = node.begin("import_people", rows=1)
    open_job(page, job)
    expect(page.get_by_test_id("why")).to_contain_text("Its queue is paused")
    expect(page.get_by_test_id("why")).to_contain_text("by local")
    expect(page.get_by_test_id("pause-note")).to_have_text("the disk of the importer is full")
    expect(page.get_by_test_id("estimate")).to_have_text("no ground for an estimate")
    page.get_by_test_id("why").get_by_role("link", name="default").click()
    assert 1 < clicks(page) <= MOST_CLICKS
    expect(page).to_have_url(re.compile(r"/queues/default$"))
    page.go_back()
    post(node, "queues/default/resume/")
    expect(page.get_by_test_id("job-state")).to_contain_text("Finished")
    expect(page.get_by_test_id("why")).to_have_count(0)


def test_parameters_are_folded_until_somebody_asks(page: Page, node: Served) -> None:
    post(node, "queues/default/pause/")
    open_job(page, node.begin("import_people", rows=4711))
    expect(page.get_by_text("4711")).to_have_count(0)
    page.get_by_test_id("parameters").click()
    expect(page.get_by_role("region", name="Parameters")).to_contain_text("4711")
