"""A hook stays owed until a process that knows the type has called it, once; it delays nothing else."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

import pytest
from sqlalchemy.exc import OperationalError

from horae import Horae, Job, JobContext, JobState, JobType
from horae.client.doctor.work import left_findings
from horae.runtime.settling.hook_service import HookService
from horae.runtime.timing import HookTiming
from horae.storage.engine.database import Database
from horae.storage.jobs import OwedHook
from horae.storage.jobs import owed_hooks as storage
from horae.types.hooks.hooks import Hooks
from horae.types.hooks.threads import HookThreads
from tests.client.test_keeping import age
from tests.harness.applications import application, claim_as_another_node, execute, rows
from tests.harness.nodes import running_node, until, until_state
from tests.harness.waiting import Record, until_acquired, until_stored


class Calls:
    """Which hooks were called, and a door that some of them wait at."""

    def __init__(self) -> None:
        self.made = Record[str]()
        self.door = threading.Event()
        self.waiting = threading.Semaphore(0)
        self.slow: set[str] = set()

    def note(self, hook: str, job: Job) -> None:
        if job.type in self.slow:
            self.waiting.release()
            self.door.wait(20)
        self.made.append(f"{hook} {job.id}")


@pytest.fixture
def calls() -> Iterator[Calls]:
    calls = Calls()
    yield calls
    calls.door.set()
    for thread in threading.enumerate():  # before their database is closed
        if thread.name.startswith(("horae-hooks", "horae-clean")):
            thread.join(20)


def hooked(horae: Horae, calls: Calls, name: str = "hooked") -> None:
    """Register a type that fails, with every hook."""

    class Hooked(JobType[Any]):
        type = name
        max_count = None

        def run(self, job: JobContext[Any]) -> None:
            raise ValueError("no")

        def on_error(self, job: Job, error: BaseException) -> None:
            calls.note(f"on_error {error}", job)

        def on_cancelled(self, job: Job) -> None:
            calls.note("on_cancelled", job)

        def before_delete(self, job: Job) -> None:
            calls.note("before_delete", job)

    horae.register(Hooked)


@pytest.fixture
def stranger(database: Database, horae: Horae) -> Iterator[Horae]:
    """Another application on the same database, which knows none of its types."""
    horae.open()
    with application(database) as stranger:
        yield stranger


def owed(horae: Horae) -> list[tuple[int, str]]:
    return [
        tuple(row)
        for row in rows(horae, "SELECT id, hook_owed FROM horae_jobs WHERE hook_owed IS NOT NULL")
    ]


class TestStrangers:
    async def test_a_cancel_by_a_process_without_the_type_leaves_the_hook_due(
        self, horae: Horae, stranger: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        job = horae.jobs.start("hooked", delay=timedelta(days=1))
        assert stranger.jobs.cancel(job.id).state is JobState.CANCELLED
        assert owed(horae) == [(job.id, "on_cancelled")]
        async with running_node(stranger), running_node(horae):
            await calls.made.reaches(1)
            await until_stored(horae, lambda: not owed(horae))
        assert calls.made == [f"on_cancelled {job.id}"]

    async def test_a_rescue_by_a_process_without_the_type_leaves_the_hook_due(
        self, horae: Horae, stranger: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        job = horae.jobs.start("hooked")
        claim_as_another_node(horae)  # of which there is no row
        async with running_node(stranger):
            await until_state(horae, job.id, "failed")
        assert owed(horae) == [(job.id, "on_error")]
        async with running_node(horae):
            await calls.made.reaches(1)
        assert calls.made == [
            f"on_error The process that ran this job stopped unexpectedly. {job.id}"
        ]

    def test_a_clean_up_leaves_jobs_of_unknown_types(
        self, horae: Horae, stranger: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        job = horae.jobs.start("hooked", sync=True)
        age(horae, job.id)
        assert stranger.jobs.clean_up() == 0
        assert horae.jobs.clean_up() == 1
        assert calls.made == [f"on_error no {job.id}", f"before_delete {job.id}"]

    def test_doctor_names_types_that_no_live_node_knows(
        self, stranger: Horae, horae: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        job = horae.jobs.start("hooked")
        stranger.jobs.cancel(job.id)
        age(horae, job.id)
        left = stranger.components.database.autocommit(storage.leftover_jobs, (), 60.0)
        [finding] = left_findings(left, [])
        assert "'hooked': 1 wait to be deleted and 1 wait for a hook" in finding.message
        assert "--unknown hooked" in (finding.advice or "")


def asked_to_delete(stranger: Horae, job_id: int) -> None:
    """A program that does not know the type wants the job gone."""
    assert stranger.jobs.delete(job_id) is False
    assert stranger.jobs.get(job_id).ended


class TestDeletionByStrangers:
    async def test_the_row_waits_for_a_node_that_knows_the_type(
        self, horae: Horae, stranger: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        job = horae.jobs.start("hooked", sync=True)
        calls.made.clear()
        async with running_node(stranger):
            asked_to_delete(stranger, job.id)
            asked_to_delete(stranger, job.id)
            assert owed(horae) == [(job.id, "before_delete")]
            async with running_node(horae):
                await until_stored(horae, lambda: not rows(horae, "SELECT id FROM horae_jobs"))
        assert calls.made == [f"before_delete {job.id}"]
        deleted = "SELECT target FROM horae_audit WHERE action = 'job.delete'"
        assert rows(horae, deleted) == [(str(job.id),)]

    async def test_due_hooks_are_called_before_new_ones(
        self, horae: Horae, stranger: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        job = horae.jobs.start("hooked", delay=timedelta(days=1))
        stranger.jobs.cancel(job.id)
        asked_to_delete(stranger, job.id)
        assert owed(horae) == [(job.id, "on_cancelled,before_delete")]
        async with running_node(horae):
            await until_stored(horae, lambda: not rows(horae, "SELECT id FROM horae_jobs"))
        assert calls.made == [f"on_cancelled {job.id}", f"before_delete {job.id}"]

    async def test_a_type_without_hooks_is_just_deleted(
        self, horae: Horae, stranger: Horae
    ) -> None:
        @horae.job
        def plain() -> None: ...

        asked_to_delete(stranger, horae.jobs.start(plain, sync=True).id)
        async with running_node(horae):
            await until_stored(horae, lambda: not rows(horae, "SELECT id FROM horae_jobs"))

    def test_a_process_with_the_type_may_call_the_hook_first(
        self, horae: Horae, stranger: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        job = horae.jobs.start("hooked")
        stranger.jobs.cancel(job.id)
        asked_to_delete(stranger, job.id)
        assert horae.jobs.delete(job.id) is True
        assert calls.made == [f"on_cancelled {job.id}", f"before_delete {job.id}"]
        assert rows(horae, "SELECT id FROM horae_jobs") == []

    async def test_a_job_whose_hook_fails_stays(self, horae: Horae, stranger: Horae) -> None:
        class Stubborn(JobType[Any]):
            type = "stubborn"

            def run(self, job: JobContext[Any]) -> None: ...

            def before_delete(self, job: Job) -> None:
                raise OSError("the file is locked")

        horae.register(Stubborn)
        job = horae.jobs.start("stubborn", sync=True)
        asked_to_delete(stranger, job.id)
        async with running_node(horae):
            await until_stored(horae, lambda: not owed(horae))
        assert horae.jobs.get(job.id).ended

    def test_a_job_without_hooks_is_deleted_at_once(
        self, horae: Horae, stranger: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        job = horae.jobs.start("hooked")
        stranger.jobs.cancel(job.id)
        asked_to_delete(stranger, job.id)
        assert stranger.jobs.delete(job.id, without_hooks=True) is True
        assert (rows(horae, "SELECT id FROM horae_jobs"), calls.made) == ([], [])

    def test_jobs_of_a_removed_type_are_deleted(
        self, horae: Horae, stranger: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        young, asked = horae.jobs.start_many("hooked", [{}] * 2)
        for job_id in (young, asked):
            stranger.jobs.cancel(job_id)
        asked_to_delete(stranger, asked)
        assert stranger.jobs.clean_up(unknown=["hooked"]) == 1
        assert rows(horae, "SELECT id, hook_owed FROM horae_jobs") == [(young, None)]

    async def test_a_first_hook_that_is_left_behind_does_not_lose_the_second(
        self, horae: Horae, stranger: Horae, calls: Calls
    ) -> None:
        """It is noted twice as called: when it is left behind, and when it returns after all."""
        hooked(horae, calls)
        job = horae.jobs.start("hooked")
        stranger.jobs.cancel(job.id)
        hooks = Hooks(horae.components.database, horae.registry)
        taken = hooks.take("hooked")
        assert taken is not None
        asked_to_delete(stranger, job.id)
        hooks.done(taken)
        hooks.done(taken)
        assert owed(horae) == [(job.id, "before_delete")]


class TestOnce:
    def test_a_type_without_hooks_has_none_due(self, horae: Horae) -> None:
        @horae.job
        def fail() -> None:
            raise ValueError("no")

        horae.jobs.start(fail, sync=True)
        horae.jobs.cancel(horae.jobs.start(fail).id)
        assert owed(horae) == []

    async def test_hooks_due_for_a_type_without_hooks_are_cleared(
        self, horae: Horae, stranger: Horae
    ) -> None:
        @horae.job
        def plain() -> None: ...

        stranger.jobs.cancel(horae.jobs.start(plain, delay=timedelta(days=1)).id)
        assert len(owed(horae)) == 1
        async with running_node(horae):
            await until_stored(horae, lambda: not owed(horae))

    def test_clean_ups_at_the_same_time_call_each_hook_once(
        self, horae: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        ids = horae.jobs.start_many("hooked", [{}] * 60)
        for job_id in ids:
            horae.jobs.cancel(job_id)
        calls.made.clear()
        age(horae, *ids)
        line = threading.Barrier(3)

        def clean() -> None:
            line.wait()
            horae.jobs.clean_up()

        threads = [threading.Thread(target=clean) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(calls.made) == sorted(f"before_delete {job_id}" for job_id in ids)
        assert rows(horae, "SELECT id FROM horae_jobs") == []

    async def test_many_nodes_call_each_hook_once(
        self, horae: Horae, stranger: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        ids = horae.jobs.start_many("hooked", [{}] * 30)
        for job_id in ids:
            stranger.jobs.cancel(job_id)
        async with running_node(horae), running_node(horae):
            await until_stored(horae, lambda: not owed(horae))
        assert sorted(calls.made) == sorted(f"on_cancelled {job_id}" for job_id in ids)

    async def test_a_hook_whose_process_died_is_called_again(
        self, horae: Horae, stranger: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls)
        job = horae.jobs.start("hooked")
        stranger.jobs.cancel(job.id)
        hooks = Hooks(horae.components.database, horae.registry)
        assert hooks.take("hooked") is not None
        assert hooks.take("hooked") is None
        assert hooks.due() == {}
        hour = (
            "3600000000" if horae.components.database.dialect == "sqlite" else "interval '1 hour'"
        )
        execute(horae, f"UPDATE horae_jobs SET hook_taken_at = hook_taken_at - {hour}")
        async with running_node(horae):
            await calls.made.reaches(1)
        assert calls.made == [f"on_cancelled {job.id}"]


LATER: Final = "UPDATE horae_jobs SET hook_taken_at = NULL"
"""As if the time were over after which a hook is called that was taken and not called."""


class TestUnavailableDatabase:
    """A hook needs the job's parameters, which may be in another table."""

    @pytest.fixture
    def fail_once(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
        """Let the next reading of parameters fail."""
        load = Hooks.with_parameters

        def unavailable(hooks: Hooks, job: Job) -> Job:
            monkeypatch.setattr(Hooks, "with_parameters", load)
            raise OperationalError(
                "SELECT", {}, sqlite3.OperationalError("unable to open database file")
            )

        return lambda: monkeypatch.setattr(Hooks, "with_parameters", unavailable)

    async def test_the_hook_stays_due(
        self, horae: Horae, calls: Calls, fail_once: Callable[[], None]
    ) -> None:
        hooked(horae, calls)
        fail_once()
        job = horae.jobs.start("hooked", sync=True)
        assert (calls.made, owed(horae)) == ([], [(job.id, "on_error")])
        execute(horae, LATER)
        async with running_node(horae):
            await until(lambda: calls.made)
            await until(lambda: not owed(horae))
        assert len(calls.made) == 1

    def test_a_deletion_is_repeated(
        self, horae: Horae, calls: Calls, fail_once: Callable[[], None]
    ) -> None:
        hooked(horae, calls)
        job = horae.jobs.start("hooked", sync=True)
        calls.made.clear()
        age(horae, job.id)
        fail_once()
        with pytest.raises(OperationalError):
            horae.jobs.clean_up()
        assert calls.made == []
        execute(horae, LATER)
        assert horae.jobs.clean_up() == 1
        assert calls.made == [f"before_delete {job.id}"]


class TestNothingIsHeldUp:
    async def test_hanging_hooks_of_one_type_leave_the_others_alone(
        self, horae: Horae, calls: Calls
    ) -> None:
        hooked(horae, calls, "hanging")
        hooked(horae, calls, "quick")
        calls.slow.add("hanging")
        async with running_node(horae):
            await horae.aio.jobs.start_many("hanging", [{}] * 6)
            for _ in range(4):
                await until_acquired(calls.waiting)
            job = await horae.aio.jobs.start("quick")
            await calls.made.reaches(1)
            assert calls.made == [f"on_error no {job.id}"]
            calls.door.set()
            await calls.made.reaches(7)

    async def test_a_node_ends_though_a_hook_sleeps(self, horae: Horae, calls: Calls) -> None:
        hooked(horae, calls)
        calls.slow.add("hooked")
        async with running_node(horae, grace=timedelta(0)):
            job = await horae.aio.jobs.start("hooked")
            await until_acquired(calls.waiting)
            began = time.monotonic()
        assert time.monotonic() - began < 5
        assert owed(horae) == [(job.id, "on_error")]

    def test_a_hook_past_its_time_limit_is_left_behind(
        self, horae: Horae, stranger: Horae, calls: Calls, caplog: pytest.LogCaptureFixture
    ) -> None:
        hooked(horae, calls)
        calls.slow.add("hooked")
        ids = horae.jobs.start_many("hooked", [{}] * 5)
        for job_id in ids:
            stranger.jobs.cancel(job_id)
        threads = HookThreads(Hooks(horae.components.database, horae.registry), time_limit=0.0)
        threads.call_due("hooked", 4)
        for _ in range(4):
            assert calls.waiting.acquire(timeout=20)
        threads.look()
        assert "it counts as called" in caplog.text
        assert len(owed(horae)) == 1
        threads.call_due("hooked")
        assert calls.waiting.acquire(timeout=20)
        calls.door.set()
        assert threads.close(20)

    async def test_a_hook_that_is_owed_while_all_threads_find_nothing_is_called(
        self, horae: Horae, stranger: Horae, calls: Calls, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hooked(horae, calls)
        hooks = Hooks(horae.components.database, horae.registry)
        found_nothing, take = threading.Semaphore(0), hooks.take

        def take_slowly(type_name: str) -> OwedHook | None:
            found = take(type_name)
            if found is None:
                found_nothing.release()
                calls.door.wait(20)
            return found

        monkeypatch.setattr(hooks, "take", take_slowly)
        threads = HookThreads(hooks)
        threads.call_due("hooked", 4)
        for _ in range(4):
            assert found_nothing.acquire(timeout=20)
        job_id = horae.jobs.start("hooked").id
        stranger.jobs.cancel(job_id)
        threads.call_due("hooked")
        calls.door.set()
        await calls.made.reaches(1)
        assert threads.close(20)
        assert calls.made == [f"on_cancelled {job_id}"]

    async def test_a_hook_that_is_owed_while_all_threads_end_is_called(
        self, horae: Horae, stranger: Horae, calls: Calls, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hooked(horae, calls)
        ending = threading.Semaphore(0)

        class SlowToEnd:
            @contextmanager
            def guard(self, *_: object) -> Generator[None]:
                yield
                ending.release()
                calls.door.wait(20)

        monkeypatch.setattr("horae.types.hooks.threads.log", SlowToEnd())
        threads = HookThreads(Hooks(horae.components.database, horae.registry))
        threads.call_due("hooked", 4)
        for _ in range(4):
            assert ending.acquire(timeout=20)
        job_id = horae.jobs.start("hooked").id
        stranger.jobs.cancel(job_id)
        threads.call_due("hooked")
        await calls.made.reaches(1)
        calls.door.set()
        assert threads.close(20)
        assert calls.made == [f"on_cancelled {job_id}"]

    async def test_a_slow_before_delete_delays_neither_the_node_nor_other_types(
        self, horae: Horae, calls: Calls, caplog: pytest.LogCaptureFixture
    ) -> None:
        hooked(horae, calls, "hanging")
        hooked(horae, calls, "quick")
        ids = [horae.jobs.start(name, sync=True).id for name in ("hanging", "quick")]
        age(horae, *ids)
        calls.made.clear()
        calls.slow.add("hanging")
        database = horae.components.database
        timing = HookTiming(look_every=0.05, clean_every=0.05, gone_every=0.05)
        service = HookService(database, Hooks(database, horae.registry), 60.0, timing)
        run = asyncio.ensure_future(service.run())
        await calls.made.reaches(1)
        assert calls.made == [f"before_delete {ids[1]}"]
        await until(lambda: "the last clean-up of type hanging is still running" in caplog.text)
        calls.door.set()
        await until_stored(horae, lambda: not rows(horae, "SELECT id FROM horae_jobs"))
        run.cancel()
        assert calls.made == [f"before_delete {ids[1]}", f"before_delete {ids[0]}"]

    async def test_a_cancel_over_http_does_not_wait(self, horae: Horae, calls: Calls) -> None:
        hooked(horae, calls)
        calls.slow.add("hooked")
        ids = await horae.aio.jobs.start_many("hooked", [{}] * 12)
        async with asyncio.timeout(10):
            for job_id in ids:
                await horae.aio.jobs.cancel(job_id)
        assert calls.made == []
        calls.door.set()
        await until_stored(horae, lambda: not owed(horae))
        assert sorted(calls.made) == sorted(f"on_cancelled {job_id}" for job_id in ids)
