"""A statement that needs SQLite's write lock asks for it again and again, until the timeout of its connection."""

import sqlite3
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from horae.storage.engine.sqlite.opening import PatientConnection, waiting_helps
from tests.harness.waiting import PATIENCE

WRITE = "INSERT INTO written VALUES (1)"
Open = Callable[[float], PatientConnection]


@pytest.fixture
def other(tmp_path: Path) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE written (number)")
        yield connection


@pytest.fixture
def opened(other: sqlite3.Connection, tmp_path: Path) -> Open:
    def connect(timeout: float) -> PatientConnection:
        return PatientConnection(
            str(tmp_path / "a.db"), timeout, isolation_level=None, check_same_thread=False
        )

    return connect


def test_a_statement_is_repeated_until_the_lock_is_free(
    opened: Open, other: sqlite3.Connection
) -> None:
    other.execute("BEGIN IMMEDIATE")
    with closing(opened(PATIENCE)) as connection, ThreadPoolExecutor(1) as pool:
        attempts = threading.Semaphore(0)
        connection.set_trace_callback(lambda _: attempts.release())
        written = pool.submit(connection.execute, WRITE)
        for _ in range(3):
            assert attempts.acquire(timeout=PATIENCE)
        other.execute("COMMIT")
        written.result(PATIENCE)
    assert other.execute("SELECT count(*) FROM written").fetchone() == (1,)


def test_the_error_comes_after_the_timeout(opened: Open, other: sqlite3.Connection) -> None:
    other.execute("BEGIN IMMEDIATE")
    with (
        closing(opened(0.05)) as connection,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        connection.execute(WRITE)


def test_a_transaction_whose_reads_are_stale_fails_at_once(
    opened: Open, other: sqlite3.Connection
) -> None:
    """Repeating the statement would never help, as its snapshot stays what it is."""
    with closing(opened(PATIENCE)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM written").fetchall()
        other.execute(WRITE)
        attempts: list[str] = []
        connection.set_trace_callback(attempts.append)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            connection.execute(WRITE)
    assert len(attempts) == 1


@pytest.mark.parametrize(
    ("code", "helps"),
    [
        (sqlite3.SQLITE_BUSY, True),
        (sqlite3.SQLITE_BUSY_RECOVERY, True),
        (sqlite3.SQLITE_BUSY_TIMEOUT, True),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, False),
        (sqlite3.SQLITE_LOCKED, False),
        (sqlite3.SQLITE_FULL, False),
    ],
)
def test_waiting_helps_against_locks_of_others(code: int, helps: bool) -> None:
    error = sqlite3.OperationalError()
    error.sqlite_errorcode = code
    assert waiting_helps(error) is helps
