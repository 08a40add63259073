"""What every test may use: the databases, and how hard Hypothesis tries."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.harness.postgres import THROW_AWAY, PostgresServer

# No deadline: a test says what is true, a benchmark how long it takes.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A server for the whole run; tests that stop or kill one start their own."""
    with PostgresServer(THROW_AWAY) as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a fresh database without tables, once for each kind of database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/horae.db"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.create_database()
    yield url
    server.drop_database(url)
