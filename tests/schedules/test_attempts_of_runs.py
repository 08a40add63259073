"""A run of a schedule has the attempts of its job type, for one nominal time; the schedule counts it once."""

from datetime import timedelta
from random import Random
from typing import Final

import pytest

from horae.domain.jobs.job import Claim, Failed, JobState, NodeId
from horae.domain.schedules.schedule import DisabledReason, Overlap, ScheduleState
from horae.runtime.liveness.rescue import Rescuer
from horae.storage.engine.database import Database
from horae.storage.outcomes import cancelling
from horae.storage.schedules import bulk_firing
from tests.harness.applications import application
from tests.schedules.driver import CRASHED, ENDED_BADLY, HERE, Driver

SOON: Final = Failed("ValueError: no", "It did not work.", after=5.0)
HOURLY: Final = "0 * * * *"


@pytest.fixture
def trying(driver: Driver) -> Driver:
    """A driver whose application has a type with three attempts, and an hourly schedule of it."""

    @driver.horae.job(max_attempts=3)
    def tried() -> None: ...

    driver.horae.schedules.add(tried, cron=HOURLY)
    return driver


def begin(driver: Driver, name: str = "tried") -> Claim:
    """Fire the next run, and claim it."""
    driver.until_due(name)
    driver.fire_due()
    (claim,) = driver.claim()
    return claim


def next_attempt(driver: Driver, seconds: float = 60) -> Claim:
    driver.clock.advance(seconds=seconds)
    (claim,) = driver.claim()
    return claim


def rescue(driver: Driver) -> JobState:
    """Rescue the run of a node that has died."""
    (rescued,), _ = driver.database.transact(
        Rescuer(driver.horae.registry, Random(1)).rescue, [HERE]
    )
    return rescued.state


def check_totals(
    driver: Driver, *, successes: int = 0, failures: int = 0, crashes: int = 0
) -> None:
    found = driver.get("tried")
    statistics = found.statistics
    totals = statistics.total_successes, statistics.total_failures, statistics.total_crashes
    assert totals == (successes, failures, crashes)
    assert (found.state, found.open_runs) == (ScheduleState.IDLE, 0)
    assert list(driver.horae.audit().findings) == []


@pytest.mark.parametrize("way", ["planned", "in advance", "by hand", "backfill"])
def test_each_run_has_the_attempts_of_its_type(trying: Driver, way: str) -> None:
    trying.until_due("tried")
    if way == "in advance":
        planned = trying.database.autocommit(bulk_firing.plan_ahead, [trying.get("tried").id])
        trying.database.transact(
            bulk_firing.fire, [each for each in planned.values() if each], HERE
        )
    elif way == "by hand":
        trying.horae.schedules.run_now("tried")
    elif way == "backfill":
        start = trying.clock.now - timedelta(days=1)
        trying.horae.schedules.backfill("tried", start, start + timedelta(hours=1))
        trying.fire_due()
    else:
        trying.fire_due()
    assert [claim.max_attempts for claim in trying.claim()] == [3]


def test_a_run_that_waits_for_its_next_attempt_is_open(trying: Driver) -> None:
    claim = begin(trying)
    trying.end(claim, SOON)
    found = trying.get("tried")
    assert (found.state, found.job_id, found.open_runs) == (ScheduleState.EXECUTING, claim.id, 1)
    assert found.statistics.total_runs == 0
    stored = trying.stored_statistics("tried")
    assert (stored.total_runs, stored.total_crashes) == (1, 1)
    assert trying.claim() == [], "the attempt began before its back-off was over"
    assert next_attempt(trying, 5).attempt == 2


def test_a_run_that_succeeds_in_its_last_attempt_is_one_success(trying: Driver) -> None:
    trying.end(begin(trying), SOON)
    trying.end(next_attempt(trying), SOON)
    last = next_attempt(trying)
    trying.clock.advance(seconds=7)
    trying.end(last)
    check_totals(trying, successes=1)
    assert trying.get("tried").statistics.total_duration == timedelta(seconds=7)
    assert trying.get("tried").statistics.streak() == 0
    assert trying.ledger("tried") == [("fired", 1, "on_time")]


def test_the_retries_of_the_schedule_follow_a_run_that_has_failed_for_good(trying: Driver) -> None:
    trying.horae.schedules.alter("tried", retry_period="1m", max_retries=1)
    for reason in ("on_time", "retry"):
        claim = begin(trying)
        for _ in range(2):
            trying.end(claim, ENDED_BADLY)
            assert trying.fire_due() == []
            claim = next_attempt(trying)
        assert trying.ledger("tried")[-1] == ("fired", 1, reason)
        trying.end(claim, ENDED_BADLY)
    found = trying.get("tried")
    assert (found.statistics.total_failures, found.statistics.consecutive_failures) == (2, 2)
    assert found.disabled_reason == DisabledReason.RETRIES_USED_UP


def test_a_run_that_waits_for_its_next_attempt_still_occupies_the_schedule(trying: Driver) -> None:
    trying.end(begin(trying), Failed("no", after=7200.0))
    trying.until_due("tried")
    assert trying.fire_due() == []
    trying.clock.advance(hours=1.5)
    trying.end(next_attempt(trying))
    assert trying.ledger("tried") == [("fired", 1, "on_time"), ("skipped", 2, "overlap")]
    check_totals(trying, successes=1)


