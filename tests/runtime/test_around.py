"""`@horae.around`: what surrounds bodies and their transactions, on threads, on the loop and inline."""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import pytest
from sqlalchemy import text

from horae import Backoff, Horae, InvalidRequest, JobContext, Snooze
from horae.domain.jobs.job import AttemptOutcome
from horae.runtime.node.process_hooks import call_start_hooks, call_stop_hooks
from horae.types.application_hooks import process_hook
from tests.harness.applications import attempts_of, execute, rows
from tests.harness.nodes import running_node, until_released, until_set, until_state

pytestmark = pytest.mark.one_database


class Trail(list[str]):
    """What has happened, in order."""

    def add(self, what: str) -> None:
        self.append(what)


@pytest.fixture
def trail() -> Trail:
    return Trail()


def surround(horae: Horae, trail: Trail) -> None:
    """Declare one of each kind, the outermost first."""

    @horae.around
    def plain(job: JobContext) -> Generator[None]:
        trail.add(f"plain in {job.id} {job.attempt} {job.params.fails}")
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - seen, and not raised again
            trail.add(f"plain saw {type(error).__name__}")
        trail.add(f"plain out {job.ended.outcome if job.ended else None}")

    @horae.around
    async def asynchronous(job: JobContext) -> AsyncGenerator[None]:
        await asyncio.sleep(0)
        trail.add("async in")
        yield
        await asyncio.sleep(0)
        trail.add("async out")

    @horae.around
    @contextmanager
    def managed(job: JobContext) -> Generator[None]:
        trail.add("managed in")
        try:
            yield
        finally:
            trail.add("managed out")


def both(horae: Horae, trail: Trail) -> tuple[Any, Any]:
    @horae.job
    def threaded(fails: Any) -> None:
        trail.add("body")
        if fails:
            raise ValueError("no luck")

    @horae.job
    async def looped(fails: Any) -> None:
        await asyncio.sleep(0)
        trail.add("body")
        if fails:
            raise ValueError("no luck")

    return threaded, looped


@pytest.mark.parametrize(
    "place", ["thread", "loop", "inline", "inline coroutine", "inline within a loop"]
)
async def test_the_first_declared_is_the_outermost(horae: Horae, trail: Trail, place: str) -> None:
    surround(horae, trail)
    threaded, looped = both(horae, trail)
    job_type = looped if place in ("loop", "inline coroutine") else threaded
    if place == "inline within a loop":
        job = horae.jobs.start(job_type, fails=False, sync=True)
    elif place.startswith("inline"):
        job = await asyncio.to_thread(horae.jobs.start, job_type, fails=False, sync=True)
    else:
        async with running_node(horae):
            job = await horae.aio.jobs.start(job_type, fails=False)
            await horae.aio.jobs.wait(job.id, timeout="20s")
    assert trail == [
        f"plain in {job.id} 1 False",
        "async in",
        "managed in",
        "body",
        "managed out",
        "async out",
        "plain out finished",
    ]


@pytest.mark.parametrize("place", [0, 1], ids=["thread", "loop"])
async def test_an_error_of_the_body_is_seen_and_stays_its_outcome(
    horae: Horae, trail: Trail, place: int
) -> None:
    """Even if a context manager suppresses it."""
    surround(horae, trail)
    job_type = both(horae, trail)[place]
    async with running_node(horae):
        job = await horae.aio.jobs.start(job_type, fails=True)
        await until_state(horae, job.id, "failed")
    assert trail[-3:] == ["managed out", "plain saw ValueError", "plain out failed"]
    assert attempts_of(horae, job.id) == ["failed"]


