"""The application under test, on each kind of database."""

from collections.abc import Iterator

import pytest

from horae import Horae
from horae.storage.engine.database import Database
from tests.harness.applications import application


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    """An application without job types, on a database with all tables."""
    with application(database) as horae:
        yield horae
