"""Time limits, attempts and back-off."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import literal, text, update

from horae import Backoff, Horae, Job, JobContext, JobState, SoftTimeLimitExceeded
from horae.client.operations.queues import Queues
from horae.errors import DatabaseBusy, JobStopped
from horae.runtime.liveness import sweeper
from horae.runtime.timing import SweeperTiming, Timing
from horae.storage.engine.dialect import seconds_from_now
from horae.storage.jobs.tables import jobs
from horae.storage.outcomes import time_limits
from tests.harness.applications import attempt_of, attempts_of, execute, rows
from tests.harness.nodes import running_node, signals_of, until_released, until_set, until_state
from tests.harness.waiting import until_after, until_logged
from tests.storage import arrange

SOON = timedelta(milliseconds=150)
AT_ONCE = Backoff(base=timedelta(0), jitter=0)
TIMED_OUT = "This job ran for longer than it may and was stopped."


class TestSoft:
    async def test_a_function_gets_its_limit_at_the_next_progress_call(self, horae: Horae) -> None:
        @horae.job(soft_time_limit=SOON)
        def endless(job: JobContext) -> None:
            while True:
                job.progress.set(1)

        async with running_node(horae):
            job = await horae.aio.jobs.start(endless)
            ended = await until_state(horae, job.id, "failed")
        assert (ended.human_readable_error, attempts_of(horae, job.id)) == (
            TIMED_OUT,
            ["timed_out"],
        )
        assert (ended.error or "").startswith("SoftTimeLimitExceeded")

    async def test_a_coroutine_is_cancelled(self, horae: Horae) -> None:
        @horae.job(soft_time_limit=SOON)
        async def endless() -> None:
            await asyncio.Event().wait()

        async with running_node(horae):
            job = await horae.aio.jobs.start(endless)
            ended = await until_state(horae, job.id, "failed")
        assert (ended.human_readable_error, attempts_of(horae, job.id)) == (
            TIMED_OUT,
            ["timed_out"],
        )

    async def test_a_body_may_tidy_up_and_return_what_it_has(self, horae: Horae) -> None:
        @horae.job(soft_time_limit=SOON)
        def function(job: JobContext) -> str:
            try:
                while True:
                    job.progress.set(1)
            except SoftTimeLimitExceeded:
                job.progress.set(50, "tidying up")
                return "half of it"

        @horae.job(soft_time_limit=SOON)
        async def coroutine(job: JobContext) -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                job.progress.set(50, "tidying up")
                await asyncio.sleep(0)
            return "half of it"

        async with running_node(horae):
            for job_type in (function, coroutine):
                job = await horae.aio.jobs.start(job_type)
                assert await horae.aio.jobs.wait(job.id, timeout="20s") == "half of it"
                assert horae.jobs.get(job.id).label == "tidying up"

    async def test_a_coroutine_learns_why_it_is_cancelled(self, horae: Horae) -> None:
        @horae.job
        async def coroutine(job: JobContext) -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                job.check()
            return "half of it"

        async with running_node(horae):
            job = await horae.aio.jobs.start(coroutine)
            await until_state(horae, job.id, "started")
            await horae.aio.jobs.cancel(job.id)
            ended = await until_released(horae, job.id)
        assert (ended.state, ended.result, attempts_of(horae, job.id)) == (
            "cancelled",
            None,
            ["cancelled"],
        )

    async def test_work_that_is_done_though_late_is_done(self, horae: Horae) -> None:
        never = threading.Event()

        @horae.job(soft_time_limit=SOON)
        def deaf(job: JobContext) -> str:
            while attempt_of(job).order is None:
                never.wait(0.01)
            return "done"

        async with running_node(horae):
            job = await horae.aio.jobs.start(deaf)
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == "done"

    async def test_another_error_after_it_is_the_error(self, horae: Horae) -> None:
        @horae.job(soft_time_limit=SOON)
        def clumsy(job: JobContext) -> None:
            try:
                while True:
                    job.progress.set(1)
            finally:
                raise OSError("while tidying up")

        async with running_node(horae):
            job = await horae.aio.jobs.start(clumsy)
            ended = await until_state(horae, job.id, "failed")
        assert ended.error == "OSError: while tidying up"

    async def test_a_retry_has_the_whole_time_again(self, horae: Horae) -> None:
        @horae.job(soft_time_limit=SOON, max_attempts=2, backoff=AT_ONCE)
        def second_time_lucky(job: JobContext) -> int:
            while job.attempt == 1:
                job.progress.set(1)
            return job.attempt

        async with running_node(horae):
            job = await horae.aio.jobs.start(second_time_lucky)
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == 2
        assert attempts_of(horae, job.id) == ["timed_out", "finished"]

    async def test_a_cancel_goes_before_it(self, horae: Horae) -> None:
        warned, release = threading.Event(), threading.Event()

        @horae.job(soft_time_limit=SOON)
        def work(job: JobContext) -> None:
            try:
                while True:
                    job.check()
            except SoftTimeLimitExceeded:
                warned.set()
                release.wait(20)
                raise

        async with running_node(horae):
            job = await horae.aio.jobs.start(work)
            await until_set(warned)
            await horae.aio.jobs.cancel(job.id)
            release.set()
            assert (await until_released(horae, job.id)).state is JobState.CANCELLED


class TestHard:
    """A node keeps the limits of its own bodies; nothing waits for a sweep."""

    @pytest.fixture(autouse=True)
    def _no_sweeps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def none(_self: object) -> None: ...

        monkeypatch.setattr(sweeper.Sweeper, "enforce_limits", none)

    async def test_a_function_that_ignores_it_is_failed_reported_and_keeps_its_slot(
        self, horae: Horae, caplog: pytest.LogCaptureFixture
    ) -> None:
        release = threading.Event()

        @horae.job(soft_time_limit=SOON, grace=SOON, max_attempts=2)  # its body still runs
        def deaf() -> str:
            release.wait(20)
            return "too late"

        @horae.job
        def next_one() -> str:
            return "its turn"

        async with running_node(horae, concurrency=1):
            job = await horae.aio.jobs.start(deaf)
            after = await horae.aio.jobs.start(next_one)
            failed = await until_state(horae, job.id, "failed")
            assert (failed.error, failed.human_readable_error) == (
                "hard time limit exceeded",
                TIMED_OUT,
            )
            assert failed.occupied
            await until_logged(caplog, "ignores its hard time limit")
            assert (await horae.aio.jobs.get(after.id)).state is not JobState.FINISHED
            release.set()
            assert await horae.aio.jobs.wait(after.id, timeout="20s") == "its turn"
            ended = await until_released(horae, job.id)
        assert (ended.state, ended.result) == (JobState.FAILED, None)
        assert attempts_of(horae, job.id) == ["timed_out"]
        assert "in attempt 1 of 2, for good: hard time limit exceeded" in caplog.text

    async def test_a_coroutine_that_swallows_its_cancellation_is_failed_too(
        self, horae: Horae
    ) -> None:
        release = asyncio.Event()

        @horae.job(soft_time_limit=SOON, grace=SOON)
        async def deaf() -> str:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return "too late"

        async with running_node(horae):
            job = await horae.aio.jobs.start(deaf)
            assert (await until_state(horae, job.id, "failed")).occupied
            release.set()
            ended = await until_released(horae, job.id)
        assert (ended.state, ended.result) == (JobState.FAILED, None)
        assert attempts_of(horae, job.id) == ["timed_out"]

    async def test_the_limit_of_a_schedule_is_kept_too(self, horae: Horae) -> None:
        release = threading.Event()

        @horae.job(grace=timedelta(0))
        def deaf() -> str:
            release.wait(20)
            return "too late"

        horae.schedules.add("deaf", cron="0 0 1 1 *", max_runtime="0.2s")
        async with running_node(horae):
            job_id = await horae.aio.schedules.run_now("deaf")
            failed = await until_state(horae, job_id, "failed")
            release.set()
            ended = await until_released(horae, job_id)
        assert failed.occupied
        assert (ended.error, ended.result) == ("hard time limit of the schedule exceeded", None)
        assert failed.started_at is not None
        assert failed.finished_at is not None
        assert failed.finished_at - failed.started_at >= timedelta(seconds=0.2)

    async def test_it_waits_for_no_answer_of_the_live_store(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release = threading.Event()

        @horae.job(soft_time_limit=SOON, grace=SOON)
        def deaf() -> None:
            release.wait(20)

        def no_answer(_ids: object) -> Mapping[Any, Any]:
            release.wait(20)
            return {}

        monkeypatch.setattr(horae.components.live, "cancel_requests", no_answer)
        async with running_node(horae):
            job = await horae.aio.jobs.start(deaf)
            assert (await until_state(horae, job.id, "failed")).occupied
            release.set()

    async def test_a_transaction_past_its_limit_is_rolled_back(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Not even while the job cannot be failed, as where the transaction holds SQLite's one write lock."""
        never = threading.Event()

        @horae.job(soft_time_limit=SOON, grace=SOON, transaction="read committed")
        def deaf(job: JobContext) -> str:
            job.connection.execute(text("UPDATE horae_queues SET note = 'too late'"))
            while not isinstance(attempt_of(job).order, JobStopped):
                never.wait(0.01)
            return "too late"

        def refused(*_: object) -> Sequence[Job]:
            raise DatabaseBusy("the body holds the lock")

        execute(horae, "INSERT INTO horae_queues (name) VALUES ('slow')")
        monkeypatch.setattr(time_limits, "expire", refused)
        async with running_node(horae):
            job = await horae.aio.jobs.start(deaf)
            ended = await until_released(horae, job.id)
        assert (ended.state, ended.error) == (JobState.FAILED, "hard time limit exceeded")
        assert (ended.human_readable_error, attempts_of(horae, job.id)) == (
            TIMED_OUT,
            ["timed_out"],
        )
        assert rows(horae, "SELECT note FROM horae_queues") == [(None,)]

    async def test_a_coroutine_that_heeds_its_second_cancellation_may_be_tried_again(
        self, horae: Horae
    ) -> None:
        @horae.job(soft_time_limit=SOON, grace=SOON, max_attempts=2, backoff=AT_ONCE)
        async def deaf_once(job: JobContext) -> int:
            while job.attempt == 1:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    if not attempt_of(job).told:
                        raise
                    await asyncio.Event().wait()
            return job.attempt

        async with running_node(horae):
            job = await horae.aio.jobs.start(deaf_once)
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == 2
        assert attempts_of(horae, job.id) == ["timed_out", "finished"]


