"""The view "Errors": groups with a sample, and all jobs of one retried in few clicks."""

import pytest
from playwright.sync_api import Browser, Page, expect

from horae.storage.engine.database import Database
from tests.e2e.conftest import APPLICATION, ServedBy
from tests.e2e.serving import Served
from tests.e2e.test_views import settle
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.slow

LEFT_EDGES = "all => all.map(each => each.getBoundingClientRect().left)"


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The page looks the same whatever the database is."""
    return sqlite_database


def test_what_failed_is_grouped_and_retried_together(page: Page, node: Served) -> None:
    page.goto("errors")
    settle(page)
    expect(page.get_by_role("heading", name="Nothing has failed in this time")).to_be_visible()
    for printer in ("in the cellar", "on the roof"):
        node.begin("print_report", printer=printer)
    node.begin("call_supplier")
    wait_until(lambda: sum(each["count"] for each in node.read("errors/")["groups"]) == 3)
    page.get_by_test_id("refresh-now").click()
    groups = page.get_by_test_id("errors").get_by_role("article")
    expect(groups).to_have_count(2)
    reports = groups.filter(has_text="print_report")
    expect(reports).to_contain_text("e2e/application.py")
    expect(groups.filter(has_text="call_supplier")).to_contain_text("each was or will be retried")
    for width in (1024, 1280):
        page.set_viewport_size({"width": width, "height": 720})
        assert len(set(groups.locator(".figures").evaluate_all(LEFT_EDGES))) == 1, width
    reports.get_by_text("Latest: job").click()
    expect(reports.get_by_label("Traceback")).to_contain_text("raise NoPrinter(printer)")
    reports.get_by_role("button", name="Retry 2 jobs").click()
    expect(page.get_by_test_id("reached")).to_contain_text("Retry 2 jobs of type print_report")
    expect(page.get_by_test_id("reached-jobs")).to_contain_text("on the roof")
    page.get_by_test_id("confirm-group").click()
    expect(page.get_by_test_id("job-state")).to_have_attribute("data-state", "finished")
    assert len(node.read("jobs/?types=print_report")["jobs"]) == 4
    page.goto("errors?since=1h")
    expect(page.get_by_test_id("range")).to_have_value("1h")
    expect(reports.get_by_role("button", name="Retry 2 jobs")).to_be_visible()


def test_a_viewer_is_told_what_is_not_shown(
    browser: Browser,
    database: Database,
    served: ServedBy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = "a" * 40
    monkeypatch.setenv("HORAE_TOKENS", f"vera:viewer:{token}")
    node = served(APPLICATION, database)
    failed = node.begin("print_report")
    wait_until(lambda: node.read(f"jobs/{failed}/")["state"] == "failed")
    header = {"Authorization": f"Bearer {token}"}
    with browser.new_context(base_url=node.url, extra_http_headers=header) as context:
        page = context.new_page()
        page.goto("errors")
        group = page.get_by_role("article")
        expect(group.locator(".message")).to_have_text("Not shown to viewers.")
        expect(page.get_by_test_id("read-only")).to_contain_text("error texts are not shown")
        page.set_viewport_size({"width": 390, "height": 844})
        log_out = page.get_by_role("button", name="Log out").bounding_box()
        assert log_out is not None
        assert log_out["height"] < 40  # its words are on one line
        page.goto(f"jobs/{failed}")
        expect(page.get_by_test_id("job-error")).to_have_text("Not shown to viewers.")
        page.goto("jobs?q=error:printer")
        expect(page.locator("main")).to_contain_text("viewers cannot search")
