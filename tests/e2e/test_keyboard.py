"""The tasks of operators without a mouse, from the first page to the end, while jobs end: the focus is always known."""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Connection, update

from horae.storage.engine.database import Database
from horae.storage.jobs.tables import jobs
from tests.e2e.browser import Faults
from tests.e2e.conftest import APPLICATION
from tests.e2e.history import let_a_queue_fall_behind, miss_last_nights_run
from tests.e2e.serving import Served
from tests.e2e.tasks import jobs_that_end
from tests.e2e.test_schedule_tasks import patch
from tests.e2e.test_schedules import schedule
from tests.harness.applications import url_of
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.slow

MOST_TABS: Final = 60
OWNER: Final = "anna"


@pytest.fixture(scope="module")
def database(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all of these tests, since none of them minds what another has done."""
    file = shutil.copy(migrated_sqlite, tmp_path_factory.mktemp("keyboard") / "horae.db")
    with closing(Database(f"sqlite:///{file}")) as database:
        yield database


@pytest.fixture(scope="module")
def node(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A node with something to find for each task, on which short jobs end all the time."""
    database.transact(let_a_queue_fall_behind)
    node = Served(APPLICATION, url_of(database), tmp_path_factory.mktemp("node"))
    node.start()
    try:
        with jobs_that_end(node):
            database.transact(miss_last_nights_run, schedule(node, "back_up")["id"])
            yield node
    finally:
        node.stop()


@pytest.fixture
def page(page: Page) -> Page:
    """The first page, on which nobody clicks."""
    page.goto("")
    expect(page.get_by_test_id("live")).to_have_text("Live")
    return page


def tab_to(page: Page, target: Locator) -> None:
    """Go to an element with the tab key alone."""
    expect(target).to_be_visible()
    for _ in range(MOST_TABS):
        if target.evaluate("each => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {target}")


def press(page: Page, target: Locator) -> None:
    """Go to a button or link, and press it."""
    tab_to(page, target)
    page.keyboard.press("Enter")


def type_into(page: Page, target: Locator, value: str) -> None:
    """Go to a field, which selects its text, and write another, key by key."""
    tab_to(page, target)
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(value)
    expect(target).to_have_value(value)


def choose(page: Page, target: Locator, label: str, value: str) -> None:
    """Go to a list of choices, and write the beginning of one."""
    tab_to(page, target)
    page.keyboard.type(label)
    expect(target).to_have_value(value)
    expect(target).to_be_focused()


def goes(page: Page, key: str, title: str) -> bool:
    """Press two keys, and return whether they led to the page: on a busy machine the second may be too late."""
    page.keyboard.press("g")
    page.keyboard.press(key)
    return page.get_by_role("heading", level=1).inner_text() == title


def go(page: Page, key: str, title: str) -> None:
    wait_until(partial(goes, page, key, title))
    expect(page.locator("#content")).to_be_focused()


def search(page: Page, query: str) -> None:
    """Search jobs from anywhere."""
    page.keyboard.press("/")
    field = page.get_by_test_id("search")
    expect(field).to_be_focused()
    page.keyboard.type(query)
    expect(field).to_have_value(query)
    page.keyboard.press("Enter")
    expect(field).to_be_focused()


def change_all_that_match(page: Page, action: str, count: str) -> None:
    """Press the button for all matches, look at what it reaches, go back, and do it."""
    button = page.get_by_test_id(f"matching-{action}")
    press(page, button)
    confirm = page.get_by_test_id("confirm-matching")
    expect(page.get_by_test_id("matching")).to_contain_text(count)
    page.keyboard.press("Escape")
    expect(confirm).to_have_count(0)
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    press(page, confirm)
    expect(page.get_by_test_id("job-state")).to_have_attribute("data-state", "finished")
    expect(page.locator("#content")).to_be_focused()


def test_why_last_nights_run_did_not_happen(page: Page) -> None:
    go(page, "s", "Schedules")
    expect(page.get_by_test_id("arrived-at")).to_have_text("Schedules \N{MIDDLE DOT} Horae")
    type_into(page, page.get_by_role("searchbox"), "back_")
    mark = page.get_by_test_id("schedules").locator("[data-outcome=missed]")
    tab_to(page, page.get_by_role("row", name="back_up").locator(".mark[tabindex='0']"))
    page.keyboard.press("Home")
    expect(mark).to_be_focused()
    expect(mark).to_have_accessible_name(f"{mark.get_attribute('title')}")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("why-text")).to_contain_text("no node could start it on time")
    expect(page.get_by_test_id("why-text")).to_contain_text("No node was up until")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("why")).to_have_count(0)
    expect(mark).to_be_focused()


