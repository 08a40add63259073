"""The view "Jobs": tasks of operators with one search, in few clicks, typed by key while jobs end."""

import re

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect
from sqlalchemy import Engine, text

from horae.storage.engine.database import Database
from tests.e2e.browser import Faults
from tests.e2e.serving import Served
from tests.e2e.tasks import MOST_CLICKS, clicks
from tests.e2e.test_fit import IN_GERMAN
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The page looks the same whatever the database is."""
    return sqlite_database


def type_by_key(page: Page, node: Served, query: str) -> None:
    """Type a query from anywhere, key by key, while jobs end and the list changes."""
    page.keyboard.press("/")
    field = page.get_by_test_id("search")
    expect(field).to_be_focused()
    half = len(query) // 2
    page.keyboard.type(query[:half])
    for customer in range(3):
        node.begin("send_letter", customer=customer)
    wait_until(lambda: len(node.read("jobs/?query=type:send_letter+state:finished")["jobs"]) >= 3)
    page.get_by_test_id("refresh-now").evaluate("button => button.click()")
    page.keyboard.type(query[half:])
    expect(field).to_have_value(query)
    page.keyboard.press("Enter")


def pause(node: Served, queue: str) -> None:
    httpx.post(f"{node.url}api/queues/{queue}/pause/", json={}, timeout=30).raise_for_status()


def test_all_imports_of_one_owner_are_cancelled(
    counted: Page, node: Served, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    gate = tmp_path_factory.mktemp("gate") / "open"
    jobs = [node.begin("wait_for_file", file=str(gate)) for _ in range(4)]
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE horae_jobs SET owner = 'anna' WHERE id IN (:first, :second)"),
            {"first": jobs[0], "second": jobs[1]},
        )
    counted.goto("nodes")
    type_by_key(counted, node, "type:wait* owner:anna -state:finished")
    expect(counted.get_by_test_id(f"job-{jobs[0]}")).to_be_visible()
    expect(counted.get_by_test_id(f"job-{jobs[2]}")).to_have_count(0)
    counted.get_by_test_id("matching-cancel").click()
    expect(counted.get_by_test_id("matching-query")).to_have_text(
        "type:wait* owner:anna -state:finished"
    )
    expect(counted.get_by_test_id("matching")).to_contain_text("Cancel 2 jobs")
    expect(counted.get_by_test_id("matching-sample")).to_contain_text(f"#{jobs[1]} of anna")
    counted.get_by_test_id("confirm-matching").click()
    expect(counted.get_by_test_id("job-state")).to_have_attribute("data-state", "finished")
    states = [node.read(f"jobs/{job}/")["state"] for job in jobs]
    assert states[:2] == ["cancelled", "cancelled"]
    assert "cancelled" not in states[2:]
    assert clicks(counted) <= MOST_CLICKS


def test_what_failed_with_one_exception_is_retried(counted: Page, node: Served) -> None:
    failed = node.begin("call_bank")
    other = node.begin("print_report")
    wait_until(lambda: len(node.read("jobs/?query=state:failed")["jobs"]) == 2)
    counted.goto("jobs")
    type_by_key(counted, node, "state:failed error:ConnectionError")
    row = counted.get_by_test_id(f"job-{failed}")
    expect(row).to_contain_text("ConnectionError: the line is dead")
    expect(counted.get_by_test_id(f"job-{other}")).to_have_count(0)
    counted.get_by_test_id("matching-retry").click()
    expect(counted.get_by_test_id("matching")).to_contain_text("Retry 1 job")
    counted.get_by_test_id("confirm-matching").click()
    expect(counted.get_by_test_id("job-state")).to_have_attribute("data-state", "finished")
    assert len(node.read("jobs/?query=type:call_bank")["jobs"]) == 2
    assert clicks(counted) <= MOST_CLICKS


def test_which_type_fails_most_since_the_deployment_and_how(counted: Page, node: Served) -> None:
    for _ in range(2):
        node.begin("print_report")
    node.begin("call_bank")
    wait_until(lambda: len(node.read("jobs/?query=state:failed")["jobs"]) == 3)
    counted.goto("jobs")
    counted.get_by_role("navigation").get_by_role("link", name="Errors").click()
    counted.get_by_test_id("range").select_option("deployment:latest")
    types = counted.get_by_test_id("types").get_by_role("link")
    expect(types.first).to_contain_text(re.compile(r"print_report\s*2"))
    types.first.click()
    group = counted.get_by_test_id("errors").get_by_role("article")
    expect(group).to_have_count(1)
    expect(group).to_contain_text("NoPrinter")
    expect(group.get_by_test_id("new-since")).to_be_visible()
    group.get_by_test_id("group-jobs").click()
    expect(counted.get_by_test_id("search")).to_have_value(
        re.compile("^type:print_report state:failed error:.*NoPrinter finished:")
    )
    expect(counted.get_by_test_id("jobs").get_by_role("row")).to_have_count(3)
    assert clicks(counted) <= MOST_CLICKS


def test_keys_typed_before_the_search_field_is_there_go_into_it(page: Page, node: Served) -> None:
    asked: list[Route] = []

    def hold(route: Route) -> None:
        asked.append(route)

    page.route("**/assets/views-*.js", hold)
    page.goto("")
    expect(page.get_by_test_id("live")).to_have_text("Live")
    page.keyboard.press("/")
    wait_until(lambda: page.evaluate("() => null") is None and asked)
    page.keyboard.type("state:failed")
    asked[0].continue_()
    field = page.get_by_test_id("search")
    expect(field).to_be_focused()
    expect(field).to_have_value("state:failed")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("query=state:failed"))


def test_a_query_is_completed_and_mended_by_key(page: Page, node: Served, faults: Faults) -> None:
    pause(node, "default")
    node.begin("send_letter", customer=1)
    page.goto("jobs")
    expect(page.get_by_test_id("count-pending")).to_have_text("1")
    page.keyboard.press("/")
    page.keyboard.type("typ")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type("send")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("state:pendin")
    field = page.get_by_test_id("search")
    expect(field).to_have_value("type:send_letter state:pendin")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    problem = page.get_by_test_id("query-problem")
    expect(problem).to_contain_text("did you mean 'pending'?")
    expect(problem.locator("mark")).to_have_text("state:pendin")
    # What is typed, but not applied, is there after a look at another page.
    page.keyboard.type("g")
    page.get_by_role("link", name="Queues").first.click()
    expect(page).to_have_url(re.compile(r"/queues$"))
    page.go_back()
    expect(field).to_have_value("type:send_letter state:pending")
    field.press("Enter")
    expect(page.get_by_test_id("state-pending")).to_have_attribute("aria-pressed", "true")
    expect(problem).to_have_count(0)
    faults.forgive()


def test_a_search_is_saved_and_narrowed(page: Page, node: Served) -> None:
    pause(node, "default")
    jobs = [node.begin("send_letter", customer=number) for number in range(3)]
    page.goto("jobs?query=type:send_letter state:pending")
    field = page.get_by_test_id("search")
    for job in jobs:
        expect(page.get_by_test_id(f"job-{job}")).to_be_visible()
    page.get_by_test_id("saved-searches").click()
    page.get_by_test_id("search-name").fill("Letters that wait")
    page.get_by_test_id("save-search").click()
    page.goto("jobs")
    page.get_by_test_id("saved-searches").click()
    page.get_by_role("link", name="Letters that wait").click()
    expect(page).to_have_url(re.compile("query="))
    expect(field).to_have_value("type:send_letter state:pending")
    page.get_by_test_id("columns").click()
    page.get_by_test_id("column-queue").uncheck()
    expect(page.get_by_role("columnheader", name="Queue")).to_have_count(0)
    page.get_by_test_id("time-range").select_option("since:1h")
    expect(field).to_have_value("type:send_letter state:pending since:1h")
    page.get_by_test_id("order").select_option("oldest")
    rows = page.get_by_test_id("jobs").locator("tbody tr")
    expect(rows.first).to_have_attribute("data-testid", f"job-{jobs[0]}")


def test_saved_searches_are_seen_on_a_telephone_and_in_other_tabs(
    page: Page, context: BrowserContext, node: Served
) -> None:
    other = context.new_page()
    other.goto("jobs")
    expect(other.get_by_test_id("live")).to_have_text("Live")
    page.add_init_script(IN_GERMAN)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("jobs?query=state:pending")
    page.get_by_test_id("saved-searches").click()
    field = page.get_by_test_id("search-name")
    field.fill("Waiting")
    expect(field).to_be_in_viewport(ratio=1)
    page.get_by_test_id("save-search").click()
    other.get_by_test_id("saved-searches").click()
    expect(other.get_by_role("link", name="Waiting")).to_be_visible()
