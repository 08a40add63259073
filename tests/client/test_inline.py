"""Jobs that run in the calling thread, under the rules of a node."""

import asyncio
import signal
import sqlite3
import threading
from collections.abc import Iterator
from datetime import timedelta
from functools import partial, wraps
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from horae import (
    Backoff,
    Horae,
    Job,
    JobContext,
    JobState,
    MaxJobCountExceeded,
    SoftTimeLimitExceeded,
)
from horae.runtime.liveness import membership
from horae.storage.engine.database import Database
from tests.harness.applications import attempts_of, live_rows, rows
from tests.harness.nodes import running_node, until, until_set, until_state
from tests.harness.waiting import until_ended


@pytest.fixture(autouse=True)
def _leaves_nothing_running(horae: Horae) -> Iterator[None]:
    yield
    assert rows(horae, "SELECT id FROM horae_jobs WHERE node_id IS NOT NULL") == []


def test_a_function_runs_in_the_calling_thread(horae: Horae) -> None:
    @horae.job
    def where() -> str:
        return threading.current_thread().name

    job = horae.jobs.start(where, sync=True)
    assert (job.state, job.result, job.progress_percentage) == (
        JobState.FINISHED,
        threading.current_thread().name,
        100,
    )
    assert attempts_of(horae, job.id) == ["finished"]


def test_a_coroutine_that_a_decorator_hides_is_named(horae: Horae) -> None:
    async def call() -> int:
        return 1

    @horae.job
    @wraps(call)
    def decorated(*given: Any) -> Any:
        return call(*given)

    job = horae.jobs.start(decorated, sync=True)
    assert job.error == (
        "TypeError: the body returned a coroutine, which nobody awaits: declare an `async def`, also"
        " where a decorator wraps one"
    )


