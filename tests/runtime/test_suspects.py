"""Which job ended a node: the one that was there each time, and not those that happened to run beside it."""

import asyncio
from collections.abc import Sequence

from horae import Horae
from horae.domain.jobs.job import JobId
from horae.runtime.timing import Pauses, Timing, WorkerTiming
from horae.storage.outcomes import crashed_nodes
from tests.harness.applications import execute
from tests.harness.nodes import running_node, until_state

RECORD_CRASH = """
INSERT INTO horae_job_attempts (job_id, lease, attempt, node_id, started_at, finished_at, outcome)
SELECT id, :number, :number, 'former', created_at, created_at, 'crashed' FROM horae_jobs WHERE id = :id
"""


def was_there(horae: Horae, job_id: int, times: int) -> None:
    """Let nodes have ended that had this job."""
    for number in range(1, times + 1):
        execute(horae, RECORD_CRASH, id=job_id, number=number)
    execute(
        horae,
        "UPDATE horae_jobs SET attempt = :times, lease = :times WHERE id = :id",
        id=job_id,
        times=times,
    )


async def test_suspect_jobs_run_one_at_a_time_beside_others(horae: Horae) -> None:
    at_once, most, ran = list[int](), list[int](), list[int]()

    @horae.job(max_attempts=10, max_count=None)
    async def work(number: int) -> None:
        at_once.append(number)
        most.append(len([one for one in at_once if one < 4]))
        await asyncio.sleep(0.05)
        at_once.remove(number)
        ran.append(number)

    ids = await horae.aio.jobs.start_many(work, [{"number": number} for number in range(8)])
    for job_id in ids[:4]:
        was_there(horae, job_id, 2)
    was_there(horae, ids[4], 1)
    async with running_node(
        horae, concurrency=8, timing=Timing(worker=WorkerTiming(suspect_pause=Pauses(0.05, 0.1)))
    ):
        for job_id in ids:
            await until_state(horae, job_id, "finished")
    assert sorted(ran) == list(range(8))
    assert max(most) == 1


async def test_crashes_are_counted(horae: Horae) -> None:
    @horae.job(max_attempts=10, max_count=None)
    def work() -> None: ...

    ids: Sequence[int] = horae.jobs.start_many(work, [{}] * 3)
    was_there(horae, ids[0], 2)
    was_there(horae, ids[1], 1)
    found = horae.components.database.autocommit(
        crashed_nodes.crashes_of, [JobId(job_id) for job_id in ids]
    )
    assert found == {ids[0]: 2, ids[1]: 1}