class TestPending:
    OFTEN = Timing(sweeper=SweeperTiming(round=0.1, limits_every=1))

    async def test_owned_jobs_that_are_not_claimed_fail_and_others_wait(self, horae: Horae) -> None:
        @horae.job(pending_timeout=SOON)
        def work() -> None: ...

        owned = await horae.aio.jobs.start(work, owner="alice")
        nobodys = await horae.aio.jobs.start(work)
        later = await horae.aio.jobs.start(work, owner="bob", delay=timedelta(hours=1))
        async with running_node(horae, queues=("other",), timing=self.OFTEN):
            failed = await until_state(horae, owned.id, "failed")
        assert failed.error == "pending timeout exceeded: no worker took the job"
        states = {job.id: job.state for job in horae.jobs.list().jobs}
        assert (states[nobodys.id], states[later.id]) == (JobState.PENDING, JobState.PENDING)

    async def test_a_paused_queue_does_not_fail_what_waits_in_it(self, horae: Horae) -> None:
        @horae.job(pending_timeout=timedelta(minutes=30))
        def work() -> None: ...

        database = horae.components.database
        queues = Queues(database, horae.components.wakeup)
        queues.pause("default")
        owned = horae.jobs.start(work, owner="alice")
        with database.engine.begin() as connection:  # an hour passes
            connection.execute(update(jobs).values(run_at=seconds_from_now(literal(-3600.0))))
        assert arrange.expired_pending(database, {"work": 60.0}) == []
        queues.resume("default")
        assert arrange.expired_pending(database, {"work": 60.0}) == []  # it has had no time yet
        assert [job.id for job in arrange.expired_pending(database, {"work": 0.0})] == [owned.id]


