"""What is shown of a job that another process ends: its progress does not fall, and no report outlives the job."""

import threading
from datetime import timedelta

import pytest

from horae import Horae, JobContext
from horae.domain.jobs.job import JobId
from horae.live.store import LiveReport
from horae.runtime.timing import SweeperTiming, Timing
from tests.harness.applications import (
    ELSEWHERE,
    attempt_of,
    claim_as_another_node,
    execute,
    live_rows,
    rows,
)
from tests.harness.nodes import running_node, until, until_released, until_state


async def test_a_crash_keeps_the_progress(horae: Horae) -> None:
    @horae.job(max_count=None)
    def work() -> None: ...

    ids = await horae.aio.jobs.start_many(work, [{}] * 3)
    lagging, newer, silent = claim_as_another_node(horae)
    reports = [
        LiveReport(lagging.id, lagging.lease, 60, "copying"),
        LiveReport(newer.id, newer.lease + 1, 70),
    ]
    horae.components.live.publish(reports)
    async with running_node(horae, queues=("other",)):
        ended = [await until_state(horae, job_id, "failed") for job_id in ids]
        await until(lambda: live_rows(horae, ids) == 0)
    shown = {job.id: job.progress_percentage for job in ended}
    assert shown == {lagging.id: 60, newer.id: 0, silent.id: 0}


async def test_a_hard_limit_keeps_the_progress_and_later_reports_change_nothing(
    horae: Horae,
) -> None:
    release, contexts = threading.Event(), list[JobContext]()

    @horae.job(soft_time_limit=timedelta(seconds=0.1), grace=timedelta(0))
    def deaf(job: JobContext) -> None:
        job.progress.set(40, "working")
        contexts.append(job)
        release.wait(20)

    async with running_node(horae, timing=Timing(sweeper=SweeperTiming(round=0.1, limits_every=1))):
        job = await horae.aio.jobs.start(deaf)
        failed = await until_state(horae, job.id, "failed")
        assert failed.progress_percentage == 40
        assert rows(horae, "SELECT progress_percentage FROM horae_jobs") == [(40,)]
        release.set()
        await until_released(horae, job.id)
        await until(lambda: live_rows(horae, [job.id]) == 0)
        report = attempt_of(contexts[0])._report  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # as a thread that the body left behind
        report(90, "still here")
        other = await horae.aio.jobs.start(deaf)
        await until_state(horae, other.id, "finished")
    assert live_rows(horae, [job.id]) == 0


@pytest.mark.without_redis
async def test_live_entries_of_a_killed_node_are_removed(horae: Horae) -> None:

    @horae.job(max_count=None)
    def work() -> None: ...

    ids = await horae.aio.jobs.start_many(work, [{}] * 4)
    await horae.aio.jobs.cancel(ids[0])
    claim_as_another_node(horae)
    execute(horae, "DELETE FROM horae_nodes WHERE id = :id", id=ELSEWHERE)
    left = [*ids, JobId(ids[-1] + 1000)]
    horae.components.live.publish([LiveReport(JobId(job_id), 1, 5) for job_id in left])
    async with running_node(
        horae,
        queues=("other",),
        timing=Timing(sweeper=SweeperTiming(round=0.1, clean_every=0.0, reports_batch=2)),
    ):
        await until(lambda: live_rows(horae, left) == 0)
