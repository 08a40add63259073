"""Callers that create jobs under one limit or key: exact at every isolation level, with bounded waits, and without delaying others."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from horae import (
    DatabaseBusy,
    DuplicateJob,
    Group,
    Horae,
    InvalidRequest,
    Job,
    JobState,
    MaxJobCountExceeded,
    StartOptions,
    Unique,
)
from horae.api.problems import response_to
from horae.client.jobs.creating import contention
from horae.client.jobs.job_reads import USUAL
from horae.storage.engine.database import Database
from horae.storage.jobs import creation
from horae.storage.jobs.creation import Contended
from horae.wakeup.channel import Hint, HintKind
from tests.harness.applications import execute, limit_jobs, own_engine, rows
from tests.harness.waiting import Record

postgres = pytest.mark.parametrize(
    "database", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)
BOUND = timedelta(milliseconds=150)


@pytest.fixture
def engine(database: Database) -> Iterator[Engine]:
    with own_engine(database) as engine:
        yield engine


@pytest.fixture
def shop(horae: Horae) -> Horae:
    @horae.job(max_count=1)
    def export() -> None: ...

    @horae.job(max_count=None)
    def nightly() -> None: ...

    return horae


@pytest.fixture
def brief(shop: Horae) -> Horae:
    """The application with a bound that no test has to sit out."""
    limit_jobs(shop, contention=BOUND)
    return shop


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Record[str]:
    """The tries that another transaction has blocked."""
    tries, try_lock = Record[str](), vars(creation)["_try_lock"]

    def noting(connection: Connection, key: str, about: str) -> str:
        try:
            isolation: str = try_lock(connection, key, about)
        except Contended:
            tries.append(key)
            raise
        return isolation

    monkeypatch.setattr(creation, "_try_lock", noting)
    return tries


def _start(shop: Horae, connection: Connection, *, many: bool) -> None:
    if many:
        shop.jobs.start_many(
            "export", [{}], session=connection, options=StartOptions(owner="alice")
        )
    else:
        shop.jobs.start("export", session=connection, owner="alice")


@postgres
@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize("many", [False, True])
def test_a_snapshot_that_may_be_old_is_not_counted_in(
    shop: Horae, engine: Engine, isolation: str, *, many: bool
) -> None:
    with engine.connect().execution_options(isolation_level=isolation) as connection:
        connection.execute(text("SELECT count(*) FROM horae_jobs"))
        shop.jobs.start("export", owner="alice")
        with pytest.raises(InvalidRequest, match="does not see"):
            _start(shop, connection, many=many)
        assert (
            shop.jobs.start("export", session=connection).owner is None
        )  # it is counted for nobody
        connection.commit()
    assert rows(shop, "SELECT count(*) FROM horae_jobs WHERE owner = 'alice'") == [(1,)]


@postgres
def test_the_server_s_default_isolation_does_not_matter(shop: Horae, database: Database) -> None:
    of_database = f'ALTER DATABASE "{database.url.database}"'
    execute(shop, f"{of_database} SET default_transaction_isolation TO 'serializable'")
    try:
        database.engine.dispose()
        shop.jobs.start("export", owner="alice")
        with pytest.raises(MaxJobCountExceeded):
            shop.jobs.start("export", owner="alice")
    finally:
        execute(shop, f"{of_database} RESET default_transaction_isolation")


@postgres
@pytest.mark.parametrize("options", [{"owner": "alice"}, {"unique_key": "x"}])
def test_an_open_transaction_is_not_waited_for_without_end(
    brief: Horae, engine: Engine, options: dict[str, Any]
) -> None:
    kind = "export" if "owner" in options else "nightly"
    with engine.connect() as connection:
        brief.jobs.start(kind, session=connection, **options)
        with pytest.raises(DatabaseBusy, match="another transaction"):
            brief.jobs.start(kind, **options)
        with engine.connect() as other, pytest.raises(DatabaseBusy):
            brief.jobs.start(kind, session=other, **options)
        connection.rollback()
    assert brief.jobs.start(kind, **options).id


@postgres
def test_a_committed_job_refuses_others_without_a_turn(brief: Horae, engine: Engine) -> None:
    """Otherwise many callers at once under a limit that is reached take turns for seconds."""
    first = brief.jobs.start("export", owner="alice", unique_key="x")
    with engine.connect() as holder, engine.connect() as other:
        creation.lock_limit(holder, "alice", "export")
        creation.lock_key(holder, "export", "x")
        with pytest.raises(MaxJobCountExceeded):
            brief.jobs.start("export", owner="alice")
        with pytest.raises(MaxJobCountExceeded):
            brief.jobs.start_many("export", [{}], options=StartOptions(owner="alice"))
        with pytest.raises(DuplicateJob):
            brief.jobs.start("export", unique_key="x")
        returned = brief.jobs.start("export", unique_key="x", on_duplicate="return")
        assert returned.id == first.id
        old = other.execution_options(isolation_level="REPEATABLE READ")
        for many in (False, True):  # its snapshot may show a job that has ended
            with pytest.raises(DatabaseBusy, match="another transaction"):
                _start(brief, old, many=many)


@postgres
async def test_a_waiting_change_delays_no_other_call(shop: Horae, engine: Engine) -> None:
    """As many callers wait as there are threads, and more."""
    with engine.connect() as connection:
        held = shop.jobs.start("export", session=connection, owner="alice")
        waiting = [
            asyncio.ensure_future(shop.aio.jobs.start("export", owner="alice")) for _ in range(20)
        ]
        async with asyncio.timeout(USUAL.contention.total_seconds() - 0.5):
            await shop.aio.jobs.start("export", owner="bob")
            await shop.aio.jobs.start("nightly", owner="alice")
            assert len((await shop.aio.jobs.list(owner="bob")).jobs) == 1
        assert not any(call.done() for call in waiting)
        connection.commit()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(answer, MaxJobCountExceeded) for answer in answers), answers
    assert rows(
        shop, f"SELECT count(*) FROM horae_jobs WHERE owner = 'alice' AND id <> {held.id}"
    ) == [(1,)]


async def _start_one(shop: Horae) -> Any:
    return await shop.aio.jobs.start("export", owner="alice")


async def _start_inline(shop: Horae) -> Any:
    return await shop.aio.jobs.start("export", owner="alice", sync=True)


async def _start_many(shop: Horae) -> Any:
    return await shop.aio.jobs.start_many("export", [{}], owner="alice")


async def _start_group(shop: Horae) -> Any:
    return await shop.aio.jobs.start_group(["export"], then="nightly", owner="alice")


async def _add_to_group(shop: Horae) -> Any:
    group = await shop.aio.jobs.start_group(["nightly"], owner="alice")
    return await shop.aio.jobs.add_to_group(group.id, ["export"])


async def _retry(shop: Horae) -> Any:
    [(failed,)] = rows(shop, "SELECT id FROM horae_jobs WHERE state = 'cancelled'")
    return await shop.aio.jobs.retry(failed)


CALLS: Final[dict[Callable[[Horae], Awaitable[Any]], type]] = {
    _start_one: Job,
    _start_inline: Job,
    _start_many: list,
    _start_group: Group,
    _add_to_group: list,
    _retry: Job,
}


@postgres
@pytest.mark.parametrize("call", CALLS)
async def test_a_coroutine_that_waited_gets_the_same_answer(
    shop: Horae,
    engine: Engine,
    blocked: Record[str],
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[Horae], Awaitable[Any]],
) -> None:
    shop.jobs.cancel(shop.jobs.start("export", owner="alice").id)
    with engine.connect() as connection:
        shop.jobs.start("export", session=connection, owner="alice")
        waiting = asyncio.ensure_future(call(shop))
        await blocked.reaches(1)
        hints = Record[Hint]()
        monkeypatch.setattr(shop.components.wakeup, "send", hints.append)
        connection.rollback()
    answer = await waiting
    assert type(answer) is CALLS[call]
    assert [hint.kind for hint in hints] == [
        HintKind.ENDED if call is _start_inline else HintKind.WORK
    ]
    state = JobState.FINISHED if call is _start_inline else JobState.PENDING
    assert rows(
        shop, "SELECT state FROM horae_jobs WHERE type = 'export' AND state <> 'cancelled'"
    ) == [(state,)]


@postgres
async def test_a_coroutine_that_waited_in_a_session_gets_the_same_answer(
    shop: Horae,
    engine: Engine,
    database: Database,
    blocked: Record[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = create_async_engine(database.url)
    with engine.connect() as connection:
        shop.jobs.start("export", session=connection, owner="alice")
        async with AsyncSession(own) as session:
            waiting = asyncio.ensure_future(
                shop.aio.jobs.start("export", session=session, owner="alice")
            )
            await blocked.reaches(1)
            hints = Record[Hint]()
            monkeypatch.setattr(shop.components.wakeup, "send", hints.append)
            connection.rollback()
            assert isinstance(await waiting, Job)
            await session.commit()
    await own.dispose()
    assert [hint.kind for hint in hints] == [HintKind.WORK]
    assert rows(shop, "SELECT type FROM horae_jobs") == [("export",)]


@postgres
async def test_what_a_blocked_try_has_inserted_in_a_session_is_taken_back(
    shop: Horae, engine: Engine, blocked: Record[str]
) -> None:
    @shop.job(unique=Unique(by=("page",)))
    def fetch(page: int) -> None: ...

    pages = [{"page": 1}, {"page": 2}]
    group = shop.jobs.start_group(["nightly"], owner="alice")
    with engine.connect() as holder, engine.connect() as connection:
        shop.jobs.start(fetch, session=holder, page=2)
        shop.jobs.start("export", session=holder, owner="alice")
        many = asyncio.ensure_future(
            asyncio.to_thread(shop.jobs.start_many, fetch, pages, session=connection)
        )
        await blocked.reaches(1)
        holder.rollback()
        assert len(await many) == 2
        shop.jobs.start("export", session=holder, owner="alice")
        members = ["nightly", "export"]
        add = asyncio.to_thread(shop.jobs.add_to_group, group.id, members, session=connection)
        tries = len(blocked)
        added = asyncio.ensure_future(add)
        await blocked.reaches(tries + 1)
        holder.rollback()
        assert len(await added) == 2
        connection.commit()
        shop.jobs.start("export", session=holder, owner="bob")
        chain = partial(shop.jobs.chain, members, owner="bob", session=connection)
        tries = len(blocked)
        chained = asyncio.ensure_future(asyncio.to_thread(chain))
        await blocked.reaches(tries + 1)
        holder.rollback()
        assert len(await chained) == 2
        connection.commit()
    assert shop.jobs.get_group(group.id).total == 3
    assert rows(shop, "SELECT type, count(*) FROM horae_jobs GROUP BY type ORDER BY type") == [
        ("export", 2),
        ("fetch", 2),
        ("nightly", 3),
    ]


@postgres
@pytest.mark.parametrize(
    ("options", "created", "answers"),
    [
        ({"owner": "alice"}, 1, {Job: 1, MaxJobCountExceeded: 59}),
        ({"unique_key": "x", "on_duplicate": "return"}, 1, {Job: 60}),
    ],
)
async def test_many_coroutines_at_once(
    shop: Horae, options: dict[str, Any], created: int, answers: dict[type, int]
) -> None:
    calls = [shop.aio.jobs.start("export", **options) for _ in range(60)]
    got = await asyncio.gather(*calls, return_exceptions=True)
    assert Counter(map(type, got)) == answers
    assert rows(shop, "SELECT count(*) FROM horae_jobs") == [(created,)]


@postgres
def test_the_transaction_in_the_way_is_identified(shop: Horae, engine: Engine) -> None:
    own = text("SELECT virtualtransaction FROM pg_locks WHERE pid = pg_backend_pid() LIMIT 1")
    with engine.connect() as holder, engine.connect() as other:
        creation.lock_key(holder, "export", "x")
        with pytest.raises(Contended) as caught:
            creation.lock_key(other, "export", "x")
        assert caught.value.holder == holder.execute(own).scalar_one()


class _Turns:
    """Time that passes only while a caller waits, and a lock that goes from one transaction to the next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, each: float) -> None:
        self.now, self._each = 0.0, each
        monkeypatch.setattr(
            contention, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self._sleep)
        )

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def locked(self) -> None:
        raise Contended(
            "another transaction has started a job", f"transaction {self.now // self._each}"
        )


