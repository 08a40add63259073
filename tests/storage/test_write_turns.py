"""The writers of a process have SQLite's write lock in turns, and never wait for a turn in vain for long."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext

import pytest
from sqlalchemy import Connection, text

from horae import DatabaseBusy
from horae.storage.engine import Database
from horae.storage.engine.sqlite import write_turns
from horae.storage.engine.sqlite.write_turns import WriteTurns
from tests.harness.waiting import PATIENCE


def test_one_writer_at_a_time_and_the_next_one_at_once() -> None:
    turns = WriteTurns(PATIENCE)
    within: list[int] = []
    most: list[int] = []

    def write() -> None:
        within.append(1)
        most.append(len(within))
        within.pop()

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(turns.run, write) for _ in range(400)]:
            done.result(PATIENCE)
    assert set(most) == {1}


def test_a_writer_that_waited_in_vain_writes_and_does_not_end_the_turn_of_the_other() -> None:
    turns, begun, go_on = WriteTurns(0.01), threading.Event(), threading.Event()

    def write_slowly() -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(turns.run, write_slowly)
        assert begun.wait(PATIENCE)
        assert pool.submit(turns.run, lambda: "written").result(PATIENCE) == "written"
        assert not turns._turn.acquire(blocking=False)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        go_on.set()
        slow.result(PATIENCE)
    assert turns._turn.acquire(blocking=False)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def test_a_write_within_a_write_of_the_same_thread_is_refused_at_once() -> None:
    """A signal handler interrupts the thread that holds the lock of the file."""
    turns = WriteTurns(PATIENCE)
    with pytest.raises(DatabaseBusy, match="signal handler"):
        turns.run(lambda: turns.run(lambda: None))
    turns.run(lambda: None)


def test_an_error_ends_the_turn() -> None:
    turns = WriteTurns(PATIENCE)

    def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        turns.run(fail)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(turns.run, lambda: 1).result(PATIENCE) == 1


def test_a_statement_in_the_transaction_of_another_library_waits_for_no_turn(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That transaction may hold the write lock for which the writer whose turn it is waits."""
    monkeypatch.setattr(write_turns, "LONGEST_WAIT", PATIENCE)
    begun, go_on = threading.Event(), threading.Event()
    with closing(Database(sqlite_database.url)) as database, database.engine.connect() as own:

        def write_slowly(_: Connection) -> None:
            begun.set()
            assert go_on.wait(PATIENCE)

        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(database.write_one, write_slowly)
            assert begun.wait(PATIENCE)
            database.lender = lambda: nullcontext(own)
            assert database.transact(lambda joined: joined.scalar(text("SELECT 7"))) == 7
            assert not slow.done()
            go_on.set()
            slow.result(PATIENCE)
