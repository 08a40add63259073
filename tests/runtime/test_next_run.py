"""What a run of a schedule leaves for the `meta` of the next one, wherever that runs."""

import itertools
from collections.abc import Iterator
from typing import Literal

import pytest

from horae import Backoff, Horae, JobContext
from horae.storage.engine.database import Database
from tests.harness.applications import application
from tests.harness.nodes import running_node, until, until_state


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with application(database) as horae:

        @horae.around
        def _numbered(job: JobContext) -> Iterator[None]:
            job.leave_for_next_run({"left_by": job.id})
            job.leave_for_next_run({"attempt": job.attempt})
            yield

        yield horae


@pytest.mark.parametrize("transaction", [None, "read committed"])
async def test_each_run_has_what_the_run_before_has_left(
    horae: Horae, transaction: Literal["read committed"] | None
) -> None:
    @horae.cron("* * * * * *", transaction=transaction)
    def tick() -> None: ...

    horae.deploy()
    [schedule] = horae.schedules.list()
    async with running_node(horae):
        await until(lambda: horae.schedules.get(schedule.id).statistics.total_successes >= 3)
    runs = sorted(horae.jobs.list(types=["tick"]).jobs, key=lambda job: job.id)
    assert runs[0].meta == {}
    for run, next_run in itertools.pairwise(runs):
        assert next_run.meta == {"left_by": run.id, "attempt": 1}


async def test_only_the_attempt_that_ends_a_run_leaves_anything(horae: Horae) -> None:
    attempts = itertools.count(1)

    @horae.job(max_attempts=3, backoff=Backoff(base="0s"))
    def nightly() -> None:
        if next(attempts) < 3:
            raise LookupError

    horae.schedules.add("nightly", name="nightly", cron="0 3 1 1 *")
    [schedule] = horae.schedules.list()
    async with running_node(horae):
        for _ in range(2):
            await until_state(horae, horae.schedules.run_now(schedule.id), "finished")
    second, first = horae.jobs.list(types=["nightly"]).jobs
    assert (first.meta, second.meta) == ({}, {"left_by": first.id, "attempt": 3})


async def test_a_job_without_a_schedule_leaves_nothing(horae: Horae) -> None:
    @horae.job(max_count=None)
    def work() -> None: ...

    jobs = [horae.jobs.start(work) for _ in range(2)]
    async with running_node(horae):
        for job in jobs:
            assert await horae.aio.jobs.wait(job.id) is None
    assert [horae.jobs.get(job.id).meta for job in jobs] == [{}, {}]
