"""The database's clock is set while jobs run: what is stored never runs backwards, and no time is made up."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import pytest

from horae import Backoff, Job, Snooze
from horae.client.doctor.schedules import schedule_findings
from horae.domain.jobs import KeptFor, TimeLimit
from horae.domain.jobs.job import AttemptOutcome, Claim, Failed, JobState, Outcome, Settlement
from horae.runtime.liveness import sweeper
from horae.runtime.timing import HookTiming, SweeperTiming, Timing
from horae.storage.jobs import EVER, claims
from horae.storage.outcomes import cancelling, settling, time_limits
from horae.storage.schedules import clock_setbacks, health
from horae.types.hooks import Hooks
from tests.harness.applications import rows
from tests.harness.nodes import running_node, until, until_set, until_state
from tests.harness.waiting import Record, until_stored
from tests.schedules.driver import CRASHED, ENDED_BADLY, HERE, Driver

BACK: Final = -90.0
HOUR: Final = 3600.0

OFTEN = Timing(sweeper=SweeperTiming(round=0.05, limits_every=1))


def claimed(driver: Driver, **options: Any) -> Claim:
    job = driver.horae.jobs.start("work", **options)
    claim = driver.database.transact(claims.claim_one, job.id, HERE)
    assert claim is not None
    return claim


def in_order(job: Job) -> bool:
    moments = [job.created_at, job.started_at, job.finished_at, job.updated_at]
    known = [moment for moment in moments if moment is not None]
    return known == sorted(known)


def finish(driver: Driver, claim: Claim) -> None:
    driver.end(claim)


def fail(driver: Driver, claim: Claim) -> None:
    driver.end(claim, Failed("ValueError: no", "It did not work."))


def crash(driver: Driver, claim: Claim) -> None:
    driver.end(claim, CRASHED)


def cancel(driver: Driver, claim: Claim) -> None:
    driver.database.transact(cancelling.cancel, claim.id, "alice")
    driver.database.transact(settling.release, HERE, [(claim.id, claim.lease)])


def expire(driver: Driver, claim: Claim) -> None:
    driver.database.transact(time_limits.expire, [(claim.id, claim.lease)], TimeLimit.HARD)
    driver.database.transact(settling.release, HERE, [(claim.id, claim.lease)])


def hand_back(driver: Driver, claim: Claim) -> None:
    driver.database.transact(claims.hand_back, HERE, [claim])


class TestSetBack:
    @pytest.mark.parametrize("how", [finish, fail, crash, cancel, expire, hand_back])
    def test_no_job_ends_before_it_starts(self, driver: Driver, how: Any) -> None:
        claim = claimed(driver)
        driver.clock.advance(seconds=BACK)
        how(driver, claim)
        assert in_order(driver.horae.jobs.get(claim.id))
        for attempt in driver.horae.jobs.attempts(claim.id):
            assert attempt.started_at <= attempt.finished_at

    def test_no_job_starts_before_it_was_made(self, driver: Driver) -> None:
        job = driver.horae.jobs.start("work", run_at=driver.clock.now - timedelta(hours=1))
        driver.clock.advance(seconds=BACK)
        assert driver.database.transact(claims.claim_one, job.id, HERE) is not None
        assert in_order(driver.horae.jobs.get(job.id))

    def test_a_pending_job_is_not_cancelled_before_it_was_made(self, driver: Driver) -> None:
        job = driver.horae.jobs.start("work")
        driver.clock.advance(seconds=BACK)
        assert in_order(driver.horae.jobs.cancel(job.id))


@pytest.mark.parametrize("step", [BACK, 0.0, HOUR])
@pytest.mark.parametrize("state", [JobState.FINISHED, JobState.FAILED, JobState.PENDING])
def test_a_duration_is_measured_by_the_process_of_the_body(
    driver: Driver, step: float, state: JobState
) -> None:
    claim = claimed(driver, max_attempts=2)
    driver.clock.advance(seconds=2.5 + step)
    outcome = AttemptOutcome.FINISHED if state is JobState.FINISHED else AttemptOutcome.FAILED
    driver.database.transact(
        settling.settle, HERE, [Settlement(claim.id, claim.lease, state, outcome, took=2.5)]
    )
    [attempt] = driver.horae.jobs.attempts(claim.id)
    # There is no room for it where the clock stands before the start.
    assert attempt.finished_at - attempt.started_at == timedelta(seconds=0.0 if step < 0 else 2.5)
    job = driver.horae.jobs.get(claim.id)
    assert in_order(job)
    if state is not JobState.PENDING:
        assert (job.started_at, job.finished_at) == (attempt.started_at, attempt.finished_at)


@pytest.mark.parametrize("step", [BACK, HOUR], ids=["back", "on"])
@pytest.mark.parametrize("limit", ["of the type", "of the schedule"])
async def test_a_body_is_limited_by_what_has_passed(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, step: float, limit: str
) -> None:
    """By two nodes that sweep all the time, in the middle of a body the clock is set."""
    begun, over = threading.Event(), threading.Event()
    looks = counted_looks(monkeypatch)
    of_type, of_schedule = (timedelta(minutes=30), timedelta(hours=9))[
        :: 1 if limit == "of the type" else -1
    ]

    @driver.horae.job(soft_time_limit=of_type)
    def body() -> str:
        begun.set()
        over.wait(20)
        return "done"

    driver.horae.schedules.add("body", cron="0 0 1 1 *", max_runtime=of_schedule)
    async with running_node(driver.horae, timing=OFTEN), running_node(driver.horae, timing=OFTEN):
        job_id = await driver.horae.aio.schedules.run_now("body")
        await until_set(begun)
        before = len(looks)
        await looks.reaches(before + 5)
        driver.clock.advance(seconds=step)
        before = len(looks)
        await looks.reaches(before + 9)
        over.set()
        ended = await until_state(driver.horae, job_id, "finished", "failed")
    assert (ended.state, ended.result) == ("finished", "done")
    assert in_order(ended)
    [attempt] = driver.horae.jobs.attempts(job_id)
    assert timedelta(0) <= attempt.finished_at - attempt.started_at < timedelta(minutes=1)


async def test_a_job_waits_no_longer_because_the_clock_was_set(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = counted_looks(monkeypatch)

    @driver.horae.job(pending_timeout=timedelta(minutes=30))
    def wait() -> None: ...

    async with running_node(driver.horae, queues=("other",), timing=OFTEN):
        await looks.reaches(1)
        job = await driver.horae.aio.jobs.start("wait", owner="alice")
        before = len(looks)
        await looks.reaches(before + 3)
        driver.clock.advance(seconds=HOUR)
        before = len(looks)
        await looks.reaches(before + 5)
        assert (await driver.horae.aio.jobs.get(job.id)).state is JobState.PENDING


def counted_looks(monkeypatch: pytest.MonkeyPatch) -> Record[int]:
    """One more entry for each look at the limits that is over."""
    looks, enforce = Record[int](), sweeper.Sweeper.enforce_limits

    async def counted(self: sweeper.Sweeper) -> None:
        await enforce(self)
        looks.append(1)

    monkeypatch.setattr(sweeper.Sweeper, "enforce_limits", counted)
    return looks


async def test_no_job_waits_for_a_moment_that_the_clock_had_shown(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written while the clock was ahead: due at once, after a delay, after the back-off of a failed attempt, and after a snooze."""
    looks, failed = counted_looks(monkeypatch), list[int]()

    @driver.horae.job(
        max_attempts=2, max_count=None, backoff=Backoff(base=timedelta(seconds=30), jitter=0)
    )
    def fragile(*, fail: bool = False) -> None:
        if fail and not failed:
            failed.append(1)
            raise ValueError("not yet")

    @driver.horae.job
    def patient() -> None:
        raise Snooze(timedelta(seconds=30))

    jobs = driver.horae.aio.jobs
    driver.clock.advance(seconds=HOUR)
    async with running_node(driver.horae, timing=OFTEN):
        retried = await jobs.start("fragile", fail=True)
        await until(lambda: failed)
        await until_state(driver.horae, retried.id, "pending")
        snoozed = await jobs.start("patient")
        await until(lambda: driver.horae.jobs.attempts(snoozed.id))
        await until_state(driver.horae, snoozed.id, "pending")
    at_once, delayed = await jobs.start("fragile"), await jobs.start("fragile", delay="30s")
    before = len(looks)
    async with running_node(driver.horae, queues=("other",), timing=OFTEN):
        await looks.reaches(before + 1)
        driver.clock.advance(seconds=-HOUR)
        await until(lambda: driver.horae.jobs.get(at_once.id).run_at <= driver.clock.now)
    moments = [
        driver.horae.jobs.get(job.id).run_at - driver.clock.now
        for job in (retried, snoozed, delayed)
    ]
    assert moments == [*[timedelta(seconds=30)] * 2, timedelta(hours=1, seconds=30)]


