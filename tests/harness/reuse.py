"""One PostgreSQL database for many tests, emptied before each: faster than a new one, and equivalent for them."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from horae.storage.engine.database import Database
from horae.storage.jobs.tables import live_metadata, metadata
from tests.harness.postgres import PostgresServer

TABLES = text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")


@pytest.fixture(scope="session")
def reused_postgres(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[str]:
    """Return the URL of a database with all tables."""
    url = postgres_server.create_database(template=migrated_postgres)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database with all tables and no rows, once for each kind of database."""
    if request.param == "sqlite":
        file = tmp_path / "horae.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), file)
        with closing(Database(f"sqlite:///{file}")) as database:
            yield database
        return
    with closing(Database(request.getfixturevalue("reused_postgres"))) as database:
        database.transact(empty)
        yield database


def empty(connection: Connection) -> None:
    """Drop the tables that a test has created, and delete all rows of those that the migrations have created."""
    there = set(connection.execute(TABLES).scalars())
    ours = there & {*metadata.tables, *live_metadata.tables}
    others = {name for name in there - ours if not name.startswith("horae_")}
    if others:
        connection.execute(text(f"DROP TABLE {', '.join(sorted(others))} CASCADE"))
    connection.execute(text(f"TRUNCATE {', '.join(sorted(ours))} RESTART IDENTITY CASCADE"))
