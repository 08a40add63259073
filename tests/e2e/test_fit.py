"""Content fits its place: long names, many parameters, small screens."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Connection, update

from horae.storage.engine import read_clock
from horae.storage.engine.database import Database
from horae.storage.jobs import creation
from horae.storage.jobs.creation import JobRow
from horae.storage.jobs.tables import jobs
from horae.storage.schedules import tables
from tests.e2e.application import LONG_NAME
from tests.e2e.conftest import APPLICATION
from tests.e2e.history import write_history
from tests.e2e.serving import Served
from tests.e2e.test_status import post
from tests.e2e.test_views import TOO_WIDE, VIEWS, settle
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.slow

TABLES = ("jobs", "schedules", "queues", "types", "fleet", "journal")
OVERFLOWING = """() => [...document.querySelectorAll('.table-scroll')]
    .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.textContent.slice(0, 80))"""
TALLEST_ROW = "() => Math.max(...[...document.querySelectorAll('main tbody tr')].map(each => each.offsetHeight))"
ROW = 33
"""Pixels: a row and the line below it."""
HIDDEN = """() => [...document.querySelectorAll('main :is(th, td)')]
    .filter(each => getComputedStyle(each).display === 'none').map(each => each.textContent)"""
CUT = """() => [...document.querySelectorAll('main th, main td :is(.badge, time)')]
    .filter(each => {
        const ends = each.closest('th, td').getBoundingClientRect().right + 1
        return each.clientWidth > 0 && each.scrollWidth > each.clientWidth || each.getBoundingClientRect().right > ends
    }).map(each => each.textContent)"""
"""What is wider than its cell: states, times and heads of columns, which have no other place where they are whole."""
MARGIN = """link => {
    const whole = link.getBoundingClientRect(), text = link.querySelector('span').getBoundingClientRect()
    return Math.min(text.left - whole.left, whole.right - text.right)
}"""
BEHIND = "behind"
ARABIC = "طابور_المهام_العاجلة"
LABELS = """cells => cells.map(each => getComputedStyle(each, '::before').content)
    .map(text => text === 'none' ? '' : text.replaceAll('"', '').trim())"""
IN_GERMAN = "localStorage.setItem('horae.language', 'de')"
PROBLEMS = "() => [...document.querySelectorAll('[data-testid=problems] li')].map(each => each.offsetHeight)"


@pytest.fixture(scope="module")
def node(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A node with a job, a queue and a change whose names have 96 letters, and with sixty more queues.

    The job has waited for a month, so that all of its figures are long. No test changes anything.
    """
    folder = tmp_path_factory.mktemp("fit")
    url = f"sqlite:///{shutil.copy(migrated_sqlite, folder / 'horae.db')}"
    node = Served(APPLICATION, url, folder)
    with closing(Database(url)) as database:
        node.start()
        try:
            fill(node, database)
            yield node
        finally:
            node.stop()


def fill(node: Served, database: Database) -> None:
    note = "until the warehouse in Amsterdam answers again"
    post(node, f"queues/{LONG_NAME}_queue/pause/", note=note)
    schedules = {each["name"]: each["id"] for each in node.read("schedules/")["schedules"]}
    post(node, f"schedules/{schedules['back_up']}/pause/", note=note)
    now = database.autocommit(read_clock)
    database.transact(write_history, now, Random(4))
    database.transact(give_up, schedules["refresh_rates"])
    late = node.begin(LONG_NAME)  # after the history, so that it is the first one in the list

    def grow_old(connection: Connection) -> None:
        due = now - timedelta(days=29, hours=23)
        connection.execute(update(jobs).where(jobs.c.id == late).values(run_at=due))

    database.transact(grow_old)
    database.transact(fall_behind)


def fall_behind(connection: Connection) -> None:
    """Add a queue whose only job has waited since noon for a node that knows its type."""
    noon = read_clock(connection).replace(hour=0, minute=0) - timedelta(hours=12)
    row = JobRow(type="unknown", queue=BEHIND, priority=0, params=None)
    waiting = creation.add(connection, row).id
    connection.execute(update(jobs).where(jobs.c.id == waiting).values(run_at=noon))


