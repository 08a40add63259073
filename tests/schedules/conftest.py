"""An application on each kind of database: with a clock of its own (`stage`), or with the real one (`horae`)."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from horae import Horae
from horae.storage import schedule_tables
from horae.storage.database import Database
from horae.storage.tables import live_metadata, metadata
from tests.harness.applications import application
from tests.harness.postgres import PostgresServer
from tests.schedules.clock import Clock, take_over
from tests.schedules.stage import Stage


@pytest.fixture(scope="session")
def clocked_postgres(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[str]:
    """The URL of one database whose clock is a test's, to be emptied after each."""
    url = postgres_server.create_database(template=migrated_postgres)
    with closing(Database(url)) as database:
        take_over(database)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def clocked_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """All tables and no rows."""
    if request.param == "sqlite":
        file = tmp_path / "horae.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), file)
        url = f"sqlite:///{file}"
    else:
        url = request.getfixturevalue("clocked_postgres")
    with closing(Database(url)) as database:
        yield database
        if request.param != "sqlite":
            empty(database)


def empty(database: Database) -> None:
    assert schedule_tables.schedules.metadata is metadata
    with database.engine.begin() as connection:
        for table in reversed([*metadata.sorted_tables, *live_metadata.sorted_tables]):
            connection.execute(table.delete())


@pytest.fixture
def stage(clocked_database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """An application with one job type, `work`, at ten o'clock."""
    with application(clocked_database) as horae:

        @horae.job
        def work() -> None: ...

        yield Stage(horae, Clock(clocked_database, monkeypatch))


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    """An application without job types, by the real clock, on a database of its own."""
    with application(database) as horae:
        yield horae
