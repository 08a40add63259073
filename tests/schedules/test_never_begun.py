"""A run that ends before its body has begun was none: neither failure nor crash, and no part of a streak."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any, Final

import pytest

from horae.domain.jobs import limits
from horae.domain.jobs.job import Claim, JobId
from horae.domain.schedules.schedule import Overlap
from horae.domain.schedules.statistics import Statistics
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.bodies.runner import RunEnvironment as Place
from horae.runtime.claims.settler import settle_batch
from horae.runtime.journal.files import Begun
from horae.runtime.journal.journal import entry_of
from horae.runtime.liveness.rescue import Rescuer
from horae.storage.jobs import claims
from horae.storage.operations import queues
from horae.storage.outcomes import time_limits
from tests.harness.applications import execute
from tests.schedules.stage import CRASHED, ENDED_BADLY, HERE, THERE, Stage
from tests.storage import arrange

MINUTE: Final = timedelta(minutes=1)
KINDS: Final[list[dict[str, Any]]] = [
    {"every": "10m", "retry_period": "3m"},
    {"every": "10m", "retry_period": "3m", "fixed": True},
    {"cron": "*/10 * * * *", "retry_period": "3m"},
    {"cron": "*/10 * * * *", "overlap": Overlap.ALLOW_ALL},
]


def stored(stage: Stage) -> Statistics:
    return stage.stored_statistics("work")


def but_for_the_finish(before: Statistics, stage: Stage) -> Statistics:
    return replace(before, last_finish=stored(stage).last_finish)


def cancelled(stage: Stage, job_id: int) -> None:
    stage.horae.jobs.cancel(job_id)


def expired(stage: Stage, job_id: int) -> None:
    (job,) = stage.database.transact(time_limits.expire, [(JobId(job_id), 0)], limits.PENDING)
    assert job.state == "failed"


def handed_back(stage: Stage, job_id: int) -> None:
    """Claimed ahead of the slots, cancelled there, and let go of by the node."""
    (claim,) = stage.claim()
    stage.horae.jobs.cancel(job_id)
    assert stage.get("work").open_runs == 1
    node = Place(stage.database, HERE)
    settled = stage.database.transact(settle_batch, node, [FinishedRun(claim, None, unbegun=True)])
    assert list(settled.released) == [job_id]


def rescued(stage: Stage, job_id: int) -> None:
    """Claimed ahead of the slots and cancelled there, by a node that is killed."""
    stage.claim(THERE)
    stage.horae.jobs.cancel(job_id)
    rescue(stage)


def rescue(stage: Stage, *begun: Claim) -> None:
    entries = Begun(frozenset(entry_of(claim) for claim in begun))
    rescuer = Rescuer(stage.horae.registry, Random(1), begun_by=lambda _: entries, age=timedelta(hours=1))
    stage.database.transact(rescuer.rescue, [THERE])


ENDS: Final = [cancelled, expired, handed_back, rescued]


@pytest.mark.parametrize("options", KINDS, ids=["drifting", "fixed", "cron", "allow_all"])
@pytest.mark.parametrize("end", ENDS)
def test_it_moves_no_count_and_no_streak(
    stage: Stage, options: dict[str, Any], end: Callable[[Stage, int], None]
) -> None:
    stage.horae.schedules.add("work", max_retries=3, **options)
    for outcome in (None, ENDED_BADLY, CRASHED):
        stage.until_due("work")
        stage.run(outcome, age=timedelta(hours=1))
    before = stored(stage)
    assert before.streak() == 2
    for _ in range(4):  # more often than it may fail
        stage.until_due("work")
        (job_id,) = stage.fire_due()
        assert stage.get("work").statistics == before
        stage.clock.advance(seconds=30)
        end(stage, job_id)
        before = but_for_the_finish(before, stage)
        after = stage.get("work")
        assert (after.statistics, after.open_runs, after.state) == (stored(stage), 0, "idle")
        assert stored(stage) == before
        assert after.next_start is not None
        assert after.next_start > stage.clock.now


@pytest.mark.parametrize("end", ENDS)
def test_by_hand_it_moves_nothing_at_all(stage: Stage, end: Callable[[Stage, int], None]) -> None:
    stage.horae.schedules.add("work", every="1h")
    stage.run(ENDED_BADLY)
    before = stage.get("work")
    end(stage, stage.horae.schedules.run_now("work"))
    after = stage.get("work")
    assert (after.next_start, after.last_tick, after.enabled) == (before.next_start, before.last_tick, True)
    assert stored(stage) == but_for_the_finish(before.statistics, stage)


def test_it_leaves_the_back_off(stage: Stage) -> None:
    """Four failures are followed by eight retry periods, not by the interval, which is shorter."""
    stage.horae.schedules.add("work", every="2m", retry_period="1m")
    for _ in range(4):
        stage.until_due("work")
        stage.run(ENDED_BADLY)
    stage.until_due("work")
    cancelled(stage, *stage.fire_due())
    due = stage.get("work").next_start
    assert due is not None
    assert 7 * MINUTE <= due - stage.clock.now <= 9 * MINUTE
    stage.clock.set(due)
    stage.run(ENDED_BADLY)
    assert stored(stage).consecutive_failures == 5


def test_a_run_in_a_paused_queue_is_open_however_long_it_waits(stage: Stage) -> None:
    stage.horae.schedules.add("work", cron="0 * * * *", queue="slow")
    stage.database.autocommit(queues.pause, "slow", None)
    stage.until_due("work")
    (job_id,) = stage.fire_due()
    stage.clock.advance(hours=5)
    assert stage.claim() == []
    shown = stage.get("work")
    assert (shown.statistics, shown.open_runs) == (Statistics(), 1)
    cancelled(stage, job_id)
    assert stored(stage) == Statistics(last_finish=stage.clock.now)


def test_a_run_that_its_dead_node_had_not_begun_goes_on_waiting(stage: Stage) -> None:
    stage.horae.schedules.add("work", cron="0 * * * *")
    stage.until_due("work")
    stage.fire_due()
    stage.claim(THERE)
    rescue(stage)
    assert (stage.get("work").statistics, stage.get("work").open_runs) == (Statistics(), 1)
    stage.clock.advance(minutes=5)
    (claim,) = stage.claim()
    stage.clock.advance(seconds=20)
    stage.end(claim)
    after = stored(stage)
    assert (after.total_runs, after.total_successes, after.total_crashes) == (1, 1, 0)
    assert after.total_duration == timedelta(seconds=20)


def test_one_that_had_begun_crashed_once(stage: Stage) -> None:
    stage.horae.schedules.add("work", cron="0 * * * *")
    stage.until_due("work")
    stage.fire_due()
    (claim,) = stage.claim(THERE)
    began = stage.clock.now
    stage.clock.advance(seconds=20)
    rescue(stage, claim)
    rescue(stage, claim)
    after = stored(stage)
    assert (after.total_runs, after.total_crashes, after.consecutive_crashes) == (1, 1, 1)
    assert (after.last_start, after.last_run_success) == (began, False)
    assert stage.get("work").statistics == after


@pytest.mark.parametrize("claimed_again", [False, True])
def test_a_run_that_waits_for_another_attempt_has_begun(stage: Stage, claimed_again: bool) -> None:  # noqa: FBT001
    stage.horae.schedules.add("work", cron="0 * * * *")
    stage.until_due("work")
    (job_id,) = stage.fire_due()
    execute(stage.horae, "UPDATE horae_jobs SET max_attempts = 3")
    (claim,) = stage.claim()
    stage.end(claim, ENDED_BADLY)
    if claimed_again:
        stage.clock.advance(minutes=5)
        stage.database.transact(claims.hand_back, stage.claim())
    cancelled(stage, job_id)
    after = stored(stage)
    assert (after.total_runs, after.total_failures, after.consecutive_failures) == (1, 1, 0)
    assert len(arrange.attempts(stage.database, JobId(job_id))) == 1


def test_others_go_on_beside_it(stage: Stage) -> None:
    stage.horae.schedules.add("work", cron="* * * * *", overlap=Overlap.ALLOW_ALL)
    made: list[int] = []
    for _ in range(3):
        stage.until_due("work")
        made += stage.fire_due()
    cancelled(stage, made[1])
    shown = stage.get("work")
    assert (shown.open_runs, shown.statistics) == (2, Statistics(last_finish=stage.clock.now))
    first, last = stage.claim()
    stage.end(first, CRASHED)
    assert stage.get("work").statistics.streak() == 1
    stage.end(last)
    after = stored(stage)
    assert (after.total_runs, after.total_successes, after.total_crashes, after.streak()) == (2, 1, 1, 0)
