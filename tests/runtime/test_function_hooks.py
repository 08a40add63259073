"""Hooks of job functions: called as those of a `JobType`, once, and refused where they could not be called."""

import threading
from typing import Any

import pytest

from horae import Backoff, Horae, InvalidJobType, Job, JobType
from tests.harness.nodes import running_node, until_set, until_state

pytestmark = pytest.mark.one_database


async def test_a_function_s_hooks_are_called_once_after_the_end(horae: Horae) -> None:
    seen: list[str] = []
    called, begun, release = threading.Event(), threading.Event(), threading.Event()

    def failed(job: Job, error: BaseException) -> None:
        seen.append(f"{job.id} {job.state} {error!r}")
        called.set()

    @horae.job(on_error=failed, max_attempts=2, backoff=Backoff(base="0s"))
    def by_option() -> None:
        raise ValueError("no luck")

    @horae.job
    def by_decorator() -> None:
        begun.set()
        release.wait(20)

    @by_decorator.on_cancelled
    def cancelled(job: Job) -> None:
        seen.append(f"{job.id} {job.state}")
        called.set()

    async with running_node(horae):
        first = await horae.aio.jobs.start(by_option)
        await until_state(horae, first.id, "failed")
        await until_set(called)
        called.clear()
        second = await horae.aio.jobs.start(by_decorator)
        await until_set(begun)
        await horae.aio.jobs.cancel(second.id)
        release.set()
        await until_set(called)
    assert seen == [f"{first.id} failed ValueError('no luck')", f"{second.id} cancelled"]


async def test_a_schedule_s_function_may_have_them(horae: Horae) -> None:
    called = threading.Event()

    @horae.every("1h", on_error=lambda job, error: called.set())
    def often() -> None:
        raise ValueError("no luck")

    job = horae.jobs.start(often)
    async with running_node(horae):
        await until_state(horae, job.id, "failed")
        await until_set(called)


def test_hooks_that_could_not_be_called_are_refused() -> None:
    horae = Horae()

    async def coroutine(job: Job, error: BaseException) -> None: ...

    wrong: list[tuple[Any, str]] = [
        (5, "expected a function"),
        (lambda: None, r"it is called with \(job, error\)"),
        (coroutine, "a coroutine function would never run"),
    ]
    for hook, reason in wrong:
        with pytest.raises(InvalidJobType, match=f"on_error is .*{reason}"):
            horae.job(on_error=hook)(lambda: None)

    @horae.job(on_error=None)
    def work() -> None: ...

    work.on_error(lambda job, error: None)
    with pytest.raises(InvalidJobType, match="it has a hook on_error already"):
        work.on_error(lambda job, error: None)


def test_a_hook_of_a_class_must_not_be_a_coroutine_function() -> None:
    class Import(JobType):
        type = "import"

        def run(self, job: Any) -> None: ...

        async def on_cancelled(self, job: Job) -> None: ...  # type: ignore[override]

    with pytest.raises(
        InvalidJobType, match="on_cancelled is a coroutine function, which would never run"
    ):
        Horae().register(Import)
