"""Jobs in a transaction of the caller exist exactly if it commits, and nodes are notified only then."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from horae import DuplicateJob, Horae, InvalidParameters, InvalidRequest, MaxJobCountExceeded
from horae.storage.engine.database import Database
from horae.wakeup.channel import Hint
from tests.harness.applications import execute, own_engine, rows
from tests.harness.waiting import Record


@pytest.fixture
def shop(horae: Horae) -> Horae:
    @horae.job(max_count=1)
    def ship(order: int) -> None: ...

    execute(horae, "CREATE TABLE orders (number INTEGER PRIMARY KEY)")
    return horae


@pytest.fixture
def sent(shop: Horae, monkeypatch: pytest.MonkeyPatch) -> Record[Hint]:
    """What was announced, in place of announcing it."""
    hints = Record[Hint]()
    monkeypatch.setattr(shop.components.wakeup, "send", hints.append)
    return hints


@pytest.fixture
def engine(database: Database) -> Iterator[Engine]:
    with own_engine(database) as engine:
        yield engine


@pytest.fixture
async def async_engine(database: Database) -> AsyncIterator[AsyncEngine]:
    driver = "sqlite+aiosqlite" if database.dialect == "sqlite" else "postgresql+psycopg"
    engine = create_async_engine(database.url.set(drivername=driver))
    yield engine
    await engine.dispose()


def counts(horae: Horae) -> tuple[int, int]:
    [(orders, jobs)] = rows(
        horae, "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM horae_jobs)"
    )
    return orders, jobs


ORDER = text("INSERT INTO orders VALUES (1)")
Opened = Session | Connection


@contextmanager
def _session(engine: Engine) -> Generator[Session]:
    with Session(engine) as session:
        yield session


@contextmanager
def _connection(engine: Engine) -> Generator[Connection]:
    with engine.connect() as connection:
        yield connection


@pytest.fixture(params=[_session, _connection], ids=["session", "connection"])
def opened(request: pytest.FixtureRequest, engine: Engine) -> Generator[Opened]:
    with request.param(engine) as session:
        yield session


async def test_it_is_there_once_the_caller_commits(
    shop: Horae, sent: Record[Hint], opened: Opened
) -> None:
    opened.execute(ORDER)
    job = shop.jobs.start("ship", order=1, session=opened)
    assert counts(shop) == (0, 0)
    assert sent == []
    opened.commit()
    assert counts(shop) == (1, 1)
    assert shop.jobs.get(job.id).params == {"order": 1}
    await sent.reaches(1)
    assert [hint.kind.value for hint in sent] == ["work"]


async def test_a_rollback_leaves_nothing_and_announces_nothing(
    shop: Horae, sent: Record[Hint], opened: Opened
) -> None:
    opened.execute(ORDER)
    shop.jobs.start("ship", order=1, session=opened)
    opened.rollback()
    assert counts(shop) == (0, 0)
    opened.execute(ORDER)
    opened.commit()
    # A job that is announced proves that an announcement of the other, had there been one, would have come before.
    shop.jobs.start("ship", order=2, session=opened)
    opened.commit()
    await sent.reaches(1)
    assert len(sent) == 1


async def test_many_jobs_and_one_commit(shop: Horae, sent: Record[Hint], opened: Opened) -> None:
    ids = shop.jobs.start_many("ship", [{"order": 1}, {"order": 2}], session=opened)
    shop.jobs.start("ship", order=3, session=opened)
    assert counts(shop) == (0, 0)
    opened.commit()
    assert len(ids) == 2
    assert counts(shop) == (0, 3)
    await sent.reaches(1)


async def test_a_savepoint_announces_nothing_before_the_commit(
    shop: Horae, sent: Record[Hint], engine: Engine
) -> None:
    with Session(engine) as session:
        session.execute(ORDER)
        with session.begin_nested():
            shop.jobs.start("ship", order=1, session=session)
        assert sent == []
        session.commit()
    assert counts(shop) == (1, 1)
    await sent.reaches(1)


def test_a_rolled_back_savepoint_removes_its_job(shop: Horae, engine: Engine) -> None:
    with Session(engine) as session:
        session.execute(ORDER)
        nested = session.begin_nested()
        shop.jobs.start("ship", order=1, session=session)
        nested.rollback()
        session.commit()
    assert counts(shop) == (1, 0)


def test_a_refusal_spoils_nothing_of_the_callers_transaction(shop: Horae, opened: Opened) -> None:
    opened.execute(ORDER)
    shop.jobs.start("ship", order=1, session=opened, owner="alice", unique_key="x")
    refusals: list[tuple[type[Exception], Callable[[], object]]] = [
        (DuplicateJob, lambda: shop.jobs.start("ship", order=2, session=opened, unique_key="x")),
        (
            MaxJobCountExceeded,
            lambda: shop.jobs.start("ship", order=2, session=opened, owner="alice"),
        ),
        (InvalidParameters, lambda: shop.jobs.start("ship", order="x", session=opened)),
    ]
    for error, refused in refusals:
        with pytest.raises(error):
            refused()
    opened.commit()
    assert counts(shop) == (1, 1)


def test_a_job_of_an_open_transaction_cannot_run_now(shop: Horae, opened: Opened) -> None:
    with pytest.raises(InvalidRequest, match="sync"):
        shop.jobs.start("ship", order=1, session=opened, sync=True)


async def test_an_async_session_commits_its_job(
    shop: Horae, sent: Record[Hint], async_engine: AsyncEngine
) -> None:
    async with AsyncSession(async_engine) as session:
        await session.execute(ORDER)
        job = await shop.aio.jobs.start("ship", order=1, session=session)
        await shop.aio.jobs.start_many("ship", [{"order": 2}], session=session)
        assert counts(shop) == (0, 0)
        assert sent == []
        await session.commit()
    assert counts(shop) == (1, 2)
    assert (await shop.aio.jobs.get(job.id)).params == {"order": 1}
    await sent.reaches(1)


async def test_an_async_session_rolls_its_job_back(shop: Horae, async_engine: AsyncEngine) -> None:
    async with AsyncSession(async_engine) as session:
        await session.execute(ORDER)
        await shop.aio.jobs.start("ship", order=1, session=session)
        await session.rollback()
    assert counts(shop) == (0, 0)


async def test_an_async_connection_commits_its_job(
    shop: Horae, sent: Record[Hint], async_engine: AsyncEngine
) -> None:
    async with async_engine.begin() as connection:
        await connection.execute(ORDER)
        await shop.aio.jobs.start("ship", order=1, session=connection)
    assert counts(shop) == (1, 1)
    await sent.reaches(1)


@pytest.fixture
def elsewhere(database: Database, tmp_path: Path) -> Iterator[Engine]:
    """Another database of the same kind."""
    if database.dialect == "sqlite":
        engine = create_engine(f"sqlite:///{tmp_path}/elsewhere.db")
    else:
        engine = create_engine(database.url.set(database="postgres"))
    yield engine
    engine.dispose()


def creator_of(database: Database) -> Callable[[], Any]:
    if database.dialect == "sqlite":
        return lambda: sqlite3.connect(database.url.database or "")
    return lambda: psycopg.connect(
        database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    )


@pytest.mark.parametrize("opened", [_session, _connection])
def test_a_transaction_of_another_database_is_refused(
    shop: Horae, elsewhere: Engine, opened: Callable[[Engine], AbstractContextManager[Opened]]
) -> None:
    with opened(elsewhere) as within:
        with pytest.raises(InvalidRequest, match=str(elsewhere.url.database)) as refused:
            shop.jobs.start("ship", session=within, order=1)
        with pytest.raises(InvalidRequest, match="another database"):
            shop.jobs.start_many("ship", [{"order": 1}], session=within)
    assert str(shop.components.database.url.database) in str(refused.value)
    assert (elsewhere.url.password or "no password") not in str(refused.value)
    assert shop.jobs.list().jobs == []


def test_a_transaction_of_a_database_in_memory_is_refused(shop: Horae) -> None:
    engine = create_engine("sqlite://")
    with Session(engine) as session, pytest.raises(InvalidRequest, match="another database"):
        shop.jobs.start("ship", session=session, order=1)
    engine.dispose()


def test_another_way_to_the_same_database_is_not_refused_and_asked_for_once(
    shop: Horae, database: Database
) -> None:
    engine = create_engine(f"{database.url.drivername}://", creator=creator_of(database))
    if database.dialect == "postgresql":
        event.listen(
            engine, "connect", lambda raw, _: raw.execute("SET TIME ZONE 'Asia/Kathmandu'")
        )
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    for number in (1, 2):
        with engine.begin() as connection:
            shop.jobs.start("ship", session=connection, order=number)
    engine.dispose()
    assert len(shop.jobs.list().jobs) == 2
    assert (
        len([text for text in statements if "pg_postmaster" in text or "pragma_database" in text])
        == 1
    )