def test_all_imports_of_one_owner_are_cancelled(
    page: Page, node: Served, tmp_path: Path, database: Database
) -> None:
    hers, other = (node.begin("wait_for_file", file=str(tmp_path / "gate")) for _ in range(2))
    owned = update(jobs).where(jobs.c.id == hers).values(owner=OWNER)
    database.transact(Connection.execute, owned)
    search(page, f"type:wait* owner:{OWNER} -state:finished")
    expect(page.get_by_test_id(f"job-{hers}")).to_be_visible()
    change_all_that_match(page, "cancel", "Cancel 1 job")
    assert node.read(f"jobs/{hers}/")["state"] == "cancelled"
    (tmp_path / "gate").touch()
    wait_until(lambda: node.read(f"jobs/{other}/")["state"] == "finished")


def test_which_type_fails_most_since_the_deployment_and_how(page: Page, node: Served) -> None:
    for _ in range(3):
        node.begin("print_report")
    node.begin("call_supplier")
    wait_until(lambda: sum(each["count"] for each in node.read("errors/")["groups"]) >= 4)
    go(page, "e", "Errors")
    choose(page, page.get_by_test_id("range"), "Since the n", "deployment:latest")
    first = page.get_by_test_id("types").get_by_role("link").first
    expect(first).to_contain_text(re.compile(r"print_report\s*3"))
    press(page, first)
    group = page.get_by_test_id("errors").get_by_role("article")
    expect(group).to_have_count(1)
    expect(page.locator("#content")).to_be_focused()
    press(page, group.get_by_text("Latest: job"))
    expect(group.get_by_label("Traceback")).to_contain_text("raise NoPrinter(printer)")
    tab_to(page, group.get_by_label("Traceback"))


def test_what_failed_with_one_exception_is_retried(page: Page, node: Served) -> None:
    node.begin("call_bank")
    wait_until(lambda: node.read("jobs/?query=type:call_bank+state:failed")["jobs"])
    search(page, "state:failed error:ConnectionError")
    change_all_that_match(page, "retry", "Retry 1 job")
    wait_until(lambda: node.read("jobs/?query=type:call_bank+state:finished")["jobs"])


def test_everything_is_paused_and_resumed(page: Page) -> None:
    button = page.get_by_test_id("pause-everything")
    press(page, button)
    expect(page.get_by_label("Note for other users")).to_be_focused()
    page.keyboard.type("moving house")
    page.keyboard.press("Enter")
    banner = page.get_by_test_id("everything-paused")
    expect(banner).to_contain_text("by local: moving house")
    expect(button).to_have_count(0)
    expect(page.locator("#content")).to_be_focused()
    press(page, page.get_by_test_id("resume-everything"))
    expect(banner).to_have_count(0)
    expect(page.locator("#content")).to_be_focused()


def test_a_queue_is_paused_and_resumed_with_one_button(page: Page) -> None:
    go(page, "q", "Queues")
    buttons = page.get_by_test_id("queue-q-07")
    press(page, buttons.get_by_role("button", name="Pause"))
    page.keyboard.press("Enter")
    resume = buttons.get_by_role("button", name="Resume")
    expect(resume).to_be_focused()
    page.keyboard.press("Enter")
    expect(buttons.get_by_role("button", name="Pause")).to_be_focused()


