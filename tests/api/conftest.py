"""The application of the tables, on each kind of database, and clients of its API."""

from collections.abc import Iterator

import pytest

from horae import Horae
from horae.api.application import HttpInterface
from horae.storage.engine.database import Database
from tests.api.clients import Client, application_of, client_of
from tests.api.tables import add_types
from tests.harness.applications import application


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    """The application, on a database with all tables."""
    with application(database) as horae:
        yield add_types(horae)


@pytest.fixture
def app(horae: Horae) -> HttpInterface:
    """Its API."""
    return application_of(horae)


@pytest.fixture
def client(app: HttpInterface) -> Client:
    """Makes clients of users: `alice` and `bob` own jobs, `auditor` may read everything, `root` may change everything."""
    return lambda who: client_of(app, who)
