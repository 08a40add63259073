"""An application on each kind of database: with a clock of its own (`driver`), or with the real one (`horae`)."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any, TypeAlias

import pytest

from horae import Horae
from horae.storage.engine.database import Database
from tests.harness.applications import application
from tests.harness.reuse import ReusedDatabases
from tests.schedules.clock import OWN_CLOCK, Clock
from tests.schedules.driver import Driver


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def clocked_database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """All tables and no rows, and a clock that can be taken over."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_database")
        return
    databases: ReusedDatabases = request.getfixturevalue("reused_databases")
    with databases.one(OWN_CLOCK) as url, closing(Database(url)) as database:
        yield database


@pytest.fixture
def driver(clocked_database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """An application with one job type, `work`, at ten o'clock."""
    with application(clocked_database) as horae:

        @horae.job
        def work() -> None: ...

        yield Driver(horae, Clock(clocked_database, monkeypatch))


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    """An application without job types, by the real clock."""
    with application(database) as horae:
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