def test_a_cron_is_added_after_a_look_at_ten_times_in_berlin(
    page: Page, node: Served, faults: Faults
) -> None:
    go(page, "s", "Schedules")
    press(page, page.get_by_test_id("new-schedule"))
    expect(page.locator("#content")).to_be_focused()
    choose(page, page.get_by_test_id("job-type"), "send_letter", "send_letter")
    type_into(page, page.get_by_test_id("schedule-name"), "typed")
    type_into(page, page.get_by_label("Cron expression"), "30 2 * * *")
    type_into(page, page.get_by_label("Time zone"), "Europe/Berlin")
    expect(page.get_by_test_id("words")).to_have_text("At 02:30 (Europe/Berlin).")
    press(page, page.get_by_test_id("around-change"))
    expect(page.get_by_test_id("preview-time")).to_have_count(10)
    expect(page.get_by_test_id("clock-change")).to_be_visible()
    press(page, page.get_by_test_id("save"))
    missing = page.get_by_label("customer *")
    expect(missing).to_be_focused()
    faults.forgive()
    page.keyboard.type("8")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("typed")
    expect(page.locator("#content")).to_be_focused()
    added = schedule(node, "typed")
    assert (added["trigger"]["text"], added["timezone"]) == ("30 2 * * *", "Europe/Berlin")


def test_the_job_of_a_customer_is_previewed_and_opened(page: Page, node: Served) -> None:
    node.begin("send_letter", customer=17)
    found = node.begin("send_letter", customer=4711)
    search(page, "customer:4711")
    expect(page.get_by_test_id(f"job-{found}")).to_be_visible()
    expect(page.get_by_test_id("jobs").get_by_role("row")).to_have_count(2)
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    preview = page.get_by_test_id("preview")
    expect(preview).to_contain_text(f"#{found}")
    expect(preview.get_by_label("parameters", exact=True)).to_contain_text("4711")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{found}")
    expect(page.locator("#content")).to_be_focused()


def test_which_queue_falls_behind_since_when(page: Page) -> None:
    go(page, "q", "Queues")
    first = page.get_by_test_id("queues").locator("tbody tr").first
    expect(first).to_contain_text("q-41")
    expect(first).to_contain_text("Behind")
    expect(first.locator("time")).to_contain_text("since")
    press(page, first.get_by_role("link", name="q-41"))
    depth = page.get_by_role("slider", name="Depth")
    tab_to(page, depth)
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    expect(depth).to_have_attribute("aria-valuetext", re.compile("Waiting"))
    page.keyboard.press("Home")
    expect(depth).to_have_attribute("aria-valuetext", re.compile("Waiting \N{EN DASH}"))
    expect(depth).to_be_focused()


def test_who_changed_this_schedule_from_what_to_what(page: Page, node: Served) -> None:
    patch(node, schedule(node, "back_up")["id"], cron="0 4 * * *")
    go(page, "c", "Journal")
    choose(page, page.get_by_test_id("journal-kind"), "sched", "schedule")
    type_into(page, page.get_by_test_id("journal-target"), "back_up")
    page.keyboard.press("Enter")
    row = page.get_by_test_id("changes").get_by_role("row", name="schedule.alter")
    expect(row).to_contain_text(re.compile(r"trigger\s*from\s*.*→\s*to\s*0 4 \* \* \*"))
    expect(row).to_contain_text("local")
    expect(page.get_by_test_id("journal-target")).to_be_focused()


def test_why_a_job_waits_and_until_when(page: Page, node: Served) -> None:
    job = node.begin("call_supplier")
    search(page, f"id:{job}")
    press(page, page.get_by_test_id(f"job-{job}").get_by_role("link"))
    expect(page.get_by_test_id("why")).to_contain_text("Waits for another attempt")
    expect(page.get_by_test_id("waits")).to_contain_text(
        re.compile(r"Its next attempt is due at \d")
    )
    expect(page.get_by_test_id("estimate").locator("time")).to_have_count(1)
    expect(page.locator("#content")).to_be_focused()
