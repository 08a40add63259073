"""A failed period is made up for: by a retry of its run, or by a backfill of what has failed."""

from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from horae import JobNotRetryable, ScheduleIsRunning
from horae.client.schedules.backfill import Backfill
from horae.domain.jobs.job import Job, JobState
from horae.domain.schedules.schedule import DisabledReason, Overlap, ScheduleState
from tests.schedules.clock import MONDAY
from tests.schedules.driver import CRASHED, ENDED_BADLY, Driver
from tests.schedules.test_backfill import problems_of

HOUR: Final = timedelta(hours=1)
FIRST: Final = MONDAY + HOUR


@pytest.fixture
def failing(driver: Driver) -> Driver:
    """An hourly schedule of which the first run has failed, the second has crashed, and the third has succeeded."""
    driver.horae.schedules.add("work", name="hourly", cron="0 * * * *")
    for outcome in (ENDED_BADLY, CRASHED, None):
        driver.until_due("hourly")
        driver.run(outcome)
    return driver


def failed(driver: Driver) -> Job:
    return driver.horae.jobs.list(states=["failed"]).jobs[-1]


def end_all(driver: Driver, **outcome: Any) -> None:
    driver.clock.advance(seconds=1)
    for claim in driver.claim():
        driver.end(claim, **outcome)


def make_up(
    driver: Driver, *, start: datetime = FIRST, hours: float = 5, **options: Any
) -> Backfill:
    end = min(start + hours * HOUR, driver.clock.now)
    return driver.horae.schedules.backfill("hourly", start, end, failed=True, **options)


def check(driver: Driver, *, runs: int, successes: int) -> None:
    statistics = driver.get("hourly").statistics
    assert (statistics.total_runs, statistics.total_successes) == (runs, successes)
    assert list(driver.horae.audit().findings) == []
    assert not problems_of(driver)


def test_a_retry_runs_for_the_same_nominal_time(failing: Driver) -> None:
    old = failed(failing)
    before = failing.get("hourly").next_start
    again = failing.horae.jobs.retry(old.id)
    assert (again.schedule_id, again.nominal_time, again.retry_of) == (
        old.schedule_id,
        FIRST,
        old.id,
    )
    assert failing.horae.jobs.get(again.id) == again
    running = failing.get("hourly")
    assert (running.state, running.job_id, running.next_start) == (
        ScheduleState.EXECUTING,
        again.id,
        before,
    )
    (claim,) = failing.claim()
    assert claim.nominal_time == FIRST
    failing.clock.advance(seconds=1)
    failing.end(claim)
    entry = failing.entries("hourly")[0]
    assert (entry.job_id, entry.retried_as) == (old.id, again.id)
    assert failing.ledger("hourly") == [("fired", 1, "on_time")] * 3
    assert (failing.get("hourly").state, failing.get("hourly").next_start) == (
        ScheduleState.IDLE,
        before,
    )
    check(failing, runs=4, successes=2)


def test_a_retry_of_a_retry_keeps_the_time_as_well(failing: Driver) -> None:
    old = failed(failing)
    first = failing.horae.jobs.retry(old.id)
    assert failing.horae.jobs.retry(old.id).id == first.id, "asked again, while it runs"
    end_all(failing, outcome=ENDED_BADLY)
    with pytest.raises(JobNotRetryable):
        failing.horae.jobs.retry(old.id)
    second = failing.horae.jobs.retry(first.id)
    assert second.nominal_time == FIRST
    end_all(failing)
    assert failing.entries("hourly")[0].retried_as == second.id
    check(failing, runs=5, successes=2)


def test_another_run_that_executes_blocks_a_retry(failing: Driver) -> None:
    old = failed(failing)
    running = failing.horae.schedules.run_now("hourly")
    with pytest.raises(ScheduleIsRunning, match=f"running as job {running}"):
        failing.horae.jobs.retry(old.id)
    assert len(failing.jobs("hourly")) == 4
    end_all(failing)
    failing.horae.jobs.retry(old.id)
    failing.until_due("hourly")
    assert failing.fire_due() == [], "a run began beside the retry"
    end_all(failing)
    check(failing, runs=5, successes=3)


