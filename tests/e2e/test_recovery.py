"""The server goes away and comes back under an open page."""

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Page, expect

from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.e2e.browser import Faults
from tests.e2e.serving import Served
from tests.harness.node_processes import wait_until
from tests.harness.postgres import THROW_AWAY, PostgresServer

pytestmark = pytest.mark.slow

FETCHED = "view => performance.getEntriesByType('resource').some(each => each.name.includes(view))"


def test_a_page_recovers_by_itself_when_the_server_is_restarted(
    page: Page, faults: Faults, node: Served
) -> None:
    page.goto("jobs")
    expect(page.get_by_test_id("live")).to_have_text("Live")
    page.evaluate("window.openedOnce = true")
    node.stop()
    expect(page.get_by_test_id("live")).not_to_have_text("Live")
    node.start()
    expect(page.get_by_test_id("live")).to_have_text("Live", timeout=40_000)
    faults.forgive()  # requests failed while no server answered
    job = node.begin("import_people", rows=1)
    expect(page.get_by_test_id(f"job-{job}").locator(".badge--finished")).to_be_visible()
    expect(page.get_by_test_id("lost")).to_have_count(0, timeout=40_000)
    assert page.evaluate("window.openedOnce") is True, "the page was reloaded"


def test_a_page_reports_a_lost_server_and_recovers(
    page: Page, faults: Faults, node: Served
) -> None:
    page.goto("queues")
    expect(page.get_by_test_id("live")).to_have_text("Live")
    wait_until(lambda: page.evaluate(FETCHED, "/operations-"))
    node.stop()
    page.get_by_test_id("nav-fleet").click()
    lost = page.get_by_role("heading", name="The server does not respond")
    expect(lost.first).to_be_visible()
    node.start()
    page.get_by_role("button", name="Try again").first.click()
    expect(page.get_by_test_id("nodes").get_by_role("row")).not_to_have_count(0)
    expect(page.get_by_test_id("live")).to_have_text("Live", timeout=40_000)
    faults.forgive()


class TestLostDatabase:
    """A server that is stopped under an open page."""

    @pytest.fixture
    def server(self) -> Iterator[PostgresServer]:
        with PostgresServer(THROW_AWAY) as server:
            yield server

    @pytest.fixture
    def database(self, server: PostgresServer) -> Iterator[Database]:
        with closing(Database(server.create_database())) as database:
            upgrade(database)
            yield database

    @pytest.mark.postgres
    def test_the_page_shows_how_old_its_data_are(
        self, page: Page, faults: Faults, server: PostgresServer, node: Served
    ) -> None:
        page.goto("jobs")
        live = page.get_by_test_id("live")
        expect(live).to_have_text("Live")
        page.get_by_test_id("display").click()
        page.get_by_test_id("refresh").select_option(
            "60"
        )  # so that the events tell it, and not a request
        server.halt("immediate")
        expect(live).to_have_text(re.compile(r"Updated \d+ s ago"))
        lost = page.get_by_test_id("lost")
        expect(lost).to_contain_text(
            re.compile(r"The database has been unreachable since \d\d:\d\d\.")
        )
        page.get_by_test_id("refresh-now").click()
        page.get_by_test_id("nav-now").click()
        expect(page.get_by_test_id("sentence")).to_have_text("Status unknown")
        page.get_by_test_id("nav-fleet").click()  # what was never read has no data to show
        expect(
            page.get_by_role("heading", name="The database cannot be reached")
        ).not_to_have_count(0)
        everything = page.locator("body")
        expect(everything).not_to_contain_text("127.0.0.1")
        expect(everything).not_to_contain_text("postgresql")
        server.start()
        expect(live).to_have_text("Live", timeout=40_000)
        expect(lost).to_have_count(0)
        expect(page.get_by_test_id("nodes")).to_be_visible()
        faults.forgive()


def test_a_view_that_cannot_be_fetched_is_no_dead_link(
    page: Page, faults: Faults, node: Served
) -> None:
    page.route("**/assets/operations-*.js", lambda route: route.abort())
    page.goto("")
    expect(page.get_by_test_id("live")).to_have_text("Live")
    page.evaluate("window.openedOnce = true")
    page.get_by_test_id("nav-fleet").click()
    page.wait_for_url("**/fleet")
    wait_until(lambda: page.evaluate("window.openedOnce === undefined"))
    node.stop()
    page.get_by_test_id("nav-queues").click()
    expect(page.locator("main")).to_be_visible()
    faults.forgive()


@pytest.mark.parametrize("gone", ["jobs/999999", "schedules/999999"])
def test_a_missing_object_is_reported(page: Page, faults: Faults, gone: str) -> None:
    page.goto(gone)
    expect(page.locator("main h2")).to_be_visible()
    assert {fault for fault in faults.seen if "404" not in fault} == set()
    faults.forgive()
