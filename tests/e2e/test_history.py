"""The views "Queues" and "Types" and their charts: which queue falls behind since when, in few clicks and by key."""

import re
from datetime import timedelta
from typing import Final

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Connection, update

from horae.domain.history import (
    LENGTHS,
    Ended,
    Figures,
    Gauges,
    Seen,
    bucket_of,
    floor,
)
from horae.storage.engine import seconds_from_now
from horae.storage.engine.database import Database
from horae.storage.history import writing
from horae.storage.jobs import creation, jobs
from horae.storage.jobs.creation import JobRow
from horae.storage.schedules import deployments
from horae.storage.schedules.tables import deployments as deployed_table
from tests.e2e.serving import Served
from tests.e2e.tasks import MOST_CLICKS, clicks
from tests.e2e.test_views import settle
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.slow

TEN: Final = timedelta(seconds=10)
QUIET: Final = Gauges(waiting=1, lateness=0.5, slots=4, slots_used=1)
FALLING: Final = Gauges(waiting=900, lateness=1500.0, slots=4, slots_used=4)


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The pages look the same whatever the database is."""
    return sqlite_database


@pytest.fixture
def recorded(node: Served, database: Database) -> Served:
    """Sixty queues with ten minutes of history; `q-41` fell behind 25 minutes ago, and type `letters` fails."""
    wait_until(lambda: database.autocommit(writing.progress).reached)

    def record(connection: Connection) -> None:
        row = JobRow(type="unknown", queue="q-41", priority=0, params=None)
        waiting = creation.add(connection, row).id
        moved = (
            update(jobs)
            .where(jobs.c.id == waiting)
            .values(run_at=seconds_from_now(-FALLING.lateness))
        )
        connection.execute(moved)
        deployments.add(connection, "v2", "shop", "[]", "1", 1)
        deployed = update(deployed_table).where(deployed_table.c.key == "v2")
        connection.execute(deployed.values(created_at=seconds_from_now(-300.0)))
        now = writing.progress(connection).now
        names = [f"q-{number:02}" for number in range(60)]
        seen = Seen(FALLING, dict.fromkeys(names, QUIET) | {"q-41": FALLING}, {"letters": QUIET})
        ended = Ended(
            Figures(finished=118, failed=3),
            dict.fromkeys(names, Figures(finished=2)) | {"q-41": Figures(failed=3)},
            {"letters": Figures(finished=2, failed=3, runs={20: 5})},
        )
        end = floor(now, LENGTHS[0].seconds) - TEN
        for number in range(60, 0, -1):
            found, start = writing.progress(connection), end - number * TEN
            behind = {"q-41": now - timedelta(seconds=FALLING.lateness)}
            assert writing.write(connection, found, start, bucket_of(ended, seen), behind)

    database.transact(record)
    return node


def test_the_queue_that_falls_behind_is_found_by_key(page: Page, recorded: Served) -> None:
    page.goto("jobs")
    settle(page)
    page.keyboard.press("g")
    page.keyboard.press("q")
    first = page.get_by_test_id("queues").locator("tbody tr").first
    expect(first).to_contain_text("q-41")
    expect(first).to_contain_text("Behind")
    expect(first.locator("time")).to_contain_text("since")
    first.get_by_role("link", name="q-41").focus()
    page.keyboard.press("Enter")
    depth = page.get_by_role("slider", name="Depth")
    depth.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    expect(depth).to_have_attribute("aria-valuetext", re.compile("Waiting"))
    page.keyboard.press("Home")
    expect(depth).to_have_attribute("aria-valuetext", re.compile("Waiting \N{EN DASH}"))


def test_the_queue_that_falls_behind_is_found_among_sixty(counted: Page, recorded: Served) -> None:
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


def test_what_is_typed_stays_when_the_page_is_refreshed(page: Page, recorded: Served) -> None:
    page.goto("queues")
    settle(page)
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
    expect(page.get_by_text("No queue matches.")).to_be_visible()


def test_the_type_that_fails_most_since_a_deployment_comes_first(
    page: Page, recorded: Served
) -> None:
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
