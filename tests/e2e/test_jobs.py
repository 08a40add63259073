"""Jobs on the dashboard: progress moves, they can be cancelled, and the reason of a failure is shown."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect
from sqlalchemy import Engine, func, select

from tests.e2e.application import LONG_NAME, Person
from tests.e2e.serving import ON_SQLITE, Served
from tests.harness.node_processes import wait_until

pytestmark = [pytest.mark.one_database, pytest.mark.slow]

ELEMENTS = "() => document.querySelectorAll('main *').length"


def bar_of(page: Page) -> Locator:
    return page.get_by_test_id("progress").get_by_role("progressbar")


def percent(bar: Locator) -> int:
    return int(bar.get_attribute("aria-valuenow") or 0)


def people(engine: Engine, job: int) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).where(Person.job_id == job)).scalar_one()


def test_the_bar_of_a_running_job_moves_until_it_is_cancelled_and_its_rows_are_gone(
    page: Page, node: Served, engine: Engine
) -> None:
    job = node.begin("import_people", rows=4_000, pace=0.01)
    page.goto("jobs")
    page.get_by_test_id(f"job-{job}").get_by_role("link").click()
    expect(page.get_by_test_id("job-state")).to_have_text("Reading people")
    first = percent(bar_of(page))
    wait_until(lambda: percent(bar_of(page)) > first + 1)
    page.get_by_test_id("cancel").click()
    expect(page.get_by_test_id("job-state")).to_have_attribute("data-state", "cancelled")
    expect(page.get_by_test_id("cancel")).to_have_count(0)
    assert node.read(f"jobs/{job}/")["state"] == "cancelled"
    assert people(engine, job) == 0


def test_a_job_that_is_left_alone_finishes_with_its_rows_and_shows_the_result(
    page: Page, node: Served, engine: Engine
) -> None:
    job = node.begin("import_people", rows=30)
    page.goto(f"jobs/{job}")
    expect(page.get_by_test_id("job-state")).to_have_attribute("data-state", "finished")
    expect(bar_of(page)).to_have_attribute("aria-valuenow", "100")
    expect(page.get_by_role("region", name="result")).to_have_text("30")
    assert people(engine, job) == 30


def test_a_failure_shows_a_text_for_users_and_details_for_developers(
    page: Page, node: Served
) -> None:
    job = node.begin("print_report", printer="in the cellar")
    page.goto(f"jobs/{job}")
    expect(page.get_by_test_id("job-error")).to_have_text(
        "The printer in the cellar does not answer; try another one."
    )
    attempts = page.get_by_test_id("attempts")
    expect(attempts).to_contain_text("NoPrinter: in the cellar")
    expect(attempts.get_by_text("raise NoPrinter(printer)")).to_be_visible()
    page.goto("jobs?states=failed")
    expect(page.get_by_test_id(f"job-{job}")).to_contain_text("NoPrinter: in the cellar")
    page.get_by_test_id("state-finished").click()
    expect(page).to_have_url(re.compile("query=state"))


def test_a_failed_job_is_retried_as_a_new_job(page: Page, node: Served) -> None:
    job = node.begin("print_report")
    page.goto(f"jobs/{job}")
    page.get_by_test_id("retry").click()
    page.wait_for_url(lambda url: url.rsplit("/", 1)[-1] not in ("", str(job)))
    expect(page.get_by_role("link", name=f"#{job}", exact=True)).to_be_visible()


def test_two_tabs_stay_in_step(
    context: BrowserContext, page: Page, node: Served, tmp_path: Path
) -> None:
    job = node.begin("wait_for_file", file=str(tmp_path / "gate"))
    other = context.new_page()
    page.goto(f"jobs/{job}")
    other.goto("jobs")
    expect(page.get_by_test_id("job-state")).to_have_text("Waiting for file")
    expect(other.get_by_test_id(f"job-{job}")).to_contain_text("Waiting for file")
    page.get_by_test_id("cancel").click()
    for tab in (page, other):
        expect(tab.locator(".badge--cancelled").first).to_be_visible()


def test_a_job_that_another_user_starts_appears_by_itself(page: Page, node: Served) -> None:
    page.goto("jobs")
    expect(page.get_by_test_id("live")).to_have_text("Live")
    job = node.begin("import_people", rows=1)
    expect(page.get_by_test_id(f"job-{job}").locator(".badge--finished")).to_be_visible()


def test_many_are_chosen_and_cancelled_at_once(page: Page, node: Served, tmp_path: Path) -> None:
    jobs = [node.begin("wait_for_file", file=str(tmp_path / "gate")) for _ in range(3)]
    page.goto("jobs?states=started")
    for job in jobs[:2]:
        page.get_by_label(f"Select job {job}", exact=True).check()
    page.get_by_test_id("bulk").get_by_role("button", name="Cancel").click()
    page.get_by_test_id("confirm").click()
    for job in jobs[:2]:
        expect(page.get_by_test_id(f"job-{job}")).to_have_count(0)
    expect(page.get_by_test_id(f"job-{jobs[2]}")).to_be_visible()
    assert [node.read(f"jobs/{job}/")["state"] for job in jobs[:2]] == ["cancelled", "cancelled"]


@ON_SQLITE
def test_many_parameters_are_collapsed_until_opened(page: Page, node: Served) -> None:
    job = node.begin(LONG_NAME, rows={f"row-{number}": [number] * 8 for number in range(9_000)})
    page.goto(f"jobs/{job}")
    page.get_by_test_id("parameters").click()
    more = page.get_by_test_id("json-more").first
    expect(more).to_contain_text("Show all")
    assert page.evaluate(ELEMENTS) < 1500
    more.click()
    expect(page.get_by_role("region", name="parameters")).to_contain_text("row-8999")
    assert page.evaluate(ELEMENTS) < 1500
