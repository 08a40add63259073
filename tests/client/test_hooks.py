"""The hooks around a job: each is called once, in its place, and its failure harms nothing."""

import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel
from sqlalchemy import Connection, text

from horae import (
    Backoff,
    Horae,
    InvalidParameters,
    Job,
    JobContext,
    JobState,
    JobType,
    MaxJobCountExceeded,
    StartOptions,
)
from horae.types.job_type import JobType as AnyJobType
from tests.harness.applications import claim_as_another_node, execute, rows
from tests.harness.nodes import running_node, until_released, until_set, until_state
from tests.harness.waiting import Record, until_acquired, until_ended, until_logged

pytestmark = pytest.mark.one_database


class Whole(BaseModel):
    number: int


class Diary:
    """What the hooks of one test said, in order."""

    def __init__(self) -> None:
        self.lines = Record[str]()
        self.broken: set[str] = set()

    def note(self, hook: str, about: object = "") -> None:
        self.lines.append(f"{hook} {about}".strip())
        if hook in self.broken:
            raise RuntimeError(f"{hook} is broken")


def watched(horae: Horae, **options: Any) -> Diary:
    """Register the type "watched", whose every hook writes into the diary."""
    diary = Diary()

    class Watched(JobType[Any]):
        type = "watched"
        max_count = options.get("max_count")
        max_attempts = options.get("max_attempts", 1)
        backoff = Backoff(base=timedelta(0), jitter=0)
        pending_timeout = options.get("pending_timeout", timedelta(minutes=30))

        def run(self, job: JobContext[Any]) -> None:
            body = options.get("body")
            if body is not None:
                body(job)

        def prepare_values(self, values: dict[str, Any], owner: str | None) -> Mapping[str, Any]:
            diary.note("prepare_values", owner)
            return values

        def after_creation(
            self, job: Job, values: Mapping[str, Any], connection: Connection
        ) -> None:
            connection.execute(text("INSERT INTO side_effects VALUES (:id)"), {"id": job.id})
            diary.note("after_creation", job.state)

        def on_error(self, job: Job, error: BaseException) -> None:
            diary.note("on_error", f"{job.state} {error}")

        def on_cancelled(self, job: Job) -> None:
            diary.note("on_cancelled", f"{job.state} {job.cancelled_by}")

        def before_delete(self, job: Job) -> None:
            diary.note("before_delete", job.id)

    execute(horae, "CREATE TABLE side_effects (job_id BIGINT PRIMARY KEY)")
    horae.register(Watched)
    return diary


def effects(horae: Horae) -> list[int]:
    return [job_id for (job_id,) in rows(horae, "SELECT job_id FROM side_effects ORDER BY job_id")]


class TestCreation:
    def test_values_are_prepared_and_the_creation_has_its_say(self, horae: Horae) -> None:
        diary = watched(horae)
        job = horae.jobs.start("watched", owner="alice")
        assert diary.lines == ["prepare_values alice", "after_creation pending"]
        assert effects(horae) == [job.id]

    @pytest.mark.parametrize("hook", ["prepare_values", "after_creation"])
    @pytest.mark.parametrize("sync", [False, True])
    def test_a_refusal_by_either_leaves_nothing(
        self, horae: Horae, hook: str, *, sync: bool
    ) -> None:
        diary = watched(horae)
        diary.broken.add(hook)
        with pytest.raises(RuntimeError, match=f"{hook} is broken"):
            horae.jobs.start("watched", sync=sync)
        assert rows(horae, "SELECT id FROM horae_jobs") == []
        assert effects(horae) == []

    def test_values_are_prepared_before_the_count(self, horae: Horae) -> None:
        diary = watched(horae, max_count=1)
        horae.jobs.start("watched", owner="alice")
        diary.lines.clear()
        with pytest.raises(MaxJobCountExceeded):
            horae.jobs.start("watched", owner="alice")
        assert diary.lines == ["prepare_values alice"]

    def test_a_batch_has_them_for_each_job(self, horae: Horae) -> None:
        diary = watched(horae)
        ids = horae.jobs.start_many("watched", [{}, {}], options=StartOptions(owner="alice"))
        assert diary.lines == ["prepare_values alice"] * 2 + ["after_creation pending"] * 2
        assert effects(horae) == ids

    def test_prepared_values_are_what_is_stored_and_checked(self, horae: Horae) -> None:
        @horae.register
        class Halving(JobType[Any]):
            type = "halving"

            params = Whole

            def prepare_values(
                self, values: dict[str, Any], owner: str | None
            ) -> Mapping[str, Any]:
                return {"number": values["number"] / 2}

            def run(self, job: JobContext[Any]) -> int:
                return int(job.params.number)

        assert horae.jobs.start("halving", number=4).params == {"number": 2}
        with pytest.raises(InvalidParameters):
            horae.jobs.start("halving", number=3)


