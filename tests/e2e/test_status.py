"""Pages show the actual status: why a job waits, how much work there is, how a schedule performs, which nodes have died."""

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from horae.storage.engine.database import Database
from tests.e2e.conftest import APPLICATION, ServedBy
from tests.e2e.serving import Served
from tests.e2e.test_schedules import schedule
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


def post(node: Served, path: str, **body: object) -> None:
    httpx.post(f"{node.url}api/{path}", json=body, timeout=30).raise_for_status()


def test_a_job_in_a_paused_queue_shows_it_and_does_not_count_as_waiting(
    page: Page, node: Served
) -> None:
    post(node, "queues/default/pause/", note="moving house")
    jobs = [node.begin("import_people", rows=1) for _ in range(3)]
    page.goto(f"jobs/{jobs[0]}")
    expect(page.get_by_test_id("timeline")).to_contain_text("Queue paused")
    page.goto("")
    waiting = page.get_by_role("link", name=re.compile("^Waiting"))
    expect(waiting).to_contain_text("3")
    expect(waiting).to_contain_text("due later or paused")
    expect(waiting).not_to_contain_text("of work")


def test_a_job_in_its_back_off_shows_the_next_attempt_and_its_time(
    page: Page, node: Served
) -> None:
    job = node.begin("call_supplier")
    page.goto(f"jobs/{job}")
    expect(page.get_by_test_id("timeline")).to_contain_text("(attempt 2 of 5)")
    expect(page.get_by_test_id("timeline")).to_contain_text("Waiting until")


def test_a_schedule_with_an_open_run_shows_no_crash(
    page: Page, node: Served, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    post(node, f"schedules/{schedule(node, 'watch_gate')['id']}/run/")
    page.goto(f"schedules/{schedule(node, 'watch_gate')['id']}")
    runs = page.locator("dd", has_text="succeeded")
    expect(runs).to_have_text("1: 0 succeeded, 0 failed, 0 crashed, 1 running")
    gate.touch()


def test_a_killed_node_is_shown_for_a_while(
    page: Page, node: Served, served: ServedBy, database: Database
) -> None:
    other = served(APPLICATION, database, "--name", "unlucky")
    page.goto("fleet")
    expect(page.get_by_test_id("nodes")).to_contain_text("unlucky")
    other.kill()
    wait_until(lambda: node.read("nodes/")["died"])
    expect(page.get_by_test_id("died")).to_contain_text("unlucky")
    expect(page.get_by_test_id("nodes")).not_to_contain_text("unlucky")
    page.goto("journal")
    expect(page.get_by_test_id("changes").get_by_role("row", name="node.died")).to_contain_text(
        "unlucky"
    )
