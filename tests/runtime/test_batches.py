"""Bodies that take several jobs at once: how jobs gather, and how each ends on its own."""

import asyncio
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import override

from horae import (
    Backoff,
    Discard,
    DuplicateJob,
    Horae,
    InvalidJobType,
    JobContext,
    JobFailed,
    JobState,
    JobType,
    Limit,
    Retry,
    SoftTimeLimitExceeded,
    Unique,
)
from tests.api.clients import application_of, client_of
from tests.harness.applications import attempts_of, counted_statements
from tests.harness.nodes import running_node, until_released, until_set, until_state
from tests.harness.waiting import Record


class Page(BaseModel):
    url: str
    bad: bool = False


class Unreadable(Sequence[int]):
    """Outcomes that are loaded when they are read, which fails."""

    @override
    def __len__(self) -> int:
        return 2

    @override
    def __getitem__(self, index: Any) -> Any:
        raise OSError("no connection")


async def start(horae: Horae, job_type: Any, count: int, **options: Any) -> list[int]:
    pages = [{"url": f"/{number}"} for number in range(count)]
    return list(await horae.aio.jobs.start_many(job_type, pages, **options))


class TestGathering:
    async def test_waiting_jobs_are_taken_together(self, horae: Horae) -> None:
        """By a node with fewer slots than a batch has jobs, in their order, and by few statements."""
        calls = Record[list[str]]()

        @horae.job(batch=20)
        def index(jobs: list[JobContext[Page]]) -> list[int]:
            calls.append([job.params.url for job in jobs])
            return [len(job.params.url) for job in jobs]

        ids = await start(horae, index, 50)
        with counted_statements(horae) as statements:
            async with running_node(horae, concurrency=1):
                results = [await horae.aio.jobs.wait(job_id, timeout="20s") for job_id in ids]
        assert [len(call) for call in calls] == [20, 20, 10]
        assert [url for call in calls for url in call] == [f"/{number}" for number in range(50)]
        assert results == [2] * 10 + [3] * 40
        claims = [each for each in statements if "SKIP LOCKED" in each or "RETURNING" in each]
        assert len(claims) < 30
        assert attempts_of(horae, ids[0]) == ["finished"]

    async def test_a_coroutine(self, horae: Horae) -> None:
        @horae.job(batch=10)
        async def index(jobs: list[JobContext[Page]]) -> dict[int, str]:
            await asyncio.sleep(0)
            return {job.id: job.params.url for job in jobs[1:]}

        ids = await start(horae, index, 3)
        async with running_node(horae):
            results = [await horae.aio.jobs.wait(job_id, timeout="20s") for job_id in ids]
        assert results == [None, "/1", "/2"]

    async def test_the_first_jobs_wait_for_others(self, horae: Horae) -> None:
        """Until there are enough of them, without a slot."""
        calls = Record[int]()

        @horae.job(batch=3, within="60s")
        def index(jobs: list[JobContext[Page]]) -> None:
            calls.append(len(jobs))

        @horae.job
        def other() -> None: ...

        async with running_node(horae, concurrency=1):
            [first] = await start(horae, index, 1)
            await until_state(horae, first, "started")
            await horae.aio.jobs.wait(await horae.aio.jobs.start(other), timeout="20s")
            assert calls == []
            ids = [first, *await start(horae, index, 2)]
            for job_id in ids:
                await horae.aio.jobs.wait(job_id, timeout="20s")
        assert calls == [3]

    async def test_they_do_not_wait_for_longer_than_told(self, horae: Horae) -> None:
        begun_at = Record[float]()

        @horae.job(batch=100, within="200ms")
        def index(jobs: list[JobContext[Page]]) -> None:
            begun_at.append(time.monotonic())

        async with running_node(horae):
            [job_id] = await start(horae, index, 1)
            claimed_at = time.monotonic()
            await until_state(horae, job_id, "finished")
        assert 0.1 < begun_at[0] - claimed_at < 1.0

    async def test_a_batch_is_of_one_queue(self, horae: Horae) -> None:
        calls = Record[list[str]]()

        @horae.job(batch=10)
        def index(jobs: list[JobContext[Page]]) -> None:
            calls.append([job.params.url for job in jobs])

        for number, queue in enumerate(["a", "b", "a", "b"]):
            await horae.aio.jobs.start(index, url=f"/{number}", queue=queue)
        async with running_node(horae):
            await calls.reaches(2)
        assert sorted(calls) == [["/0", "/2"], ["/1", "/3"]]

    async def test_limits_hold_for_each_job(self, horae: Horae) -> None:
        sizes = Record[int]()

        @horae.job(batch=10, limits=[Limit(concurrency=2, key="{url}")])
        def by_key(jobs: list[JobContext[Page]]) -> None:
            sizes.append(len(jobs))

        @horae.job(batch=10, queue="narrow")
        def of_queue(jobs: list[JobContext[Page]]) -> None:
            sizes.append(-len(jobs))

        horae.queues.limit("narrow", 3)
        same = await horae.aio.jobs.start_many(by_key, [{"url": "/same"}] * 4)
        ids = [*same, *await start(horae, of_queue, 7)]
        async with running_node(horae):
            for job_id in ids:
                await horae.aio.jobs.wait(job_id, timeout="20s")
        assert sum(size for size in sizes if size > 0) == 4
        assert sum(size for size in sizes if size < 0) == -7
        assert max(sizes) <= 2
        assert min(sizes) >= -3

    async def test_what_gathers_is_handed_back(self, horae: Horae) -> None:
        """When the node stops, and when the job is cancelled; no attempt counts."""

        @horae.job(batch=3, within="60s")
        def index(jobs: list[JobContext[Page]]) -> None: ...

        async with running_node(horae):
            first, second = await start(horae, index, 2)
            await until_state(horae, second, "started")
            await horae.aio.jobs.cancel(first)
            await until_released(horae, first)
        kept = await horae.aio.jobs.get(second)
        assert (kept.state, kept.attempt) == (JobState.PENDING, 0)
        assert attempts_of(horae, first) == attempts_of(horae, second) == []


