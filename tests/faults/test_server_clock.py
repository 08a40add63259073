"""The clock of the server is set by hours while nodes work: no node is taken for dead, and no job waits for the hours."""

import asyncio
import threading
from contextlib import closing
from pathlib import Path

import pytest

from horae import Horae, JobContext
from horae.runtime.timing import SweeperTiming, Timing
from horae.storage.engine import Database
from tests.faults.test_contact import LIMITS
from tests.harness.applications import attempts_of, url_of
from tests.harness.body_log import logged
from tests.harness.checked import findings
from tests.harness.clocks import SchemaClock
from tests.harness.nodes import running_node, until, until_state

HOURS = 3 * 3600.0
OFTEN = Timing(sweeper=SweeperTiming(round=0.05, look_every=1, journal_wait=0.0))


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("seconds", [HOURS, -HOURS])
async def test_no_node_counts_as_dead(database: Database, body_log: Path, seconds: float) -> None:
    clock = SchemaClock(url_of(database))
    database.engine.dispose()
    release, ran = threading.Event(), list[int]()
    with closing(Horae(url_of(database))) as one, closing(Horae(url_of(database))) as other:
        for horae in (one, other):

            @horae.job(max_count=None)
            def work(job: JobContext) -> None:
                with logged(job):
                    ran.append(job.id)
                    release.wait(30)

        async with (
            running_node(one, liveness=LIMITS, timing=OFTEN, concurrency=2) as a,
            running_node(other, liveness=LIMITS, timing=OFTEN, concurrency=2) as b,
        ):
            before = {a.id, b.id}
            ids = await one.aio.jobs.start_many("work", [{}] * 4)
            await until(lambda: len(ran) == 4)
            await asyncio.sleep(LIMITS.silence + 0.5)  # as long as they declare no node dead
            for step in (seconds, 0.0):
                clock.step(step)
                await asyncio.sleep(
                    2 * LIMITS.beat
                )  # each node looks at the other before and after its next beat
            release.set()
            for job_id in ids:
                await until_state(one, job_id, "finished", "failed")
            assert [attempts_of(one, job_id) for job_id in ids] == [["finished"]] * 4
            assert {a.id, b.id} == before
    assert findings(database, body_log, steady_clock=False) == []