def test_runs_by_hand_find_times_of_their_own_after_the_clock_was_set_back(driver: Driver) -> None:
    driver.horae.schedules.add("work", every="10s")
    driver.until_due("work")
    driver.run()
    driver.clock.advance(seconds=BACK)
    started: set[int] = set()
    for _ in range(3):
        started.add(driver.horae.schedules.run_now("work"))
        for claim in driver.claim():
            driver.end(claim)
    assert len(started) == 3


def pull_in(driver: Driver) -> list[str]:
    """Do what each node does when it notices that the clock was set; the schedules whose next start has changed."""
    ids = driver.database.autocommit(clock_setbacks.counted_ahead, 0, 100)
    return [each.schedule.name for each in driver.database.transact(clock_setbacks.pull_in, ids)]


def wait(driver: Driver, name: str = "work") -> timedelta:
    due = driver.get(name).next_start
    assert due is not None
    return due - driver.clock.now


class TestSchedulesSetBack:
    """Intervals go on, since no nominal time of theirs could be run twice; all others wait."""

    @pytest.mark.parametrize("seconds", [HOUR, 1.0])
    def test_an_interval_goes_on(self, driver: Driver, seconds: float) -> None:
        driver.horae.schedules.add("work", every="2s")
        driver.until_due("work")
        driver.run()
        driver.clock.advance(seconds=-seconds)
        assert pull_in(driver) == ["work"]
        assert wait(driver) == timedelta(seconds=2)
        driver.clock.advance(seconds=0.5)
        assert pull_in(driver) == [], "another node has noticed it later"
        for _ in range(5):
            driver.until_due("work")
            assert len(driver.run(seconds=0.5)) == 1
            assert wait(driver) == timedelta(seconds=2)
        assert driver.get("work").statistics.total_successes == 6

    @pytest.mark.parametrize(
        ("outcome", "longest"),
        [(ENDED_BADLY, timedelta(seconds=33.75)), (CRASHED, timedelta(minutes=5))],
    )
    def test_a_wait_after_a_failure_starts_again(
        self, driver: Driver, outcome: Outcome, longest: timedelta
    ) -> None:
        driver.horae.schedules.add("work", every="1h", retry_period="30s")
        driver.until_due("work")
        driver.run(outcome, age=timedelta(0))
        before = wait(driver)
        assert before <= longest
        driver.clock.advance(seconds=-HOUR)
        pull_in(driver)
        assert before <= wait(driver) <= longest
        assert pull_in(driver) == []

    def test_a_start_that_a_caller_has_set_stays(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m")
        driver.until_due("work")
        driver.run()
        driver.horae.schedules.alter("work", next_start=driver.clock.now + timedelta(hours=5))
        driver.clock.advance(seconds=-HOUR)
        assert pull_in(driver) == []
        assert wait(driver) == timedelta(hours=6)

    @pytest.mark.parametrize("trigger", [{"cron": "*/10 * * * *"}, {"every": "10m", "fixed": True}])
    def test_times_that_are_decided_are_not_run_twice(
        self, driver: Driver, trigger: dict[str, Any]
    ) -> None:
        driver.horae.schedules.add("work", **trigger)
        for _ in range(2):
            driver.until_due("work")
            driver.run()
        due = driver.get("work").next_start
        driver.clock.advance(seconds=-HOUR)
        assert pull_in(driver) == []
        assert driver.get("work").next_start == due
        (waiting,) = driver.database.autocommit(clock_setbacks.waiting)
        assert (waiting.name, waiting.next_start, waiting.is_interval) == ("work", due, False)
        found = schedule_findings(driver.database.autocommit(health.check), [], known=["work"])
        assert any("the clock of the database was set back" in each.message for each in found)

    @pytest.mark.parametrize("by_hand", [False, True])
    @pytest.mark.parametrize(
        ("outcome", "longest"),
        [(None, 10), (ENDED_BADLY, 10), (CRASHED, 300)],
    )
    def test_an_interval_goes_on_after_a_run_during_which_it_happened(
        self, driver: Driver, outcome: Outcome | None, longest: float, *, by_hand: bool
    ) -> None:
        driver.horae.schedules.add("work", every="10s", retry_period="3s")
        driver.until_due("work")
        driver.run()
        if by_hand:
            driver.horae.schedules.run_now("work")
        else:
            driver.until_due("work")
            driver.fire_due()
        (claim,) = driver.claim()
        driver.clock.advance(seconds=-HOUR)
        pull_in(driver)
        driver.clock.advance(seconds=1)
        driver.end(claim, outcome, age=timedelta(0))
        assert timedelta(0) < wait(driver) <= timedelta(seconds=longest)
        driver.until_due("work")
        assert len(driver.run()) == 1

    @pytest.mark.parametrize("change", ["resume", "next_start", "run_now"])
    def test_a_change_by_a_caller_is_planned_from_the_present(
        self, driver: Driver, change: str
    ) -> None:
        driver.horae.schedules.add("work", every="30m")
        for _ in range(2):
            driver.until_due("work")
            driver.run()
        driver.clock.advance(seconds=-HOUR)
        if change == "resume":
            driver.horae.schedules.pause("work")
            driver.horae.schedules.resume("work")
            assert wait(driver) == timedelta(minutes=30)
        elif change == "next_start":
            driver.horae.schedules.alter("work", next_start=driver.clock.now)
            assert len(driver.run()) == 1
        else:
            assert (
                driver.horae.jobs.get(driver.horae.schedules.run_now("work")).nominal_time
                == driver.clock.now
            )

    def test_a_time_that_the_clock_shows_again_gets_another_nominal_time(
        self, driver: Driver
    ) -> None:
        driver.horae.schedules.add("work", every="10s")
        driver.until_due("work")
        first = driver.clock.now
        driver.run(seconds=0)
        driver.until_due("work")
        driver.run(seconds=0)
        driver.clock.set(first - timedelta(seconds=10))
        pull_in(driver)
        driver.until_due("work")
        assert driver.clock.now == first
        driver.clock.advance(seconds=0.001)
        assert len(driver.run(seconds=0)) == 1
        assert [entry.nominal_time - first for entry in driver.entries("work")][:2] == [
            timedelta(0),
            timedelta(microseconds=1),
        ]


async def test_a_node_lets_intervals_go_on_when_the_clock_was_set(
    driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    """By a node that has seen the step, and by one that starts after it."""
    began = Record[int]()

    @driver.horae.job
    def beat() -> None:
        began.append(1)

    driver.horae.schedules.add("beat", every="50ms")
    driver.horae.schedules.add("work", cron="* * * * *")
    driver.until_due("work")
    driver.run()
    async with running_node(driver.horae, timing=OFTEN):
        driver.clock.advance(seconds=0.1)
        await began.reaches(1)
        driver.clock.advance(seconds=-HOUR)
        await until(lambda: wait(driver, "beat") <= timedelta(seconds=0.05))
        driver.clock.advance(seconds=0.1)
        await began.reaches(2)
        waits = "1 schedules wait, as their times until then are decided: work until"
        await until(lambda: waits in caplog.text)
    driver.clock.advance(seconds=-HOUR)
    async with running_node(driver.horae, timing=OFTEN):
        await until(lambda: wait(driver, "beat") <= timedelta(seconds=0.05))
        before = len(began)
        driver.clock.advance(seconds=2 * HOUR)
        await began.reaches(before + 1)


async def test_a_clock_set_forward_deletes_nothing_early(
    driver: Driver, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the node lives that has seen the step; one that starts after it believes the clock."""
    searches = Record[float]()
    remove = Hooks.remove

    def recorded(self: Hooks, part: str, kept: KeptFor, oldest: float = EVER) -> Iterator[int]:
        yield from remove(self, part, kept, oldest)
        searches.append(kept.seconds)

    monkeypatch.setattr(Hooks, "remove", recorded)
    timing = Timing(hooks=HookTiming(clean_every=0.05, gone_every=0.05, look_every=0.05))
    driver.end(claimed(driver))
    stored = "SELECT count(*) FROM horae_jobs"
    async with running_node(driver.horae, timing=timing, keep=timedelta(days=1)):
        await searches.reaches(1)
        driver.clock.advance(days=40)
        await until(lambda: "the database's clock was set forward" in caplog.text)
        await searches.reaches(len(searches) + 2)
        assert rows(driver.horae, stored) == [(1,)]
    async with running_node(driver.horae, timing=timing, keep=timedelta(days=1)):
        await until_stored(driver.horae, lambda: rows(driver.horae, stored) == [(0,)])
