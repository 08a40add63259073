"""Running bodies: what others see of them, and how they are notified that they must stop."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from horae import Backoff, Horae, JobContext, JobNotCancellable, JobState, JobStopped, LeaseLost
from horae.live.store import LiveReport
from horae.types.logs.job_fields import JobLogFilter
from tests.harness.applications import attempts_of, execute, live_rows
from tests.harness.figures import figure
from tests.harness.nodes import running_node, until, until_released, until_set, until_state
from tests.harness.waiting import Record, until_logged

pytestmark = pytest.mark.one_database


async def test_functions_and_coroutines_run_and_return(horae: Horae) -> None:
    @horae.job
    def threaded(number: int) -> str:
        return f"{number} on {threading.current_thread().name.rpartition('-')[0]}"

    @horae.job
    async def looped(number: int) -> str:
        await asyncio.sleep(0)
        return f"{number} on {threading.current_thread().name}"

    async with running_node(horae):
        first, second = (
            await horae.aio.jobs.start(threaded, number=1),
            await horae.aio.jobs.start(looped, number=2),
        )
        assert await horae.aio.jobs.wait(first.id, timeout="20s") == "1 on horae-body"
        assert await horae.aio.jobs.wait(second.id, timeout="20s") == "2 on MainThread"
    done = horae.jobs.get(first.id)
    assert (done.state, done.progress_percentage, done.attempt, done.node_id) == (
        JobState.FINISHED,
        100,
        1,
        None,
    )
    assert attempts_of(horae, first.id) == ["finished"]


async def test_a_body_knows_its_job(horae: Horae) -> None:
    @horae.job
    def who(job: JobContext) -> dict[str, Any]:
        return {
            "id": job.id,
            "type": job.type,
            "owner": job.owner,
            "attempt": job.attempt,
            "meta": dict(job.meta),
        }

    async with running_node(horae):
        job = await horae.aio.jobs.start(who, owner="alice", meta={"trace": "t"})
        told = await horae.aio.jobs.wait(job.id, timeout="20s")
    assert told == {
        "id": job.id,
        "type": "who",
        "owner": "alice",
        "attempt": 1,
        "meta": {"trace": "t"},
    }


async def test_log_records_carry_the_job(horae: Horae, caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(JobLogFilter())
    caplog.set_level(logging.INFO, "horae.job")

    @horae.job
    def threaded(job: JobContext) -> None:
        job.log.info("hello")

    @horae.job
    async def looped(job: JobContext) -> None:
        job.log.info("hello")

    async with running_node(horae) as node:
        for job_type in (threaded, looped):
            job = await horae.aio.jobs.start(job_type)
            await horae.aio.jobs.wait(job.id, timeout="20s")
            [record] = [each for each in caplog.records if each.message == "hello"]
            known = {name: getattr(record, name) for name in ("job", "type", "lease", "node")}
            assert known == {"job": job.id, "type": job.type, "lease": 1, "node": node.id}
            caplog.clear()


def failures_in(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if "failed in attempt" in record.message]


class Unreadable(Exception):
    """An error whose text cannot be read, because reading it raises `with_`."""

    def __init__(self, with_: BaseException) -> None:
        self.with_ = with_

    def __str__(self) -> str:
        raise self.with_


class WithoutCause(Exception):
    """An error whose cause cannot be read."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__cause__":
            raise LookupError("no cause")
        return super().__getattribute__(name)


@pytest.mark.parametrize("error", [Unreadable(KeyboardInterrupt()), WithoutCause()], ids=repr)
async def test_an_error_that_cannot_be_described_fails_its_job_only(
    horae: Horae, error: Exception
) -> None:
    @horae.job
    def threaded() -> None:
        raise error

    @horae.job
    async def looped() -> None:
        raise error

    async with running_node(horae):
        for job_type in (threaded, looped):
            job = await horae.aio.jobs.start(job_type)
            failed = await until_state(horae, job.id, "failed")
            assert failed.error == f"{type(error).__name__}: (its text cannot be read)"


