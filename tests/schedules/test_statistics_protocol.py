"""Ends of runs: what they leave in the statistics, and when the next one starts. The start counts as a crash."""

from datetime import timedelta
from random import Random
from typing import Any, Final

import pytest

from horae.domain.backoff import Backoff
from horae.domain.jobs.job import AttemptOutcome as Attempt
from horae.domain.jobs.job import (
    Cancelled,
    Failed,
    JobId,
    JobState,
    Outcome,
    Settlement,
    Succeeded,
    decide,
)
from horae.storage.outcomes import run_ending, settling
from tests.harness.applications import execute
from tests.schedules.clock import MONDAY
from tests.schedules.driver import CRASHED, ENDED_BADLY, HERE, THERE, Driver
from tests.storage import arrange

MINUTE: Final = timedelta(minutes=1)
SECOND: Final = timedelta(seconds=1)
TIMED_OUT: Final = Failed("SoftTimeLimitExceeded: over", "It took too long.", timed_out=True)


def counts(driver: Driver, name: str = "work") -> tuple[int, int, int, int]:
    """Runs, successes, failures, crashes; as they are stored."""
    found = driver.stored_statistics(name)
    return found.total_runs, found.total_successes, found.total_failures, found.total_crashes


class TestEachEnd:
    def test_the_start_counts_a_crash_and_the_end_removes_it(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m")
        assert counts(driver) == (0, 0, 0, 0)
        driver.fire_due()
        assert counts(driver) == (1, 0, 0, 1)
        during = driver.stored_statistics("work")
        assert (during.last_start, during.last_finish, during.last_run_success) == (
            None,
            None,
            None,
        )
        shown = driver.get("work")
        assert (
            shown.statistics.total_runs,
            shown.statistics.consecutive_crashes,
            shown.open_runs,
        ) == (0, 0, 1)
        driver.clock.advance(seconds=3)
        (claim,) = driver.claim()
        assert driver.get("work").statistics.last_start == MONDAY + 3 * SECOND
        assert driver.get("work").statistics.last_run_success is None
        driver.clock.advance(seconds=4)
        driver.end(claim)
        after = driver.get("work").statistics
        assert counts(driver) == (1, 1, 0, 0)
        assert after.last_finish == after.last_successful_finish == MONDAY + 7 * SECOND
        assert (after.last_start, after.last_run_success) == (MONDAY + 3 * SECOND, True)
        assert after.total_duration == 4 * SECOND
        assert (after.consecutive_crashes, after.consecutive_failures) == (0, 0)

    @pytest.mark.parametrize(
        ("outcome", "expected", "streak"),
        [
            (None, (1, 1, 0, 0), 0),
            (ENDED_BADLY, (1, 0, 1, 0), 1),
            (TIMED_OUT, (1, 0, 1, 0), 1),
            (Cancelled("ada"), (1, 0, 1, 0), 0),
            (CRASHED, (1, 0, 0, 1), 1),
        ],
    )
    def test_statistics_after_each_kind_of_end(
        self,
        driver: Driver,
        outcome: Outcome | None,
        expected: tuple[int, int, int, int],
        streak: int,
    ) -> None:
        driver.horae.schedules.add("work", every="10m")
        driver.run(outcome, seconds=5)
        after = driver.get("work")
        assert counts(driver) == expected
        assert (after.state, after.job_id, after.started_at) == ("idle", None, None)
        assert after.statistics.streak() == streak
        assert after.statistics.last_finish == driver.clock.now
        failed = expected[2]
        assert after.statistics.total_duration_failures == (5 * SECOND if failed else timedelta(0))
        assert after.next_start is not None
        assert after.next_start > driver.clock.now

    def test_it_adds_up_after_every_step(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m", retry_period="1s")
        ends: list[Outcome | None] = [
            None,
            ENDED_BADLY,
            CRASHED,
            ENDED_BADLY,
            Cancelled(None),
            None,
            TIMED_OUT,
            CRASHED,
        ]
        for number, outcome in enumerate(ends, 1):
            driver.until_due("work")
            driver.run(outcome)
            assert counts(driver)[0] == number  # `get` checks the sum
        assert counts(driver) == (8, 2, 4, 2)


class TestBackOff:
    def waits(self, driver: Driver, number: int, outcome: Outcome = ENDED_BADLY) -> list[float]:
        """The wait after each of so many bad ends, in seconds."""
        found: list[float] = []
        for _ in range(number):
            driver.until_due("work")
            driver.run(outcome)
            due = driver.get("work").next_start
            assert due is not None
            found.append((due - driver.clock.now).total_seconds())
        return found

    def test_it_doubles_up_to_five_intervals_with_an_eighth_of_jitter(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m", retry_period="30s")
        for wait, expected in zip(self.waits(driver, 6), [30, 60, 120, 240, 300, 300], strict=True):
            assert expected * 0.875 <= wait <= expected * 1.125

    def test_a_success_ends_the_streak(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m", retry_period="30s")
        self.waits(driver, 3)
        driver.until_due("work")
        driver.run()
        assert driver.get("work").next_start == driver.clock.now + MINUTE
        assert self.waits(driver, 1)[0] <= 30 * 1.125

    def test_on_a_grid_it_never_passes_the_next_point(self, driver: Driver) -> None:
        driver.horae.schedules.add(
            "work", every="10m", fixed=True, retry_period="8m", backoff="constant"
        )
        driver.until_due("work")
        driver.run(ENDED_BADLY)
        first = driver.get("work").next_start
        assert first is not None
        assert first < MONDAY + 20 * MINUTE
        driver.clock.set(first)
        driver.run(ENDED_BADLY)
        assert driver.get("work").next_start == MONDAY + 20 * MINUTE
        assert [reason for _, _, reason in driver.ledger("work")] == ["on_time", "retry"]

    def test_it_is_drawn_once_and_stored(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1h")
        self.waits(driver, 2)
        before = driver.get("work").next_start
        for _ in range(3):
            assert driver.fire_due() == []
            driver.fire(driver.get("work").id)
            assert driver.get("work").next_start == before


class TestRetriesUsedUp:
    @pytest.mark.parametrize(("retries", "runs_made"), [(0, 1), (2, 3)])
    def test_n_retries_are_n_plus_one_runs(
        self, driver: Driver, retries: int, runs_made: int
    ) -> None:
        driver.horae.schedules.add("work", every="1m", max_retries=retries, retry_period="1s")
        for _ in range(runs_made):
            assert driver.get("work").enabled
            driver.until_due("work")
            driver.run(ENDED_BADLY)
        after = driver.get("work")
        assert (after.state, after.disabled_reason, after.next_start) == (
            "disabled",
            "retries used up",
            None,
        )
        driver.clock.advance(days=3)
        assert driver.fire_due() == []
        assert counts(driver)[0] == runs_made

    def test_failures_and_crashes_in_turn_are_one_streak(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m", max_retries=3, retry_period="1s")
        for outcome in (CRASHED, ENDED_BADLY, CRASHED):
            driver.until_due("work")
            driver.run(outcome)
            assert driver.get("work").enabled
        driver.until_due("work")
        driver.run(TIMED_OUT)
        assert driver.get("work").disabled_reason == "retries used up"

    def test_cancelled_runs_use_up_nothing(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m", max_retries=0)
        driver.run(Cancelled("ada"))
        assert driver.get("work").enabled

    def test_runs_beside_each_other_that_end_in_one_batch_count_once_each(
        self, driver: Driver
    ) -> None:
        driver.horae.schedules.add("work", cron="* * * * *", overlap="allow_all", max_retries=3)
        for _ in range(3):
            driver.clock.advance(minutes=1)
            driver.fire_due()
        batch = [
            Settlement(claim.id, claim.lease, JobState.FAILED, Attempt.FAILED, error="no")
            for claim in driver.claim()
        ]
        driver.database.transact(settling.settle, HERE, batch)
        after = driver.get("work")
        assert (after.statistics.consecutive_failures, after.statistics.consecutive_crashes) == (
            3,
            0,
        )
        assert after.enabled


class TestCrash:
    def test_it_waits_until_five_minutes_after_the_schedulers_start(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m", retry_period="1s")
        driver.run(CRASHED, age=20 * SECOND)
        assert driver.get("work").next_start == driver.clock.now + 5 * MINUTE - 20 * SECOND

    def test_an_old_scheduler_makes_it_wait_no_longer_than_a_failure(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m", retry_period="8s")
        driver.run(CRASHED, age=timedelta(hours=1))
        wait = driver.get("work").next_start
        assert wait is not None
        assert 7 * SECOND <= wait - driver.clock.now <= 9 * SECOND

    def test_a_cron_schedule_continues_with_its_next_time(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        driver.until_due("work")
        driver.run(CRASHED, age=20 * SECOND)
        assert driver.get("work").next_start == MONDAY + 2 * MINUTE

    def test_a_change_of_the_interval_does_not_shorten_the_wait(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m")
        driver.run(CRASHED, age=20 * SECOND)
        before = driver.get("work").next_start
        driver.clock.advance(seconds=10)
        assert driver.horae.schedules.alter("work", every="2m").next_start == before
        assert driver.horae.schedules.resume("work").next_start != before

    def test_a_job_that_is_gone_was_a_crash(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        driver.until_due("work")
        driver.fire_due()
        execute(driver.horae, "DELETE FROM horae_jobs")
        driver.clock.advance(minutes=3)
        (ended,) = driver.database.transact(run_ending.end_unreported, 10)
        assert ended.schedule.state == "idle"
        assert counts(driver) == (1, 0, 0, 1)
        assert driver.database.transact(run_ending.end_unreported, 10) == []
        assert len(driver.fire_due()) == 1

    @pytest.mark.parametrize(
        ("state", "expected"),
        [("finished", (1, 1, 0, 0)), ("failed", (0, 0, 0, 0)), ("cancelled", (0, 0, 0, 0))],
    )
    def test_a_job_that_ended_without_telling(
        self, driver: Driver, state: str, expected: tuple[int, int, int, int]
    ) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        driver.until_due("work")
        driver.fire_due()
        moved = f"UPDATE horae_jobs SET state = '{state}', finished_at = run_at"
        execute(driver.horae, moved)
        assert len(driver.database.transact(run_ending.end_unreported, 10)) == 1
        assert counts(driver) == expected

    def test_a_run_whose_body_continues_is_not_lost(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        driver.until_due("work")
        driver.fire_due()
        (claim,) = driver.claim()
        assert driver.database.transact(run_ending.end_unreported, 10) == []
        driver.horae.jobs.cancel(claim.id)
        assert driver.database.transact(run_ending.end_unreported, 10) == []
        assert driver.get("work").state == "terminating"
        driver.database.transact(settling.release, HERE, [(claim.id, claim.lease)])
        assert driver.get("work").state == "idle"


class TestLateFinishers:
    def test_an_end_of_another_run_changes_nothing(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m", retry_period="1s")
        driver.fire_due()
        (first,) = driver.claim()
        driver.end(first, CRASHED, age=timedelta(hours=1))
        driver.until_due("work")
        driver.fire_due()
        (second,) = driver.claim(THERE)
        before = driver.get("work")
        driver.end(first)
        driver.end(first, ENDED_BADLY)
        assert driver.database.transact(run_ending.end_runs, {first.id: "succeeded"}, HERE) == []  # type: ignore[dict-item]
        assert driver.get("work") == before
        assert before.job_id == second.id

    def test_a_settling_that_is_repeated_counts_once(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m")
        driver.fire_due()
        (claim,) = driver.claim()
        assert driver.end(claim).settled == {claim.id}
        before = driver.get("work")
        again = driver.end(claim)
        assert (again.settled, again.runs) == ({claim.id}, [])
        assert driver.get("work") == before

    def test_a_retry_of_the_job_is_no_end_of_the_run(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m")
        (job_id,) = driver.fire_due()
        execute(driver.horae, "UPDATE horae_jobs SET max_attempts = 2")
        (claim,) = driver.claim()
        driver.end(claim, ENDED_BADLY)
        assert (driver.get("work").state, driver.get("work").job_id) == ("executing", job_id)
        assert counts(driver) == (1, 0, 0, 1)


class TestCancelByHand:
    def test_of_a_job_that_has_not_begun(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *", max_retries=0)
        driver.until_due("work")
        (job_id,) = driver.fire_due()
        driver.horae.jobs.cancel(job_id, by="ada")
        after = driver.get("work")
        assert (after.state, after.enabled, after.next_start) == ("idle", True, MONDAY + 2 * MINUTE)
        assert counts(driver) == (0, 0, 0, 0)

    def test_of_a_job_that_runs(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        driver.until_due("work")
        (job_id,) = driver.fire_due()
        (claim,) = driver.claim()
        driver.horae.jobs.cancel(job_id)
        assert driver.get("work").state == "terminating"  # until the body has stopped
        driver.clock.advance(minutes=1)
        assert driver.fire_due() == []
        driver.end(claim)
        assert (driver.get("work").state, counts(driver)) == ("idle", (1, 0, 1, 0))

    def test_an_expired_job_ends_its_run_when_its_body_has_stopped(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        driver.until_due("work")
        driver.fire_due()
        (claim,) = driver.claim()
        driver.clock.advance(minutes=1)
        (expired,) = arrange.expired(driver.database, {"work": 1.0})
        assert (expired.id, driver.get("work").state) == (claim.id, "terminating")
        driver.end(claim)
        assert counts(driver) == (1, 0, 1, 0)


def test_clean_up_leaves_what_runs(driver: Driver) -> None:
    driver.horae.schedules.add("work", every="1m")
    driver.fire_due()
    (claim,) = driver.claim()
    driver.clock.advance(days=60)
    assert driver.horae.jobs.clean_up() == 0
    driver.end(claim)
    driver.clock.advance(days=60)
    assert driver.horae.jobs.clean_up() == 1
    assert [entry.job_id for entry in driver.entries("work")] == [claim.id]
    assert driver.database.transact(run_ending.end_unreported, 10) == []


def test_ends_of_many_schedules_in_one_batch(driver: Driver) -> None:
    def begin(name: str, **options: Any) -> None:
        driver.horae.schedules.add("work", name=name, every="1m", **options)

    for number in range(6):
        begin(f"s{number}", retry_period="1s")
    driver.fire_due()
    claims = driver.claim()
    batch = [
        Settlement(claim.id, claim.lease, JobState.FINISHED, Attempt.FINISHED)
        if number % 2
        else Settlement(claim.id, claim.lease, JobState.FAILED, Attempt.FAILED, error="no")
        for number, claim in enumerate(claims)
    ]
    driver.clock.advance(seconds=2)
    settled = driver.database.transact(settling.settle, HERE, batch)
    assert len(settled.runs) == 6
    assert sorted(result.moved_earlier for result in settled.runs) == [False] * 3 + [True] * 3
    assert [counts(driver, f"s{number}")[1:3] for number in range(6)] == [(0, 1), (1, 0)] * 3
    assert JobId(claims[0].id) in settled.settled


@pytest.mark.parametrize("outcome", [None, ENDED_BADLY], ids=["plain", "planned"])
def test_a_duration_is_that_of_the_body_and_not_of_its_wait_for_a_slot(
    driver: Driver, outcome: Failed | None
) -> None:
    driver.horae.schedules.add("work", cron="*/5 * * * *")
    due = driver.until_due("work")
    driver.fire_due()
    driver.clock.advance(seconds=40)
    (claim,) = driver.claim()
    driver.clock.advance(seconds=5)
    driver.end(claim, outcome)
    statistics = driver.get("work").statistics
    assert statistics.total_duration + statistics.total_duration_failures == timedelta(seconds=5)
    assert statistics.last_start == due + timedelta(seconds=40)


@pytest.mark.parametrize("outcome", [Succeeded(), ENDED_BADLY], ids=["plain", "planned"])
def test_a_duration_is_what_the_node_measured(driver: Driver, outcome: Outcome) -> None:
    """An hour is not added to it because somebody sets the clock."""
    driver.horae.schedules.add("work", cron="0 */5 * * *")
    driver.until_due("work")
    driver.fire_due()
    (claim,) = driver.claim()
    driver.clock.advance(hours=1)
    settlement = decide(claim, outcome, Backoff(), Random(1))._replace(took=2.5)
    driver.database.transact(settling.settle, HERE, [settlement])
    statistics = driver.get("work").statistics
    assert statistics.total_duration + statistics.total_duration_failures == timedelta(seconds=2.5)


def test_a_run_that_waits_for_a_slot_is_shown_as_no_crash(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="* * * * *")
    driver.until_due("work")
    driver.fire_due()
    statistics = driver.get("work").statistics
    assert (statistics.total_runs, statistics.total_crashes, statistics.consecutive_crashes) == (
        0,
        0,
        0,
    )
