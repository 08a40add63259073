"""A database that has lost claims, as an asynchronous standby may that was promoted: nobody's result ends another's job."""

import asyncio
import threading

import psycopg
import pytest
from sqlalchemy import text

from horae import Horae, JobContext, JobState
from horae.errors import LeaseLost
from horae.runtime.timing import Pauses, SettlerTiming, Timing, WorkerTiming
from tests.harness.nodes import running_node, until, until_set, until_state
from tests.runtime.test_settling_faults import Refusal

SHORT_PAUSES = Timing(worker=WorkerTiming(suspect_pause=Pauses(0.01, 0.02)))
FORGET = text(
    "UPDATE horae_jobs SET state = 'pending', lease = 0, attempt = 0, node_id = NULL,"
    " started_at = NULL, params = :params"
)
"""As if the claim was never made, and an application has started another job with the same id."""


def forget(horae: Horae, params: str) -> None:
    horae.components.database.transact(
        lambda connection: connection.execute(FORGET, {"params": params})
    )
    horae.jobs.start("wake")


def declare(horae: Horae) -> None:
    @horae.job(max_count=None)
    async def wake() -> None: ...


async def test_a_body_of_a_lost_claim_stops_and_its_slot_is_free_again(horae: Horae) -> None:
    begun, lost, together = threading.Event(), threading.Event(), asyncio.Barrier(2)
    declare(horae)

    @horae.job
    def work(job: JobContext, tag: str) -> str:
        begun.set()
        try:
            while tag == "old":
                lost.wait(0.01)
                job.check()
        except LeaseLost:
            lost.set()
            raise
        return tag

    @horae.job(max_count=None)
    async def meet() -> None:
        await together.wait()

    async with running_node(horae, concurrency=2, timing=SHORT_PAUSES):
        job = await horae.aio.jobs.start(work, tag="old")
        await until_set(begun)
        await asyncio.to_thread(forget, horae, '{"tag": "new"}')
        await until_set(lost)
        assert (await until_state(horae, job.id, "finished", "failed")).result == "new"
        both = await horae.aio.jobs.start_many(meet, [{}] * 2)
        for each in both:
            assert (await until_state(horae, each, "finished")).state is JobState.FINISHED


async def test_a_result_of_a_lost_claim_is_dropped(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = Refusal(monkeypatch, psycopg.errors.ReadOnlySqlTransaction())
    timing = Timing(worker=SHORT_PAUSES.worker, settler=SettlerTiming(retry=Pauses(0.05, 0.2)))
    declare(horae)
    ran: list[str] = []
    release = threading.Event()

    @horae.job
    def work(tag: str) -> str:
        ran.append(tag)
        release.wait(20)
        return tag

    async with running_node(horae, concurrency=2, timing=timing):
        job = await horae.aio.jobs.start(work, tag="old")
        refusal.job_id = job.id
        release.set()
        await until(lambda: "1 result not written yet" in caplog.text)
        release.clear()
        await asyncio.to_thread(forget, horae, '{"tag": "new"}')
        await until(lambda: "new" in ran)
        refusal.job_id = None
        release.set()
        assert (await until_state(horae, job.id, "finished", "failed")).result == "new"