async def test_each_failing_attempt_is_logged_with_its_traceback(
    horae: Horae, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(JobLogFilter())

    @horae.job(max_attempts=2, backoff=Backoff(base=timedelta(0)))
    def threaded() -> None:
        raise ValueError("no luck")

    @horae.job
    async def looped() -> None:
        raise LookupError("no luck either")

    async with running_node(horae) as node:
        first = await horae.aio.jobs.start(threaded)
        await until_state(horae, first.id, "failed")
        again, final = failures_in(caplog)
        assert (
            f"job {first.id} (threaded) failed in attempt 1 of 2 and will be retried in 0 s"
            in again.message
        )
        assert (
            final.message
            == f"job {first.id} (threaded) failed in attempt 2 of 2, for good: ValueError: no luck"
        )
        assert final.levelno == logging.ERROR
        given = (final.job, final.type, final.lease)  # type: ignore[attr-defined]
        assert given == (first.id, "threaded", 2)
        assert {record.node for record in (again, final)} == {node.id}  # type: ignore[attr-defined]
        caplog.clear()
        second = await horae.aio.jobs.start(looped)
        await until_state(horae, second.id, "failed")
    [record] = failures_in(caplog)
    text = logging.Formatter().format(record)
    assert "Traceback (most recent call last)" in text
    assert 'raise LookupError("no luck either")' in text


@pytest.mark.parametrize("transaction", [None, "read committed"])
async def test_progress_is_visible_while_the_body_runs(horae: Horae, transaction: Any) -> None:
    """Also while its own transaction hides everything that it writes."""
    release = threading.Event()
    execute(horae, "CREATE TABLE effects (number INTEGER)")

    @horae.job(transaction=transaction)
    def work(job: JobContext) -> None:
        if transaction:
            job.connection.exec_driver_sql("INSERT INTO effects VALUES (1)")
        job.progress.set(30, "importing-table-7")
        release.wait(20)
        job.progress.set(60, "almost")

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)

        async def shown() -> bool:
            seen = await horae.aio.jobs.get(job.id)
            return (seen.state, seen.progress_percentage, seen.label) == (
                "started",
                30,
                "importing-table-7",
            )

        await until(shown)
        release.set()
        ended = await until_state(horae, job.id, "finished")
        assert (ended.progress_percentage, ended.label) == (100, "almost")
        await until(lambda: live_rows(horae, [job.id]) == 0)


async def test_a_failed_job_keeps_how_far_it_came(horae: Horae) -> None:
    @horae.job
    def fail(job: JobContext) -> None:
        job.progress.set(37, "half-way")
        raise ValueError("no")

    async with running_node(horae):
        job = await horae.aio.jobs.start(fail)
        ended = await until_state(horae, job.id, "failed")
    assert (ended.progress_percentage, ended.label) == (37, "half-way")


