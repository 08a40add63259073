"""User interaction: cursor, focus, copying, refreshing on request, and refused actions."""

import re

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from horae.storage.engine.database import Database
from tests.e2e.browser import Faults
from tests.e2e.serving import Served

pytestmark = pytest.mark.slow

WITHOUT_CLIPBOARD = "delete Navigator.prototype.clipboard"
FOCUSED = "() => document.activeElement?.id || document.activeElement?.dataset?.testid || document.activeElement?.tagName"


TWO_FRAMES = (
    "() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))"
)


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


@pytest.fixture
def held(node: Served) -> Served:
    """A node whose default queue is paused, so that jobs stay pending."""
    httpx.post(f"{node.url}api/queues/default/pause/", json={}, timeout=30).raise_for_status()
    return node


def test_the_cursor_stays_with_its_job_when_others_come(page: Page, held: Served) -> None:
    first = [held.begin("import_people", rows=1) for _ in range(3)]
    page.goto("jobs")
    expect(page.get_by_test_id(f"job-{first[-1]}")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.get_by_test_id(f"job-{first[1]}")).to_have_attribute("aria-current", "true")
    later = held.begin("import_people", rows=1)
    expect(page.get_by_test_id(f"job-{later}")).to_be_visible()
    expect(page.get_by_test_id(f"job-{first[1]}")).to_have_attribute("aria-current", "true")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{first[1]}")


def test_a_link_is_followed_though_its_row_would_move_while_it_is_pressed(
    page: Page, held: Served
) -> None:
    job = held.begin("import_people", rows=1)
    page.goto("jobs")
    link = page.get_by_test_id(f"job-{job}").get_by_role("link")
    link.hover()

    def answer_while_pressed(route: Route) -> None:
        answer = route.fetch()
        page.mouse.down()
        route.fulfill(response=answer)

    page.route("**/api/jobs/?*", answer_while_pressed, times=1)
    with page.expect_response("**/api/jobs/?*"):
        later = held.begin("import_people", rows=1)
    page.evaluate(TWO_FRAMES)
    page.mouse.up()
    page.wait_for_url(f"**/jobs/{job}")
    page.go_back()
    expect(page.get_by_test_id(f"job-{later}")).to_be_visible()


def test_no_row_moves_while_the_pointer_is_on_one(page: Page, held: Served) -> None:
    job = held.begin("import_people", rows=1)
    page.goto("jobs")
    link = page.get_by_test_id(f"job-{job}").get_by_role("link")
    link.hover()
    before = link.bounding_box()
    later = held.begin("import_people", rows=1)
    expect(page.get_by_test_id("arrived")).to_have_text("1 new")
    assert link.bounding_box() == before
    expect(page.get_by_test_id(f"job-{later}")).to_have_count(0)
    page.get_by_role("heading", level=1).hover()
    expect(page.get_by_test_id(f"job-{later}")).to_be_visible()
    expect(page.get_by_test_id("arrived")).to_have_count(0)


@pytest.mark.parametrize("width", [390, 1024])
def test_a_preview_covers_a_part_of_a_list_without_room_beside_it(
    page: Page, held: Served, width: int
) -> None:
    job = held.begin("import_people", rows=1)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("jobs")
    page.get_by_test_id(f"job-{job}").locator("td.created").click()
    preview = page.get_by_test_id("preview")
    expect(preview).to_contain_text(f"#{job}")
    box = preview.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] == width
    preview.get_by_role("button", name="Close the preview").click()
    expect(preview).to_have_count(0)


def test_no_row_moves_when_one_is_selected(page: Page, held: Served) -> None:
    first, second = (held.begin("import_people", rows=1) for _ in range(2))
    page.goto("jobs")
    other = page.get_by_label(f"Select job {second}")
    before = other.bounding_box()
    page.get_by_label(f"Select job {first}").check()
    expect(page.get_by_test_id("bulk")).to_be_in_viewport()
    assert other.bounding_box() == before


def test_the_focus_survives_a_change_of_page(page: Page, held: Served) -> None:
    newest_job = [held.begin("import_people", rows=1) for _ in range(26)][-1]
    page.goto("jobs?size=25")
    older = page.get_by_test_id("older")
    older.focus()
    page.keyboard.press("Enter")
    newest = page.get_by_role("button", name="First page")
    expect(older).to_have_attribute("aria-disabled", "true")
    assert page.evaluate(FOCUSED) == "older"
    newest.focus()
    page.keyboard.press("Enter")
    expect(newest).to_have_count(0)
    assert page.evaluate(FOCUSED) == "content"
    first = page.get_by_test_id("jobs").get_by_role("link").first
    expect(first).to_have_attribute(
        "href", f"/jobs/{newest_job}"
    )  # until then the old page is shown
    first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("job-state")).to_be_visible()
    assert page.evaluate(FOCUSED) == "content"


def test_what_is_being_typed_stays_when_the_list_changes(page: Page, held: Served) -> None:
    page.goto("jobs")
    field = page.get_by_test_id("search")
    for letter in "sta":
        field.press_sequentially(letter)
        job = held.begin("import_people", rows=1)
        expect(page.get_by_test_id(f"job-{job}")).to_be_visible()
    expect(field).to_have_value("sta")
    field.fill("type:import_people")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("type:import_people|type%3Aimport_people"))


def test_parameters_are_copied_on_a_page_without_a_clipboard(page: Page, held: Served) -> None:
    job = held.begin("import_people", rows=7)
    page.add_init_script(WITHOUT_CLIPBOARD)
    page.goto(f"jobs/{job}")
    page.get_by_test_id("parameters").click()
    page.get_by_role("button", name="Copy parameters").click()
    expect(page.get_by_test_id("notice-done")).to_contain_text("Copied.")
    page.get_by_role("link", name="Jobs", exact=True).first.click()
    expect(
        page.get_by_label(f"Select job {job}")
    ).to_be_visible()  # the filters stay as they are from now on
    field = page.get_by_test_id("search")
    field.focus()
    page.keyboard.press("ControlOrMeta+v")
    expect(field).to_have_value(re.compile('"rows": 7'))


def test_a_page_refreshes_on_request(page: Page, held: Served) -> None:
    page.goto("queues")
    page.get_by_test_id("display").click()
    page.get_by_test_id("refresh").select_option("0")
    page.keyboard.press("Escape")
    waiting = page.get_by_test_id("queue-default").locator("[data-label=Waiting]")
    expect(waiting).to_have_text("0")
    held.begin("import_people", rows=1)
    page.get_by_test_id("refresh-now").click()
    expect(waiting).to_have_text("1")
    held.begin("import_people", rows=1)
    page.locator("main h1").click()
    page.keyboard.press(".")
    expect(waiting).to_have_text("2")


def test_a_refused_call_shows_the_reason(page: Page, held: Served, faults: Faults) -> None:
    job = held.begin("import_people", rows=1)
    page.goto("jobs")
    page.get_by_label(f"Select job {job}").check()
    page.get_by_test_id("bulk").get_by_role("button", name="Cancel").click()
    page.route(
        "**/api/jobs/*/cancel/",
        lambda route: route.fulfill(
            status=400, json={"error": "ERROR_X", "detail": "job 1 is dear to us"}
        ),
    )
    page.get_by_test_id("confirm").click()
    expect(page.get_by_test_id("notice-failed")).to_contain_text(
        "0 jobs cancelled. 1 job not cancelled: Action failed: job 1 is dear to us."
    )
    faults.forgive()
