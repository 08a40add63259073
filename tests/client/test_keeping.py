"""Ended jobs: retrying and deleting them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from horae import (
    Backoff,
    DuplicateJob,
    Horae,
    Job,
    JobContext,
    JobDoesNotExist,
    JobNotDeletable,
    JobNotRetryable,
    JobState,
    JobType,
    MaxJobCountExceeded,
)
from horae.storage.jobs import reading
from tests.harness.applications import claim_as_another_node, execute, live_rows, rows


@pytest.fixture
def failing(horae: Horae) -> Horae:
    @horae.job(max_count=1)
    def fail(number: int, *, well: bool = False) -> int:
        if well:
            return number
        raise ValueError(number)

    return horae


class TestRetry:
    def test_a_retry_is_a_new_job_with_the_same_options(self, failing: Horae) -> None:
        failed = failing.jobs.start(
            "fail",
            number=3,
            owner="alice",
            priority=5,
            queue="slow",
            unique_key="x",
            meta={"trace": "t"},
            sync=True,
        )
        again = failing.jobs.retry(failed.id, owner="alice")
        assert again.id != failed.id
        assert (again.params, again.owner, again.priority) == (
            {"number": 3, "well": False},
            "alice",
            5,
        )
        assert (again.queue, again.unique_key, again.state) == ("slow", "x", JobState.PENDING)
        assert (again.meta, again.retry_of) == ({"trace": "t"}, failed.id)
        assert failing.jobs.get(failed.id) == failed

    def test_it_waits_between_its_attempts_as_the_first_did(self, failing: Horae) -> None:
        often = Backoff(base=timedelta(seconds=7), factor="linear")
        failed = failing.jobs.start("fail", number=3, backoff=often)
        failing.jobs.cancel(failed.id)
        again = failing.jobs.retry(failed.id)
        assert failing.components.database.autocommit(reading.backoff, again.id) == often

    def test_a_cancelled_job_too(self, failing: Horae) -> None:
        job = failing.jobs.start("fail", number=3)
        failing.jobs.cancel(job.id)
        assert failing.jobs.retry(job.id).state is JobState.PENDING

    @pytest.mark.parametrize("state", ["pending", "started", "finished"])
    def test_others_cannot(self, failing: Horae, state: str) -> None:
        job = failing.jobs.start("fail", number=3, well=True, sync=state == "finished")
        if state == "started":
            claim_as_another_node(failing)
        with pytest.raises(JobNotRetryable) as caught:
            failing.jobs.retry(job.id)
        assert caught.value.state == state

    def test_strangers_cannot(self, failing: Horae) -> None:
        job = failing.jobs.start("fail", number=3, owner="alice", sync=True)
        with pytest.raises(JobDoesNotExist):
            failing.jobs.retry(job.id, owner="bob")

    def test_it_is_counted_and_its_key_guarded_like_any_start(self, failing: Horae) -> None:
        counted = failing.jobs.start("fail", number=1, owner="alice", sync=True)
        failing.jobs.start("fail", number=2, owner="alice")
        with pytest.raises(MaxJobCountExceeded):
            failing.jobs.retry(counted.id)
        keyed = failing.jobs.start("fail", number=1, unique_key="x", sync=True)
        failing.jobs.start("fail", number=2, unique_key="x")
        with pytest.raises(DuplicateJob):
            failing.jobs.retry(keyed.id)

    def test_a_repeated_call_changes_nothing(self, failing: Horae) -> None:
        failed = failing.jobs.start("fail", number=3, sync=True)
        again = failing.jobs.retry(failed.id)
        assert failing.jobs.retry(failed.id).id == again.id
        failing.jobs.cancel(again.id)
        with pytest.raises(JobNotRetryable, match=f"job {again.id} has repeated it") as caught:
            failing.jobs.retry(failed.id)
        assert caught.value.retried_as == again.id
        assert failing.jobs.retry(again.id).retry_of == again.id
        failing.jobs.delete(again.id)
        assert failing.jobs.retry(failed.id).retry_of == failed.id

    def test_many_at_once_are_one(self, failing: Horae) -> None:
        failed = failing.jobs.start("fail", number=3, sync=True)
        line = threading.Barrier(6)

        def retry() -> int:
            line.wait()
            return failing.jobs.retry(failed.id).id

        with ThreadPoolExecutor(6) as pool:
            ids = {future.result() for future in [pool.submit(retry) for _ in range(6)]}
        assert len(ids) == 1

    async def test_it_can_be_awaited(self, failing: Horae) -> None:
        job = await failing.aio.jobs.start("fail", number=3, sync=True)
        assert (await failing.aio.jobs.retry(job.id)).retry_of == job.id


class TestDeletion:
    def test_nothing_of_it_is_left(self, failing: Horae) -> None:
        job = failing.jobs.start("fail", number=3, sync=True)
        failing.jobs.delete(job.id)
        with pytest.raises(JobDoesNotExist):
            failing.jobs.get(job.id)
        assert rows(failing, "SELECT job_id FROM horae_job_attempts") == []
        assert live_rows(failing, [job.id]) == 0

    def test_an_active_job_stays(self, failing: Horae) -> None:
        job = failing.jobs.start("fail", number=3)
        with pytest.raises(JobNotDeletable, match="while it is pending; cancel it"):
            failing.jobs.delete(job.id)
        claim_as_another_node(failing)
        with pytest.raises(JobNotDeletable, match="while it is started; cancel it"):
            failing.jobs.delete(job.id)
        failing.jobs.cancel(job.id)
        with pytest.raises(
            JobNotDeletable, match="yet: it is cancelled, but its body has not stopped"
        ):
            failing.jobs.delete(job.id)

    async def test_strangers_cannot(self, failing: Horae) -> None:
        job = failing.jobs.start("fail", number=3, owner="alice", sync=True)
        with pytest.raises(JobDoesNotExist):
            await failing.aio.jobs.delete(job.id, owner="bob")
        await failing.aio.jobs.delete(job.id, owner="alice")


class TestCleanUp:
    def test_only_jobs_that_ended_long_ago_are_deleted(self, failing: Horae) -> None:
        old = failing.jobs.start("fail", number=1, sync=True)
        new = failing.jobs.start("fail", number=2, sync=True)
        pending = failing.jobs.start("fail", number=3)
        age(failing, old.id, pending.id)
        assert failing.jobs.clean_up() == 1
        assert {job.id for job in failing.jobs.list().jobs} == {new.id, pending.id}

    async def test_how_long_is_the_caller_s_to_say(self, failing: Horae) -> None:
        for number in range(3):
            await failing.aio.jobs.start("fail", number=number, sync=True)
        assert await failing.aio.jobs.clean_up(timedelta(hours=1)) == 0
        assert await failing.aio.jobs.clean_up(timedelta(0)) == 3

    def test_a_body_that_has_not_stopped_keeps_its_row(self, failing: Horae) -> None:
        job = failing.jobs.start("fail", number=1)
        claim_as_another_node(failing)
        failing.jobs.cancel(job.id)
        age(failing, job.id)
        assert failing.jobs.clean_up() == 0

    def test_one_bad_row_stops_nothing(self, horae: Horae) -> None:
        asked: list[int] = []

        @horae.register
        class Kept(JobType[Any]):
            type = "kept"
            max_count = None

            def run(self, job: JobContext[Any]) -> None: ...

            def before_delete(self, job: Job) -> None:
                asked.append(job.id)
                if job.owner == "bad":
                    raise OSError("the file is locked")

        # More than a batch, with bad rows at the beginning of each.
        for number in range(450):
            horae.jobs.start("kept", owner="bad" if number in (0, 1, 201, 449) else None)
        execute(horae, "UPDATE horae_jobs SET state = 'finished', finished_at = created_at")
        age(horae, *(job_id for (job_id,) in rows(horae, "SELECT id FROM horae_jobs")))
        assert horae.jobs.clean_up() == 446
        assert {job.owner for job in horae.jobs.list().jobs} == {"bad"}
        assert len(asked) == 450

    def test_a_type_that_is_not_known_here_is_left_to_others(self, failing: Horae) -> None:
        job = failing.jobs.start("fail", number=1, sync=True)
        age(failing, job.id)
        failing.registry.remove("fail")
        assert failing.jobs.clean_up() == 0
        assert failing.jobs.left_over() == {"fail": 1}
        assert failing.jobs.clean_up(unknown=["fail"]) == 1
        assert failing.jobs.left_over() == {}


def age(horae: Horae, *job_ids: int) -> None:
    """Let the jobs have ended 31 days ago, and nobody else's."""
    listed = ", ".join(map(str, job_ids))
    if horae.components.database.dialect == "sqlite":
        month = 31 * 86_400 * 1_000_000
        change = f"created_at = created_at - {month}, finished_at = finished_at - {month}"
    else:
        change = "created_at = created_at - interval '31 days', finished_at = finished_at - interval '31 days'"
    execute(horae, f"UPDATE horae_jobs SET {change} WHERE id IN ({listed})")