class TestEnds:
    async def test_each_job_has_its_own(self, horae: Horae) -> None:
        @horae.job(batch=10, max_attempts=2, backoff=Backoff(base="10m"))
        def index(jobs: list[JobContext[Page]]) -> list[object]:
            jobs[5].progress.set(40, "half")
            return [
                "done",
                ValueError("no such page"),
                Retry(after="1h", reason="later"),
                object(),
                None,
                Discard("gone"),
            ]

        ids = await start(horae, index, 6)
        async with running_node(horae):
            done = await until_state(horae, ids[0], "finished")
            failed = await until_state(horae, ids[1], "pending")
        assert done.result == "done"
        assert failed.retry_reason is not None
        assert attempts_of(horae, ids[1]) == ["failed"]
        again, unstorable, nothing, discarded = [horae.jobs.get(job_id) for job_id in ids[2:]]
        assert again.retry_reason == "later"
        assert timedelta(minutes=55) < again.run_at - again.updated_at < timedelta(minutes=65)
        assert (unstorable.state, nothing.state) == (JobState.PENDING, JobState.FINISHED)
        assert (discarded.state, discarded.progress_percentage) == (JobState.FAILED, 40)
        [attempt] = horae.jobs.attempts(unstorable.id)
        assert "cannot be stored" in str(attempt.error)

    async def test_what_the_body_raises_ends_all(self, horae: Horae) -> None:
        @horae.job(batch=10)
        def index(jobs: list[JobContext[Page]]) -> None:
            raise OSError("no connection")

        ids = await start(horae, index, 3)
        async with running_node(horae):
            for job_id in ids:
                with pytest.raises(JobFailed):
                    await horae.aio.jobs.wait(job_id, timeout="20s")
                assert horae.jobs.get(job_id).error == "OSError: no connection"

    @pytest.mark.parametrize(
        ("returned", "text"),
        [
            ([1], "returned 1 outcomes for 2 jobs"),
            ({-5: 1}, "returned an outcome for -5"),
            ("ok", "returned str, expected a list"),
            (Unreadable(), "OSError: no connection"),
        ],
    )
    async def test_a_body_that_returns_something_else(
        self, horae: Horae, returned: Any, text: str
    ) -> None:
        @horae.job(batch=10)
        def index(jobs: list[JobContext[Page]]) -> Any:
            return returned

        ids = await start(horae, index, 2)
        async with running_node(horae):
            for job_id in ids:
                failed = await until_state(horae, job_id, "failed")
                assert text in str(failed.error)

    async def test_a_job_that_cannot_begin_ends_alone(self, horae: Horae) -> None:
        """Here the parameters of one no longer fit, and what surrounds another one raises."""
        calls = Record[list[str]]()
        surrounded = Record[tuple[str, str]]()

        @horae.job(batch=10)
        def index(jobs: list[JobContext[Page]]) -> None:
            calls.append([job.params.url for job in jobs])

        @horae.around
        @contextmanager
        def enter(job: JobContext[Page]) -> Generator[None]:
            if job.params.url == "/2":
                raise PermissionError("not this one")
            yield
            surrounded.append((job.params.url, str(job.ended and job.ended.outcome)))

        ids = await start(horae, index, 4)
        with horae.components.database.engine.begin() as connection:
            connection.exec_driver_sql(
                f"UPDATE horae_jobs SET params = '{{\"url\": 1}}' WHERE id = {ids[1]}"
            )
        async with running_node(horae):
            states = [(await until_state(horae, each, "finished", "failed")).state for each in ids]
        assert calls == [["/0", "/3"]]
        assert states == ["finished", "failed", "failed", "finished"]
        assert surrounded == [("/3", "finished"), ("/0", "finished")]
        assert "not this one" in str(horae.jobs.get(ids[2]).error)

    async def test_the_body_has_one_slot(self, horae: Horae) -> None:
        """It is free again when the body has returned."""

        @horae.job(batch=5)
        def index(jobs: list[JobContext[Page]]) -> None: ...

        async with running_node(horae, concurrency=1):
            for _ in range(3):
                for job_id in await start(horae, index, 5):
                    await horae.aio.jobs.wait(job_id, timeout="20s")