def test_runs_beside_each_other_leave_room_for_a_retry(failing: Driver) -> None:
    failing.horae.schedules.alter("hourly", overlap=Overlap.ALLOW_ALL)
    failing.horae.schedules.run_now("hourly")
    failing.horae.jobs.retry(failed(failing).id)
    assert failing.get("hourly").open_runs == 2
    end_all(failing)
    check(failing, runs=5, successes=3)


def test_a_schedule_without_retries_left_stays_disabled(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="hourly", cron="0 * * * *", max_retries=0)
    driver.until_due("hourly")
    driver.run(ENDED_BADLY)
    driver.horae.jobs.retry(failed(driver).id)
    end_all(driver)
    found = driver.get("hourly")
    assert (found.state, found.disabled_reason) == (
        ScheduleState.DISABLED,
        DisabledReason.RETRIES_USED_UP,
    )
    check(driver, runs=2, successes=1)


def test_a_run_of_an_interval_is_retried_for_its_time(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="hourly", every="1h")
    driver.run(ENDED_BADLY)
    before = driver.get("hourly").next_start
    assert driver.horae.jobs.retry(failed(driver).id).nominal_time == MONDAY
    end_all(driver)
    assert driver.get("hourly").next_start == before
    check(driver, runs=2, successes=1)


def test_the_run_of_a_deleted_schedule_is_retried_as_a_plain_job(failing: Driver) -> None:
    old = failed(failing)
    failing.horae.schedules.delete("hourly")
    again = failing.horae.jobs.retry(old.id)
    assert (again.schedule_id, again.nominal_time, again.retry_of) == (None, None, old.id)


def test_a_backfill_makes_up_for_times_that_failed(failing: Driver) -> None:
    asked = failing.horae.schedules.backfill("hourly", FIRST, FIRST + 2 * HOUR)
    assert (asked.known, asked.added) == (2, 0), "without `failed` they are known"
    assert make_up(failing, dry_run=True).added == 2
    found = make_up(failing)
    assert (found.times, found.known, found.added) == (3, 1, 2)
    assert make_up(failing).added == 0, "asked again, while they wait"
    for moment in (FIRST, FIRST + HOUR):
        (job_id,) = failing.fire_due()
        job = failing.horae.jobs.get(job_id)
        assert (job.nominal_time, job.run_reason) == (moment, "backfill")
        end_all(failing)
    assert failing.fire_due() == []
    entries = failing.entries("hourly")
    assert [(entry.decision, entry.reason) for entry in entries] == [("fired", "on_time")] * 3
    retries = [entry.retried_as for entry in entries]
    assert [failing.horae.jobs.get(job_id).retry_of for job_id in retries if job_id] == [
        entry.job_id for entry in entries[:2]
    ]
    assert retries[2] is None
    assert make_up(failing).added == 0
    check(failing, runs=5, successes=3)


def test_a_time_that_fails_again_can_be_made_up_for_again(failing: Driver) -> None:
    for outcome, added in ((ENDED_BADLY, 1), (CRASHED, 1), (None, 1), (None, 0)):
        assert make_up(failing, hours=1).added == added
        failing.fire_due()
        end_all(failing, outcome=outcome)
    check(failing, runs=6, successes=2)


def test_a_retry_and_a_backfill_never_run_a_time_twice(failing: Driver) -> None:
    old = failed(failing)
    make_up(failing, hours=1)
    again = failing.horae.jobs.retry(old.id)
    end_all(failing)
    assert failing.fire_due() == []
    assert make_up(failing, hours=1).added == 0
    assert [job.state for job in map(failing.horae.jobs.get, (old.id, again.id))] == [
        JobState.FAILED,
        JobState.FINISHED,
    ]
    check(failing, runs=4, successes=2)


def test_missed_and_failed_times_are_made_up_for_together(failing: Driver) -> None:
    failing.clock.set(FIRST + 6.5 * HOUR)
    failing.run()
    assert make_up(failing, hours=6).added == 5
    while failing.run(seconds=0.001):
        pass
    check(failing, runs=9, successes=7)
