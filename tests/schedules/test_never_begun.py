"""A run that ends before its body has begun was none: neither failure nor crash, and no part of a streak."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any, Final

import pytest

from horae.domain.jobs import TimeLimit
from horae.domain.jobs.job import Claim, JobId, Outcome, Snoozed, StoppedEarly
from horae.domain.schedules.schedule import Overlap
from horae.domain.schedules.statistics import Statistics
from horae.runtime.bodies import RunEnvironment as Place
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.journal.files import Begun
from horae.runtime.journal.journal import entry_of
from horae.runtime.liveness.rescue import Rescuer
from horae.runtime.settling.settler import settle_batch
from horae.storage.jobs import claims
from horae.storage.outcomes import time_limits
from horae.storage.queues import queues
from tests.harness.applications import execute
from tests.schedules.driver import CRASHED, ENDED_BADLY, HERE, THERE, Driver
from tests.storage import arrange

MINUTE: Final = timedelta(minutes=1)
# A fixed interval and a cron expression differ from another interval only in the next time, which no statement computes.
PLANNED: Final = pytest.mark.one_database
KINDS: Final = [
    pytest.param({"every": "10m", "retry_period": "3m"}, id="drifting"),
    pytest.param({"every": "10m", "retry_period": "3m", "fixed": True}, id="fixed", marks=PLANNED),
    pytest.param({"cron": "*/10 * * * *", "retry_period": "3m"}, id="cron", marks=PLANNED),
    pytest.param({"cron": "*/10 * * * *", "overlap": Overlap.ALLOW_ALL}, id="allow_all"),
]


def stored(driver: Driver) -> Statistics:
    return driver.stored_statistics("work")


def but_for_the_finish(before: Statistics, driver: Driver) -> Statistics:
    return replace(before, last_finish=stored(driver).last_finish)


def cancelled(driver: Driver, job_id: int) -> None:
    driver.horae.jobs.cancel(job_id)


def expired(driver: Driver, job_id: int) -> None:
    (job,) = driver.database.transact(time_limits.expire, [(JobId(job_id), 0)], TimeLimit.PENDING)
    assert job.state == "failed"


def handed_back(driver: Driver, job_id: int) -> None:
    """Claimed ahead of the slots, cancelled there, and let go of by the node."""
    (claim,) = driver.claim()
    driver.horae.jobs.cancel(job_id)
    assert driver.get("work").open_runs == 1
    node = Place(driver.database, HERE)
    settled = driver.database.transact(settle_batch, node, [FinishedRun(claim, None, unbegun=True)])
    assert list(settled.released) == [job_id]


def rescued(driver: Driver, job_id: int) -> None:
    """Claimed ahead of the slots and cancelled there, by a node that is killed."""
    driver.claim(THERE)
    driver.horae.jobs.cancel(job_id)
    rescue(driver)


def rescue(driver: Driver, *begun: Claim) -> None:
    entries = Begun(frozenset(entry_of(claim) for claim in begun))
    rescuer = Rescuer(
        driver.horae.registry, Random(1), begun_by=lambda _: entries, age=timedelta(hours=1)
    )
    driver.database.transact(rescuer.rescue, [THERE])


ENDS: Final = [cancelled, expired, handed_back, rescued]


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("end", ENDS)
def test_it_moves_no_count_and_no_streak(
    driver: Driver, options: dict[str, Any], end: Callable[[Driver, int], None]
) -> None:
    driver.horae.schedules.add("work", max_retries=3, **options)
    for outcome in (None, ENDED_BADLY, CRASHED):
        driver.until_due("work")
        driver.run(outcome, age=timedelta(hours=1))
    before = stored(driver)
    assert before.streak() == 2
    for _ in range(4):  # more often than it may fail
        driver.until_due("work")
        (job_id,) = driver.fire_due()
        assert driver.get("work").statistics == before
        driver.clock.advance(seconds=30)
        end(driver, job_id)
        before = but_for_the_finish(before, driver)
        after = driver.get("work")
        assert (after.statistics, after.open_runs, after.state) == (stored(driver), 0, "idle")
        assert stored(driver) == before
        assert after.next_start is not None
        assert after.next_start > driver.clock.now


@pytest.mark.parametrize("end", ENDS)
def test_a_run_by_hand_moves_nothing(driver: Driver, end: Callable[[Driver, int], None]) -> None:
    driver.horae.schedules.add("work", every="1h")
    driver.run(ENDED_BADLY)
    before = driver.get("work")
    end(driver, driver.horae.schedules.run_now("work"))
    after = driver.get("work")
    assert (after.next_start, after.last_tick, after.enabled) == (
        before.next_start,
        before.last_tick,
        True,
    )
    assert stored(driver) == but_for_the_finish(before.statistics, driver)


def test_it_leaves_the_back_off(driver: Driver) -> None:
    """Four failures are followed by eight retry periods, not by the interval, which is shorter."""
    driver.horae.schedules.add("work", every="2m", retry_period="1m")
    for _ in range(4):
        driver.until_due("work")
        driver.run(ENDED_BADLY)
    driver.until_due("work")
    cancelled(driver, *driver.fire_due())
    due = driver.get("work").next_start
    assert due is not None
    assert 7 * MINUTE <= due - driver.clock.now <= 9 * MINUTE
    driver.clock.set(due)
    driver.run(ENDED_BADLY)
    assert stored(driver).consecutive_failures == 5


def test_a_run_in_a_paused_queue_is_open_however_long_it_waits(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="0 * * * *", queue="slow")
    driver.database.autocommit(queues.pause, "slow", None)
    driver.until_due("work")
    (job_id,) = driver.fire_due()
    driver.clock.advance(hours=5)
    assert driver.claim() == []
    shown = driver.get("work")
    assert (shown.statistics, shown.open_runs) == (Statistics(), 1)
    cancelled(driver, job_id)
    assert stored(driver) == Statistics(last_finish=driver.clock.now)


def test_a_run_not_begun_by_its_dead_node_keeps_waiting(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="0 * * * *")
    driver.until_due("work")
    driver.fire_due()
    driver.claim(THERE)
    rescue(driver)
    assert (driver.get("work").statistics, driver.get("work").open_runs) == (Statistics(), 1)
    driver.clock.advance(minutes=5)
    (claim,) = driver.claim()
    driver.clock.advance(seconds=20)
    driver.end(claim)
    after = stored(driver)
    assert (after.total_runs, after.total_successes, after.total_crashes) == (1, 1, 0)
    assert after.total_duration == timedelta(seconds=20)


def test_one_that_had_begun_crashed_once(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="0 * * * *")
    driver.until_due("work")
    driver.fire_due()
    (claim,) = driver.claim(THERE)
    began = driver.clock.now
    driver.clock.advance(seconds=20)
    rescue(driver, claim)
    rescue(driver, claim)
    after = stored(driver)
    assert (after.total_runs, after.total_crashes, after.consecutive_crashes) == (1, 1, 1)
    assert (after.last_start, after.last_run_success) == (began, False)
    assert driver.get("work").statistics == after


@pytest.mark.parametrize("claimed_again", [False, True])
def test_a_run_that_waits_for_another_attempt_has_begun(
    driver: Driver, claimed_again: bool
) -> None:
    driver.horae.schedules.add("work", cron="0 * * * *")
    driver.until_due("work")
    (job_id,) = driver.fire_due()
    execute(driver.horae, "UPDATE horae_jobs SET max_attempts = 3")
    (claim,) = driver.claim()
    driver.end(claim, ENDED_BADLY)
    if claimed_again:
        driver.clock.advance(minutes=5)
        driver.database.transact(claims.hand_back, HERE, driver.claim())
    cancelled(driver, job_id)
    after = stored(driver)
    assert (after.total_runs, after.total_failures, after.consecutive_failures) == (1, 1, 0)
    assert len(arrange.attempts(driver.database, JobId(job_id))) == 1


def test_other_runs_continue_beside_it(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="* * * * *", overlap=Overlap.ALLOW_ALL)
    made: list[int] = []
    for _ in range(3):
        driver.until_due("work")
        made += driver.fire_due()
    cancelled(driver, made[1])
    shown = driver.get("work")
    assert (shown.open_runs, shown.statistics) == (2, Statistics(last_finish=driver.clock.now))
    first, last = driver.claim()
    driver.end(first, CRASHED)
    assert driver.get("work").statistics.streak() == 1
    driver.end(last)
    after = stored(driver)
    assert (after.total_runs, after.total_successes, after.total_crashes, after.streak()) == (
        2,
        1,
        1,
        0,
    )


@pytest.mark.parametrize("options", KINDS)
def test_an_orderly_stop_of_its_node_moves_no_count_and_no_streak(
    driver: Driver, options: dict[str, Any]
) -> None:
    driver.horae.schedules.add("work", max_retries=3, **options)
    for outcome in (ENDED_BADLY, CRASHED):
        driver.until_due("work")
        driver.run(outcome, age=timedelta(hours=1))
    before = stored(driver)
    for _ in range(4):  # more often than it may fail
        driver.until_due("work")
        (job_id,) = driver.run(StoppedEarly("the node stopped", again=False), seconds=30)
        after = driver.get("work")
        assert driver.horae.jobs.get(job_id).state == "failed"
        assert (after.enabled, after.open_runs, after.state) == (True, 0, "idle")
        before = but_for_the_finish(before, driver)
        assert stored(driver) == before


@pytest.mark.parametrize(
    "outcome", [StoppedEarly("the node stopped", again=True), Snoozed(60.0, "later")]
)
def test_a_run_that_goes_back_to_the_queue_stays_open(driver: Driver, outcome: Outcome) -> None:
    driver.horae.schedules.add("work", every="10m", max_retries=0)
    before = driver.get("work").statistics
    driver.until_due("work")
    (job_id,) = driver.run(outcome)
    waiting = driver.get("work")
    assert (replace(waiting.statistics, last_start=None), waiting.open_runs) == (before, 1)
    driver.clock.advance(minutes=2)
    (claim,) = driver.claim()
    driver.end(claim)
    assert claim.id == job_id
    after = driver.get("work").statistics
    assert (after.total_runs, after.total_successes, after.streak()) == (1, 1, 0)
