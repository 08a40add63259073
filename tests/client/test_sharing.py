"""Callers that start jobs at the same time share inserts; each gets its own job, or its own error."""

import asyncio
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator
from sqlalchemy.exc import DBAPIError, IntegrityError
from typing_extensions import override

from horae import (
    Backoff,
    DatabaseBusy,
    Horae,
    InvalidParameters,
    Job,
    MaxJobCountExceeded,
    Unavailable,
)
from horae.client.jobs.creating import SharedInserts, shared_inserts
from horae.storage.engine import Database
from horae.storage.engine.caller_threads import CallerThreads, ChangeLimits
from horae.storage.jobs import Inserted, JobRow, creation, reading
from horae.wakeup import SilentChannel
from tests.api.test_waiting_changes import locked
from tests.harness.applications import counted_statements

PLAIN = JobRow(type="letter", queue="post", priority=0, params=None)
PATIENCE = 30.0


class HeldDatabase:
    """Inserts as the database does, but the first `held` inserts wait for the test."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_file, self.busy_timeout = database.is_file, PATIENCE
        self.held = 1 if self.is_file else shared_inserts.MOST_AT_ONCE
        self._first = threading.Semaphore(self.held)
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.calls: list[int] = []
        self.failure: BaseException | None = None

    def write_one(
        self, statement: Callable[..., Any], rows: JobRow | Sequence[JobRow], /, *rest: Any
    ) -> Any:
        """Run the statement, after a wait if it is one of the first."""
        self.calls.append(1 if isinstance(rows, JobRow) else len(rows))
        if self._first.acquire(blocking=False):
            self.begun.release()
            assert self.go_on.wait(PATIENCE)
        elif self.failure is not None:
            raise self.failure
        return self._database.write_one(statement, rows, *rest)


@pytest.fixture
def held(database: Database) -> HeldDatabase:
    return HeldDatabase(database)


def insert_behind(
    held: HeldDatabase, inserts: SharedInserts, rows: Sequence[JobRow]
) -> list[Future[Sequence[Inserted]]]:
    """Begin the held inserts, let a caller for each row wait behind them, then let all go on."""
    pool = ThreadPoolExecutor(held.held + len(rows))
    found = [pool.submit(inserts.insert, [PLAIN]) for _ in range(held.held)]
    for _ in found:
        assert held.begun.acquire(timeout=PATIENCE)
    for count, row in enumerate(rows, start=1):
        found.append(pool.submit(inserts.insert, [row]))
        while len(inserts._waiting) < count:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            pass
    held.go_on.set()
    wait(found, PATIENCE)
    pool.shutdown()
    return found[held.held :]


def test_callers_who_wait_share_one_insert(database: Database, held: HeldDatabase) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)  # noqa: TID251
    rows = [
        replace(PLAIN, owner="alice", params='{"text": "ä\\"€"}', priority=3, queue="other"),
        replace(PLAIN, type="parcel", run_at=soon, meta='{"trace": "0"}', max_attempts=4),
        replace(PLAIN, delay=90.5, backoff=json.dumps(Backoff().to_json())),
        PLAIN,
    ]
    found = insert_behind(held, SharedInserts(held, SilentChannel()), rows)  # type: ignore[arg-type]
    assert sorted(held.calls) == [*[1] * held.held, 4]
    jobs = {
        job.id: job
        for job in database.transact(reading.get_many, [each.result()[0].id for each in found])
    }
    assert len(jobs) == 4
    stored = [jobs[each.result()[0].id] for each in found]
    assert [job.type for job in stored] == ["letter", "parcel", "letter", "letter"]
    assert stored[0].params == {"text": 'ä"€'}
    assert (stored[0].owner, stored[0].priority, stored[0].queue) == ("alice", 3, "other")
    assert stored[1].run_at == soon
    assert (stored[1].meta, stored[1].max_attempts) == ({"trace": "0"}, 4)
    delay = stored[2].run_at - stored[2].created_at
    assert abs(delay - timedelta(seconds=90.5)) < timedelta(seconds=1)
    assert stored[3].params is None
    assert [each.result()[0].run_at for each in found] == [job.run_at for job in stored]


def test_the_row_that_the_database_refuses_is_refused_alone(
    database: Database, held: HeldDatabase
) -> None:
    rows = [PLAIN, replace(PLAIN, meta="[]"), PLAIN]
    found = insert_behind(held, SharedInserts(held, SilentChannel()), rows)  # type: ignore[arg-type]
    assert isinstance(found[1].exception(), DBAPIError)
    assert found[0].result()[0].id != found[2].result()[0].id
    assert sorted(held.calls) == [*[1] * held.held, 1, 1, 1, 3]


def test_a_lost_answer_is_everybodys(held: HeldDatabase) -> None:
    held.failure = Unavailable("no answer")
    found = insert_behind(held, SharedInserts(held, SilentChannel()), [PLAIN, PLAIN])  # type: ignore[arg-type]
    assert [str(each.exception()) for each in found] == ["no answer", "no answer"]
    assert sorted(held.calls) == [*[1] * held.held, 2]


def test_nobody_waits_for_a_leader_that_was_interrupted(held: HeldDatabase) -> None:
    held.failure = KeyboardInterrupt()
    found = insert_behind(held, SharedInserts(held, SilentChannel()), [PLAIN, PLAIN])  # type: ignore[arg-type]
    assert isinstance(found[0].exception(), KeyboardInterrupt)
    assert isinstance(found[1].exception(), Unavailable)


class InterruptedLock:
    """A lock after whose first release Ctrl-C is raised."""

    def __init__(self) -> None:
        self._lock, self._is_due = threading.Lock(), True

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        if self._is_due:
            self._is_due = False
            raise KeyboardInterrupt


def test_an_insert_that_was_interrupted_before_it_began_is_not_waited_for(
    held: HeldDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.busy_timeout = 0.05
    held.go_on.set()
    inserts = SharedInserts(held, SilentChannel())  # type: ignore[arg-type]
    for _ in range(held.held):
        monkeypatch.setattr(inserts, "_lock", InterruptedLock())
        with pytest.raises(KeyboardInterrupt):
            inserts.insert([PLAIN])
    assert len(inserts.insert([PLAIN])) == 1


def test_a_place_that_was_never_given_back_is_that_of_the_thread(
    held: HeldDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    held.busy_timeout = 0.05
    held.go_on.set()
    inserts = SharedInserts(held, SilentChannel())  # type: ignore[arg-type]
    with monkeypatch.context() as patched:
        patched.setattr(inserts, "_pass_on", interrupt)
        for _ in range(held.held):
            with pytest.raises(KeyboardInterrupt):
                inserts.insert([PLAIN])
    for _ in range(2):
        assert len(inserts.insert([PLAIN])) == 1


@pytest.mark.timeout(PATIENCE)
def test_a_signal_handler_may_insert_while_its_thread_is_about_to(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserts = SharedInserts(database, SilentChannel())
    found: list[Sequence[Inserted]] = []

    class Interrupted(set[int]):
        @override
        def add(self, thread: int, /) -> None:
            if not found:
                found.append(())
                found.append(inserts.insert([PLAIN]))  # as a handler does between two lines
            super().add(thread)

    monkeypatch.setattr(inserts, "_inserting", Interrupted())
    inserts.insert([PLAIN])
    assert [len(each) for each in found] == [0, 1]


def test_nobody_waits_for_longer_than_the_time_limit(held: HeldDatabase) -> None:
    held.busy_timeout = 0.05
    inserts = SharedInserts(held, SilentChannel())  # type: ignore[arg-type]
    with ThreadPoolExecutor(held.held) as pool:
        first = [pool.submit(inserts.insert, [PLAIN]) for _ in range(held.held)]
        for _ in first:
            assert held.begun.acquire(timeout=PATIENCE)
        with pytest.raises(DatabaseBusy):
            inserts.insert([PLAIN])
        held.go_on.set()
    assert all(each.result() for each in first)
    assert len(inserts.insert([PLAIN])) == 1


def test_many_threads_start_each_job_once(database: Database) -> None:
    inserts = SharedInserts(database, SilentChannel())
    with ThreadPoolExecutor(16) as pool:
        owners = [f"owner {number}" for number in range(400)]
        found = list(pool.map(lambda owner: inserts.insert([replace(PLAIN, owner=owner)]), owners))
    ids = [each[0].id for each in found]
    stored = {job.id: job.owner for job in database.transact(reading.get_many, ids)}
    assert [stored[job_id] for job_id in ids] == owners
    count = database.autocommit(
        lambda connection: connection.execute(
            creation.COUNT_OPEN, {"owner": "owner 7", "type": "letter"}
        ).scalar_one()
    )
    assert count == 1


async def test_coroutines_share_inserts(horae: Horae) -> None:
    @horae.job
    async def greet(name: str) -> None: ...

    with counted_statements(horae) as statements:
        async with asyncio.TaskGroup() as group:
            starts = [
                group.create_task(horae.aio.jobs.start(greet, name=f"n{number}", owner="alice"))
                for number in range(300)
            ]
    assert [start.result().params for start in starts] == [{"name": f"n{n}"} for n in range(300)]
    stored = {job.id: job.params for job in horae.jobs.list(owner="alice", limit=1000).jobs}
    assert stored == {start.result().id: start.result().params for start in starts}
    assert len([text for text in statements if "INSERT INTO horae_jobs" in text]) < 20


async def test_only_the_wrong_call_is_refused(horae: Horae) -> None:
    @horae.job
    async def greet(number: int) -> None: ...

    texts: list[Any] = ["1", "one", "2"]
    calls = [horae.aio.jobs.start(greet, number=text) for text in texts]
    first, second, third = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(second, InvalidParameters)
    assert isinstance(first, Job)
    assert isinstance(third, Job)
    assert (first.params, third.params) == ({"number": "1"}, {"number": "2"})


async def test_validators_run_in_the_context_of_their_caller(horae: Horae) -> None:
    tenant = ContextVar[str]("tenant")
    seen: list[tuple[str, str]] = []

    def note(given: str) -> str:
        seen.append((given, tenant.get()))
        return given

    @horae.job
    async def greet(of: Annotated[str, AfterValidator(note)]) -> None: ...

    async def start(name: str) -> None:
        tenant.set(name)
        await horae.aio.jobs.start(greet, of=name)

    await asyncio.gather(*[start(name) for name in ("a", "b", "c")])
    assert sorted(seen) == [(name, name) for name in ("a", "b", "c")]


async def test_a_cancelled_caller_leaves_the_others_alone(horae: Horae) -> None:
    @horae.job
    async def greet() -> None: ...

    starts = [asyncio.ensure_future(horae.aio.jobs.start(greet)) for _ in range(20)]
    await asyncio.sleep(0)
    for start in starts[::2]:
        start.cancel()
    found = await asyncio.gather(*starts, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in found[::2])
    assert all(isinstance(each, Job) for each in found[1::2])


async def test_jobs_of_which_the_database_refuses_one_are_inserted_one_by_one(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    @horae.job
    async def greet(number: int) -> None: ...

    insert = horae.jobs.inserts.insert
    together: list[int] = []

    def refuse(rows: Sequence[JobRow]) -> Sequence[Inserted]:
        if len(rows) > 1:
            together.append(len(rows))
            raise IntegrityError("INSERT", None, sqlite3.IntegrityError("CHECK"))
        return insert(rows)

    monkeypatch.setattr(horae.jobs.inserts, "insert", refuse)
    found = await asyncio.gather(*[horae.aio.jobs.start(greet, number=n) for n in range(10)])
    assert together
    assert [job.params for job in found] == [{"number": n} for n in range(10)]
    assert sum(horae.jobs.count().values()) == 10


async def test_starts_that_wait_behind_a_stuck_one_are_refused(
    horae: Horae, database: Database
) -> None:
    @horae.job
    async def greet() -> None: ...

    horae.components.database.caller_threads = CallerThreads(
        8, ChangeLimits(most_waiting=3, stalled_after=0.0)
    )
    async with asyncio.TaskGroup() as group:
        with locked(database, "horae_jobs"):
            starts = []
            for _ in range(3 + horae.jobs.inserts.most_at_once):
                starts.append(group.create_task(horae.aio.jobs.start(greet)))
                await asyncio.sleep(0)
            with pytest.raises(DatabaseBusy):
                await horae.aio.jobs.start(greet)
    assert len({start.result().id for start in starts}) == len(starts)


async def test_a_type_that_has_more_to_do_is_started_alone(horae: Horae) -> None:
    @horae.job(max_count=1)
    async def greet() -> None: ...

    calls = [horae.aio.jobs.start(greet, owner="alice") for _ in range(4)]
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert Counter(type(each) for each in found) == {Job: 1, MaxJobCountExceeded: 3}


async def test_what_needs_more_than_an_insert_is_never_shared(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if `may_share` has not been told of a new option or rule."""

    @horae.job(tags=["monthly"])
    async def greet() -> None: ...

    monkeypatch.setattr("horae.client.jobs.shared_starts.may_share", lambda *_: True)
    found = await asyncio.gather(*[horae.aio.jobs.start(greet) for _ in range(5)])
    assert [horae.jobs.get(job.id).tags for job in found] == [("monthly",)] * 5
