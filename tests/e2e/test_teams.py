"""What several people need: a search, log lines, limits, groups, and schedules that skip a time."""

import pytest
from playwright.sync_api import Page, expect

from horae.storage.engine.database import Database
from tests.e2e.browser import Faults
from tests.e2e.serving import Served
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


def test_a_job_is_found_by_its_parameter_and_shows_what_it_logged(page: Page, node: Served) -> None:
    other, found = node.begin("send_letter", customer=1), node.begin("send_letter", customer=4711)
    page.goto("jobs")
    page.get_by_test_id("search").fill("tag:letters params.customer:4711")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("jobs").get_by_role("row")).to_have_count(2)
    expect(page.get_by_test_id(f"job-{other}")).to_have_count(0)
    page.get_by_test_id(f"job-{found}").get_by_role("link").first.click()
    expect(page.get_by_test_id("logs")).to_contain_text("a letter to customer 4711")
    page.get_by_test_id("tags").get_by_text("letters").click()
    expect(page.get_by_test_id(f"job-{other}")).to_be_visible()


def test_control_characters_are_shown_as_escapes(page: Page, node: Served) -> None:
    job = node.begin("send_letter", customer=1, greeting="\u202elive\x1b[31m")
    page.goto(f"jobs/{job}")
    expect(page.get_by_test_id("logs")).to_contain_text(r"a letter to customer 1\u202elive\x1b[31m")
    page.get_by_test_id("parameters").click()
    expect(page.get_by_label("Parameters", exact=True)).to_contain_text(
        r'"greeting": "\u202elive\u001b[31m"'
    )


def test_a_pending_job_is_moved_to_another_time(page: Page, node: Served) -> None:
    job = node.begin("call_supplier")
    page.goto(f"jobs/{job}")
    expect(
        page.get_by_test_id("retry-reason")
    ).to_be_visible()  # its next attempt is due in an hour
    page.get_by_test_id("reschedule").click()
    page.get_by_label("Start at a time").check()
    page.get_by_label("Date and time").fill("2040-01-02T03:04")
    page.get_by_test_id("confirm-reschedule").click()
    expect(page.get_by_test_id("waits")).to_contain_text("is due at 2 Jan 2040")
    page.get_by_test_id("reschedule").click()
    page.get_by_test_id("delay").fill("")
    page.get_by_test_id("confirm-reschedule").click()
    wait_until(lambda: node.read(f"jobs/{job}/")["attempt"] == 2)


def test_a_schedule_is_run_for_past_times(page: Page, node: Served) -> None:
    schedule = next(
        each["id"] for each in node.read("schedules/")["schedules"] if each["name"] == "back_up"
    )
    page.goto(f"schedules/{schedule}")
    page.get_by_test_id("backfill").click()
    preview = page.get_by_test_id("backfill-preview")
    expect(preview).to_contain_text(
        "There is nothing to run"
    )  # in the last day, for most days of a year
    page.get_by_label("From").fill("2021-06-01T00:00")
    page.get_by_label("Until").fill("2024-06-01T00:00")
    expect(preview).to_contain_text("3 runs will be added.")
    page.get_by_test_id("confirm-backfill").click()
    expect(page.get_by_test_id("notice-done")).to_contain_text("back_up runs for 3 past times.")
    expect(page.get_by_test_id("ticks").get_by_text("by a backfill")).to_have_count(3)
    page.get_by_test_id("backfill").click()
    page.get_by_label("From").fill("2021-06-01T00:00")
    page.get_by_label("Until").fill("2024-06-01T00:00")
    expect(preview).to_contain_text("There is nothing to run; 3 others ran before or wait already.")
    expect(page.get_by_test_id("confirm-backfill")).to_be_disabled()


def test_past_times_that_wait_are_not_run(page: Page, node: Served) -> None:
    schedule = next(
        each["id"] for each in node.read("schedules/")["schedules"] if each["name"] == "watch_gate"
    )
    page.goto(f"schedules/{schedule}")
    page.get_by_test_id("backfill").click()
    page.get_by_label("From").fill("2021-06-01T00:00")
    page.get_by_label("Until").fill("2024-06-01T00:00")
    page.get_by_test_id("confirm-backfill").click()  # the first run does not end by itself
    page.get_by_test_id("undo-backfill").click()
    expect(page.get_by_test_id("notice-done").last).to_contain_text(
        "2 past times of watch_gate will not be run."
    )
    expect(page.get_by_test_id("backfill-waits")).to_have_count(0)


def test_a_range_that_is_refused_is_explained(page: Page, node: Served, faults: Faults) -> None:
    schedule = next(
        each["id"] for each in node.read("schedules/")["schedules"] if each["name"] == "back_up"
    )
    page.goto(f"schedules/{schedule}")
    page.get_by_test_id("backfill").click()
    page.get_by_label("From").fill("2030-06-01T00:00")
    expect(page.get_by_text("Enter a range that ends after it begins.")).to_be_visible()
    page.get_by_label("Until").fill("2031-06-01T00:00")
    expect(page.get_by_test_id("backfill-refused")).to_contain_text("in the future")
    expect(page.get_by_test_id("confirm-backfill")).to_be_disabled()
    faults.forgive()


