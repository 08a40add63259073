"""A node deletes what has been kept for long enough."""

from datetime import timedelta

from horae import Horae
from horae.runtime.timing import SweeperTiming, Timing
from tests.harness.applications import rows
from tests.harness.nodes import running_node
from tests.harness.waiting import until_stored


async def test_jobs_kept_for_a_moment_are_deleted_soon(horae: Horae) -> None:
    """Not only with the clean-up of every five minutes."""

    @horae.job
    def work() -> None: ...

    async with running_node(
        horae, keep=timedelta(seconds=1), timing=Timing(sweeper=SweeperTiming(round=0.05))
    ):
        job = await horae.aio.jobs.start(work)
        await horae.aio.jobs.wait(job.id, timeout="20s")
        await until_stored(horae, lambda: rows(horae, "SELECT count(*) FROM horae_jobs") == [(0,)])
