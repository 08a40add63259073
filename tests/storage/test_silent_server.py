"""A wait for a server that stands still has an end, and the one for a long statement has none."""

import os
import signal
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from sqlalchemy import Connection, text

from horae.errors import DatabaseUnavailable
from horae.storage.engine.connections import silent_server
from horae.storage.engine.connections.silent_server import WatchedConnection
from horae.storage.engine.database import Database
from tests.harness.network import Network
from tests.harness.node_processes import wait_until

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.direct,
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the server stood still, of each time that it was asked; it is asked early."""
    answers: list[bool] = []
    ask = WatchedConnection.stands_still

    def note(connection: WatchedConnection, seconds: float) -> bool:
        answers.append(ask(connection, seconds))
        return answers[-1]

    monkeypatch.setattr(WatchedConnection, "stands_still", note)
    monkeypatch.setattr(silent_server, "SILENCE", 0.2)
    monkeypatch.setattr(silent_server, "GRACE", 0.0)
    monkeypatch.setattr(silent_server, "CONNECT_TIMEOUT", 1)
    return answers


@contextmanager
def stopped(process: int) -> Generator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def session(connection: Connection) -> int:
    found: int = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    return found


def hold(connection: Connection) -> None:
    connection.execute(text("SELECT pg_advisory_lock(1)"))


def test_a_call_ends_whose_sessionstands_still(database: Database) -> None:
    process = database.autocommit(session)
    with stopped(process), pytest.raises(DatabaseUnavailable, match="taken effect, or will, is"):
        database.autocommit(session)
    assert database.autocommit(session) != process


def test_a_commit_ends_whose_sessionstands_still(database: Database) -> None:
    process = database.transact(session)

    def stop(connection: Connection) -> None:
        assert session(connection) == process
        os.kill(process, signal.SIGSTOP)

    try:
        with pytest.raises(DatabaseUnavailable, match="taken effect, or will, is unknown"):
            database.transact(stop)
    finally:
        os.kill(process, signal.SIGCONT)
    assert database.transact(session) != process


def test_a_call_ends_whose_server_answers_nobody(database: Database, asked: list[bool]) -> None:
    assert database.url.port is not None
    with (
        Network(database.url.port) as network,
        closing(Database(database.url.set(port=network.port))) as apart,
    ):
        apart.autocommit(session)
        network.silence()
        with pytest.raises(DatabaseUnavailable, match="stands still"):
            apart.autocommit(session)
        assert asked == [True, True]
        network.resume()
        assert apart.autocommit(session)


def test_a_statement_may_wait_for_as_long_as_the_server_answers(
    database: Database, asked: list[bool]
) -> None:
    with database.own_connection() as holder, ThreadPoolExecutor(1) as pool:
        hold(holder)
        waiting = pool.submit(database.autocommit, hold)
        wait_until(lambda: len(asked) > 1)
        holder.execute(text("SELECT pg_advisory_unlock(1)"))
        waiting.result()
    assert set(asked) == {False}


def test_a_statement_ends_that_the_server_should_have_ended(
    database: Database, asked: list[bool]
) -> None:
    def hold_without_limit(connection: Connection) -> None:
        connection.execute(text("SET statement_timeout = 0"))
        hold(connection)

    limited = database.url.update_query_dict({"options": "-c statement_timeout=100"})
    with closing(Database(limited)) as other, database.own_connection() as holder:
        hold(holder)
        with pytest.raises(DatabaseUnavailable, match="stands still"):
            other.autocommit(hold_without_limit)
    assert asked[-2:] == [True, True]
