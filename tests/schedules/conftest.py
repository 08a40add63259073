"""An application on each kind of database: with a clock of its own (`driver`), or with the real one (`horae`)."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from horae import Horae
from horae.storage.engine.database import Database
from horae.storage.jobs.tables import live_metadata, metadata
from horae.storage.schedules import tables
from tests.harness.applications import application
from tests.harness.postgres import PostgresServer
from tests.schedules.clock import Clock, take_over
from tests.schedules.driver import Driver


@pytest.fixture(scope="session")
def clocked_postgres(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[str]:
    """The URL of one database whose clock is a test's, to be emptied after each."""
    url = postgres_server.create_database(template=migrated_postgres)
    with closing(Database(url)) as database:
        take_over(database)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def emptied_postgres(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[str]:
    """The URL of one database by the real clock, to be emptied after each test."""
    url = postgres_server.create_database(template=migrated_postgres)
    yield url
    postgres_server.drop_database(url)


BOTH: Final = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=BOTH)
def clocked_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """All tables and no rows, and a clock that can be taken over."""
    yield from without_rows(request, tmp_path, "clocked_postgres")


@pytest.fixture(params=BOTH)
def plain_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """All tables and no rows, by the real clock."""
    yield from without_rows(request, tmp_path, "emptied_postgres")


def without_rows(request: pytest.FixtureRequest, folder: Path, postgres: str) -> Iterator[Database]:
    if request.param == "sqlite":
        file = folder / "horae.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), file)
        url = f"sqlite:///{file}"
    else:
        url = request.getfixturevalue(postgres)
    with closing(Database(url)) as database:
        yield database
        if request.param != "sqlite":
            empty(database)


def empty(database: Database) -> None:
    assert tables.schedules.metadata is metadata
    names = [*metadata.tables, *live_metadata.tables]
    with database.engine.begin() as connection:  # all in one message, and no key is checked
        connection.exec_driver_sql(
            "SET LOCAL session_replication_role = replica; "
            + "; ".join(f"DELETE FROM {name}" for name in names)
        )


@pytest.fixture
def driver(clocked_database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """An application with one job type, `work`, at ten o'clock."""
    with application(clocked_database) as horae:

        @horae.job
        def work() -> None: ...

        yield Driver(horae, Clock(clocked_database, monkeypatch))


@pytest.fixture
def horae(plain_database: Database) -> Iterator[Horae]:
    """An application without job types, by the real clock."""
    with application(plain_database) as horae:
        yield horae


Version: TypeAlias = Callable[..., Horae]


@pytest.fixture
def version(driver: Driver) -> Iterator[Version]:
    """Makes a version of a module from names and cron expressions, or `every` and a length."""
    with ExitStack() as open_ones:

        def make(module: str = "shop", **declared: Any) -> Horae:
            horae = open_ones.enter_context(application(driver.database, module=module))
            for name, given in declared.items():
                options = dict(given) if isinstance(given, dict) else {"cron": given}
                declare(horae, name, options)
            return horae

        yield make


def declare(horae: Horae, name: str, options: dict[str, Any]) -> None:
    def body() -> None: ...

    body.__name__ = body.__qualname__ = name
    if "cron" in options:
        horae.cron(options.pop("cron"), **options)(body)
    else:
        horae.every(options.pop("every"), **options)(body)
