"""What a body leaves behind in its process harms neither its own job nor the next ones."""

import logging
import sys
from collections.abc import AsyncIterator
from contextvars import ContextVar

import pytest
import pytest_asyncio

from horae import Horae, JobState
from horae.storage.engine.database import Database
from tests.harness.nodes import running_node, until_state
from tests.runtime import process_bodies
from tests.runtime.executor_under_test import ExecutorUnderTest

pytestmark = pytest.mark.one_database

tenant: ContextVar[str] = ContextVar("tenant", default="none")


async def test_context_variables_of_a_function_are_not_seen_by_the_next_body_on_its_thread(
    horae: Horae,
) -> None:
    @horae.job
    def enter() -> str:
        tenant.set("first")
        return tenant.get()

    @horae.job
    def show() -> str:
        return tenant.get()

    async with running_node(horae, concurrency=1):
        first = await horae.aio.jobs.start(enter)
        assert await horae.aio.jobs.wait(first.id, timeout="20s") == "first"
        second = await horae.aio.jobs.start(show)
        assert await horae.aio.jobs.wait(second.id, timeout="20s") == "none"


def test_context_variables_of_a_body_are_not_seen_by_its_caller(horae: Horae) -> None:
    @horae.job
    def enter() -> str:
        before = tenant.get()
        tenant.set("first")
        return before

    token = tenant.set("the caller's")
    assert horae.jobs.start(enter, sync=True).result == "the caller's"
    assert tenant.get() == "the caller's"
    tenant.reset(token)


@pytest_asyncio.fixture
async def executor() -> AsyncIterator[ExecutorUnderTest]:
    executor = ExecutorUnderTest(Database("sqlite:////nowhere/horae.db"))
    yield executor
    await executor.close()


@pytest.mark.slow
async def test_context_variables_are_not_seen_by_the_next_body_of_a_child_process(
    executor: ExecutorUnderTest,
) -> None:
    for job_type in (process_bodies.enter, process_bodies.enter_later):
        for _ in range(2):
            ended = await executor.perform(job_type)
            assert ended.settlement is not None
            assert (ended.settlement.state, ended.settlement.result) == (
                JobState.FINISHED,
                '"none"',
            )


@pytest.mark.parametrize("raises", [False, True])
async def test_a_lowered_recursion_limit_is_raised_again_after_the_body(
    horae: Horae, caplog: pytest.LogCaptureFixture, raises: bool
) -> None:
    """Below it SQLAlchemy executes no statement, so that the node could write no result."""
    before = sys.getrecursionlimit()

    @horae.job
    def lower() -> None:
        sys.setrecursionlimit(80)
        if raises:
            raise ValueError("no")

    try:
        async with running_node(horae):
            job = await horae.aio.jobs.start(lower)
            await until_state(horae, job.id, JobState.FAILED if raises else JobState.FINISHED)
        assert sys.getrecursionlimit() == before
    finally:
        sys.setrecursionlimit(before)
    assert f"(lower) had lowered the recursion limit of the process to 80; it is {before}" in (
        caplog.text
    )


class Broken(logging.Filter):
    """A filter of the application, which expects a field that most records do not have."""

    def filter(self, record: logging.LogRecord) -> bool:
        return bool(vars(record)["request_id"])


async def test_a_failure_is_written_even_if_it_cannot_be_logged(
    horae: Horae, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    @horae.job
    def fail() -> None:
        raise ValueError("no")

    broken = Broken()
    async with running_node(horae):
        caplog.handler.addFilter(broken)
        try:
            job = await horae.aio.jobs.start(fail)
            await until_state(horae, job.id, JobState.FAILED)
        finally:
            caplog.handler.removeFilter(broken)
    assert "KeyError: 'request_id'" in capsys.readouterr().err