@pytest.mark.parametrize("coroutine", [False, True])
async def test_an_error_before_the_body_fails_the_job(
    horae: Horae, trail: Trail, coroutine: Any
) -> None:
    @horae.around
    def outer(job: JobContext) -> Generator[None]:
        yield
        trail.add(f"outer out {job.ended and job.ended.outcome}")

    @horae.around
    def broken(job: JobContext) -> Generator[None]:
        raise LookupError("no tenant")
        yield

    threaded, looped = both(horae, trail)
    async with running_node(horae):
        job = await horae.aio.jobs.start(looped if coroutine else threaded, fails=False)
        await until_state(horae, job.id, "failed")
    assert horae.jobs.get(job.id).error == "LookupError: no tenant"
    assert trail == []  # `contextmanager` has raised the error again within `outer`
    assert attempts_of(horae, job.id) == ["failed"]


@pytest.mark.parametrize("transaction", [None, "read committed"])
@pytest.mark.parametrize("coroutine", [False, True])
async def test_an_error_after_the_body_is_logged_and_changes_nothing(
    horae: Horae, trail: Trail, caplog: pytest.LogCaptureFixture, coroutine: Any, transaction: Any
) -> None:
    @horae.around
    def outer(job: JobContext) -> Generator[None]:
        yield
        trail.add("outer out")

    @horae.around
    def broken(job: JobContext) -> Generator[None]:
        yield
        raise LookupError("metrics are away")

    @horae.job(transaction=transaction)
    def threaded() -> int:
        return 5

    @horae.job(transaction=transaction)
    async def looped() -> int:
        return 5

    async with running_node(horae):
        job = await horae.aio.jobs.start(looped if coroutine else threaded)
        assert await horae.aio.jobs.wait(job.id, timeout="20s") == 5
        await until_released(horae, job.id)
    assert trail == ["outer out"]
    [record] = [each for each in caplog.records if "(around) failed after job" in each.message]
    assert record.levelno == logging.ERROR
    assert "LookupError: metrics are away" in record.message
    assert attempts_of(horae, job.id) == ["finished"]


@pytest.mark.parametrize("fails", [False, True])
async def test_the_transaction_is_over_when_the_first_one_is_left(
    horae: Horae, trail: Trail, fails: Any
) -> None:
    execute(horae, "CREATE TABLE effects (number INTEGER)")

    def seen() -> str:
        states = [state for (state,) in rows(horae, "SELECT state FROM horae_jobs")]
        return f"{states} {rows(horae, 'SELECT number FROM effects')}"

    @horae.around
    def look(job: JobContext) -> Generator[None]:
        trail.add(f"in {job.has_transaction}")
        try:
            yield
        finally:
            trail.add(seen())

    @horae.job(transaction="read committed")
    def work(job: JobContext) -> None:
        job.connection.execute(text("INSERT INTO effects VALUES (1)"))
        if fails:
            raise ValueError("no luck")

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await until_state(horae, job.id, "failed" if fails else "finished")
        await until_released(horae, job.id)
    # A failure is written after the last context manager is left, a success with the transaction.
    assert trail == ["in False", "['started'] []" if fails else "['finished'] [(1,)]"]


async def test_the_outcome_tells_about_retries_and_snoozes(horae: Horae, trail: Trail) -> None:
    @horae.around
    def look(job: JobContext) -> Generator[None]:
        try:
            yield
        finally:
            assert job.ended is not None
            trail.add(f"{job.attempt} {job.ended.outcome} {job.ended.retry_in} {job.ended.error!r}")

    calls = iter((ValueError("no luck"), Snooze("0s"), None))

    @horae.job(max_attempts=2, backoff=Backoff(base="0s"))
    def work() -> None:
        if (error := next(calls)) is not None:
            raise error

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await horae.aio.jobs.wait(job.id, timeout="20s")
    assert trail[0] == "1 failed 0.0 ValueError('no luck')"
    assert trail[1].startswith("2 snoozed 0.0 ")
    assert trail[2] == "2 finished None None"


async def test_a_cancel_reaches_the_context_managers(horae: Horae, trail: Trail) -> None:
    began = asyncio.Event()

    @horae.around
    async def look(job: JobContext) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            trail.add(f"{job.ended and job.ended.outcome}")

    @horae.job
    async def work() -> None:
        began.set()
        await asyncio.sleep(60)

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await until_set(began)
        await horae.aio.jobs.cancel(job.id)
        await until_released(horae, job.id)
    assert trail == [AttemptOutcome.CANCELLED]


