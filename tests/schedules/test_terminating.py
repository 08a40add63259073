"""A run that was ordered to stop and has not stopped is `terminating`, whatever ordered it."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from horae import Horae, JobContext
from horae.domain.jobs.job import AttemptOutcome, JobState, Settlement
from horae.errors import JobStopped
from horae.storage.outcomes import settling
from horae.storage.schedules import writing
from tests.harness.applications import attempt_of
from tests.harness.nodes import running_node, until_set
from tests.harness.waiting import Record, until_stored
from tests.schedules.driver import HERE, Driver


class Deaf:
    """A body that goes on until the test lets it end."""

    def __init__(self, horae: Horae) -> None:
        self.begun, self.release = threading.Event(), threading.Event()

        @horae.job(grace=timedelta(minutes=1))
        def deaf() -> None:
            self.begun.set()
            self.release.wait(20)


@pytest.fixture
def deaf(horae: Horae) -> Iterator[Deaf]:
    body = Deaf(horae)
    yield body
    body.release.set()


def state(horae: Horae, name: str = "deaf") -> str:
    return horae.schedules.get(name).state


async def test_a_user_cancels_the_job(horae: Horae, deaf: Deaf) -> None:
    horae.schedules.add("deaf", cron="0 0 1 1 *")
    async with running_node(horae):
        job_id = await horae.aio.schedules.run_now("deaf")
        await until_set(deaf.begun)
        assert state(horae) == "executing"
        version = horae.schedules.get("deaf").version
        await horae.aio.jobs.cancel(job_id)
        assert state(horae) == "terminating"
        assert horae.schedules.get("deaf").version > version  # so watchers are notified
        deaf.release.set()
        await until_stored(horae, lambda: state(horae) == "idle")


async def test_a_pending_job_that_is_cancelled_has_nothing_to_stop(
    horae: Horae, deaf: Deaf
) -> None:
    del deaf
    horae.schedules.add("deaf", cron="0 0 1 1 *")
    horae.jobs.cancel(horae.schedules.run_now("deaf"))
    assert state(horae) == "idle"


async def test_the_time_limit_of_the_schedule(horae: Horae, deaf: Deaf) -> None:
    horae.schedules.add("deaf", cron="0 0 1 1 *", max_runtime="0.2s")
    async with running_node(horae):
        await horae.aio.schedules.run_now("deaf")
        await until_stored(horae, lambda: state(horae) == "terminating")
        deaf.release.set()
        await until_stored(horae, lambda: state(horae) == "idle")
    assert horae.schedules.get("deaf").statistics.total_successes == 1  # it was late, and done


async def test_the_end_of_its_node(horae: Horae, deaf: Deaf) -> None:
    horae.schedules.add("deaf", cron="0 0 1 1 *")
    async with running_node(horae, grace=timedelta(0)) as node:
        await horae.aio.schedules.run_now("deaf")
        await until_set(deaf.begun)
        node.stop()
        await until_stored(horae, lambda: state(horae) == "terminating")
        deaf.release.set()
    assert state(horae) == "idle"


def test_a_run_that_is_tried_again_executes_again(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="* * * * *")
    driver.until_due("work")
    driver.fire_due()
    (claim,) = driver.claim()
    driver.database.transact(writing.mark_stopping, [claim.id])
    assert driver.get("work").state == "terminating"
    again = Settlement(claim.id, claim.lease, JobState.PENDING, AttemptOutcome.FAILED)
    driver.database.transact(settling.settle, HERE, [again])
    assert (driver.get("work").state, driver.get("work").job_id) == ("executing", claim.id)


@pytest.mark.parametrize("overlap", ["cancel_other", "allow_all"])
async def test_a_policy_stops_its_only_run(horae: Horae, overlap: str) -> None:
    begun, release = Record[int](), threading.Event()

    @horae.job
    def deaf(job: JobContext) -> None:
        begun.append(job.id)
        while not isinstance(attempt_of(job).order, JobStopped) and not release.is_set():
            release.wait(0.01)
        release.wait(20)

    horae.schedules.add("deaf", cron="* * * * * *", overlap=overlap)
    async with running_node(horae):
        if overlap == "cancel_other":
            await until_stored(horae, lambda: state(horae) == "terminating")
        else:
            await begun.reaches(2)
            assert state(horae) == "idle"
        horae.schedules.pause("deaf")
        release.set()