class TestOrders:
    async def test_a_cancel_of_one_does_not_stop_the_others(self, horae: Horae) -> None:
        begun, seen = threading.Event(), threading.Event()

        @horae.job(batch=10)
        def index(jobs: list[JobContext[Page]]) -> list[str]:
            begun.set()
            while not jobs[0].stopping:
                time.sleep(0.01)
            for job in jobs:  # neither raises
                job.check()
                job.progress.set(50)
            seen.set()
            return ["late"] * len(jobs)

        ids = await start(horae, index, 2)
        async with running_node(horae):
            await until_set(begun)
            await horae.aio.jobs.cancel(ids[0])
            await until_set(seen)
            other = await until_state(horae, ids[1], "finished")
            cancelled = await until_released(horae, ids[0])
        assert other.result == "late"
        assert (cancelled.state, cancelled.result) == (JobState.CANCELLED, None)
        assert attempts_of(horae, ids[0]) == ["cancelled"]

    @pytest.mark.parametrize("kind", ["function", "coroutine"])
    async def test_the_body_is_stopped_when_all_are_to_stop(self, horae: Horae, kind: str) -> None:
        begun, stopped = threading.Event(), threading.Event()

        def wait(jobs: list[JobContext[Page]]) -> None:
            begun.set()
            try:
                while True:
                    jobs[0].check()
                    time.sleep(0.01)
            finally:
                stopped.set()

        async def wait_async(jobs: list[JobContext[Page]]) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

        job_type = horae.job(batch=10, name="wait")(wait if kind == "function" else wait_async)
        ids = await start(horae, job_type, 2)
        async with running_node(horae):
            await until_set(begun)
            for job_id in ids:
                assert not stopped.is_set()
                await horae.aio.jobs.cancel(job_id)
            await until_set(stopped)
            for job_id in ids:
                await until_released(horae, job_id)
                assert attempts_of(horae, job_id) == ["cancelled"]

    async def test_the_soft_limit_is_raised_once(self, horae: Horae) -> None:
        raised = Record[int]()

        @horae.job(batch=10, soft_time_limit="300ms")
        def index(jobs: list[JobContext[Page]]) -> list[str]:
            for _ in range(1000):
                for number, job in enumerate(jobs):
                    try:
                        job.check()
                    except SoftTimeLimitExceeded:
                        raised.append(number)
                        for each in jobs:
                            each.check()
                        return ["partial"] * len(jobs)
                time.sleep(0.01)
            raise AssertionError

        ids = await start(horae, index, 3)
        async with running_node(horae):
            for job_id in ids:
                assert await horae.aio.jobs.wait(job_id, timeout="20s") == "partial"
        assert len(raised) == 1

    async def test_a_stop_of_the_node_interrupts_each(self, horae: Horae) -> None:
        begun = threading.Event()

        @horae.job(batch=10, on_shutdown="requeue")
        async def index(jobs: list[JobContext[Page]]) -> None:
            begun.set()
            await asyncio.Event().wait()

        ids = await start(horae, index, 2)
        async with running_node(horae, grace=timedelta(0)):
            await until_set(begun)
        for job_id in ids:
            assert horae.jobs.get(job_id).state is JobState.PENDING
            assert attempts_of(horae, job_id) == ["interrupted"]

    async def test_a_body_that_ignores_the_stop_gives_its_slot_back_once(
        self, horae: Horae
    ) -> None:
        begun, release = threading.Event(), threading.Event()

        @horae.job(batch=10, on_shutdown="requeue")
        def index(jobs: list[JobContext[Page]]) -> None:
            begun.set()
            release.wait(20)

        ids = await start(horae, index, 3)
        async with running_node(horae, grace=timedelta(0), concurrency=2) as node:
            await until_set(begun)
        release.set()
        assert vars(node)["_slots"].free == 2
        assert {horae.jobs.get(job_id).state for job_id in ids} == {JobState.PENDING}