def test_a_wrong_search_is_explained(page: Page, node: Served, faults: Faults) -> None:
    node.begin("send_letter", customer=1)
    page.goto("jobs?q=colour:red")
    expect(page.locator("main")).to_contain_text("colour")
    faults.forgive()


def test_a_group_shows_its_members(page: Page, node: Served) -> None:
    starter = node.begin("send_letters", customers=3)
    wait_until(lambda: node.read(f"jobs/{starter}/")["state"] == "finished")
    group = node.read(f"jobs/{starter}/")["result"]
    page.goto(f"groups/{group}")
    expect(page.get_by_test_id("group-state")).to_have_text("ended")
    page.get_by_text("3 jobs", exact=True).click()
    page.wait_for_url(f"**/jobs?group={group}")
    expect(page.locator("[data-testid^=job-]")).to_have_count(3)


def test_a_group_is_started(page: Page, node: Served) -> None:
    page.goto("jobs")
    page.get_by_test_id("start-group").click()
    start = page.get_by_test_id("confirm-group")
    expect(start).to_be_disabled()
    expect(page.locator("datalist option[value=send_letter]")).to_have_count(1)
    page.get_by_label("Type of job 1").fill("send_letter")
    page.get_by_label("Parameters of job 1").fill('{"customer": 1, "greeting": "to \\"Ann\\""}')
    page.get_by_test_id("add-job").click()
    expect(page.get_by_label("Type of job 2")).to_have_value("send_letter")
    page.get_by_label("Parameters of job 2").fill("{customer: 2}")
    expect(page.get_by_text("The parameters are not valid JSON.")).to_be_visible()
    expect(start).to_be_disabled()
    page.get_by_label("Parameters of job 2").fill('{"customer": 2}')
    page.get_by_test_id("add-job").click()
    page.get_by_label("Remove job 3").click()
    page.get_by_label("Type of the job after them").fill("print_report")
    page.get_by_label("The others are cancelled").check()
    start.click()
    expect(page.get_by_test_id("notice-done")).to_contain_text("started with 2 jobs")
    expect(page.get_by_test_id("group-state")).to_have_text("ended")
    group = node.read(f"groups/{page.url.rsplit('/', 1)[-1]}/")
    assert (group["total"], group["finished"], group["on_failure"]) == (2, 2, "cancel")
    assert node.read(f"jobs/{group['then_id']}/")["type"] == "print_report"
    members = node.read(f"jobs/?group_id={group['id']}")["jobs"]
    assert {
        member["id"]
        for member in members
        if "Ann" in str(node.read(f"jobs/{member['id']}/")["params"])
    }


def test_a_group_that_is_refused_can_be_corrected(page: Page, node: Served, faults: Faults) -> None:
    page.goto("jobs")
    page.get_by_test_id("start-group").click()
    page.get_by_label("Type of job 1").fill("send_mail")
    page.get_by_test_id("confirm-group").click()
    expect(page.get_by_test_id("group-refused")).to_contain_text("send_mail")
    page.get_by_label("Type of job 1").fill("send_letter")
    page.get_by_test_id("confirm-group").click()
    expect(page.get_by_test_id("group-refused")).to_contain_text("customer")
    faults.forgive()
    page.get_by_label("Parameters of job 1").fill('{"customer": 1}')
    page.get_by_test_id("confirm-group").click()
    expect(page.get_by_test_id("group-state")).to_have_text("ended")


def test_a_limit_is_changed_and_reset(page: Page, node: Served) -> None:
    page.goto("limits")
    row = page.get_by_test_id("limit-letters")
    row.get_by_role("button", name="Change").click()
    page.get_by_label("Maximum").fill("2")
    page.get_by_test_id("change-limit").click()
    expect(row).to_contain_text("changed")
    (limit,) = node.read("limits/")["limits"]
    assert limit["changed"] == {"concurrency": 2}
    row.get_by_role("button", name="Reset").click()
    expect(row).not_to_contain_text("changed")


def test_the_next_time_of_a_schedule_is_skipped_and_not_skipped(page: Page, node: Served) -> None:
    schedule = node.read("schedules/")["schedules"][0]["id"]
    page.goto(f"schedules/{schedule}")
    page.get_by_test_id("skip-next").click()
    expect(page.get_by_test_id("next-runs")).to_contain_text("skipped on request")
    page.get_by_test_id("undo-skip").click()
    expect(page.get_by_test_id("next-runs")).not_to_contain_text("skipped on request")


def test_all_jobs_that_match_are_deleted_by_a_job(page: Page, node: Served) -> None:
    for _ in range(3):
        node.begin("print_report")
    kept = node.begin("send_letter", customer=1)
    wait_until(
        lambda: (
            len(node.read("jobs/?states=failed,finished&types=print_report,send_letter")["jobs"])
            == 4
        )
    )
    page.goto("jobs?q=type:print_report")
    page.get_by_test_id("matching-delete").click()
    expect(page.get_by_test_id("matching")).to_contain_text("Delete 3 jobs")
    page.get_by_test_id("confirm-matching").click()
    expect(page.get_by_test_id("job-state")).to_have_text("Finished")
    assert node.read("jobs/?types=print_report")["jobs"] == []
    assert node.read(f"jobs/{kept}/")["state"] == "finished"