class TestFailure:
    async def test_on_error_is_called_once_after_the_last_attempt(self, horae: Horae) -> None:
        def fail(job: JobContext[Any]) -> None:
            raise ValueError(f"attempt {job.attempt}")

        diary = watched(horae, body=fail, max_attempts=3)
        async with running_node(horae):
            job = await horae.aio.jobs.start("watched")
            await until_state(horae, job.id, "failed")
        assert diary.lines[2:] == ["on_error failed attempt 3"]

    async def test_it_is_called_for_a_job_that_was_not_claimed_in_time(self, horae: Horae) -> None:
        diary = watched(horae, pending_timeout=timedelta(milliseconds=1))
        job = await horae.aio.jobs.start("watched", owner="alice")
        async with running_node(horae, queues=("other",)):
            await diary.lines.reaches(3)
        assert diary.lines[2].startswith("on_error failed This job was not started in time")
        assert (await horae.aio.jobs.get(job.id)).state is JobState.FAILED

    async def test_it_is_called_for_a_job_of_a_dead_node(self, horae: Horae) -> None:
        diary = watched(horae)
        job = await horae.aio.jobs.start("watched")
        claim_as_another_node(horae)  # of which there is no row
        async with running_node(horae):
            await diary.lines.reaches(3)
        assert (
            diary.lines[2] == "on_error failed The process that ran this job stopped unexpectedly."
        )
        assert (await horae.aio.jobs.get(job.id)).state is JobState.FAILED

    async def test_it_is_called_for_inline_jobs(self, horae: Horae) -> None:
        def fail(_job: JobContext[Any]) -> None:
            raise ValueError("no")

        diary = watched(horae, body=fail)
        horae.jobs.start("watched", sync=True)
        assert diary.lines[2:] == ["on_error failed no"]

    async def test_a_hook_that_raises_affects_no_other(
        self, horae: Horae, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(_job: JobContext[Any]) -> None:
            raise ValueError("no")

        diary = watched(horae, body=fail)
        diary.broken.add("on_error")
        async with running_node(horae):
            for _ in range(3):
                job = await horae.aio.jobs.start("watched")
                await until_state(horae, job.id, "failed")
            await diary.lines.until(lambda: diary.lines.count("on_error failed no") == 3)
            await until_logged(caplog, "on_error is broken")

    async def test_slow_hooks_delay_no_other_job(self, horae: Horae) -> None:
        """As many as there are threads for anything: a hook that calls a slow service must not stop the claims."""
        release, waiting = threading.Event(), threading.Semaphore(0)

        @horae.register
        class Slow(AnyJobType[Any]):
            type = "slow"

            def run(self, job: JobContext[Any]) -> None:
                raise ValueError("no")

            def on_error(self, job: Job, error: BaseException) -> None:
                waiting.release()
                release.wait(20)

        @horae.job
        def quick() -> int:
            return 1

        async with running_node(horae):
            ids = await horae.aio.jobs.start_many("slow", [{}] * 12)
            for job_id in ids:
                await until_state(horae, job_id, "failed")
            await until_acquired(waiting)
            job = await horae.aio.jobs.start(quick)
            assert await horae.aio.jobs.wait(job.id, timeout="5s") == 1
            release.set()


class TestCancel:
    def test_before_the_start(self, horae: Horae) -> None:
        diary = watched(horae)
        job = horae.jobs.start("watched")
        for _ in range(2):
            horae.jobs.cancel(job.id, by="bob")
        assert diary.lines[2:] == ["on_cancelled cancelled bob"]

    async def test_while_the_body_runs_once_it_has_stopped(self, horae: Horae) -> None:
        begun, release = threading.Event(), threading.Event()

        def body(_job: JobContext[Any]) -> None:
            begun.set()
            release.wait(20)

        diary = watched(horae, body=body)
        async with running_node(horae):
            job = await horae.aio.jobs.start("watched")
            await until_set(begun)
            for _ in range(2):
                await horae.aio.jobs.cancel(job.id, by="bob")
            assert len(diary.lines) == 2
            release.set()
            await until_released(horae, job.id)
        assert diary.lines[2:] == ["on_cancelled cancelled bob"]

    async def test_after_the_claim_and_before_the_body(self, horae: Horae) -> None:
        """A job that its node has claimed ahead of a free slot."""
        begun, release = threading.Event(), threading.Event()

        @horae.job(max_count=None)
        def block() -> None:
            begun.set()
            release.wait(20)

        diary = watched(horae)
        job = await horae.aio.jobs.start("watched")
        claim_as_another_node(horae)
        await horae.aio.jobs.cancel(job.id, by="bob")
        async with running_node(horae):  # the claimant is gone; a sweeper finds what it held
            await until_released(horae, job.id)
            await diary.lines.reaches(3)
        release.set()
        assert diary.lines[2:] == ["on_cancelled cancelled bob"]

    def test_a_broken_one_leaves_the_job_cancelled(self, horae: Horae) -> None:
        diary = watched(horae)
        diary.broken.add("on_cancelled")
        job = horae.jobs.start("watched")
        assert horae.jobs.cancel(job.id).state is JobState.CANCELLED

    async def test_inline(self, horae: Horae) -> None:
        begun = threading.Event()

        def body(job: JobContext[Any]) -> None:
            begun.set()
            while True:
                job.check()

        diary = watched(horae, body=body)
        caller = threading.Thread(target=lambda: horae.jobs.start("watched", sync=True))
        caller.start()
        await until_set(begun)
        [job] = (await horae.aio.jobs.list()).jobs
        await horae.aio.jobs.cancel(job.id, by="bob")
        await until_ended(caller)
        assert diary.lines[2:] == ["on_cancelled cancelled bob"]


class TestDeletion:
    def test_before_delete_is_called_before_the_row_is_deleted(self, horae: Horae) -> None:
        diary = watched(horae)
        job = horae.jobs.start("watched", sync=True)
        horae.jobs.delete(job.id)
        assert diary.lines[2:] == [f"before_delete {job.id}"]
        assert rows(horae, "SELECT id FROM horae_jobs") == []

    def test_a_hook_that_raises_keeps_the_row(self, horae: Horae) -> None:
        diary = watched(horae)
        diary.broken.add("before_delete")
        job = horae.jobs.start("watched", sync=True)
        with pytest.raises(RuntimeError, match="before_delete is broken"):
            horae.jobs.delete(job.id)
        assert horae.jobs.get(job.id).state is JobState.FINISHED
