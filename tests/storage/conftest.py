"""A database that is emptied between tests, for the many that only read and write Horae's rows."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from horae.storage.engine.database import Database
from horae.storage.history import tables as history_tables
from horae.storage.jobs.tables import live_metadata
from horae.storage.operations import change_log_tables
from horae.storage.schedules import tables
from tests.conftest import behind_pooler
from tests.harness.postgres import PostgresServer


@pytest.fixture(scope="session")
def reused_postgres(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[str]:
    """The URL of the one database that `reused_database` empties."""
    url = postgres_server.create_database(template=migrated_postgres)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def reused_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """All tables and no rows, once for each kind of database; a tenth of the time of a database of one's own."""
    if request.param == "sqlite":
        file = tmp_path / "horae.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), file)
        url = f"sqlite:///{file}"
    else:
        url = behind_pooler(request, request.getfixturevalue("reused_postgres"))
    with closing(Database(url)) as database:
        yield database
        if request.param != "sqlite":
            empty(database)


def empty(database: Database) -> None:
    own = change_log_tables.change_log.metadata
    assert (
        tables.schedules.metadata is history_tables.history.metadata is own
    )  # each module of tables adds its own to it
    all_tables = [*own.tables.values(), *live_metadata.tables.values()]
    with database.engine.begin() as connection:
        for table in all_tables:
            connection.execute(table.delete())