def give_up(connection: Connection, schedule: int) -> None:
    """Write that a schedule has failed many times in a row, so that it is disabled."""
    connection.execute(
        update(tables.schedules)
        .where(tables.schedules.c.id == schedule)
        .values(state="disabled", enabled=False, disabled_reason="retries used up", next_start=None)
    )
    connection.execute(
        update(tables.schedule_statistics)
        .where(tables.schedule_statistics.c.schedule_id == schedule)
        .values(consecutive_failures=112)
    )


def resize(page: Page, width: int) -> None:
    """Give the page another width, which its styles follow at once."""
    page.set_viewport_size({"width": width, "height": 800})


def test_long_names_push_no_column_off_and_make_no_tall_rows(page: Page, node: Served) -> None:
    page.add_init_script(IN_GERMAN)  # its words are longer than the English ones
    for view in TABLES:
        resize(page, 1440)
        page.goto(view)
        settle(page)
        if view == "schedules":
            expect(page.get_by_test_id("lane").first).to_be_visible()
        for width in (1440, 1280, 1024):
            resize(page, width)
            assert page.evaluate(OVERFLOWING) == [], (view, width)
            assert page.evaluate(HIDDEN) == [], (view, width)
            assert page.evaluate(CUT) == [], (view, width)
            assert page.evaluate(TALLEST_ROW) <= ROW, (view, width)
    page.goto("")
    settle(page)
    expect(page.get_by_test_id("problems").locator("li").first).to_be_visible()
    for width in (1440, 1024):
        resize(page, width)
        assert max(page.evaluate(PROBLEMS)) <= ROW, width
    message = page.get_by_test_id("problems").locator("summary").first
    message.press("Enter")
    assert max(page.evaluate(PROBLEMS)) > ROW, "a press does not show the whole problem"
    page.goto("jobs")
    name = page.get_by_role("link", name=LONG_NAME)
    assert name.get_attribute("title") == LONG_NAME
    short = name.bounding_box()
    name.focus()
    whole = name.bounding_box()
    assert short is not None
    assert whole is not None
    assert whole["height"] > short["height"], "it is not shown whole where it has the focus"


def test_new_jobs_late_queues_and_names_of_pages_fit_in_german_on_a_small_laptop(
    page: Page, node: Served
) -> None:
    page.add_init_script(IN_GERMAN)
    resize(page, 1024)
    newest = node.read("jobs/?limit=1")["jobs"][0]["created_on"]
    page.clock.set_fixed_time(newest)
    page.goto("jobs")
    settle(page)
    expect(page.get_by_test_id("jobs").get_by_text("gerade eben").first).to_be_visible()
    assert page.evaluate(CUT) == []
    rail = page.get_by_test_id("nav-queues")
    assert rail.evaluate(MARGIN) >= 3, "its name touches the edges"
    page.goto("queues")
    settle(page)
    late = page.get_by_test_id(f"queue-{BEHIND}").locator("td.state")
    expect(late).to_contain_text("seit")
    assert page.evaluate(CUT) == []


def test_the_end_of_a_name_that_is_read_from_the_right_is_on_the_left(
    page: Page, node: Served
) -> None:
    post(node, f"queues/{ARABIC}/limit/", concurrency_limit=1)
    page.goto("queues")
    parts = page.get_by_role("link", name=ARABIC).locator("span span")
    first, second = parts.nth(0).bounding_box(), parts.nth(1).bounding_box()
    assert first is not None
    assert second is not None
    assert second["x"] < first["x"]


def test_the_reason_of_a_failure_has_room_on_a_tablet(page: Page, node: Served) -> None:
    resize(page, 768)
    page.goto("jobs?states=failed")
    settle(page)
    reason = page.get_by_test_id("jobs").locator("tbody td.reason").first.bounding_box()
    assert reason is not None
    assert reason["width"] > 100


def test_the_reason_of_a_failure_has_room_beside_a_preview(page: Page, node: Served) -> None:
    page.goto("jobs?states=failed")
    settle(page)
    for width in (1440, 1366, 1281, 1152):
        resize(page, width)
        page.keyboard.press("j")
        expect(page.get_by_test_id("preview")).to_be_visible()
        reason = page.get_by_test_id("jobs").locator("tbody td.reason").first.bounding_box()
        assert reason is not None
        assert reason["width"] > 100, width


