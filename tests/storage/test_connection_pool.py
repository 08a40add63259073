"""The connection pool: connections are reused, bounded in number, and discarded when their server ends."""

import asyncio
import logging
import os
import sqlite3
from contextlib import ExitStack
from typing import Any

import pytest
from psycopg import OperationalError
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from horae.errors import DatabaseUnavailable
from horae.storage.engine.connections import connection_pool
from horae.storage.engine.connections.connection_pool import ConnectionPool
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import SQLITE
from tests.storage.arrange import POSTGRESQL


def opened(connection: Connection) -> int:
    """Which connection to the database it is."""
    return id(connection.connection.dbapi_connection)


def test_one_after_the_other_has_the_same_and_two_at_once_have_two(database: Database) -> None:
    first = database.autocommit(opened)
    assert database.autocommit(opened) == first
    assert database.autocommit(lambda one: (opened(one), database.autocommit(opened))) != (
        first,
        first,
    )


def test_no_more_are_kept_than_were_asked_for(database: Database) -> None:
    pool = ConnectionPool(database.autocommit_engine, keep=1)
    with ExitStack() as stack:
        most = {opened(stack.enter_context(pool.statement())) for _ in range(3)}
    assert len(most) == 3
    before = database.autocommit_engine.pool.checkedout()  # type: ignore[attr-defined]  # of the pool that is used
    pool.close()
    assert database.autocommit_engine.pool.checkedout() == before - 1  # type: ignore[attr-defined]  # as above


def test_a_statement_that_fails_leaves_nothing_open(database: Database) -> None:
    twice = text("INSERT INTO horae_queues (name) VALUES ('twice')")
    database.autocommit(lambda connection: connection.execute(twice))
    with pytest.raises(IntegrityError):
        database.autocommit(lambda connection: connection.execute(twice))
    assert database.autocommit(
        lambda connection: connection.execute(text("SELECT count(*) FROM horae_queues")).scalar()
    )


def test_transactions_have_the_same_connection_one_after_the_other(database: Database) -> None:
    first = database.transact(opened)
    assert database.transact(opened) == first
    if database.dialect == SQLITE:
        assert database.autocommit(opened) == first


def in_a_transaction(connection: Connection) -> bool:
    connection.execute(text("SELECT 1"))
    driver: Any = connection.connection.driver_connection
    return bool(
        driver.in_transaction
        if connection.dialect.name == SQLITE
        else driver.info.transaction_status.value
    )


def test_a_transaction_has_ended_when_the_connection_is_used_again(database: Database) -> None:
    used = [database.transact(in_a_transaction), database.autocommit(in_a_transaction)]
    assert used * 2 == [
        True,
        False,
        database.transact(in_a_transaction),
        database.autocommit(in_a_transaction),
    ]


def test_a_commit_that_fails_leaves_nothing_open(database: Database) -> None:
    def break_a_rule(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE rule (id INTEGER PRIMARY KEY)"))
        connection.execute(
            text(
                "CREATE TABLE broken (id INTEGER REFERENCES rule (id) DEFERRABLE INITIALLY DEFERRED)"
            )
        )
        connection.execute(text("INSERT INTO broken VALUES (1)"))

    for _ in range(2):  # the tables of the first time are gone
        with pytest.raises(IntegrityError):
            database.transact(break_a_rule)
    assert not database.autocommit(in_a_transaction)


@POSTGRESQL
@pytest.mark.direct
def test_when_the_server_has_cut_one_off_the_others_are_not_tried(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        connection_pool, "is_stale", lambda _connection: False
    )  # as if the network had reported nothing
    pool = ConnectionPool(database.autocommit_engine, keep=8)
    with ExitStack() as stack:
        backends = [
            stack.enter_context(pool.statement())
            .execute(text("SELECT pg_backend_pid()"))
            .scalar_one()
            for _ in range(3)
        ]
    database.transact(
        lambda connection: [connection.execute(CUT, {"pid": pid}).all() for pid in backends]
    )
    with pytest.raises(DBAPIError), pool.statement() as connection:
        connection.execute(text("SELECT 1"))
    with pool.statement() as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
    pool.close()


def driver_of(connection: Connection) -> Any:
    return connection.connection.driver_connection


def is_closed(driver: Any) -> bool:
    if not isinstance(driver, sqlite3.Connection):
        return bool(driver.closed)
    try:
        driver.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return True
    return False


def test_what_is_in_use_at_close_is_closed_when_it_is_given_back(database: Database) -> None:
    """As by a thread of the application that starts jobs while another one closes it."""
    other = Database(**database.arguments)
    used: list[Any] = []

    def use(connection: Connection) -> None:
        used.append(driver_of(connection))

    def use_and_close(connection: Connection) -> None:
        use(connection)
        with other.transaction("read committed") as of_body, other.snapshot() as reading:
            use(of_body)
            use(reading)
            other.transact(use)
            other.close()
            assert not any(map(is_closed, (used[0], used[1], used[2])))

    other.autocommit(use_and_close)
    assert len(used) == 4
    assert all(map(is_closed, used))


async def test_what_a_coroutine_uses_at_close_is_closed_when_it_is_given_back(
    database: Database,
) -> None:
    other = Database(**database.arguments)
    async with other.async_transaction("read committed") as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        assert driver is not None
        await other.close_async()
    other.close()
    with pytest.raises((ValueError, OperationalError), match=r"closed|no active"):
        await driver.execute("SELECT 1")


def test_nothing_is_logged_of_the_pools(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "horae"):
        other = Database(**database.arguments)
        other.autocommit(opened)
        other.close()
    assert caplog.messages == []


def test_nothing_is_opened_after_close(database: Database) -> None:
    other = Database(**database.arguments)
    other.autocommit(opened)
    other.close()
    for call in (other.autocommit, other.transact, other.transact_at_once):
        with pytest.raises(DatabaseUnavailable, match="was closed meanwhile"):
            call(opened)
    with (
        pytest.raises(DatabaseUnavailable, match="was closed meanwhile"),
        other.transaction("read committed"),
    ):
        pass


CUT = text("SELECT pg_terminate_backend(:pid, 20000)")


async def in_its_threads(database: Database) -> int:
    return await database.in_thread(lambda: database.autocommit(opened))


def test_a_child_of_a_fork_has_its_own(database: Database) -> None:
    ours = {asyncio.run(in_its_threads(database)), database.transact(opened)}
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            own = {asyncio.run(in_its_threads(database)), database.transact(opened)}
            os.write(writing, b"ours" if own & ours else b"own")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 10) == b"own"
    assert {asyncio.run(in_its_threads(database)), database.transact(opened)} == ours
