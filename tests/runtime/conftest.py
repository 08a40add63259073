"""The application under test, on each kind of database."""

from collections.abc import Iterator

import pytest

from horae import Horae
from horae.contrib.celery.message_node import MessageNode
from horae.storage.engine.database import Database
from tests.harness.applications import application


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    """An application without job types, on a database with all tables."""
    with application(database) as horae:
        yield horae


@pytest.fixture
def worker(horae: Horae) -> Iterator[MessageNode]:
    """What runs the jobs of a backend, by their ids."""
    node = MessageNode(horae.components)
    yield node
    node.close()
