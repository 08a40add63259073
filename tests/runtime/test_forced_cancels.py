"""A cancel takes effect once; one by force that comes after it takes effect as well."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from horae import Horae, JobState
from horae.live.store import CancelRequest
from horae.runtime.timing import RunMonitorTiming, Timing
from horae.types.attempt import Attempt
from tests.harness.applications import live_rows
from tests.harness.nodes import running_node, until, until_released, until_set
from tests.harness.waiting import Record


class Stubborn:
    """A body that notices no order, and whether it was stopped by force."""

    def __init__(self, horae: Horae) -> None:
        self.begun, self.release = threading.Event(), threading.Event()
        self.told = Record[int]()
        self.killed = Record[int]()

        @horae.job(max_count=None)
        def stubborn() -> None:
            self.begun.set()
            self.release.wait(20)


@pytest.fixture
def body(horae: Horae, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubborn]:
    body = Stubborn(horae)

    stop = Attempt.stop

    def tell(run: Attempt, order: BaseException) -> None:
        stop(run, order)
        body.told.append(run.claim.id)

    def kill(run: Attempt) -> bool:
        body.killed.append(run.claim.id)
        return False

    monkeypatch.setattr(Attempt, "stop", tell)
    monkeypatch.setattr(Attempt, "kill", kill)
    yield body
    body.release.set()


async def test_the_body_is_forced_once(horae: Horae, body: Stubborn) -> None:
    async with running_node(horae):
        job = await horae.aio.jobs.start("stubborn")
        await until_set(body.begun)
        cancelled = await horae.aio.jobs.cancel(job.id, by="alice")
        await body.told.reaches(1)
        assert (cancelled.state, body.killed) == (JobState.CANCELLED, [])
        for _ in range(2):
            horae.components.live.request_cancel(job.id, CancelRequest("bob", forced=True))
            await body.killed.reaches(1)
        body.release.set()
        ended = await until_released(horae, job.id)
        await until(lambda: live_rows(horae, [job.id]) == 0)
    assert (ended.cancelled_by, body.killed) == ("alice", [job.id])


async def test_a_schedule_forces_a_run_that_a_user_has_cancelled(
    horae: Horae, body: Stubborn
) -> None:
    horae.schedules.add("stubborn", cron="* * * * * *", overlap="terminate_other")
    async with running_node(horae):
        await until_set(body.begun)
        [tick] = [tick for tick in horae.schedules.ticks("stubborn") if tick.job_id is not None]
        await horae.aio.jobs.cancel(tick.job_id or 0, by="alice")
        await body.told.reaches(1)
        await body.killed.reaches(1)
        horae.schedules.pause("stubborn")
        body.release.set()
    assert body.killed[0] == tick.job_id


async def test_a_cancelled_coroutine_may_clean_up(horae: Horae) -> None:
    """The request stays where it is until the job is released, and is read again in each round."""
    begun, cleaned = asyncio.Event(), list[str]()
    rounds = RunMonitorTiming(round=0.01)

    @horae.job
    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.1)
            cleaned.append("up")

    async with running_node(horae, timing=Timing(run_monitor=rounds)):
        job = await horae.aio.jobs.start(work)
        await begun.wait()
        await horae.aio.jobs.cancel(job.id)
        await until_released(horae, job.id)
    assert cleaned == ["up"]
