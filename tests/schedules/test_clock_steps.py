"""The database's clock is set while jobs run: what is stored never runs backwards, and no time is made up."""

import threading
from datetime import timedelta
from typing import Any, Final

import pytest

from horae import Job
from horae.domain.jobs.job import AttemptOutcome, Claim, Failed, JobState, Settlement
from horae.domain.jobs.limits import HARD
from horae.runtime.liveness import sweeper
from horae.runtime.timing import SweeperTiming, Timing
from horae.storage.jobs import claims
from horae.storage.outcomes import cancelling, settling, time_limits
from tests.harness.nodes import running_node, until, until_set, until_state
from tests.schedules.stage import CRASHED, HERE, Stage

BACK: Final = -90.0
HOUR: Final = 3600.0

OFTEN = Timing(sweeper=SweeperTiming(round=0.05, limits_every=1))


def claimed(stage: Stage, **options: Any) -> Claim:
    job = stage.horae.jobs.start("work", **options)
    claim = stage.database.transact(claims.claim_one, job.id, HERE)
    assert claim is not None
    return claim


def in_order(job: Job) -> bool:
    moments = [job.created_at, job.started_at, job.finished_at, job.updated_at]
    known = [moment for moment in moments if moment is not None]
    return known == sorted(known)


def finish(stage: Stage, claim: Claim) -> None:
    stage.end(claim)


def fail(stage: Stage, claim: Claim) -> None:
    stage.end(claim, Failed("ValueError: no", "It did not work."))


def crash(stage: Stage, claim: Claim) -> None:
    stage.end(claim, CRASHED)


def cancel(stage: Stage, claim: Claim) -> None:
    stage.database.transact(cancelling.cancel, claim.id, "alice")
    stage.database.transact(settling.release, HERE, [(claim.id, claim.lease)])


def expire(stage: Stage, claim: Claim) -> None:
    stage.database.transact(time_limits.expire, [(claim.id, claim.lease)], HARD)
    stage.database.transact(settling.release, HERE, [(claim.id, claim.lease)])


def hand_back(stage: Stage, claim: Claim) -> None:
    stage.database.transact(claims.hand_back, [claim])


class TestSetBack:
    @pytest.mark.parametrize("how", [finish, fail, crash, cancel, expire, hand_back])
    def test_no_job_ends_before_it_starts(self, stage: Stage, how: Any) -> None:
        claim = claimed(stage)
        stage.clock.advance(seconds=BACK)
        how(stage, claim)
        assert in_order(stage.horae.jobs.get(claim.id))
        for attempt in stage.horae.jobs.attempts(claim.id):
            assert attempt.started_at <= attempt.finished_at

    def test_no_job_starts_before_it_was_made(self, stage: Stage) -> None:
        job = stage.horae.jobs.start("work", run_at=stage.clock.now - timedelta(hours=1))
        stage.clock.advance(seconds=BACK)
        assert stage.database.transact(claims.claim_one, job.id, HERE) is not None
        assert in_order(stage.horae.jobs.get(job.id))

    def test_a_pending_job_is_not_cancelled_before_it_was_made(self, stage: Stage) -> None:
        job = stage.horae.jobs.start("work")
        stage.clock.advance(seconds=BACK)
        assert in_order(stage.horae.jobs.cancel(job.id))


@pytest.mark.parametrize("step", [BACK, 0.0, HOUR])
@pytest.mark.parametrize("state", [JobState.FINISHED, JobState.FAILED, JobState.PENDING])
def test_what_a_body_took_is_what_its_process_measured(stage: Stage, step: float, state: JobState) -> None:
    claim = claimed(stage, max_attempts=2)
    stage.clock.advance(seconds=2.5 + step)
    outcome = AttemptOutcome.FINISHED if state is JobState.FINISHED else AttemptOutcome.FAILED
    stage.database.transact(settling.settle, HERE, [Settlement(claim.id, claim.lease, state, outcome, took=2.5)])
    [attempt] = stage.horae.jobs.attempts(claim.id)
    # There is no room for it where the clock stands before the start.
    assert attempt.finished_at - attempt.started_at == timedelta(seconds=0.0 if step < 0 else 2.5)
    job = stage.horae.jobs.get(claim.id)
    assert in_order(job)
    if state is not JobState.PENDING:
        assert (job.started_at, job.finished_at) == (attempt.started_at, attempt.finished_at)


@pytest.mark.parametrize("step", [BACK, HOUR], ids=["back", "on"])
@pytest.mark.parametrize("limit", ["of the type", "of the schedule"])
async def test_a_body_is_limited_by_what_has_passed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, step: float, limit: str
) -> None:
    """By two nodes that sweep all the time, in the middle of a body the clock is set."""
    begun, over = threading.Event(), threading.Event()
    looks = counted_looks(monkeypatch)
    of_type, of_schedule = (timedelta(minutes=30), timedelta(hours=9))[:: 1 if limit == "of the type" else -1]

    @stage.horae.job(soft_time_limit=of_type)
    def body() -> str:
        begun.set()
        over.wait(20)
        return "done"

    stage.horae.schedules.add("body", cron="0 0 1 1 *", max_runtime=of_schedule)
    async with running_node(stage.horae, timing=OFTEN), running_node(stage.horae, timing=OFTEN):
        job_id = await stage.horae.aio.schedules.run_now("body")
        await until_set(begun)
        before = len(looks)
        await until(lambda: len(looks) > before + 4)
        stage.clock.advance(seconds=step)
        before = len(looks)
        await until(lambda: len(looks) > before + 8)
        over.set()
        ended = await until_state(stage.horae, job_id, "finished", "failed")
    assert (ended.state, ended.result) == ("finished", "done")
    assert in_order(ended)
    [attempt] = stage.horae.jobs.attempts(job_id)
    assert timedelta(0) <= attempt.finished_at - attempt.started_at < timedelta(minutes=1)


async def test_a_job_waits_no_longer_because_the_clock_was_set(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = counted_looks(monkeypatch)

    @stage.horae.job(pending_timeout=timedelta(minutes=30))
    def wait() -> None: ...

    async with running_node(stage.horae, queues=("other",), timing=OFTEN):
        await until(lambda: looks)
        job = await stage.horae.aio.jobs.start("wait", owner="alice")
        before = len(looks)
        await until(lambda: len(looks) > before + 2)
        stage.clock.advance(seconds=HOUR)
        before = len(looks)
        await until(lambda: len(looks) > before + 4)
        assert (await stage.horae.aio.jobs.get(job.id)).state is JobState.PENDING


def counted_looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One more entry for each look at the limits that is over."""
    looks, enforce = list[int](), sweeper.Sweeper.enforce_limits

    async def counted(self: sweeper.Sweeper) -> None:
        await enforce(self)
        looks.append(1)

    monkeypatch.setattr(sweeper.Sweeper, "enforce_limits", counted)
    return looks