@pytest.mark.parametrize(
    ("each", "waited", "said"),
    [(100, 3, "has not ended for 3 s"), (2, 30, "others have before it for 30 s")],
)
def test_callers_that_take_turns_wait_for_longer_than_for_one_transaction(
    monkeypatch: pytest.MonkeyPatch, each: float, waited: float, said: str
) -> None:
    turns = _Turns(monkeypatch, each)
    with pytest.raises(DatabaseBusy, match=said):
        contention.with_retries(turns.locked, USUAL.contention)
    assert waited <= turns.now < waited + 1


@postgres
def test_two_callers_that_would_wait_for_each_other(brief: Horae, engine: Engine) -> None:
    with ExitStack() as stack:
        first, second = (stack.enter_context(engine.connect()) for _ in range(2))
        brief.jobs.start("nightly", session=first, unique_key="a")
        brief.jobs.start("nightly", session=second, unique_key="b")
        with pytest.raises(DatabaseBusy):
            brief.jobs.start("nightly", session=first, unique_key="b")
        second.rollback()
        assert brief.jobs.start("nightly", session=first, unique_key="b").id
        first.commit()
    assert rows(brief, "SELECT unique_key FROM horae_jobs ORDER BY 1") == [("a",), ("b",)]


@postgres
def test_a_conflict_in_the_caller_s_transaction_is_horae_s_error(
    shop: Horae, engine: Engine
) -> None:
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        connection.execute(text("SELECT count(*) FROM horae_jobs"))
        shop.jobs.start("nightly", unique_key="x")
        with pytest.raises(DatabaseBusy, match="roll this one back and repeat it"):
            shop.jobs.start("nightly", session=connection, unique_key="x")


def test_over_http_the_answer_has_retry_after() -> None:
    response = response_to(DatabaseBusy("another transaction has started a job"))
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
