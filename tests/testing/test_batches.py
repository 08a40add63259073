"""`testing` calls the body of a batch with the jobs that are due, and each of them ends on its own."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from pydantic import BaseModel

from horae import Backoff, Horae, JobContext, JobFailed, JobState
from horae.storage.engine.database import Database
from horae.testing import testing
from tests.harness.applications import url_of


class Page(BaseModel):
    url: str


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with closing(Horae(url_of(database))) as horae:
        yield horae


def test_due_jobs_are_taken_together(horae: Horae) -> None:
    calls: list[list[str]] = []

    @horae.job(batch=3, within="60s", max_attempts=2, backoff=Backoff(base="10m", jitter=0))
    def index(jobs: list[JobContext[Page]]) -> list[object]:
        calls.append([job.params.url for job in jobs])
        first = ValueError("not yet") if jobs[0].attempt == 1 else "done"
        return [first, *(job.params.url for job in jobs[1:])]

    with testing(horae) as t:
        ids = [index.start(url=f"/{number}").id for number in range(4)]
        index.with_options(queue="other").start(url="/other")
        t.drain()
        assert calls == [["/0", "/1", "/2"], ["/3"], ["/other"]]
        assert [horae.jobs.get(each).state for each in ids[:3]] == ["pending", *["finished"] * 2]
        t.run_due(until="10m")
        assert calls[3:] == [["/0", "/3"], ["/other"]]
        assert [horae.jobs.get(each).result for each in ids] == ["done", "/1", "/2", "/3"]


def test_the_failure_of_one_is_raised(horae: Horae) -> None:
    @horae.job(batch=3)
    async def index(jobs: list[JobContext[Page]]) -> list[Exception | None]:
        return [LookupError("no page"), None]

    with testing(horae) as t:
        first, second = (index.start(url="/a"), index.start(url="/b"))
        with pytest.raises(JobFailed) as failed:
            t.drain()
        assert isinstance(failed.value.__cause__, LookupError)
        assert failed.value.job_id == first.id
        assert horae.jobs.get(second.id).state is JobState.FINISHED


def test_eager_jobs_are_batches_of_one(horae: Horae) -> None:
    sizes: list[int] = []

    @horae.job(batch=3)
    def index(jobs: list[JobContext[Page]]) -> None:
        sizes.append(len(jobs))

    with testing(horae, eager=True):
        index.start(url="/a")
        index.start(url="/b")
    assert sizes == [1, 1]
