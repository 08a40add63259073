"""A SQLite file that is moved, deleted or replaced while a process uses it: nothing is written to the old file."""

import os
import threading
from asyncio import TaskGroup
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import text

from horae import Horae, JobContext
from horae.errors import JobStopped, Unavailable
from horae.runtime.timing import Timing
from horae.storage.engine.database import Database
from tests.harness.nodes import until_set


@pytest.fixture
def file(tmp_path: Path, migrated_sqlite: Path) -> Path:
    file = tmp_path / "horae.db"
    file.write_bytes(migrated_sqlite.read_bytes())
    return file


@pytest.fixture
def horae(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Horae]:
    monkeypatch.setattr("horae.adapters.Database", partial(Database, file_check_interval=0.0))
    horae = Horae(f"sqlite:///{file}")
    yield horae
    horae.close()


def move(file: Path) -> None:
    file.rename(f"{file}.moved")


def delete(file: Path) -> None:
    file.unlink()


def replace(file: Path) -> None:
    """Replace the file, as the restore of a backup does."""
    backup = Path(f"{file}.backup")
    backup.write_bytes(file.read_bytes())
    os.replace(backup, file)  # noqa: PTH105 - as a shell does


def delete_log(file: Path) -> None:
    """Delete the write-ahead log, as a user does who takes it for rubbish."""
    Path(f"{file}-wal").unlink()


def move_index(file: Path) -> None:
    elsewhere = file.with_name("elsewhere")
    elsewhere.mkdir()
    Path(f"{file}-shm").rename(elsewhere / f"{file.name}-shm")


LOSSES: Final = [move, delete, replace]
OF_COMPANIONS: Final = [delete_log, move_index]


@pytest.mark.parametrize("lose", LOSSES)
def test_callers_get_an_error_for_a_lost_file(
    horae: Horae, file: Path, lose: Callable[[Path], None]
) -> None:
    @horae.job
    def work() -> None: ...

    horae.jobs.start(work)
    lose(file)
    what = "was replaced by another one" if lose is replace else "was moved or deleted"
    for call in (
        lambda: horae.jobs.start(work),
        horae.jobs.list,
        lambda: horae.schedules.add("work", every="1h"),
    ):
        with pytest.raises(
            Unavailable,
            match=f"{file.name} cannot be used now: it {what} while this process had it open",
        ):
            call()
    assert file.exists() is (lose is replace)  # no empty file stands in its place


def test_a_restored_file_is_used_again(horae: Horae, file: Path) -> None:
    @horae.job
    def work() -> None: ...

    first = horae.jobs.start(work)
    move(file)
    with pytest.raises(Unavailable):
        horae.jobs.get(first.id)
    Path(f"{file}.moved").rename(file)
    assert [job.id for job in horae.jobs.list().jobs] == [first.id]
    assert horae.jobs.start(work).id == first.id + 1


@pytest.mark.parametrize("lose", OF_COMPANIONS)
def test_callers_get_an_error_for_a_lost_file_beside_it(
    horae: Horae, file: Path, lose: Callable[[Path], None]
) -> None:
    @horae.job
    def work() -> None: ...

    horae.jobs.start(work)
    lose(file)
    with pytest.raises(Unavailable, match="was removed while this process had it open"):
        horae.jobs.start(work)


def test_the_last_connection_removes_them_in_good_order(horae: Horae, file: Path) -> None:
    @horae.job
    def work() -> None: ...

    first = horae.jobs.start(work)
    database = horae.components.database
    vars(database)["_statement_connections"].close()
    database.engine.dispose()
    database.autocommit_engine.dispose()
    assert not Path(f"{file}-wal").exists()
    assert horae.jobs.start(work).id == first.id + 1
    assert horae.jobs.get(first.id).id == first.id


@pytest.mark.parametrize("lose", [*LOSSES, delete_log])
async def test_a_node_stops_its_bodies_and_ends_with_the_reason(
    horae: Horae, file: Path, lose: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    begun, stopped, never = threading.Event(), threading.Event(), threading.Event()

    @horae.job(transaction="read committed")
    def work(job: JobContext) -> None:
        job.connection.execute(text("INSERT INTO horae_queues (name) VALUES ('lost')"))
        begun.set()
        try:
            while True:
                never.wait(0.01)
                job.check()
        except JobStopped:
            stopped.set()
            raise

    horae.jobs.start(work)

    async def lose_it() -> None:
        await until_set(begun)
        lose(file)

    node = horae.node(timing=Timing(file_every=0.05))
    async with TaskGroup() as group:
        group.create_task(lose_it())
        with pytest.raises(Unavailable, match="while this process had it open"):
            await node.run()
    assert stopped.is_set()
    assert caplog.text.count("stops its bodies and ends") == 1
