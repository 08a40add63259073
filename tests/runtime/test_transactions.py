"""A body in a transaction: its effects and its end are one commit, or none."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from horae import Backoff, Horae, InvalidRequest, JobContext, JobState, JobType
from horae.storage.engine.database import Database
from tests.harness.applications import attempt_of, attempts_of, execute, own_engine, rows
from tests.harness.nodes import running_node, until, until_released, until_set, until_state
from tests.harness.waiting import until_acquired

INSERT = text("INSERT INTO effects VALUES (:job)")
AT_ONCE = Backoff(base=timedelta(0), jitter=0)
ISOLATIONS = ["read committed", "repeatable read", "serializable"]


pytestmark = pytest.mark.tables("CREATE TABLE effects (job BIGINT NOT NULL)")


def effects(horae: Horae) -> list[int]:
    return [job for (job,) in rows(horae, "SELECT job FROM effects ORDER BY job")]


class Steps:
    """Where a body stands, and leave for it to go on."""

    def __init__(self) -> None:
        self.written, self.release = threading.Event(), threading.Event()
        self.job: JobContext | None = None

    @property
    def told(self) -> bool:
        """Whether the body has an order that it finds at its next check."""
        return self.job is not None and attempt_of(self.job).order is not None

    def begin_anew(self) -> None:
        """Be as new, for the next body."""
        self.written.clear()
        self.release.clear()
        self.job = None

    def wait(self, job: JobContext) -> None:
        self.job = job
        self.written.set()
        self.release.wait(20)

    async def wait_async(self, job: JobContext) -> None:
        self.job = job
        self.written.set()
        while not self.release.is_set():  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(0.01)


def declare(horae: Horae, steps: Steps, isolation: Any = "read committed", **options: Any) -> None:
    """The same body in its four forms; `fail` says whether it raises in the end."""

    @horae.job(transaction=isolation, max_count=None, **options)
    def connection(job: JobContext, *, fail: bool = False) -> str:
        job.connection.execute(INSERT, {"job": job.id})
        steps.wait(job)
        return over(job, fail)

    @horae.job(transaction=isolation, max_count=None, **options)
    def session(job: JobContext, *, fail: bool = False) -> str:
        job.session.execute(INSERT, {"job": job.id})
        job.session.commit()  # which only flushes
        steps.wait(job)
        return over(job, fail)

    @horae.job(transaction=isolation, max_count=None, **options)
    async def async_connection(job: JobContext, *, fail: bool = False) -> str:
        await job.async_connection.execute(INSERT, {"job": job.id})
        await steps.wait_async(job)
        return over(job, fail)

    @horae.job(transaction=isolation, max_count=None, **options)
    async def async_session(job: JobContext, *, fail: bool = False) -> str:
        await job.async_session.execute(INSERT, {"job": job.id})
        await job.async_session.commit()
        await steps.wait_async(job)
        return over(job, fail)


def declare_twins(horae: Horae, steps: Steps, *, early: bool) -> None:
    """Bodies that stall, before their effect or after it, and then go on without looking."""

    @horae.job(transaction="read committed")
    def connection(job: JobContext) -> str:
        for step in stalling(
            early, lambda: steps.wait(job), lambda: job.connection.execute(INSERT, {"job": job.id})
        ):
            step()
        return "late"

    @horae.job(transaction="read committed")
    def session(job: JobContext) -> str:
        for step in stalling(
            early, lambda: steps.wait(job), lambda: job.session.execute(INSERT, {"job": job.id})
        ):
            step()
        return "late"

    @horae.job(transaction="read committed")
    async def async_connection(job: JobContext) -> str:
        for step in stalling(
            early,
            lambda: steps.wait_async(job),
            lambda: job.async_connection.execute(INSERT, {"job": job.id}),
        ):
            await step()
        return "late"

    @horae.job(transaction="read committed")
    async def async_session(job: JobContext) -> str:
        for step in stalling(
            early,
            lambda: steps.wait_async(job),
            lambda: job.async_session.execute(INSERT, {"job": job.id}),
        ):
            await step()
        return "late"


def stalling(early: bool, wait: Any, write: Any) -> list[Any]:
    return [wait, write] if early else [write, wait]


def over(job: JobContext, fail: bool) -> str:
    job.check()
    if fail:
        raise ValueError("no")
    return "done"


FORMS = ["connection", "session", "async_connection", "async_session"]


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_effects_and_end_become_visible_together(horae: Horae) -> None:
    steps, done = Steps(), list[int]()
    declare(horae, steps)
    async with running_node(horae):
        for form in FORMS:
            steps.begin_anew()
            job = await horae.aio.jobs.start(form)
            await until_set(steps.written)
            assert effects(horae) == done, form
            assert (await horae.aio.jobs.get(job.id)).state is JobState.STARTED
            steps.release.set()
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == "done"
            done.append(job.id)
            assert effects(horae) == done, form
    for job_id in done:
        assert attempts_of(horae, job_id) == ["finished"]
        assert not horae.jobs.get(job_id).occupied


async def test_a_failure_rolls_the_effects_back(horae: Horae) -> None:
    steps = Steps()
    steps.release.set()
    declare(horae, steps, max_attempts=2, backoff=AT_ONCE)
    async with running_node(horae):
        jobs = [await horae.aio.jobs.start(form, fail=True) for form in FORMS]
        for job in jobs:
            await until_state(horae, job.id, "failed")
    assert effects(horae) == []
    assert [attempts_of(horae, job.id) for job in jobs] == [["failed", "failed"]] * len(FORMS)


def is_told(steps: Steps, cancelling: asyncio.Future[Any]) -> bool:
    return steps.told or cancelling.done()


async def test_a_cancel_rolls_the_effects_back(horae: Horae) -> None:
    steps = Steps()
    declare(horae, steps)
    async with running_node(horae):
        for form in FORMS:
            steps.begin_anew()
            job = await horae.aio.jobs.start(form)
            await until_set(steps.written)
            # On SQLite the caller waits until the body has rolled back.
            cancelling = asyncio.ensure_future(horae.aio.jobs.cancel(job.id, by="bob"))
            await until(partial(is_told, steps, cancelling))
            steps.release.set()
            assert (await cancelling).state is JobState.CANCELLED
            ended = await until_released(horae, job.id)
            found = (ended.state, ended.cancelled_by, effects(horae))
            assert found == (JobState.CANCELLED, "bob", []), form
            assert attempts_of(horae, job.id) == ["cancelled"]


@pytest.mark.parametrize("moment", ["before the effect", "after it"])
async def test_a_lost_lease_rolls_the_effects_back(horae: Horae, form: str, moment: str) -> None:
    """The twin that stalled: whatever it does after another has taken over, nothing of it is kept."""
    if horae.components.database.dialect == "sqlite" and moment == "after it":
        pytest.skip("on SQLite no node can take a lease while the body holds the one write lock")
    steps = Steps()
    declare_twins(horae, steps, early=moment == "before the effect")
    async with running_node(horae):
        job = await horae.aio.jobs.start(form)
        await until_set(steps.written)
        execute(horae, "UPDATE horae_jobs SET lease = lease + 1")
        steps.release.set()
    assert effects(horae) == []
    assert horae.jobs.get(job.id).result is None
    assert "finished" not in attempts_of(horae, job.id)


@pytest.mark.parametrize("isolation", ISOLATIONS)
async def test_every_isolation_settles(horae: Horae, isolation: str) -> None:
    steps = Steps()
    steps.release.set()
    # Serializable transactions may fail in each other's company, and are to be repeated.
    declare(horae, steps, isolation, max_attempts=20, backoff=AT_ONCE)
    async with running_node(horae):
        ids = [(await horae.aio.jobs.start(each)).id for each in FORMS]
        for job_id in ids:
            assert await horae.aio.jobs.wait(job_id, timeout="20s") == "done"
    assert effects(horae) == sorted(ids)


async def test_a_function_that_returns_no_isolation_level_fails_the_job(horae: Horae) -> None:
    """Under another level of the driver, what a failed body has written would be kept."""

    def level(_job: JobContext) -> Any:
        return "autocommit"

    @horae.job(transaction=level)
    def sync_body() -> None: ...

    @horae.job(transaction=level)
    async def async_body() -> None: ...

    for job in (
        horae.jobs.start(sync_body, sync=True),
        await horae.aio.jobs.start(async_body, sync=True),
    ):
        assert job.state is JobState.FAILED
        assert "its transaction is 'autocommit', expected one of 'read committed'," in (
            job.error or ""
        )


async def test_it_is_the_isolation_that_was_asked_for(horae: Horae) -> None:
    if horae.components.database.dialect == "sqlite":
        pytest.skip("SQLite has one isolation: serializable")

    def declare_one(isolation: Any) -> None:
        @horae.job(transaction=isolation, name=isolation)
        def show(job: JobContext) -> Any:
            return job.connection.exec_driver_sql("SHOW transaction_isolation").scalar_one()

        @horae.job(transaction=isolation, name=f"async {isolation}")
        async def show_async(job: JobContext) -> Any:
            return (
                await job.async_connection.exec_driver_sql("SHOW transaction_isolation")
            ).scalar_one()

    async with running_node(horae, queues=("none",)):
        pass
    for isolation in ISOLATIONS:
        declare_one(isolation)
        assert horae.jobs.start(isolation, sync=True).result == isolation
        assert (await horae.aio.jobs.start(f"async {isolation}", sync=True)).result == isolation


async def test_many_open_transactions_leave_the_node_its_connections(horae: Horae) -> None:
    """More than any pool has: claims, cancels and ends must not wait for bodies."""
    bodies, begun, release = 40, threading.Semaphore(0), threading.Event()

    @horae.job(transaction="read committed")
    def hold(job: JobContext) -> None:
        job.connection.execute(text("SELECT count(*) FROM effects"))
        begun.release()
        while not release.is_set():
            job.check()
            release.wait(0.01)

    @horae.job
    async def quick() -> int:
        return 1

    async with running_node(horae, concurrency=bodies + 1):
        ids = await horae.aio.jobs.start_many(hold, [{}] * bodies)
        for _ in range(bodies):
            await until_acquired(begun)
        job = await horae.aio.jobs.start(quick)
        assert await horae.aio.jobs.wait(job.id, timeout="10s") == 1
        await horae.aio.jobs.cancel(ids[0])
        await until_released(horae, ids[0], within=10)
        release.set()
        for job_id in ids[1:]:
            await until_state(horae, job_id, "finished")


async def test_a_result_that_cannot_be_stored_rolls_the_effects_back(horae: Horae) -> None:
    @horae.job(transaction="read committed")
    def work(job: JobContext) -> object:
        job.connection.execute(INSERT, {"job": job.id})
        return object()

    assert (await horae.aio.jobs.start(work, sync=True)).state is JobState.FAILED
    assert effects(horae) == []


async def test_the_error_without_a_transaction_shows_how_to_get_one(horae: Horae) -> None:
    @horae.job
    def work(job: JobContext) -> None:
        job.session.execute(INSERT, {"job": job.id})

    job = await horae.aio.jobs.start(work, sync=True)
    assert "declare transaction='read committed'" in (job.error or "")


class TestContextManagersOfTheApplication:
    @pytest.fixture
    def commits(self) -> list[str]:
        return []

    async def test_a_session_on_the_same_database_settles_within_it(
        self, horae: Horae, database: Database, commits: list[str]
    ) -> None:
        with own_engine(database) as engine:

            @contextmanager
            def unit_of_work() -> Generator[Session]:
                with Session(engine) as session, session.begin():
                    yield session
                    [(state,)] = session.execute(text("SELECT state FROM horae_jobs")).all()
                    commits.append(state)

            @horae.register
            class Work(JobType[Any]):
                type = "work"

                def transaction(self, job: JobContext[Any]) -> Any:
                    return unit_of_work()

                def run(self, job: JobContext[Any]) -> str:
                    job.session.execute(INSERT, {"job": job.id})
                    return "done"

            async with running_node(horae):
                job = await horae.aio.jobs.start("work")
                assert await horae.aio.jobs.wait(job.id, timeout="20s") == "done"
        assert commits == ["finished"]
        assert effects(horae) == [job.id]
        assert attempts_of(horae, job.id) == ["finished"]

    async def test_a_connection_on_the_same_database_too(
        self, horae: Horae, database: Database
    ) -> None:
        with own_engine(database) as engine:

            @horae.register
            class Work(JobType[Any]):
                type = "work"

                def transaction(self, job: JobContext[Any]) -> Any:
                    return engine.begin()

                def run(self, job: JobContext[Any]) -> None:
                    connection: Connection = job.connection
                    connection.execute(INSERT, {"job": job.id})

            async with running_node(horae):
                job = await horae.aio.jobs.start("work")
                await until_state(horae, job.id, "finished")
        assert effects(horae) == [job.id]

    async def test_an_async_session_on_the_same_database_too(
        self, horae: Horae, database: Database
    ) -> None:
        driver = "sqlite+aiosqlite" if database.dialect == "sqlite" else "postgresql+psycopg"
        engine = create_async_engine(database.url.set(drivername=driver))
        states: list[str] = []

        @asynccontextmanager
        async def unit_of_work() -> AsyncGenerator[AsyncSession]:
            async with AsyncSession(engine) as session, session.begin():
                yield session
                states.append(str(await session.scalar(text("SELECT state FROM horae_jobs"))))

        @horae.register
        class Work(JobType[Any]):
            type = "work"

            def transaction(self, job: JobContext[Any]) -> Any:
                return unit_of_work()

            async def run(self, job: JobContext[Any]) -> str:
                await job.async_session.execute(INSERT, {"job": job.id})
                return "done"

        async with running_node(horae):
            job = await horae.aio.jobs.start("work")
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == "done"
        await engine.dispose()
        assert (states, effects(horae)) == (["finished"], [job.id])

    async def test_another_database_is_committed_by_itself(
        self, horae: Horae, tmp_path: Path
    ) -> None:
        elsewhere = create_engine(f"sqlite:///{tmp_path}/elsewhere.db")
        with elsewhere.begin() as connection:
            connection.execute(text("CREATE TABLE effects (job BIGINT NOT NULL)"))

        @horae.register
        class Work(JobType[Any]):
            type = "work"

            def transaction(self, job: JobContext[Any]) -> Any:
                return elsewhere.begin()

            def run(self, job: JobContext[Any]) -> str:
                with pytest.raises(Exception, match="no transaction"):
                    job.connection.execute(INSERT, {"job": job.id})
                return "done"

        async with running_node(horae):
            job = await horae.aio.jobs.start("work")
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == "done"
        elsewhere.dispose()
        assert attempts_of(horae, job.id) == ["finished"]

    async def test_any_other_context_manager_is_entered_and_left(self, horae: Horae) -> None:
        seen: list[str] = []

        @contextmanager
        def bracket() -> Generator[str]:
            seen.append("in")
            try:
                yield "anything"
            except ValueError:
                seen.append("failed")
                raise
            finally:
                seen.append("out")

        @horae.register
        class Work(JobType[Any]):
            type = "work"

            def transaction(self, job: JobContext[Any]) -> Any:
                return bracket()

            def run(self, job: JobContext[Any]) -> str:
                seen.append("body")
                raise ValueError("no")

        job = await horae.aio.jobs.start("work", sync=True)
        assert (job.state, seen) == (JobState.FAILED, ["in", "body", "failed", "out"])


def driver_of(connection: Connection) -> Any:
    return connection.connection.driver_connection


COMMITS: dict[str, Callable[[JobContext], Any]] = {
    "commit": lambda job: job.connection.commit(),
    "in words": lambda job: job.connection.execute(text("COMMIT")),
    "after a comment": lambda job: job.connection.exec_driver_sql("/* now */ -- really\n commit"),
    "end": lambda job: job.connection.execute(text("END")),
    "rollback in words": lambda job: job.connection.execute(text("ROLLBACK")),
    "of the driver": lambda job: driver_of(job.connection).commit(),
    "of the pool": lambda job: job.connection.connection.commit(),
    "of the session": lambda job: job.session.execute(text("COMMIT")),
}


@pytest.mark.parametrize("how", COMMITS)
async def test_a_body_cannot_commit_its_own_transaction(horae: Horae, how: str) -> None:
    """What it commits would stay although the job fails."""

    @horae.job(transaction="read committed", max_count=None)
    def greedy(job: JobContext, *, caught: bool) -> None:
        job.connection.execute(INSERT, {"job": job.id})
        with suppress(InvalidRequest) if caught else nullcontext():
            COMMITS[how](job)
        if how == "commit" or not caught:
            return
        raise LookupError("on purpose")

    async with running_node(horae):
        for caught in (False, True):
            job = await horae.aio.jobs.start(greedy, caught=caught)
            failed = await until_state(horae, job.id, "failed")
            assert effects(horae) == []
            assert caught or ENDED in (failed.error or "")


async def test_a_coroutine_cannot_commit_its_transaction_either(horae: Horae) -> None:
    @horae.job(transaction="read committed")
    async def greedy(job: JobContext) -> None:
        await job.async_connection.execute(INSERT, {"job": job.id})
        await job.async_connection.commit()

    async with running_node(horae):
        job = await horae.aio.jobs.start(greedy)
        failed = await until_state(horae, job.id, "failed")
    assert effects(horae) == []
    assert "the body of a job must not end its transaction" in (failed.error or "")


async def test_the_connection_of_the_driver_cannot_commit_either(horae: Horae) -> None:
    @horae.job(transaction="read committed")
    async def greedy(job: JobContext) -> None:
        await job.async_connection.execute(INSERT, {"job": job.id})
        raw = await job.async_connection.get_raw_connection()
        driver: Any = raw.driver_connection
        await driver.commit()

    @horae.job(transaction="read committed")
    async def modest(job: JobContext) -> None:
        await job.async_connection.execute(INSERT, {"job": job.id})

    async with running_node(horae):
        job = await horae.aio.jobs.start(greedy)
        failed = await until_state(horae, job.id, "failed")
        assert effects(horae) == []
        other = await horae.aio.jobs.start(modest)  # on the same connection
        await until_state(horae, other.id, "finished")
    assert "the body of a job must not end its transaction" in (failed.error or "")
    assert len(effects(horae)) == 1


async def test_a_transaction_of_the_applications_engine_cannot_commit_either(
    horae: Horae, database: Database
) -> None:
    with own_engine(database) as engine:

        @contextmanager
        def own_session(_: JobContext) -> Generator[Session]:
            with Session(engine) as session, session.begin():
                yield session

        @horae.job(transaction=own_session)
        def greedy(job: JobContext) -> None:
            job.session.execute(INSERT, {"job": job.id})
            job.session.commit()

        async with running_node(horae):
            job = await horae.aio.jobs.start(greedy)
            failed = await until_state(horae, job.id, "failed")
        assert effects(horae) == []
        assert "the body of a job must not end its transaction" in (failed.error or "")


def roll_back_session(job: JobContext) -> None:
    job.session.execute(INSERT, {"job": job.id})
    job.session.rollback()


ROLLED_BACK, ENDED = (
    "the body has rolled back its transaction",
    "the body of a job must not end its transaction",
)
ENDS: dict[str, tuple[Callable[[JobContext], Any], str]] = {
    "connection": (lambda job: job.connection.rollback(), ROLLED_BACK),
    "session": (roll_back_session, ROLLED_BACK),
    "pool": (lambda job: job.connection.connection.rollback(), ROLLED_BACK),
    "driver": (lambda job: driver_of(job.connection).rollback(), ROLLED_BACK),
    "driver in words": (lambda job: driver_of(job.connection).execute("ROLLBACK"), ENDED),
    "closed": (lambda job: job.connection.close(), ROLLED_BACK),
    "invalidated": (lambda job: job.connection.invalidate(), "PendingRollbackError"),
}


@pytest.mark.parametrize("how", ENDS)
async def test_a_body_that_rolls_back_fails_with_the_reason(horae: Horae, how: str) -> None:
    end, reason = ENDS[how]

    @horae.job(transaction="read committed")
    def work(job: JobContext, *, wavering: bool) -> None:
        job.connection.execute(INSERT, {"job": job.id})
        if wavering:
            end(job)

    failed = await horae.aio.jobs.start(work, wavering=True, sync=True)
    assert (failed.state, effects(horae)) == ("failed", [])
    assert reason in (failed.error or "")
    next_one = await horae.aio.jobs.start(work, wavering=False, sync=True)  # on the same connection
    assert effects(horae) == [next_one.id]


@pytest.mark.parametrize("how", ["rollback", "in words"])
async def test_a_body_cannot_go_on_after_its_transaction(horae: Horae, how: str) -> None:
    """The driver would begin another one, in which the job would finish without what came before."""

    @horae.job(transaction="read committed")
    def wavering(job: JobContext) -> None:
        job.connection.execute(INSERT, {"job": job.id})
        driver = driver_of(job.connection)
        driver.rollback() if how == "rollback" else driver.execute("ROLLBACK")
        job.connection.execute(INSERT, {"job": job.id})

    failed = await horae.aio.jobs.start(wavering, sync=True)
    assert (failed.state, effects(horae)) == ("failed", [])
    assert (ROLLED_BACK if how == "rollback" else ENDED) in (failed.error or "")


async def test_a_coroutine_that_rolls_back_fails_with_the_reason(horae: Horae) -> None:
    @horae.job(transaction="read committed")
    async def wavering(job: JobContext) -> None:
        await job.async_connection.execute(INSERT, {"job": job.id})
        raw = await job.async_connection.get_raw_connection()
        driver: Any = raw.driver_connection
        await driver.rollback()

    async with running_node(horae):
        failed = await until_state(horae, (await horae.aio.jobs.start(wavering)).id, "failed")
    assert ROLLED_BACK in (failed.error or "")


async def test_savepoints_are_the_bodys_own(horae: Horae) -> None:
    @horae.job(transaction="read committed")
    def careful(job: JobContext) -> None:
        with job.connection.begin_nested():
            job.connection.execute(INSERT, {"job": job.id})
        with suppress(LookupError), job.session.begin_nested():
            job.session.execute(INSERT, {"job": -1})
            raise LookupError
        job.connection.execute(text("SAVEPOINT mine"))
        job.connection.execute(INSERT, {"job": -2})
        job.connection.execute(text("ROLLBACK TO mine"))

    async with running_node(horae):
        job = await horae.aio.jobs.start(careful)
        await horae.aio.jobs.wait(job.id, timeout="20s")
    assert effects(horae) == [job.id]


async def test_the_error_of_a_statement_is_the_error(horae: Horae) -> None:
    @horae.job(transaction="read committed")
    def wrong(job: JobContext) -> None:
        job.session.execute(text("INSERT INTO effects VALUES (NULL)"))

    async with running_node(horae):
        job = await horae.aio.jobs.start(wrong)
        failed = await until_state(horae, job.id, "failed")
    assert "IntegrityError" in (failed.error or "")
