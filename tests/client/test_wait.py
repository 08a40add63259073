"""Waiting for a job: its result as its type annotates it, or the reason why there is none."""

import asyncio
import itertools
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

import pytest
from pydantic import BaseModel

from horae import (
    Horae,
    JobDoesNotExist,
    JobError,
    JobFailed,
    JobType,
    JobWasCancelled,
    SoftTimeLimitExceeded,
    WaitTimeout,
)
from horae.types.context import JobContext
from tests.harness.applications import claim_as_another_node, counted_statements, execute
from tests.harness.figures import figure
from tests.harness.nodes import running_node, until_released, until_set


class Report(BaseModel):
    day: date
    total: Decimal


@dataclass
class Point:
    x: int
    y: int


class Summing(JobType[Any]):
    type = "summing"
    returns = dict[str, Decimal]

    def run(self, job: JobContext[Any]) -> dict[str, Decimal]:
        return {"sum": Decimal("0.10")}


def test_a_result_that_its_function_does_not_promise_is_named(horae: Horae) -> None:
    @horae.job
    def promises() -> list[int]:
        return "a secret"  # type: ignore[return-value]

    job = horae.jobs.start(promises, sync=True)
    with pytest.raises(
        JobError, match=r"job 1 has finished, .* no list\[int\], .* promises"
    ) as raised:
        horae.jobs.wait(job)
    assert "a secret" not in str(raised.value)


async def test_a_waiting_body_gets_its_cancel(horae: Horae) -> None:
    begun = threading.Event()

    @horae.job(max_count=None)
    def waits(other: int) -> None:
        begun.set()
        horae.jobs.wait(other)

    @horae.job(max_count=None)
    async def waits_too(other: int) -> None:
        begun.set()
        await horae.aio.jobs.wait(other)

    never = await horae.aio.jobs.start(waits, other=0, delay=timedelta(days=1))
    async with running_node(horae):
        for kind in (waits, waits_too):
            begun.clear()
            job = await horae.aio.jobs.start(kind, other=never.id)
            await until_set(begun)
            await horae.aio.jobs.cancel(job.id)
            assert (await until_released(horae, job.id)).state == "cancelled"


async def test_a_waiting_body_gets_its_time_limit(horae: Horae) -> None:
    @horae.job(max_count=None, soft_time_limit=timedelta(milliseconds=50))
    def waits(other: int) -> str:
        try:
            horae.jobs.wait(other)
        except SoftTimeLimitExceeded:
            return "told"
        return "not told"

    never = await horae.aio.jobs.start(waits, other=0, delay=timedelta(days=1))
    async with running_node(horae):
        job = await horae.aio.jobs.start(waits, other=never.id)
        assert await horae.aio.jobs.wait(job.id, timeout="20s") == "told"


async def test_results_come_back_as_they_are_annotated(horae: Horae) -> None:
    @horae.job
    def report() -> Report:
        return Report(day=date(2026, 1, 2), total=Decimal("12.50"))

    @horae.job
    async def points() -> list[Point]:
        return [Point(1, 2), Point(3, 4)]

    @horae.job
    def pair() -> tuple[int, date]:
        return 1, date(2026, 1, 2)

    @horae.job
    def unannotated():  # type: ignore[no-untyped-def]  # noqa: ANN202 - as many people write
        return {"a": [1, None]}

    @horae.job
    def nothing() -> None: ...

    horae.register(Summing)
    expected: dict[Any, Any] = {
        report: Report(day=date(2026, 1, 2), total=Decimal("12.50")),
        points: [Point(1, 2), Point(3, 4)],
        pair: (1, date(2026, 1, 2)),
        unannotated: {"a": [1, None]},
        nothing: None,
        Summing: {"sum": Decimal("0.10")},
    }
    async with running_node(horae):
        for job_type, result in expected.items():
            job = await horae.aio.jobs.start(job_type)
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == result


async def test_a_failure_is_raised_with_both_its_texts(horae: Horae) -> None:
    @horae.job(exceptions_map={ZeroDivisionError: "Nothing can be shared among nobody: {e}."})
    def share(among: int) -> float:
        return 1 / among

    async with running_node(horae):
        job = await horae.aio.jobs.start(share, among=0)
        with pytest.raises(JobFailed) as caught:
            await horae.aio.jobs.wait(job.id, timeout="20s")
    assert caught.value.error == "ZeroDivisionError: division by zero"
    assert caught.value.__notes__ == [caught.value.error]
    assert str(caught.value) == "Nothing can be shared among nobody: division by zero."
    [attempt] = horae.jobs.attempts(job.id)
    assert attempt.traceback is not None
    assert "return 1 / among" in attempt.traceback