class TestAttempts:
    async def test_a_job_is_tried_as_often_as_it_may_be(self, horae: Horae) -> None:
        @horae.job(max_attempts=3, backoff=AT_ONCE)
        def fail(job: JobContext) -> None:
            job.progress.set(40, "trying")
            raise ValueError(f"attempt {job.attempt}")

        async with running_node(horae):
            job = await horae.aio.jobs.start(fail)
            ended = await until_state(horae, job.id, "failed")
        assert (ended.error, ended.attempt, ended.lease) == ("ValueError: attempt 3", 3, 3)
        errors = [attempt.error for attempt in horae.jobs.attempts(job.id)]
        assert errors == [f"ValueError: attempt {number}" for number in (1, 2, 3)]

    async def test_between_attempts_it_is_pending_with_nothing_of_the_failure(
        self, horae: Horae
    ) -> None:
        @horae.job(
            max_attempts=2,
            backoff=Backoff(base=timedelta(hours=1), cap=timedelta(hours=1), jitter=0),
        )
        def fail(job: JobContext) -> None:
            job.progress.set(40, "trying")
            raise ValueError("no")

        async with running_node(horae) as node:
            job = await horae.aio.jobs.start(fail)
            await until_after(
                signals_of(node).settled, lambda: attempts_of(horae, job.id) == ["failed"]
            )
        waiting = horae.jobs.get(job.id)
        assert (waiting.state, waiting.error, waiting.human_readable_error) == (
            JobState.PENDING,
            None,
            None,
        )
        assert (waiting.progress_percentage, waiting.label, waiting.node_id) == (0, None, None)
        [attempt] = horae.jobs.attempts(job.id)
        assert abs(waiting.run_at - attempt.finished_at - timedelta(hours=1)) < timedelta(seconds=1)

    async def test_back_off_is_waited_out_and_no_longer(self, horae: Horae) -> None:
        backoff = Backoff(base=timedelta(milliseconds=300), jitter=0)

        @horae.job(max_attempts=3, backoff=backoff)
        def second(job: JobContext) -> int:
            if job.attempt < 3:
                raise ValueError("no")
            return job.attempt

        async with running_node(horae):
            job = await horae.aio.jobs.start(second)
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == 3
        first, again, last = horae.jobs.attempts(job.id)
        assert again.started_at - first.finished_at >= timedelta(milliseconds=300)
        assert last.started_at - again.finished_at >= timedelta(milliseconds=600)
        assert last.started_at - again.finished_at < timedelta(seconds=2.5)

    async def test_an_unreadable_back_off_loses_nothing(self, horae: Horae) -> None:
        """As one that a newer version has written."""

        @horae.job(max_attempts=2, backoff=AT_ONCE)
        def fail() -> None:
            raise ValueError("no")

        job = await horae.aio.jobs.start(fail, backoff=Backoff())
        with horae.components.database.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE horae_jobs SET backoff = '{\"spline\": 3}'")
        async with running_node(horae):
            await until_state(horae, job.id, "failed")
        assert attempts_of(horae, job.id) == ["failed", "failed"]

    async def test_a_cancel_ends_the_attempts(self, horae: Horae) -> None:
        @horae.job(
            max_attempts=5,
            backoff=Backoff(base=timedelta(hours=1), cap=timedelta(hours=1), jitter=0),
        )
        def fail() -> None:
            raise ValueError("no")

        async with running_node(horae) as node:
            job = await horae.aio.jobs.start(fail)
            await until_after(
                signals_of(node).settled, lambda: attempts_of(horae, job.id) == ["failed"]
            )
            await horae.aio.jobs.cancel(job.id)
        assert rows(horae, "SELECT state, attempt FROM horae_jobs") == [("cancelled", 1)]
