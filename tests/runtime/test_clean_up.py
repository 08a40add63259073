"""A node deletes what has been kept for long enough."""

from datetime import timedelta

import pytest

from horae import Horae
from horae.runtime.liveness import sweeper
from tests.harness.applications import rows
from tests.harness.nodes import running_node, until


async def test_what_is_kept_for_a_moment_goes_soon_after(horae: Horae, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only with the clean-up of every five minutes."""
    monkeypatch.setattr(sweeper, "ROUTINE", 0.05)

    @horae.job
    def work() -> None: ...

    async with running_node(horae, keep=timedelta(seconds=1)):
        job = await horae.aio.jobs.start(work)
        await horae.aio.jobs.wait(job.id, timeout="20s")
        await until(lambda: rows(horae, "SELECT count(*) FROM horae_jobs") == [(0,)])