def knot() -> list[Any]:
    tied: list[Any] = []
    tied.append(tied)
    return tied


STRANGE: Final[dict[str, Callable[[], Any]]] = {
    "bytes that are no text": lambda: b"\xff",
    "an object": object,
    "a number that JSON does not have": lambda: {"loss": [math.nan]},
    "an iterator without end": itertools.count,
    "a list in itself": knot,
    "a longer text than it may have": lambda: "x" * (1024 * 1024 - 1),
    "a NUL": lambda: "a\x00b",
    "half a character": lambda: "\ud800",
    "a number that is too long to be read": lambda: 10**5000,
    "a number that is too long to be stored": lambda: 10**140_000,
}


@pytest.mark.parametrize("kind", STRANGE)
async def test_a_result_that_cannot_be_stored_fails_only_its_job(horae: Horae, kind: str) -> None:
    @horae.job
    def produce() -> Any:
        return STRANGE[kind]()

    @horae.job
    def fine() -> int:
        return 1

    async with running_node(horae):
        bad, good = await horae.aio.jobs.start(produce), await horae.aio.jobs.start(fine)
        assert await horae.aio.jobs.wait(good.id, timeout="20s") == 1
        with pytest.raises(JobFailed):
            await horae.aio.jobs.wait(bad.id, timeout="20s")
        assert len((await horae.aio.jobs.list()).jobs) == 2


@pytest.mark.parametrize(
    "text", ["a\x00b", "\ud800", "x" * 1_000_000], ids=["NUL", "surrogate", "huge"]
)
async def test_an_error_with_any_text_fails_its_job(horae: Horae, text: str) -> None:
    @horae.job
    def fail() -> None:
        raise RuntimeError(text)

    async with running_node(horae):
        job = await horae.aio.jobs.start(fail)
        with pytest.raises(JobFailed):
            await horae.aio.jobs.wait(job.id, timeout="20s")
    error = (await horae.aio.jobs.get(job.id)).error or ""
    assert error.startswith("RuntimeError: ")
    assert len(error) <= 20_000


def test_the_synchronous_client_waits_too(horae: Horae) -> None:
    @horae.job
    def double(number: int) -> int:
        return 2 * number

    job = horae.jobs.start(double, number=21, sync=True)
    assert horae.jobs.wait(job.id, timeout="20s") == 42


def test_a_cancelled_job_has_no_result(horae: Horae) -> None:
    @horae.job
    def never() -> None: ...

    job = horae.jobs.start(never)
    horae.jobs.cancel(job.id)
    with pytest.raises(JobWasCancelled):
        horae.jobs.wait(job.id)


async def test_a_wait_times_out_and_the_job_continues(horae: Horae) -> None:
    @horae.job
    def never() -> None: ...

    job = horae.jobs.start(never)
    for timeout in ("0s", "50ms", timedelta(0)):
        with pytest.raises(WaitTimeout):
            horae.jobs.wait(job.id, timeout=timeout)
        with pytest.raises(TimeoutError):
            await horae.aio.jobs.wait(job.id, timeout=timeout)
    assert horae.jobs.get(job.id).state == "pending"


async def test_a_user_who_may_not_see_a_job_cannot_wait_for_it(horae: Horae) -> None:
    @horae.job
    def never() -> None: ...

    job = horae.jobs.start(never, owner="alice")
    with pytest.raises(JobDoesNotExist):
        horae.jobs.wait(job.id, owner="bob", timeout="1s")
    with pytest.raises(JobDoesNotExist):
        await horae.aio.jobs.wait(job.id, owner="bob", timeout="1s")


async def test_a_job_that_is_deleted_meanwhile_ends_the_wait(horae: Horae) -> None:
    @horae.job
    def never() -> None: ...

    job = horae.jobs.start(never)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_outcome(horae, job.id))
        execute(horae, "DELETE FROM horae_jobs")
    assert waiting.result() is JobDoesNotExist


async def _outcome(horae: Horae, job_id: int) -> type[Exception] | None:
    try:
        await horae.aio.jobs.wait(job_id, timeout="20s")
    except Exception as error:  # noqa: BLE001 - which it is, is the question
        return type(error)
    return None


async def test_waiting_is_not_polling(horae: Horae) -> None:
    """Two seconds of waiting are a handful of looks, ever further apart; a hint ends them."""

    @horae.job
    def never() -> None: ...

    job = horae.jobs.start(never)
    claim_as_another_node(horae)
    with counted_statements(horae) as statements, pytest.raises(WaitTimeout):
        await horae.aio.jobs.wait(job.id, timeout="2s")
    figure(f"statements in 2 s of waiting: {len(statements)}")
    assert len(statements) <= 10
