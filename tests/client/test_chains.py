"""Jobs one after another, and results that are passed on to the jobs after."""

from datetime import date
from typing import Any, Final

import pytest
from pydantic import BaseModel

from horae import (
    Horae,
    InvalidJobType,
    InvalidRequest,
    Job,
    JobContext,
    JobFailed,
    JobState,
    JobType,
    Previous,
    Results,
    StartOptions,
)
from horae.storage.jobs import groups
from tests.harness.nodes import running_node

SOON: Final = "20s"


class Size(BaseModel):
    width: int
    day: date


@pytest.fixture
def jobs(horae: Horae) -> Any:
    @horae.job()
    def measure(width: int) -> Size:
        if width < 0:
            raise ValueError(width)
        return Size(width=width, day=date(2026, 1, 2))

    @horae.job()
    def double(job: JobContext, size: Previous[Size], by: int = 2) -> Size:
        return Size(width=size.width * by, day=size.day)

    @horae.job()
    async def total(sizes: Results[Size]) -> int:
        return sum(size.width for size in sizes)

    @horae.job()
    def either(size: Previous[Size | None] = None) -> int:
        return 0 if size is None else size.width

    @horae.job()
    def text(found: Previous[str]) -> str:
        return found

    return horae.jobs


async def results(horae: Horae, chain: list[Job[Any]]) -> list[Any]:
    return [await horae.aio.jobs.wait(job, timeout=SOON) for job in chain]


async def test_a_chain(horae: Horae, jobs: Any) -> None:
    chain = jobs.chain(
        [
            ("measure", {"width": 3}),
            "double",
            ("double", {"by": 5}, StartOptions(priority=7)),
            ("either", {}),
        ],
        owner="alice",
    )
    assert [job.owner for job in chain] == ["alice"] * 4
    assert [job.waits_for for job in chain] == [None, "jobs", "jobs", "jobs"]
    async with running_node(horae):
        found = await results(horae, chain)
    assert [each if isinstance(each, int) else each.width for each in found] == [3, 6, 30, 30]
    assert found[2].day == date(2026, 1, 2)


async def test_results_of_several(horae: Horae, jobs: Any) -> None:
    """By `after` and as `then`; those that did not finish are left out."""
    measured = [jobs.start("measure", width=width) for width in (1, 2, -1)]
    after = jobs.start("total", after=measured, on_dependency_failure="run")
    group = jobs.start_group([("measure", {"width": width}) for width in range(5)], then="total")
    empty = jobs.start_group([], then="total")
    async with running_node(horae):
        assert await horae.aio.jobs.wait(after, timeout=SOON) == 3
        assert await horae.aio.jobs.wait(group.then_id, timeout=SOON) == 10
        assert await horae.aio.jobs.wait(empty.then_id, timeout=SOON) == 0


async def test_what_fails(horae: Horae, jobs: Any) -> None:
    wrong = jobs.chain([("measure", {"width": 3}), "text", "text"])
    failing = jobs.chain([("measure", {"width": -1}), "double"])
    many = jobs.start(
        "double", after=[jobs.start("measure", width=1), jobs.start("measure", width=2)]
    )
    async with running_node(horae):
        for job in (wrong[1], many, failing[0]):
            with pytest.raises(JobFailed):
                await horae.aio.jobs.wait(job, timeout=SOON)
        repeated = horae.jobs.retry(wrong[1].id)  # it gets the same result
        with pytest.raises(JobFailed):
            await horae.aio.jobs.wait(repeated, timeout=SOON)
    for job_id in (wrong[1].id, repeated.id):
        assert "(measure) is not what the body takes" in (horae.jobs.get(job_id).error or "")
    assert "declare the argument as Results" in (horae.jobs.get(many.id).error or "")
    states = [horae.jobs.get(job.id).state for job in (wrong[2], failing[1])]
    assert states == [JobState.CANCELLED, JobState.CANCELLED]


def test_nothing_or_all(horae: Horae, jobs: Any) -> None:
    for links, problem in (
        ([], "the chain has no job"),
        (["double"], "takes the results of other jobs"),
        ([("measure", {"width": "x"})], "width"),
        ([("measure", {"width": 1}), ("double", {"by": "x"})], "by"),
        ("measure", "the chain is a str"),
        ([("measure", {"width": 1}, StartOptions(unique_key="a"))], "unique_key is not supported"),
    ):
        with pytest.raises(InvalidRequest, match=problem):
            jobs.chain(links)
    with pytest.raises(InvalidRequest, match="takes the results of other jobs"):
        jobs.start("total")
    assert jobs.count() == {}
    with horae.components.database.engine.connect() as connection:
        created = jobs.chain([("measure", {"width": 1}), "double"], session=connection)
        assert len(created) == 2
        connection.rollback()
    assert jobs.count() == {}


async def test_alone_with_a_default(horae: Horae, jobs: Any) -> None:
    async with running_node(horae):
        assert await horae.aio.jobs.wait(jobs.start("either"), timeout=SOON) == 0
        chain = await horae.aio.jobs.chain([("measure", {"width": 4}), "either"])
        assert await horae.aio.jobs.wait(chain[-1], timeout=SOON) == 4


async def test_a_class(horae: Horae, jobs: Any) -> None:
    @horae.register
    class Add(JobType[Any]):
        type = "add"
        previous = Results[Size]

        def run(self, job: JobContext[Any]) -> int:
            return sum(size.width for size in job.previous)

    chain = jobs.chain([("measure", {"width": 4}), "add"])
    async with running_node(horae):
        assert await horae.aio.jobs.wait(chain[1], timeout=SOON) == 4


def test_too_much_is_refused(horae: Horae, jobs: Any) -> None:
    first = jobs.start("measure", width=1)
    second = jobs.start("measure", width=2)
    after = jobs.start("total", after=[first, second])
    for bounds in ({"most": 1, "most_bytes": 1000}, {"most": 10, "most_bytes": 0}):
        with horae.components.database.engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE horae_jobs SET result = '12' WHERE id = {first.id}")
            with pytest.raises(groups.TooMuchError):
                groups.results_before(connection, after.id, **bounds)


@pytest.mark.one_database
def test_wrong_declarations(horae: Horae) -> None:
    with pytest.raises(InvalidJobType, match="both take results"):

        @horae.job()
        def two(one: Previous[int], other: Results[int]) -> None: ...

    with pytest.raises(InvalidJobType, match=r"expected Previous\[…\]"):

        @horae.register
        class Odd(JobType[Any]):
            type = "odd"
            previous = int

            def run(self, job: JobContext[Any]) -> None: ...

    @horae.job(name="called")
    def called(size: Previous[int]) -> int:
        return size

    assert called(3) == 3
