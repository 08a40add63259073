"""Bodies that wait for SQLite's write lock: another writer gets it between two of them, however many wait."""

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from horae.storage.engine.database import Database
from horae.storage.engine.sqlite import body_turns

on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
WRITE = text("INSERT INTO horae_queues (name) VALUES (:name)")


class Time:
    """Passes only while a body waits, which calls `meanwhile`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.meanwhile: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.meanwhile()


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(
        body_turns, "time", SimpleNamespace(monotonic=lambda: made.now, sleep=made.sleep)
    )
    return made


@pytest.fixture
def impatient(database: Database) -> Iterator[Database]:
    """The same file, for a writer that tries once."""
    other = Database(database.url, busy_timeout=0.0)
    yield other
    other.close()


def names(database: Database) -> list[str]:
    read = text("SELECT name FROM horae_queues ORDER BY rowid")
    return database.autocommit(lambda connection: list(connection.execute(read).scalars()))


@on_sqlite
@pytest.mark.parametrize("isolation", ["read committed", "serializable"])
def test_another_writer_goes_before_the_next_body(
    database: Database, impatient: Database, time: Time, isolation: str
) -> None:
    first = database.transaction("read committed")
    held = first.__enter__()
    held.execute(WRITE, {"name": "first body"})
    time.now += 60.0

    def end_first() -> None:
        time.meanwhile = write_between
        first.__exit__(None, None, None)

    def write_between() -> None:
        time.meanwhile = lambda: None
        impatient.transact(write, "request")

    def write(connection: Connection, name: str) -> None:
        connection.execute(WRITE, {"name": name})

    time.meanwhile = end_first
    with database.transaction(isolation) as connection:
        connection.execute(WRITE, {"name": "second body"})
    assert time.now < 60.0 + 2 * body_turns.LONGEST_TURN_OF_OTHERS
    assert names(database) == ["first body", "request", "second body"]


@on_sqlite
def test_a_body_waits_no_longer_than_its_patience(database: Database, time: Time) -> None:
    with database.transaction("read committed") as held:
        held.execute(WRITE, {"name": "held"})
        with (
            pytest.raises(OperationalError, match="database is locked"),
            database.transaction("serializable"),
        ):
            pass
    assert database.busy_timeout <= time.now < database.busy_timeout + 1


@on_sqlite
async def test_the_body_of_a_coroutine_waits_without_holding_the_event_loop(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = database.transaction("read committed")
    held = first.__enter__()
    held.execute(WRITE, {"name": "first body"})
    sleep = asyncio.sleep

    async def end_first(seconds: float) -> None:
        if held.in_transaction():
            first.__exit__(None, None, None)
        await sleep(seconds)

    monkeypatch.setattr(body_turns, "asyncio", SimpleNamespace(sleep=end_first))
    async with database.async_transaction("read committed") as connection:
        await connection.execute(WRITE, {"name": "second body"})
    assert names(database) == ["first body", "second body"]
    await database.close_async()