async def test_reports_are_written_seldom_and_the_last_one_always(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = horae.components.live
    publish, published = live.publish, Record[int]()

    def watched(new: Sequence[LiveReport]) -> None:
        published.extend(each.progress_percentage for each in new)
        publish(new)

    monkeypatch.setattr(live, "publish", watched)
    release = threading.Event()

    @horae.job
    def work(job: JobContext) -> None:
        for _ in job.progress.track(range(100_000), represents=90):
            pass
        release.wait(20)

    async with running_node(horae):
        begun = time.monotonic()
        job = await horae.aio.jobs.start(work)
        await published.until(lambda: 90 in published)
        rounds = (time.monotonic() - begun) / 0.1 + 2
        release.set()
        await until_state(horae, job.id, "finished")
    assert len(published) <= rounds
    assert published == sorted(published)


class TestCancel:
    @pytest.mark.parametrize("hints", [True, False])
    async def test_a_cancel_reaches_a_body_whose_percentage_never_changes(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch, *, hints: bool
    ) -> None:
        begun, stopped = threading.Event(), list[float]()

        @horae.job
        def work(job: JobContext) -> None:
            begun.set()
            try:
                while True:
                    job.progress.set(10)
            except JobStopped:
                stopped.append(time.monotonic())
                raise

        if not hints:
            monkeypatch.setattr(horae.components.wakeup, "send", lambda _hint, **_: None)
        async with running_node(horae):
            job = await horae.aio.jobs.start(work)
            await until_set(begun)
            asked = time.monotonic()
            cancelled = await horae.aio.jobs.cancel(job.id, by="bob")
            assert (cancelled.state, cancelled.cancelled_by) == (JobState.CANCELLED, "bob")
            await until_released(horae, job.id)
        figure(f"the body heard after {(stopped[0] - asked) * 1000:.0f} ms (hints: {hints})")
        assert attempts_of(horae, job.id) == ["cancelled"]
        await until(lambda: live_rows(horae, [job.id]) == 0)

    async def test_a_coroutine_is_cancelled_where_it_waits(self, horae: Horae) -> None:
        begun, cleaned = asyncio.Event(), asyncio.Event()

        @horae.job
        async def work() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.set()

        async with running_node(horae):
            job = await horae.aio.jobs.start(work)
            await begun.wait()
            asked = time.monotonic()
            await horae.aio.jobs.cancel(job.id)
            async with asyncio.timeout(20):
                await cleaned.wait()
            assert time.monotonic() - asked < 1
            await until_released(horae, job.id)
        assert attempts_of(horae, job.id) == ["cancelled"]

    async def test_a_cancel_reaches_the_body_though_the_live_store_lost_it(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun = threading.Event()

        @horae.job
        def work(job: JobContext) -> None:
            begun.set()
            while True:
                job.check()

        monkeypatch.setattr(horae.components.live, "request_cancel", lambda _job_id, _request: None)
        async with running_node(horae):
            job = await horae.aio.jobs.start(work)
            await until_set(begun)
            await horae.aio.jobs.cancel(job.id)
            await until_released(horae, job.id)
        assert attempts_of(horae, job.id) == ["cancelled"]

    @pytest.mark.parametrize("ending", ["result", "error", "swallowed"])
    async def test_the_outcome_of_a_cancelled_body_is_dropped(
        self, horae: Horae, ending: str
    ) -> None:
        begun, release = threading.Event(), threading.Event()

        @horae.job
        def work(job: JobContext) -> str:
            begun.set()
            release.wait(20)
            try:
                job.progress.set(50)
            except JobStopped:
                if ending == "error":
                    raise OSError("unrelated") from None
                if ending == "result":
                    raise
            return "late"

        async with running_node(horae):
            job = await horae.aio.jobs.start(work)
            await until_set(begun)
            await horae.aio.jobs.cancel(job.id, by="bob")
            release.set()
            ended = await until_released(horae, job.id)
        assert (ended.state, ended.result, ended.error, ended.cancelled_by) == (
            JobState.CANCELLED,
            None,
            None,
            "bob",
        )

    async def test_a_broad_except_does_not_keep_a_body_alive(self, horae: Horae) -> None:
        begun = threading.Event()

        @horae.job
        def work(job: JobContext) -> None:
            begun.set()
            while True:
                with contextlib.suppress(Exception):
                    job.progress.set(1)

        async with running_node(horae):
            job = await horae.aio.jobs.start(work)
            await until_set(begun)
            await horae.aio.jobs.cancel(job.id)
            await until_released(horae, job.id)

    async def test_of_many_cancels_and_ends_each_pair_agrees(self, horae: Horae) -> None:
        """A cancel that was answered with success ends cancelled; any other says why it was not."""
        jobs = 40

        @horae.job
        async def work(number: int) -> int:
            await asyncio.sleep(0.002 * (number % 7))
            return number

        answers: dict[int, bool] = {}

        async def cancel(job_id: int) -> None:
            try:
                await horae.aio.jobs.cancel(job_id)
            except JobNotCancellable:
                answers[job_id] = False
            else:
                answers[job_id] = True

        async with running_node(horae, concurrency=8), asyncio.TaskGroup() as group:
            for job_id in await horae.aio.jobs.start_many(
                work, [{"number": number} for number in range(jobs)]
            ):
                group.create_task(cancel(job_id))
        ended = (await horae.aio.jobs.list()).jobs
        assert {job.id: job.state is JobState.CANCELLED for job in ended} == answers
        assert all(job.ended and not job.occupied for job in ended)


class TestLeases:
    async def test_a_body_that_raises_lease_lost_itself_has_failed(self, horae: Horae) -> None:
        @horae.job
        def lose() -> None:
            raise LeaseLost("says the body")

        async with running_node(horae):
            job = await horae.aio.jobs.start(lose)
            ended = await until_state(horae, job.id, "failed")
        assert str(ended.error).startswith("LeaseLost")

    async def test_a_body_whose_lease_was_taken_stops_and_changes_nothing(
        self, horae: Horae
    ) -> None:
        begun, stopped = threading.Event(), threading.Event()

        @horae.job
        def work(job: JobContext) -> None:
            begun.set()
            try:
                while True:
                    job.check()
            finally:
                stopped.set()

        async with running_node(horae):
            job = await horae.aio.jobs.start(work)
            await until_set(begun)
            execute(horae, "UPDATE horae_jobs SET lease = lease + 1")
            await until_set(stopped)
        held = await horae.aio.jobs.get(job.id)
        assert (held.state, held.lease) == (JobState.STARTED, 2)
        assert attempts_of(horae, job.id) == []

    async def test_a_late_result_under_an_old_lease_matches_no_row(
        self, horae: Horae, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "horae.runtime")
        begun, release = threading.Event(), threading.Event()

        @horae.job
        def work() -> str:
            begun.set()
            release.wait(20)
            return "late"

        async with running_node(horae):
            job = await horae.aio.jobs.start(work)
            await until_set(begun)
            execute(horae, "UPDATE horae_jobs SET lease = lease + 1")
            release.set()
            await until_logged(caplog, f"the result of job {job.id} was dropped")
        held = await horae.aio.jobs.get(job.id)
        assert (held.state, held.result) == (JobState.STARTED, None)
        assert attempts_of(horae, job.id) == []