def test_nothing_is_cut_on_smaller_screens_and_the_header_is_one_line(
    page: Page, node: Served
) -> None:
    for view in VIEWS:
        resize(page, 390)
        page.goto(view)
        settle(page)
        for width in (390, 360, 768, 1024):
            resize(page, width)
            page.wait_for_function(f"() => ({TOO_WIDE})() <= 0")  # canvases follow their window
            assert page.evaluate(OVERFLOWING) == [], (view, width)
            assert page.evaluate(CUT) == [], (view, width)
            header = page.locator("header.header").bounding_box()
            assert header is not None
            assert header["height"] < 60, f"the header of {view} wraps at {width}"


def test_filters_are_folded_on_a_telephone(page: Page, node: Served) -> None:
    resize(page, 390)
    fold = page.get_by_test_id("filters")
    bar = page.locator("details.filters > .bar")
    for view in ("jobs", "errors", "schedules", "queues", "types", "journal"):
        page.goto(view)
        settle(page)
        expect(fold).to_be_visible()
        expect(bar).to_be_hidden()
        fold.click()
        expect(bar).to_be_visible()
    resize(page, 1024)
    expect(fold).to_be_hidden()
    expect(bar).to_be_visible()


def test_tables_are_sorted_by_their_headers(page: Page, node: Served) -> None:
    page.goto("jobs")
    settle(page)
    expect(page.get_by_test_id("jobs").get_by_role("link", name=LONG_NAME)).to_have_count(1)
    page.get_by_test_id("order").select_option("last_ended")
    expect(page.get_by_text("Only jobs that have ended.")).to_be_visible()
    expect(page.get_by_role("link", name=LONG_NAME)).to_have_count(0)
    for view, header, first in (
        ("jobs", "Queue", "ascending"),
        ("jobs", "Duration", "descending"),
        ("queues", "Waiting", "descending"),
        ("types", "Run p50", "descending"),
        ("schedules", "Next", "ascending"),
        ("fleet", "Heartbeat", "descending"),
        ("fleet", "Module", "ascending"),
    ):
        page.goto(view)
        settle(page)
        cell = page.get_by_role("columnheader", name=header)
        button = cell.get_by_role("button")
        button.click()
        expect(cell).to_have_attribute("aria-sort", first)
        button.press("Enter")
        expect(button).to_be_focused()
        page.reload()
        other = {"ascending": "descending", "descending": "ascending"}[first]
        expect(cell).to_have_attribute("aria-sort", other)


def test_a_page_of_a_longer_list_says_that_only_its_rows_are_sorted(
    page: Page, node: Served
) -> None:
    page.goto("jobs?size=25")
    settle(page)
    note = page.get_by_test_id("page-sorted")
    expect(note).to_have_count(0)
    page.get_by_role("columnheader", name="Queue").get_by_role("button").click()
    expect(note).to_contain_text("Only the jobs on this page are sorted by “Queue”")
    queues = page.locator("[data-testid=jobs] tbody td.queue").all_text_contents()
    assert queues == sorted(queues)
    page.get_by_role("columnheader", name="Created").get_by_role("button").click()
    expect(note).to_have_count(0)


def test_the_first_page_fits_again_when_its_window_is_made_narrower(
    page: Page, node: Served
) -> None:
    resize(page, 1440)
    page.goto("")
    settle(page)
    expect(page.get_by_test_id("day").locator("canvas")).to_be_visible()
    for width in (1024, 390):
        resize(page, width)
        page.wait_for_function(f"() => ({TOO_WIDE})() <= 0")


def test_problems_keep_the_letters_of_names_and_count_one_as_one(page: Page, node: Served) -> None:
    wait_until(lambda: node.read("overview/")["problems"])
    page.goto("")
    problem = page.get_by_test_id("problems")
    expect(problem).to_contain_text("1 job waits")
    first: Any = problem.locator(".message").first.evaluate(
        "each => getComputedStyle(each, '::first-letter').textTransform"
    )
    assert first == "none"


def test_what_a_deployment_changed_is_named_on_a_telephone(page: Page, node: Served) -> None:
    resize(page, 390)
    page.goto("fleet")
    settle(page)
    labels = page.get_by_role("row", name="Current").locator("td").evaluate_all(LABELS)
    assert [label for label in labels if label] == ["What changed", "Run by", "Deployed"]
