"""`meta` is its caller's dictionary: Horae reads nothing from it and writes nothing to it."""

import asyncio
from typing import Any, Final

import pytest

from horae import Horae, JobContext, JobState
from horae.live.store import CancelRequest
from horae.types.attempt import Attempt
from tests.harness.nodes import running_node, until_set, until_state

WORDS: Final[list[dict[str, Any]]] = [
    {"max_runtime": "soon"},
    {"max_runtime": -1},
    {"max_runtime": 0.000001},
    {"max_runtime": {"seconds": 5}},
    {"nominal_time": "yesterday", "schedule": "nightly", "deployment_id": []},
    {
        "schedule_id": 4711,
        "nominal_time": "2026-03-02T10:00:00+00:00",
        "reason": "manual",
        "retry_of": 3,
    },
]


async def test_the_meta_of_a_caller_changes_no_behaviour(horae: Horae) -> None:
    @horae.job
    async def look(job: JobContext) -> list[Any]:
        await asyncio.sleep(0.15)  # a round of the limits
        return [dict(job.meta), job.nominal_time]

    @horae.job
    def look_on_a_thread(job: JobContext) -> list[Any]:
        return [dict(job.meta), job.nominal_time]

    async with running_node(horae):
        jobs = [
            (meta, await horae.aio.jobs.start(body, meta=meta))
            for body in (look, look_on_a_thread)
            for meta in WORDS
        ]
        for meta, job in jobs:
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == [meta, None]
    for meta, job in jobs:
        stored = horae.jobs.get(job.id)
        assert (stored.meta, stored.schedule_id, stored.retry_of, stored.max_runtime) == (
            meta,
            None,
            None,
            None,
        )
    assert horae.schedules.list() == []


async def test_a_run_of_a_schedule_has_an_empty_meta(horae: Horae) -> None:
    """All that is known of the run is in columns of its own."""

    @horae.job
    def look(job: JobContext) -> list[Any]:
        return [dict(job.meta), None if job.nominal_time is None else job.nominal_time.isoformat()]

    horae.schedules.add("look", cron="0 0 1 1 *", max_runtime="90s")
    async with running_node(horae):
        job_id = await horae.aio.schedules.run_now("look")
        ended = await until_state(horae, job_id, "finished")
    assert ended.nominal_time is not None
    assert ended.result == [{}, ended.nominal_time.isoformat()]
    assert (ended.run_reason, ended.max_runtime, ended.meta) == ("manual", 90.0, {})


async def test_a_run_of_a_schedule_keeps_its_limit_when_it_is_repeated(horae: Horae) -> None:
    @horae.job
    def fail() -> None:
        raise ValueError("no")

    schedule = horae.schedules.add("fail", cron="0 0 1 1 *", max_runtime="90s")
    async with running_node(horae):
        job_id = await horae.aio.schedules.run_now("fail")
        await until_state(horae, job_id, "failed")
    again = horae.jobs.retry(job_id)
    assert (again.retry_of, again.max_runtime, again.schedule_id, again.meta) == (
        job_id,
        90.0,
        schedule.id,
        {},
    )


async def test_the_name_of_the_canceller_may_be_any_text(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name is no order to stop a body by force."""
    begun, release, killed = asyncio.Event(), asyncio.Event(), list[int]()

    @horae.job
    async def work() -> None:
        begun.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    def note(run: Attempt) -> bool:
        killed.append(run.claim.id)
        return False

    monkeypatch.setattr(Attempt, "kill", note)
    async with running_node(horae):
        job = await horae.aio.jobs.start(work, owner="x (by force)")
        await until_set(begun)
        cancelled = await horae.aio.jobs.cancel(job.id, owner="x (by force)")
        await asyncio.sleep(0.25)  # two rounds of the overseer
        assert (cancelled.state, cancelled.cancelled_by, killed) == (
            JobState.CANCELLED,
            "x (by force)",
            [],
        )
        release.set()


async def test_a_forced_request_stops_by_force(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, killed = asyncio.Event(), asyncio.Event()

    @horae.job
    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    def note(_run: Attempt) -> bool:
        killed.set()
        return False

    monkeypatch.setattr(Attempt, "kill", note)
    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await until_set(begun)
        await asyncio.to_thread(
            horae.components.live.request_cancel, job.id, CancelRequest("x", forced=True)
        )
        await until_set(killed)
