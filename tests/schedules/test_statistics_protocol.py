"""Ends of runs: what they leave in the statistics, and when the next one starts. The start counts as a crash."""

from datetime import timedelta
from random import Random
from typing import Any, Final

import pytest

from horae.domain.backoff import Backoff
from horae.domain.jobs.job import AttemptOutcome as Attempt
from horae.domain.jobs.job import Cancelled, Failed, JobId, JobState, Outcome, Settlement, Succeeded, decide
from horae.storage.outcomes import run_ending, settling
from tests.harness.applications import execute
from tests.schedules.clock import MONDAY
from tests.schedules.stage import CRASHED, ENDED_BADLY, HERE, THERE, Stage
from tests.storage import arrange

MINUTE: Final = timedelta(minutes=1)
SECOND: Final = timedelta(seconds=1)
TIMED_OUT: Final = Failed("SoftTimeLimitExceeded: over", "It took too long.", timed_out=True)


def counts(stage: Stage, name: str = "work") -> tuple[int, int, int, int]:
    """Runs, successes, failures, crashes; as they are stored."""
    found = stage.stored_statistics(name)
    return found.total_runs, found.total_successes, found.total_failures, found.total_crashes


class TestEachEnd:
    def test_the_start_counts_a_crash_and_the_end_takes_it_back(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="10m")
        assert counts(stage) == (0, 0, 0, 0)
        stage.fire_due()
        assert counts(stage) == (1, 0, 0, 1)
        during = stage.stored_statistics("work")
        assert (during.last_start, during.last_finish, during.last_run_success) == (None, None, None)
        shown = stage.get("work")
        assert (shown.statistics.total_runs, shown.statistics.consecutive_crashes, shown.open_runs) == (0, 0, 1)
        stage.clock.advance(seconds=3)
        (claim,) = stage.claim()
        assert stage.get("work").statistics.last_start == MONDAY + 3 * SECOND
        assert stage.get("work").statistics.last_run_success is None
        stage.clock.advance(seconds=4)
        stage.end(claim)
        after = stage.get("work").statistics
        assert counts(stage) == (1, 1, 0, 0)
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
    def test_what_each_end_leaves(
        self, stage: Stage, outcome: Outcome | None, expected: tuple[int, int, int, int], streak: int
    ) -> None:
        stage.horae.schedules.add("work", every="10m")
        stage.run(outcome, seconds=5)
        after = stage.get("work")
        assert counts(stage) == expected
        assert (after.state, after.job_id, after.started_at) == ("idle", None, None)
        assert after.statistics.streak() == streak
        assert after.statistics.last_finish == stage.clock.now
        failed = expected[2]
        assert after.statistics.total_duration_failures == (5 * SECOND if failed else timedelta(0))
        assert after.next_start is not None
        assert after.next_start > stage.clock.now

    def test_it_adds_up_after_every_step(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m", retry_period="1s")
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
            stage.until_due("work")
            stage.run(outcome)
            assert counts(stage)[0] == number  # `get` checks the sum
        assert counts(stage) == (8, 2, 4, 2)


class TestBackOff:
    def waits(self, stage: Stage, number: int, outcome: Outcome = ENDED_BADLY) -> list[float]:
        """The wait after each of so many bad ends, in seconds."""
        found: list[float] = []
        for _ in range(number):
            stage.until_due("work")
            stage.run(outcome)
            due = stage.get("work").next_start
            assert due is not None
            found.append((due - stage.clock.now).total_seconds())
        return found

    def test_it_doubles_up_to_five_intervals_with_an_eighth_of_jitter(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m", retry_period="30s")
        for wait, expected in zip(self.waits(stage, 6), [30, 60, 120, 240, 300, 300], strict=True):
            assert expected * 0.875 <= wait <= expected * 1.125

    def test_a_success_ends_the_streak(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m", retry_period="30s")
        self.waits(stage, 3)
        stage.until_due("work")
        stage.run()
        assert stage.get("work").next_start == stage.clock.now + MINUTE
        assert self.waits(stage, 1)[0] <= 30 * 1.125

    def test_on_a_grid_it_never_passes_the_next_point(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="10m", fixed=True, retry_period="8m", backoff="constant")
        stage.until_due("work")
        stage.run(ENDED_BADLY)
        first = stage.get("work").next_start
        assert first is not None
        assert first < MONDAY + 20 * MINUTE
        stage.clock.set(first)
        stage.run(ENDED_BADLY)
        assert stage.get("work").next_start == MONDAY + 20 * MINUTE
        assert [reason for _, _, reason in stage.ledger("work")] == ["on_time", "retry"]

    def test_it_is_drawn_once_and_stored(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1h")
        self.waits(stage, 2)
        before = stage.get("work").next_start
        for _ in range(3):
            assert stage.fire_due() == []
            stage.fire(stage.get("work").id)
            assert stage.get("work").next_start == before


class TestRetriesUsedUp:
    @pytest.mark.parametrize(("retries", "runs_made"), [(0, 1), (2, 3)])
    def test_n_retries_are_n_plus_one_runs(self, stage: Stage, retries: int, runs_made: int) -> None:
        stage.horae.schedules.add("work", every="1m", max_retries=retries, retry_period="1s")
        for _ in range(runs_made):
            assert stage.get("work").enabled
            stage.until_due("work")
            stage.run(ENDED_BADLY)
        after = stage.get("work")
        assert (after.state, after.disabled_reason, after.next_start) == ("disabled", "retries used up", None)
        stage.clock.advance(days=3)
        assert stage.fire_due() == []
        assert counts(stage)[0] == runs_made

    def test_failures_and_crashes_in_turn_are_one_streak(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m", max_retries=3, retry_period="1s")
        for outcome in (CRASHED, ENDED_BADLY, CRASHED):
            stage.until_due("work")
            stage.run(outcome)
            assert stage.get("work").enabled
        stage.until_due("work")
        stage.run(TIMED_OUT)
        assert stage.get("work").disabled_reason == "retries used up"

    def test_cancelled_runs_use_up_nothing(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m", max_retries=0)
        stage.run(Cancelled("ada"))
        assert stage.get("work").enabled

    def test_runs_beside_each_other_that_end_in_one_batch_count_once_each(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *", overlap="allow_all", max_retries=3)
        for _ in range(3):
            stage.clock.advance(minutes=1)
            stage.fire_due()
        batch = [
            Settlement(claim.id, claim.lease, JobState.FAILED, Attempt.FAILED, error="no") for claim in stage.claim()
        ]
        stage.database.transact(settling.settle, HERE, batch)
        after = stage.get("work")
        assert (after.statistics.consecutive_failures, after.statistics.consecutive_crashes) == (3, 0)
        assert after.enabled


class TestCrash:
    def test_it_waits_until_five_minutes_after_the_schedulers_start(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m", retry_period="1s")
        stage.run(CRASHED, age=20 * SECOND)
        assert stage.get("work").next_start == stage.clock.now + 5 * MINUTE - 20 * SECOND

    def test_an_old_scheduler_makes_it_wait_no_longer_than_a_failure(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m", retry_period="8s")
        stage.run(CRASHED, age=timedelta(hours=1))
        wait = stage.get("work").next_start
        assert wait is not None
        assert 7 * SECOND <= wait - stage.clock.now <= 9 * SECOND

    def test_a_cron_schedule_goes_on_with_its_next_time(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *")
        stage.until_due("work")
        stage.run(CRASHED, age=20 * SECOND)
        assert stage.get("work").next_start == MONDAY + 2 * MINUTE

    def test_a_change_of_the_interval_does_not_shorten_the_wait(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m")
        stage.run(CRASHED, age=20 * SECOND)
        before = stage.get("work").next_start
        stage.clock.advance(seconds=10)
        assert stage.horae.schedules.alter("work", every="2m").next_start == before
        assert stage.horae.schedules.resume("work").next_start != before

    def test_a_job_that_is_gone_was_a_crash(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *")
        stage.until_due("work")
        stage.fire_due()
        execute(stage.horae, "DELETE FROM horae_jobs")
        stage.clock.advance(minutes=3)
        (ended,) = stage.database.transact(run_ending.end_unreported, 10)
        assert ended.schedule.state == "idle"
        assert counts(stage) == (1, 0, 0, 1)
        assert stage.database.transact(run_ending.end_unreported, 10) == []
        assert len(stage.fire_due()) == 1

    @pytest.mark.parametrize(
        ("state", "expected"), [("finished", (1, 1, 0, 0)), ("failed", (0, 0, 0, 0)), ("cancelled", (0, 0, 0, 0))]
    )
    def test_a_job_that_ended_without_telling(
        self, stage: Stage, state: str, expected: tuple[int, int, int, int]
    ) -> None:
        stage.horae.schedules.add("work", cron="* * * * *")
        stage.until_due("work")
        stage.fire_due()
        moved = f"UPDATE horae_jobs SET state = '{state}', finished_at = run_at"
        execute(stage.horae, moved)
        assert len(stage.database.transact(run_ending.end_unreported, 10)) == 1
        assert counts(stage) == expected

    def test_one_whose_body_goes_on_is_not_lost(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *")
        stage.until_due("work")
        stage.fire_due()
        (claim,) = stage.claim()
        assert stage.database.transact(run_ending.end_unreported, 10) == []
        stage.horae.jobs.cancel(claim.id)
        assert stage.database.transact(run_ending.end_unreported, 10) == []
        assert stage.get("work").state == "terminating"
        stage.database.transact(settling.release, HERE, [(claim.id, claim.lease)])
        assert stage.get("work").state == "idle"


class TestLateFinishers:
    def test_an_end_of_another_run_changes_nothing(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m", retry_period="1s")
        stage.fire_due()
        (first,) = stage.claim()
        stage.end(first, CRASHED, age=timedelta(hours=1))
        stage.until_due("work")
        stage.fire_due()
        (second,) = stage.claim(THERE)
        before = stage.get("work")
        stage.end(first)
        stage.end(first, ENDED_BADLY)
        assert stage.database.transact(run_ending.end_runs, {first.id: "succeeded"}, HERE) == []  # type: ignore[dict-item]
        assert stage.get("work") == before
        assert before.job_id == second.id

    def test_a_settling_that_is_repeated_counts_once(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m")
        stage.fire_due()
        (claim,) = stage.claim()
        assert stage.end(claim).settled == {claim.id}
        before = stage.get("work")
        again = stage.end(claim)
        assert (again.settled, again.runs) == ({claim.id}, [])
        assert stage.get("work") == before

    def test_a_retry_of_the_job_is_no_end_of_the_run(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m")
        (job_id,) = stage.fire_due()
        execute(stage.horae, "UPDATE horae_jobs SET max_attempts = 2")
        (claim,) = stage.claim()
        stage.end(claim, ENDED_BADLY)
        assert (stage.get("work").state, stage.get("work").job_id) == ("executing", job_id)
        assert counts(stage) == (1, 0, 0, 1)


class TestCancelByHand:
    def test_of_a_job_that_has_not_begun(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *", max_retries=0)
        stage.until_due("work")
        (job_id,) = stage.fire_due()
        stage.horae.jobs.cancel(job_id, by="ada")
        after = stage.get("work")
        assert (after.state, after.enabled, after.next_start) == ("idle", True, MONDAY + 2 * MINUTE)
        assert counts(stage) == (0, 0, 0, 0)

    def test_of_a_job_that_runs(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *")
        stage.until_due("work")
        (job_id,) = stage.fire_due()
        (claim,) = stage.claim()
        stage.horae.jobs.cancel(job_id)
        assert stage.get("work").state == "terminating"  # until the body has stopped
        stage.clock.advance(minutes=1)
        assert stage.fire_due() == []
        stage.end(claim)
        assert (stage.get("work").state, counts(stage)) == ("idle", (1, 0, 1, 0))

    def test_an_expired_job_ends_its_run_when_its_body_has_stopped(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *")
        stage.until_due("work")
        stage.fire_due()
        (claim,) = stage.claim()
        stage.clock.advance(minutes=1)
        (expired,) = arrange.expired(stage.database, {"work": 1.0})
        assert (expired.id, stage.get("work").state) == (claim.id, "terminating")
        stage.end(claim)
        assert counts(stage) == (1, 0, 1, 0)


def test_clean_up_leaves_what_runs(stage: Stage) -> None:
    stage.horae.schedules.add("work", every="1m")
    stage.fire_due()
    (claim,) = stage.claim()
    stage.clock.advance(days=60)
    assert stage.horae.jobs.clean_up() == 0
    stage.end(claim)
    stage.clock.advance(days=60)
    assert stage.horae.jobs.clean_up() == 1
    assert [entry.job_id for entry in stage.entries("work")] == [claim.id]
    assert stage.database.transact(run_ending.end_unreported, 10) == []


def test_ends_of_many_schedules_in_one_batch(stage: Stage) -> None:
    def begin(name: str, **options: Any) -> None:
        stage.horae.schedules.add("work", name=name, every="1m", **options)

    for number in range(6):
        begin(f"s{number}", retry_period="1s")
    stage.fire_due()
    claims = stage.claim()
    batch = [
        Settlement(claim.id, claim.lease, JobState.FINISHED, Attempt.FINISHED)
        if number % 2
        else Settlement(claim.id, claim.lease, JobState.FAILED, Attempt.FAILED, error="no")
        for number, claim in enumerate(claims)
    ]
    stage.clock.advance(seconds=2)
    settled = stage.database.transact(settling.settle, HERE, batch)
    assert len(settled.runs) == 6
    assert sorted(result.moved_earlier for result in settled.runs) == [False] * 3 + [True] * 3
    assert [counts(stage, f"s{number}")[1:3] for number in range(6)] == [(0, 1), (1, 0)] * 3
    assert JobId(claims[0].id) in settled.settled


@pytest.mark.parametrize("outcome", [None, ENDED_BADLY], ids=["plain", "planned"])
def test_a_duration_is_that_of_the_body_and_not_of_its_wait_for_a_slot(stage: Stage, outcome: Failed | None) -> None:
    stage.horae.schedules.add("work", cron="*/5 * * * *")
    due = stage.until_due("work")
    stage.fire_due()
    stage.clock.advance(seconds=40)
    (claim,) = stage.claim()
    stage.clock.advance(seconds=5)
    stage.end(claim, outcome)
    statistics = stage.get("work").statistics
    assert statistics.total_duration + statistics.total_duration_failures == timedelta(seconds=5)
    assert statistics.last_start == due + timedelta(seconds=40)


@pytest.mark.parametrize("outcome", [Succeeded(), ENDED_BADLY], ids=["plain", "planned"])
def test_a_duration_is_what_the_node_measured(stage: Stage, outcome: Outcome) -> None:
    """An hour is not added to it because somebody sets the clock."""
    stage.horae.schedules.add("work", cron="0 */5 * * *")
    stage.until_due("work")
    stage.fire_due()
    (claim,) = stage.claim()
    stage.clock.advance(hours=1)
    settlement = decide(claim, outcome, Backoff(), Random(1))._replace(took=2.5)
    stage.database.transact(settling.settle, HERE, [settlement])
    statistics = stage.get("work").statistics
    assert statistics.total_duration + statistics.total_duration_failures == timedelta(seconds=2.5)


def test_a_run_that_waits_for_a_slot_is_shown_as_no_crash(stage: Stage) -> None:
    stage.horae.schedules.add("work", cron="* * * * *")
    stage.until_due("work")
    stage.fire_due()
    statistics = stage.get("work").statistics
    assert (statistics.total_runs, statistics.total_crashes, statistics.consecutive_crashes) == (0, 0, 0)