def test_nothing_watches_after_the_application_was_closed(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()
    live, closed = horae.components.live, horae.opened.inline._closed  # noqa: SLF001
    read = live.cancel_requests

    def cancel_requests(*given: Any, **options: Any) -> Any:
        asked.set()
        closed.wait()
        return read(*given, **options)

    monkeypatch.setattr(live, "cancel_requests", cancel_requests)

    @horae.job
    def work() -> None:
        asked.wait()

    horae.jobs.start(work, sync=True)
    horae.close()
    assert "horae-inline" not in {each.name for each in threading.enumerate()}


def test_a_coroutine_runs_too(horae: Horae) -> None:
    @horae.job
    async def double(job: JobContext, number: int) -> int:
        job.progress.set(50, "half-way")
        return 2 * number

    job = horae.jobs.start(double, number=21, sync=True)
    assert (job.state, job.result, job.label) == (JobState.FINISHED, 42, "half-way")


async def test_it_can_be_asked_for_inside_a_running_loop(horae: Horae) -> None:
    """As by somebody who calls the thread face from a coroutine, or in a notebook."""

    @horae.job
    async def double(number: int) -> int:
        return 2 * number

    assert horae.jobs.start(double, number=1, sync=True).result == 2
    assert (await horae.aio.jobs.start(double, number=2, sync=True)).result == 4


def test_a_failure_is_the_job_s_and_not_the_caller_s(horae: Horae) -> None:
    @horae.job
    def fail() -> None:
        raise ValueError("no")

    job = horae.jobs.start(fail, sync=True)
    assert (job.state, job.error) == (JobState.FAILED, "ValueError: no")
    assert attempts_of(horae, job.id) == ["failed"]


def test_ctrl_c_ends_a_coroutine_and_reaches_the_caller(horae: Horae) -> None:
    @horae.job
    async def wait() -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        horae.jobs.start(wait, sync=True)
    (job,) = horae.jobs.list().jobs
    assert job.state is JobState.FAILED
    assert attempts_of(horae, job.id) == ["failed"]


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_a_coroutine_that_cancels_itself_fails(horae: Horae, in_a_loop: bool) -> None:
    @horae.job
    async def give_up() -> None:
        raise asyncio.CancelledError

    async def start_blocking() -> Job:
        return horae.jobs.start(give_up, sync=True)

    job = asyncio.run(start_blocking()) if in_a_loop else horae.jobs.start(give_up, sync=True)
    assert (job.state, job.error) == (JobState.FAILED, "CancelledError: ")
    assert attempts_of(horae, job.id) == ["failed"]


def test_retries_run_here_too(horae: Horae) -> None:
    attempts: list[int] = []

    @horae.job(max_attempts=3, backoff=Backoff(base=timedelta(milliseconds=10), jitter=0))
    def third_time(job: JobContext) -> str:
        attempts.append(threading.get_ident())
        if job.attempt < 3:
            raise ValueError("no")
        return "at last"

    job = horae.jobs.start(third_time, sync=True)
    assert (job.state, job.attempt, job.result) == (JobState.FINISHED, 3, "at last")
    assert attempts == [threading.get_ident()] * 3
    assert attempts_of(horae, job.id) == ["failed", "failed", "finished"]


def test_a_job_that_finally_fails_is_returned_as_failed(horae: Horae) -> None:
    @horae.job(max_attempts=2, backoff=Backoff(base=timedelta(0), jitter=0))
    def fail() -> None:
        raise ValueError("no")

    assert horae.jobs.start(fail, sync=True).state is JobState.FAILED


def test_a_retry_that_is_due_much_later_is_left_to_the_nodes(horae: Horae) -> None:
    @horae.job(
        max_attempts=2, backoff=Backoff(base=timedelta(hours=1), cap=timedelta(hours=1), jitter=0)
    )
    def fail() -> None:
        raise ValueError("no")

    job = horae.jobs.start(fail, sync=True)
    assert (job.state, job.attempt, job.error) == (JobState.PENDING, 1, None)
    assert attempts_of(horae, job.id) == ["failed"]


def test_ctrl_c_ends_the_job_and_the_program(horae: Horae) -> None:
    @horae.job
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        horae.jobs.start(interrupted, sync=True)
    [job] = horae.jobs.list().jobs
    assert (job.state, job.error) == (JobState.FAILED, "KeyboardInterrupt: ")


def test_the_limits_are_the_same(horae: Horae) -> None:
    @horae.job(max_count=1)
    def nested() -> str:
        with pytest.raises(MaxJobCountExceeded):
            horae.jobs.start("nested", owner="alice", sync=True)
        return str(horae.jobs.start("nested_other", owner="alice", sync=True).result)

    @horae.job
    def nested_other() -> str:
        return "inner"

    assert horae.jobs.start(nested, owner="alice", sync=True).result == "inner"


def test_a_duplicate_that_is_returned_is_not_run_again(horae: Horae) -> None:
    runs: list[int] = []

    @horae.job
    def once() -> None:
        runs.append(horae.jobs.start(once, unique_key="x", on_duplicate="return", sync=True).id)

    job = horae.jobs.start(once, unique_key="x", sync=True)
    assert (runs, job.state) == ([job.id], JobState.FINISHED)


async def test_others_may_watch_and_cancel_it(horae: Horae) -> None:
    begun = threading.Event()

    @horae.job
    def patient(job: JobContext) -> None:
        job.progress.set(30, "waiting")
        begun.set()
        while True:
            job.progress.set(30)

    ended: list[JobState] = []
    caller = threading.Thread(
        target=lambda: ended.append(horae.jobs.start(patient, sync=True).state)
    )
    caller.start()
    await until_set(begun)
    [job] = (await horae.aio.jobs.list()).jobs

    async def shown() -> bool:
        seen = await horae.aio.jobs.get(job.id)
        return (seen.progress_percentage, seen.label) == (30, "waiting")

    await until(shown)
    await horae.aio.jobs.cancel(job.id, by="bob")
    await until_ended(caller)
    assert ended == [JobState.CANCELLED]
    assert attempts_of(horae, job.id) == ["cancelled"]
    await until(lambda: live_rows(horae, [job.id]) == 0)


def test_its_time_is_limited(horae: Horae) -> None:
    @horae.job(soft_time_limit=timedelta(milliseconds=200))
    def endless(job: JobContext) -> None:
        while True:
            job.progress.set(1)

    @horae.job(soft_time_limit=timedelta(milliseconds=200))
    def tidy(job: JobContext) -> str:
        try:
            while True:
                job.progress.set(1)
        except SoftTimeLimitExceeded:
            return "what there was time for"

    assert horae.jobs.start(endless, sync=True).state is JobState.FAILED
    assert horae.jobs.start(tidy, sync=True).result == "what there was time for"


async def test_its_process_is_a_live_node_to_others(horae: Horae) -> None:
    begun, release = threading.Event(), threading.Event()

    @horae.job
    def patient() -> str:
        begun.set()
        release.wait(20)
        return "alive"

    caller = threading.Thread(target=lambda: horae.jobs.start(patient, sync=True))
    caller.start()
    await until_set(begun)
    assert rows(horae, "SELECT roles FROM horae_nodes") != []
    release.set()
    [job] = (await horae.aio.jobs.list()).jobs
    assert (await until_state(horae, job.id, "finished", "failed")).state is JobState.FINISHED
    caller.join(20)


def test_a_process_registers_again_after_a_registration_without_an_answer(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row was written, and the process does not know; the second attempt neither fails nor waits for the first."""

    @horae.job
    def answer() -> int:
        return 42

    transact = Database.transact

    def without_answer(database: Database, statement: Any, *args: Any, **kwargs: Any) -> Any:
        result = transact(database, statement, *args, **kwargs)
        if statement is membership.register:
            monkeypatch.setattr(Database, "transact", transact)
            raise OperationalError("COMMIT", {}, sqlite3.OperationalError("no answer"))
        return result

    monkeypatch.setattr(Database, "transact", without_answer)
    with pytest.raises(OperationalError, match="no answer"):
        horae.jobs.start(answer, sync=True)
    assert horae.jobs.start(answer, sync=True).result == 42


async def test_a_job_whose_claim_got_no_answer_is_handed_back(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This process holds it and does not know; another job that it runs meanwhile is not mistaken for it."""
    begun, release = threading.Event(), threading.Event()

    @horae.job(max_count=None)
    def answer() -> int:
        return 42

    @horae.job
    def slow() -> str:
        begun.set()
        release.wait(20)
        return "done"

    beside = asyncio.get_running_loop().run_in_executor(
        None, partial(horae.jobs.start, slow, sync=True)
    )
    await until_set(begun)
    transact = Database.transact

    def without_answer(database: Database, statement: Any, *args: Any, **kwargs: Any) -> Any:
        transact(database, statement, *args, **kwargs)
        monkeypatch.setattr(Database, "transact", transact)
        raise OperationalError("COMMIT", {}, sqlite3.OperationalError("no answer"))

    monkeypatch.setattr(Database, "transact", without_answer)
    with pytest.raises(OperationalError, match="no answer"):
        await asyncio.to_thread(horae.jobs.start, answer, sync=True)
    async with running_node(horae):
        [job] = horae.jobs.list(types=["answer"]).jobs
        assert await horae.aio.jobs.wait(job.id, timeout="20s") == 42
    release.set()
    assert (await beside).result == "done"
