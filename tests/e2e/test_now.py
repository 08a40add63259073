"""Now, the fleet and the journal: what an operator does there, with as few clicks as possible."""

import json
import re

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from horae.storage.engine.database import Database
from tests.e2e.browser import Faults
from tests.e2e.conftest import APPLICATION, ServedBy
from tests.e2e.serving import Served
from tests.e2e.tasks import MOST_CLICKS, clicks
from tests.e2e.test_schedules import schedule
from tests.e2e.test_status import post
from tests.e2e.test_views import settle
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The pages look the same whatever the database is."""
    return sqlite_database


def test_everything_is_paused_from_the_first_page_and_resumed_there(
    counted: Page, node: Served
) -> None:
    page = counted
    page.goto("")
    expect(page.get_by_test_id("sentence")).to_have_text("All well")
    page.get_by_test_id("pause-everything").click()
    page.keyboard.type("moving house")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("everything-paused")).to_contain_text("moving house")
    assert clicks(page) <= MOST_CLICKS
    problem = page.get_by_test_id("problems").locator("[data-kind=everything_paused]")
    expect(problem).to_contain_text("by local (moving house)")
    expect(page.get_by_test_id("sentence")).to_have_text(
        "Nothing is wrong; 1 thing deserves a look"
    )
    expect(page.get_by_test_id("marks")).to_contain_text("Paused: Everything", timeout=70_000)
    problem.get_by_role("button", name="Resume").press("Enter")  # by keyboard
    expect(page.get_by_test_id("everything-paused")).to_have_count(0)
    expect(page.get_by_test_id("sentence")).to_have_text("All well")


def test_who_changed_this_schedule_from_what_to_what(counted: Page, node: Served) -> None:
    page, changed = counted, schedule(node, "back_up")
    httpx.patch(
        f"{node.url}api/schedules/{changed['id']}/", json={"cron": "0 4 * * *"}, timeout=30
    ).raise_for_status()
    post(node, "queues/mail/pause/")
    page.goto("")
    page.get_by_test_id("nav-journal").click()
    page.get_by_test_id("journal-kind").select_option("schedule")
    page.get_by_test_id("journal-target").click()
    page.keyboard.type("back_up")
    page.keyboard.press("Enter")
    row = page.get_by_test_id("changes").get_by_role("row", name="schedule.alter")
    expect(row).to_contain_text(re.compile(r"trigger\s*from\s*.*→\s*to\s*0 4 \* \* \*"))
    expect(row).to_contain_text("local")
    expect(row).to_contain_text("HTTP")
    expect(page.get_by_test_id("changes")).not_to_contain_text("queue.pause")
    assert clicks(page) <= MOST_CLICKS
    page.reload()
    expect(page.get_by_test_id("journal-target")).to_have_value("back_up")
    expect(row).to_be_visible()


def test_a_change_on_a_page_is_one_of_the_dashboard(page: Page, node: Served) -> None:
    page.goto("queues")
    settle(page)
    page.get_by_test_id("pause-everything").click()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("everything-paused")).to_be_visible()
    page.goto("journal?channel=dashboard")
    expect(
        page.get_by_test_id("changes").get_by_role("row", name="everything.pause")
    ).to_contain_text("Dashboard")


def test_what_is_typed_in_the_journal_stays_while_it_is_read_again(
    page: Page, node: Served
) -> None:
    page.goto("journal")
    settle(page)
    field = page.get_by_test_id("journal-target")
    field.click()
    page.keyboard.type("nig")
    with page.expect_response("**/api/audit/**"):
        page.keyboard.press("Escape")
        page.get_by_test_id("refresh-now").dispatch_event("click")
    expect(field).to_be_focused()


def test_read_only_staff_see_problems_and_no_buttons(page: Page, node: Served) -> None:
    post(node, "queues/mail/pause/", note="moving")

    def as_reader(route: Route) -> None:
        body = route.fetch().json() | {"changes_all": False, "changes_own": False}
        route.fulfill(body=json.dumps(body), content_type="application/json")

    page.route("**/api/session/", as_reader)
    page.goto("")
    problems = page.get_by_test_id("problems")
    expect(problems.locator("[data-kind=queue_paused]")).to_contain_text("(moving)")
    expect(page.locator("main").get_by_role("button")).to_have_count(0)
    counted = problems.get_by_test_id("counted")
    expect(counted).to_have_attribute("href", re.compile(r"/jobs\?q=state:pending"))


def test_only_what_was_not_retried_before_is_retried(page: Page, node: Served) -> None:
    def failed(number: int) -> None:
        wait_until(lambda: len(node.read("jobs/?query=state:failed")["jobs"]) == number)

    for _ in range(10):
        node.begin("print_report")
    failed(10)
    post(node, "jobs/bulk/retry/", query="state:failed")
    failed(20)
    page.goto("")
    problem = page.get_by_test_id("problems").locator("[data-kind=type_failing]")
    expect(problem).to_contain_text("20 of 20 jobs")
    problem.get_by_role("button", name="Retry").click()
    expect(page.locator("dialog[open]")).to_contain_text("Retry 10 jobs.")
    page.get_by_test_id("confirm").click()
    failed(30)


def test_failing_polls_are_told_although_the_stream_is_up(
    page: Page, faults: Faults, node: Served
) -> None:
    page.goto("queues")
    expect(page.get_by_test_id("live")).to_have_text("Live")
    expect(page.get_by_test_id("age")).to_contain_text(re.compile(r"just now|\d s ago"))
    page.route(
        "**/api/queues/",
        lambda route: route.fulfill(
            status=503,
            json={"error": "ERROR_UNAVAILABLE", "detail": "the database does not answer"},
        ),
    )
    page.get_by_test_id("refresh-now").click()
    expect(page.get_by_test_id("lost")).to_contain_text("The database has been unreachable since")
    expect(page.get_by_test_id("live")).to_contain_text("Updated")
    page.unroute_all()
    expect(page.get_by_test_id("live")).to_have_text("Live", timeout=40_000)
    faults.forgive()


def test_an_installation_has_a_band_with_its_name_and_colour(
    page: Page, faults: Faults, served: ServedBy, database: Database, node: Served
) -> None:
    staging = served(APPLICATION, database, "--name", "staging <b>", "--colour", "orange")
    page.goto(f"{staging.url}fleet")
    band = page.get_by_test_id("band")
    expect(band).to_have_text("staging <b>")
    expect(band).to_have_css("background-color", "rgb(245, 158, 11)")
    expect(band).to_have_css("color", "rgb(0, 0, 0)")
    page.goto("")
    expect(page.get_by_test_id("band")).to_have_count(0)
    faults.forgive()  # the first address belongs to another node
