"""Opening the database before it is needed."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from horae import DatabaseBusy, Horae, SchemaMismatch
from horae.storage.engine.sqlite import opening


def test_a_new_file_is_ready_for_a_start_within_a_transaction_that_holds_its_lock(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    with closing(Horae(url, busy_timeout=0.2)) as horae:

        @horae.job
        def work() -> None: ...

        horae.open()
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE mine (id INTEGER)"))
        with engine.begin() as connection:
            connection.execute(text("INSERT INTO mine VALUES (1)"))
            job = horae.jobs.start(work, session=connection)
        engine.dispose()
        assert horae.jobs.get(job.id) == job


def test_a_transaction_that_prevents_the_tables_from_being_made_is_said(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    engine = create_engine(url)
    with engine.connect() as connection:
        # Otherwise the mode is what Horae waits for, and that for 30 s.
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    with closing(Horae(url, busy_timeout=0.2)) as horae, engine.begin() as connection:
        connection.execute(text("CREATE TABLE mine (id INTEGER)"))
        connection.execute(text("INSERT INTO mine VALUES (1)"))
        with pytest.raises(DatabaseBusy, match=r"cannot be opened: .* call `open\(\)`"):
            horae.jobs.list()
    engine.dispose()


def test_a_file_that_cannot_be_written_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / "horae.db")) as connection:
        connection.execute("CREATE TABLE mine (id INTEGER)")
    monkeypatch.setattr("time.sleep", pytest.fail)
    address = f"file:{tmp_path}/horae.db?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True)) as connection,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        opening.prepare(connection)


def test_a_program_makes_the_tables_itself(database_url: str) -> None:
    with closing(Horae(database_url)) as horae:
        if database_url.startswith("postgresql"):
            with pytest.raises(SchemaMismatch):
                horae.open()
        horae.migrate()
        horae.migrate()  # nothing is left to do
        assert horae.jobs.list().jobs == []


async def test_a_program_of_coroutines_opens_the_database_too(database_url: str) -> None:
    with closing(Horae(database_url)) as horae:
        await horae.aio.migrate()
        assert (await horae.aio.jobs.list()).jobs == []
        assert await horae.aio.schedules.list() == []


OUTLIVES_THE_MAIN_THREAD = """
import sys, threading
from horae import Horae

horae = Horae(sys.argv[1])

@horae.job
def work(): ...

def start():
    threading.main_thread().join()
    print(horae.jobs.start(work).state)

threading.Thread(target=start).start()
"""


def test_a_thread_that_outlives_the_main_one_starts_the_first_job(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OUTLIVES_THE_MAIN_THREAD, f"sqlite:///{tmp_path}/horae.db"]
    assert subprocess.run(command, check=True, capture_output=True).stdout == b"pending\n"