@pytest.mark.parametrize("kind", ["around", "on_node_start", "on_node_stop", "on_child_start"])
def test_an_object_that_cannot_be_called_is_refused(kind: str) -> None:
    horae = Horae()
    declare: Any = getattr(horae, kind)

    def with_two(one: Any, other: Any) -> None: ...
    async def coroutine(job: Any) -> None: ...
    def generator() -> Generator[None]:
        yield

    for wrong in (5, None, with_two, coroutine if kind == "around" else generator):
        with pytest.raises(InvalidRequest, match=f"^{kind}: "):
            declare(wrong)


async def test_a_result_that_is_no_context_manager_fails_the_job(horae: Horae) -> None:
    @horae.around
    def careless(job: JobContext) -> Any:
        return 5

    @horae.job
    def work() -> None: ...

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await until_state(horae, job.id, "failed")
    assert "careless returned 5, expected a context manager" in (horae.jobs.get(job.id).error or "")


def test_a_module_that_is_loaded_again_declares_the_same() -> None:
    horae = Horae()

    def declare() -> None:
        def surround(job: JobContext) -> AbstractContextManager[None]:
            return nullcontext()

        surround.__qualname__ = "surround"
        horae.around(surround)

    declare()
    declare()
    horae.around(lambda job: nullcontext())
    horae.around(lambda job: nullcontext())
    assert horae.hooks.around[0].address.qualname == "surround"
    assert len(horae.hooks.around) == 3


async def test_hooks_of_the_node_are_called_at_its_start_and_end(
    horae: Horae, trail: Trail
) -> None:
    @horae.on_node_start
    def start() -> None:
        trail.add(f"start on {threading.current_thread().name}")

    @horae.on_node_start
    async def start_async() -> None:
        trail.add(f"start {len(horae.jobs.list(states=['started']).jobs)}")

    @horae.on_node_stop
    async def stop_async() -> None:
        trail.add("stop")
        raise ValueError("not logged twice")

    @horae.on_node_stop
    def stop() -> None:
        trail.add("stop again")

    @horae.job
    def work() -> None:
        trail.add("body")

    job = horae.jobs.start(work)
    async with running_node(horae):
        await horae.aio.jobs.wait(job.id, timeout="20s")
    assert trail == ["start on horae-node-hook-0", "start 0", "body", "stop", "stop again"]


async def test_a_start_hook_that_raises_ends_the_node(horae: Horae) -> None:
    @horae.on_node_start
    def start() -> None:
        raise LookupError("no licence")

    with pytest.raises(LookupError, match="no licence"):
        await horae.node().run()
    with pytest.raises(ExceptionGroup) as caught, horae.node().running():
        pass
    assert caught.group_contains(LookupError, match="no licence")


async def test_a_node_that_is_stopped_does_not_wait_for_a_start_hook(
    caplog: pytest.LogCaptureFixture,
) -> None:
    began, stop, release = threading.Event(), asyncio.Event(), threading.Event()

    def hangs() -> None:
        began.set()
        release.wait(20)

    hook = process_hook("on_node_start", hangs)
    async with asyncio.TaskGroup() as group:
        group.create_task(call_start_hooks([hook, hook], stop))
        await until_set(began)
        stop.set()
    assert "the node stops without waiting" in caplog.text
    release.set()


async def test_a_stop_hook_that_hangs_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, trail: Trail
) -> None:
    monkeypatch.setattr("horae.runtime.node.process_hooks.STOP_WITHIN", 0.05)
    release = threading.Event()

    async def second() -> None:  # a coroutine that waits for nothing cannot be too late
        trail.add("second")

    await call_stop_hooks(
        [
            process_hook("on_node_stop", lambda: release.wait(20)),
            process_hook("on_node_stop", second),
        ]
    )
    assert "has not returned in time; 1 more follow" in caplog.text
    assert trail == ["second"]
    release.set()