class TestElsewhere:
    def test_inline_it_is_a_batch_of_one(self, horae: Horae) -> None:
        @horae.job(batch=10)
        def index(jobs: list[JobContext[Page]]) -> list[str]:
            return [job.params.url for job in jobs]

        @horae.job(batch=10)
        async def index_async(jobs: list[JobContext[Page]]) -> list[str]:
            return [job.params.url for job in jobs]

        for job_type in (index, index_async):
            job = horae.jobs.start(job_type, url="/a", sync=True)
            assert (job.state, job.result) == (JobState.FINISHED, "/a")

    async def test_a_class(self, horae: Horae) -> None:
        @horae.register
        class Index(JobType[Page]):
            type = "index"
            params = Page
            batch = 10
            within = "10ms"

            @override
            def run_batch(self, jobs: Sequence[JobContext[Page]]) -> list[str]:
                return [job.params.url for job in jobs]

        ids = await start(horae, Index, 2)
        async with running_node(horae):
            assert [await horae.aio.jobs.wait(each, timeout="20s") for each in ids] == ["/0", "/1"]

    async def test_jobs_of_each_origin_are_taken_together(self, horae: Horae) -> None:
        """Started over HTTP, by a schedule, and in Python; a key still allows one of them at a time."""
        calls = Record[list[str]]()

        @horae.job(batch=10, public=True, max_count=None, unique=Unique(by=("url",)))
        def index(jobs: list[JobContext[Page]]) -> None:
            calls.append(sorted(job.params.url for job in jobs))

        async with client_of(application_of(horae), "alice") as client:
            answers = [
                await client.post("/api/jobs/types/index/", json=body)
                for body in ({"url": "/http"}, {"address": "/http"})
            ]
        assert [answer.status_code for answer in answers] == [202, 400]
        schedule = horae.schedules.add(index, config={"url": "/schedule"}, every="1h")
        run = horae.schedules.run_now(schedule.id)
        job = await horae.aio.jobs.start(index, url="/python")
        with pytest.raises(DuplicateJob):
            await horae.aio.jobs.start(index, url="/python")
        async with running_node(horae, scheduler=False):
            for job_id in (run, job.id):
                await horae.aio.jobs.wait(job_id, timeout="20s")
        assert calls == [["/http", "/python", "/schedule"]]
        assert horae.schedules.get(schedule.id).statistics.total_successes == 1

    def test_results_have_the_type_of_one(self, horae: Horae) -> None:
        @horae.job(batch=10)
        def index(jobs: list[JobContext[Page]]) -> list[timedelta | ValueError]:
            return [timedelta(seconds=1) for _ in jobs]

        job = horae.jobs.start(index, url="/a", sync=True)
        assert horae.jobs.wait(job) == timedelta(seconds=1)


@pytest.mark.one_database
class TestDeclarations:
    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"batch": 0}, "from 1 to 1000"),
            ({"batch": True}, "from 1 to 1000"),
            ({"batch": 2, "within": "2m"}, "0 to 60 seconds"),
            ({"within": "2s"}, "within is for a type with batch="),
            ({"batch": 2, "isolation": "process"}, "one job at a time"),
            ({"batch": 2, "backend": "celery"}, "one job at a time"),
            ({"batch": 2, "transaction": "read committed"}, "no transaction="),
        ],
    )
    def test_options_that_cannot_work(
        self, horae: Horae, options: dict[str, Any], text: str
    ) -> None:
        def index(jobs: list[JobContext[Page]]) -> None: ...

        def single() -> None: ...

        with pytest.raises(InvalidJobType, match=text):
            horae.job(**options)(index if options.get("batch") is not None else single)

    def test_arguments_that_cannot_be_given(self, horae: Horae) -> None:
        def of_parameters(url: str) -> None: ...

        def with_more(jobs: list[JobContext[Page]], url: str) -> None: ...

        def of_text(jobs: list[JobContext[str]]) -> None: ...

        for function in (of_parameters, with_more):
            with pytest.raises(InvalidJobType, match="takes one argument"):
                horae.job(batch=2)(function)
        with pytest.raises(InvalidJobType, match="expected a Pydantic model"):
            horae.job(batch=2)(of_text)

    def test_a_class_has_the_body_that_its_batch_needs(self, horae: Horae) -> None:
        class WithoutBatch(JobType[Page]):
            type = "without"

            @override
            def run(self, job: JobContext[Page]) -> None: ...
            @override
            def run_batch(self, jobs: Sequence[JobContext[Page]]) -> None: ...

        class WithoutBody(JobType[Page]):
            type = "body"
            batch = 3

            @override
            def run(self, job: JobContext[Page]) -> None: ...

        with pytest.raises(InvalidJobType, match="set batch"):
            horae.register(WithoutBatch)
        with pytest.raises(InvalidJobType, match="no run_batch method"):
            horae.register(WithoutBody)
