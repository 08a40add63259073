"""A database in which nothing went wrong: the audit has no findings."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete

from horae import Horae
from horae.client.audit.audit import audit
from horae.domain.jobs import Failed, Outcome, Snoozed, StoppedEarly, Succeeded, TimeLimit
from horae.storage.outcomes import settling, time_limits
from horae.storage.schedules.tables import ticks
from tests.audit.history import declare, live, node
from tests.harness.applications import execute, rows
from tests.schedules.driver import HERE, Driver


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_a_history_with_many_events_has_no_findings(driver: Driver, seed: int) -> None:
    declare(driver.horae)
    live(driver, seed)
    report = driver.horae.audit()
    assert list(report.findings) == []
    assert report.checked["decisions"] > 100
    assert report.checked["attempts"] > 100


@pytest.mark.parametrize("end", ["cancelled while it waited", "stopped with its node"])
def test_a_run_that_does_not_count_after_a_success_is_no_finding(driver: Driver, end: str) -> None:
    """Such a run is a finish, from which the next start is counted, but the last run remains the one that succeeded."""
    driver.horae.schedules.add("work", every="10m")
    for outcome in (Succeeded(), StoppedEarly("the node stopped", again=False)):
        driver.until_due("work")
        [fired] = driver.fire_due()
        driver.clock.advance(seconds=5)
        if outcome == Succeeded() or end == "stopped with its node":
            for claim in driver.claim():
                driver.end(claim, outcome)
        else:
            driver.horae.jobs.cancel(fired)
    statistics = driver.get("work").statistics
    assert statistics.last_run_success
    assert statistics.last_finish != statistics.last_successful_finish
    assert list(driver.horae.audit().findings) == []


def test_a_sum_of_durations_without_the_time_before_a_slot_was_free_is_no_finding(
    driver: Driver,
) -> None:
    driver.horae.schedules.add("work", every="10m")
    for outcome in (Succeeded(), Failed("no", "no")):
        driver.until_due("work")
        driver.fire_due()
        driver.clock.advance(seconds=3)
        for claim in driver.claim():
            driver.clock.advance(seconds=5)
            driver.end(claim, outcome)
    added = "total_duration = total_duration + {0}, total_duration_failures = total_duration_failures + {0}"
    assert list(driver.horae.audit().findings) == []
    execute(driver.horae, "UPDATE horae_schedule_statistics SET " + added.format(3.05))
    assert [finding.invariant for finding in driver.horae.audit().findings] == [
        "statistics",
        "statistics",
    ]


def declared(expression: str, *, more: bool) -> Horae:
    """A version of a module with a schedule, and perhaps another one."""
    horae = Horae(module="reports")

    @horae.cron(expression)
    def report() -> None: ...

    if more:

        @horae.every("1h")
        def tidy() -> None: ...

    return horae


def test_deployments_that_change_schedules_leave_no_findings(driver: Driver) -> None:
    """Times before a deployment were decided by rules that are no longer stored."""
    versions = [
        declared("*/10 * * * *", more=True),
        declared("*/15 * * * *", more=False),
        declared("3 * * * *", more=True),
    ]
    for version in versions:
        learn(driver, version)
        driver.horae.deployments.deploy("reports", version.declared)
        for _ in range(12):
            driver.clock.advance(seconds=601)
            driver.run()
        assert list(driver.horae.audit().findings) == []
    driver.horae.schedules.pause("report")
    driver.clock.advance(hours=5)
    driver.horae.schedules.resume("report")
    driver.run()
    assert list(driver.horae.audit().findings) == []
    assert list(driver.horae.audit(timedelta(hours=2)).findings) == []


def test_decisions_before_a_change_of_the_rules_are_only_compared_with_each_other(
    driver: Driver,
) -> None:
    """The rules by which they were made are no longer stored."""
    driver.horae.schedules.add("work", name="quarter", cron="*/15 * * * *")
    run_for_hours(driver, 2)
    driver.horae.schedules.alter("quarter", cron="*/20 * * * *")
    changed = driver.clock.now
    run_for_hours(driver, 2)
    report = driver.horae.audit()
    assert (list(report.findings), "(quarter) are known since" in report.notes[0]) == ([], True)
    for since, count in ((changed - timedelta(hours=1), 0), (changed + timedelta(hours=1), 1)):
        times = [entry.nominal_time for entry in driver.entries("quarter")]
        nearest = min(times, key=lambda time: abs(time - since))
        with driver.database.engine.begin() as connection:
            connection.execute(delete(ticks).where(ticks.c.nominal_time == nearest))
        messages = [finding.message for finding in driver.horae.audit().findings]
        assert sum("has no decision" in message for message in messages) == count


def run_for_hours(driver: Driver, hours: int) -> None:
    for _ in range(hours * 12):
        driver.clock.advance(seconds=301)
        driver.run()


def test_a_wait_between_two_statements_is_no_finding(driver: Driver) -> None:
    """On SQLite each statement of a transaction reads the clock."""
    driver.horae.jobs.start("work", sync=True)
    [attempt] = rows(driver.horae, "SELECT finished_at AS at FROM horae_job_attempts")
    earlier = (
        attempt.at - 5_000_000 if isinstance(attempt.at, int) else attempt.at - timedelta(seconds=5)
    )
    execute(
        driver.horae,
        "UPDATE horae_job_attempts SET finished_at = :at, started_at = :at",
        at=earlier,
    )
    assert list(driver.horae.audit().findings) == []


def test_the_decision_that_stayed_as_the_last_one_is_no_finding(driver: Driver) -> None:
    """Its job is deleted before the next run, if that is far away."""
    driver.horae.schedules.add("work", cron="0 0 1 * *")
    for _ in range(3):
        driver.until_due("work")
        driver.run()
        driver.clock.advance(days=10)
        driver.horae.jobs.clean_up("9 days")
        driver.until_due("work")
        driver.run()
        assert list(driver.horae.audit().findings) == []


def test_a_decision_whose_job_was_cleaned_up_by_hand_is_no_finding(driver: Driver) -> None:
    """The clean-up was told to keep jobs for less time than the settings say."""
    driver.horae.schedules.add("work", cron="0 0 * * *")
    driver.until_due("work")
    driver.run()
    driver.clock.advance(hours=2)
    driver.horae.jobs.clean_up("1h")
    driver.until_due("work")
    driver.run()
    assert list(driver.horae.audit().findings) == []


def test_a_decision_that_stayed_beside_times_of_a_pause_is_no_finding(driver: Driver) -> None:
    """Times that pass while a schedule is paused are entered later, as one row with the first of them."""
    schedules = driver.horae.schedules
    schedules.add("work", cron="0 0 * * *")
    schedules.pause("work")
    driver.clock.advance(days=1, hours=1)
    schedules.run_now("work")
    driver.run()
    driver.clock.advance(hours=2)
    driver.horae.jobs.clean_up("1h")
    schedules.resume("work")
    driver.until_due("work")
    driver.run()
    assert [decision for decision, *_ in driver.ledger("work")] == ["skipped", "fired", "fired"]
    assert list(driver.horae.audit().findings) == []


def test_a_clean_up_excuses_no_job_that_it_had_to_keep(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="0 0 * * *")
    driver.until_due("work")
    driver.run()
    driver.horae.jobs.clean_up("1h")
    execute(driver.horae, "DELETE FROM horae_job_attempts")
    execute(driver.horae, "DELETE FROM horae_jobs")
    driver.until_due("work")
    driver.run()
    [finding] = [each for each in driver.horae.audit().findings if "is gone" in each.message]
    assert "job 1 of the decision" in finding.message


def test_a_first_run_just_after_the_schedule_was_created_may_be_deleted(driver: Driver) -> None:
    driver.clock.set(datetime(2026, 1, 1, 23, 59, 59, 500_000, tzinfo=UTC))
    driver.horae.schedules.add("work", cron="0 0 * * *")
    for _ in range(2):
        driver.until_due("work")
        driver.run()
    driver.horae.jobs.clean_up("12 hours")
    assert len(driver.jobs("work")) == 1
    assert list(driver.horae.audit().findings) == []


def test_a_newer_run_that_is_deleted_before_an_older_one_is_no_finding(driver: Driver) -> None:
    """Failed runs are kept for longer than finished ones."""

    @driver.horae.job(keep={"finished": "1d", "failed": "90d"})
    def export() -> None: ...

    driver.horae.schedules.add("export", cron="0 0 * * *")
    for outcome in (Failed("ValueError: "), Succeeded(), Succeeded(), Succeeded()):
        driver.until_due("export")
        driver.run(outcome)
        driver.horae.jobs.clean_up()
        assert list(driver.horae.audit().findings) == []
    states = [state for _, state in driver.jobs("export")]
    assert states[0] == "failed"
    assert len(states) < 4


def test_jobs_that_end_between_and_before_their_attempts_are_no_finding(driver: Driver) -> None:
    @driver.horae.job(max_attempts=3)
    def task() -> None: ...

    start = driver.horae.jobs.start
    retried, snoozed, unbegun = (start("task", owner="ann").id for _ in range(3))
    outcomes: dict[int, Outcome] = {
        retried: Failed("ValueError: "),
        snoozed: Snoozed(60.0, "later"),
    }
    for claim in driver.claim(types=["task"]):
        if claim.id == unbegun:
            driver.database.transact(time_limits.expire, [(claim.id, claim.lease)], TimeLimit.HARD)
            driver.database.transact(settling.release, HERE, [(claim.id, claim.lease)], [claim.id])
        else:
            driver.end(claim, outcomes[claim.id])
    driver.clock.advance(hours=1)
    driver.horae.jobs.cancel(retried)
    driver.database.transact(time_limits.expire, [(snoozed, 1)], TimeLimit.PENDING)
    assert [driver.horae.jobs.get(job).state for job in (retried, snoozed, unbegun)] == [
        "cancelled",
        "failed",
        "failed",
    ]
    assert list(driver.horae.audit().findings) == []


@pytest.mark.parametrize("way", ["cleaned up", "deleted"])
def test_members_that_are_deleted_are_no_finding(driver: Driver, way: str) -> None:
    @driver.horae.job
    def last() -> None: ...

    jobs = driver.horae.jobs
    jobs.start("work")
    driver.run()
    driver.clock.advance(hours=1)
    group = jobs.start_group(["work"] * 3, then="last")
    driver.run()
    driver.run()
    driver.clock.advance(hours=1)
    if way == "cleaned up":
        assert jobs.clean_up("1 hour") > 3
    else:
        jobs.delete(next(iter(jobs.members(group.id))).id)
        jobs.delete(group.then_id or 0)
    assert list(driver.horae.audit().findings) == []


def test_a_job_that_its_caller_runs_despite_a_pause_is_no_finding(driver: Driver) -> None:
    driver.horae.queues.pause("default")
    driver.clock.advance(hours=1)
    job = driver.horae.jobs.start("work", sync=True)
    assert job.state == "finished"
    assert list(driver.horae.audit().findings) == []


def test_jobs_that_a_change_of_their_queue_takes_out_of_lanes_are_no_finding(
    driver: Driver,
) -> None:
    job = driver.horae.jobs.start("work", owner="ann")
    driver.clock.advance(hours=1)
    driver.horae.queues.fair("default", by="owner")
    with driver.database.snapshot() as connection:
        assert list(audit(connection, [node()], timedelta(days=30)).findings) == []
    driver.clock.advance(hours=1)
    with driver.database.snapshot() as connection:
        [finding] = audit(connection, [node()], timedelta(days=30)).findings
    assert (
        f"such as job {job.id}, have waited to be put into a lane for more than ten"
        in finding.message
    )


def learn(driver: Driver, version: Horae) -> None:
    for schedule in version.declared:
        if driver.horae.registry.find(schedule.job_type) is None:
            driver.horae.registry.add(version.registry.get(schedule.job_type))