def test_a_run_outlives_the_death_of_its_node(trying: Driver) -> None:
    begin(trying)
    assert rescue(trying) is JobState.PENDING
    assert trying.get("tried").state == ScheduleState.EXECUTING
    trying.end(next_attempt(trying))
    check_totals(trying, successes=1)


@pytest.mark.parametrize("attempts", [3, 10])
def test_a_run_that_crashes_three_times_is_one_crash(trying: Driver, attempts: int) -> None:
    trying.horae.registry.get("tried").max_attempts = attempts
    trying.horae.schedules.put("other", "tried", cron=HOURLY)
    trying.horae.schedules.delete("tried")
    begin(trying, "other")
    for state in (JobState.PENDING, JobState.PENDING, JobState.FAILED):
        assert rescue(trying) is state
        trying.clock.advance(minutes=10)
        trying.claim()
    statistics = trying.get("other").statistics
    assert (statistics.total_runs, statistics.total_crashes) == (1, 1)
    assert "quarantined" in str(trying.horae.jobs.list().jobs[0].error)


@pytest.mark.parametrize("first", [SOON, CRASHED])
def test_a_run_that_is_cancelled_between_its_attempts_is_one_cancelled_run(
    trying: Driver, first: Failed
) -> None:
    claim = begin(trying)
    trying.end(claim, first)
    trying.clock.advance(seconds=1)
    trying.horae.jobs.cancel(claim.id)
    check_totals(trying, failures=1)
    assert trying.get("tried").statistics.streak() == 0


@pytest.mark.parametrize("overlap", [Overlap.CANCEL_OTHER, Overlap.TERMINATE_OTHER])
def test_the_next_run_may_replace_one_that_waits_for_its_next_attempt(
    trying: Driver, overlap: Overlap
) -> None:
    trying.horae.schedules.alter("tried", overlap=overlap)
    claim = begin(trying)
    trying.end(claim, Failed("no", after=86_400.0))
    trying.until_due("tried")
    ((stopped, stop),) = [
        (each.schedule.run_token, each.stop) for each in trying.fire(trying.get("tried").id)
    ]
    assert stopped == claim.id
    assert stop is not None
    trying.database.transact(cancelling.cancel, claim.id, "schedule tried")
    assert len(trying.fire_due()) == 1
    assert trying.ledger("tried") == [("fired", 1, "on_time"), ("fired", 1, "buffered")]


def test_runs_beside_each_other_are_each_tried_again(trying: Driver) -> None:
    trying.horae.schedules.alter("tried", overlap=Overlap.ALLOW_ALL)
    first = begin(trying)
    trying.end(first, Failed("no", after=7200.0))
    second = begin(trying)
    assert trying.get("tried").open_runs == 2
    trying.end(second)
    trying.end(next_attempt(trying, 7200))
    check_totals(trying, successes=2)


def test_a_declared_schedule_names_its_attempts(clocked_database: Database, driver: Driver) -> None:
    driver.horae.job(name="nightly")(lambda: None)
    for attempts in (4, 2):
        with application(clocked_database, module="shop") as shop:

            @shop.cron(HOURLY, max_attempts=attempts)
            def nightly() -> None: ...

            assert shop.deploy().changed
        claim = begin(driver, "nightly")
        assert claim.max_attempts == attempts
        driver.end(claim)


def test_a_removed_schedule_cancels_a_run_that_waits_for_its_next_attempt(
    clocked_database: Database, driver: Driver
) -> None:
    with application(clocked_database, module="shop") as shop:

        @shop.cron(HOURLY, max_attempts=2)
        def nightly() -> None: ...

        key = shop.deploy().deployment.key
        driver.horae.registry.add(nightly.job_type)
        claim = begin(driver, "nightly")
        driver.end(claim, SOON)
        shop.deployments.end(key)
    assert driver.horae.jobs.get(claim.id).state is JobState.CANCELLED
    assert driver.get("nightly").statistics.total_failures == 1


def test_a_program_with_other_attempts_changes_schedules_that_exist(trying: Driver) -> None:
    """As after an upgrade, when the schedules that were added before have no attempts yet."""
    with application(trying.database) as newer:

        @newer.job(max_attempts=7)
        def tried() -> None: ...

        newer.deployments.refresh()
    assert begin(trying).max_attempts == 7


def test_a_silent_node_loses_a_run_with_attempts_left_only(trying: Driver) -> None:
    begin(trying)
    rescued, _ = trying.database.transact(
        Rescuer(trying.horae.registry, Random(1)).rescue, [NodeId("dead")], [HERE]
    )
    assert [each.state for each in rescued] == [JobState.PENDING]


def test_schedules_of_one_attempt_are_as_before(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron=HOURLY)
    driver.end(begin(driver, "work"), SOON)
    statistics = driver.get("work").statistics
    assert (statistics.total_failures, driver.get("work").state) == (1, ScheduleState.IDLE)
