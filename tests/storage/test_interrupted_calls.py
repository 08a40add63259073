"""Ctrl-C in a call: it is raised as such, and SQLite's one write lock is free although the error is kept."""

import _thread
import gc
from typing import Any

import pytest
from sqlalchemy import Connection, text

from horae.storage.engine.connections.connection_pool import Transaction
from horae.storage.engine.database import Database

MAKE = text("CREATE TABLE notes (id INTEGER PRIMARY KEY, word TEXT)")
ADD = text("INSERT INTO notes (word) VALUES ('one') RETURNING id")
ADD_AND_INTERRUPT = text("INSERT INTO notes (word) VALUES (press_ctrl_c()) RETURNING id")
COUNT = text("SELECT count(*) FROM notes")


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    sqlite_database.transact(lambda connection: connection.execute(MAKE))
    return sqlite_database


def press_ctrl_c(connection: Connection) -> None:
    """Let SQLite's `press_ctrl_c()` do so as a signal does: what follows in Python is interrupted."""
    driver: Any = connection.connection.driver_connection
    driver.create_function("press_ctrl_c", 0, _thread.interrupt_main)


def interrupted(connection: Connection) -> None:
    press_ctrl_c(connection)
    connection.execute(ADD_AND_INTERRUPT)


def words(connection: Connection) -> int:
    return int(connection.scalars(COUNT).one())


def add(connection: Connection) -> None:
    connection.execute(ADD)


def test_the_clock_does_not_turn_it_into_an_error_of_sqlite(database: Database) -> None:
    def read(connection: Connection) -> None:
        press_ctrl_c(connection)
        connection.execute(text("SELECT press_ctrl_c(), horae_now()"))

    with pytest.raises(KeyboardInterrupt):
        database.autocommit(read)


def test_the_lock_is_free_while_the_error_of_a_transaction_is_kept(database: Database) -> None:
    with pytest.raises(KeyboardInterrupt) as kept:
        database.transact(interrupted)
    database.transact_at_once(add)
    assert database.autocommit(words) == 1
    assert kept.value.__traceback__ is not None


def test_the_lock_is_free_while_the_error_of_a_statement_is_kept(database: Database) -> None:
    with pytest.raises(KeyboardInterrupt) as kept:
        database.autocommit(interrupted)
    database.transact_at_once(add)
    assert kept.value.__traceback__ is not None


def test_a_transaction_that_was_never_ended_is_not_used_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between the last statement and the commit."""

    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "__exit__", leave)
        with pytest.raises(KeyboardInterrupt):
            database.transact(add)
    gc.collect()  # deletes the traceback
    database.autocommit(add)
    database.transact_at_once(add)
    assert database.autocommit(words) == 2
