"""The project of `shop` on the database of each test."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from asgiref.sync import SyncToAsync

from horae.storage.engine.database import Database
from tests.harness.environment import changed_environment

OF_DJANGO: Final = {"DJANGO_SETTINGS_MODULE": "tests.contrib.django.shop.settings"}

# When Django reads its settings it sets the time zone of the process, in which all other tests may run as well.
with changed_environment(OF_DJANGO):
    from django.conf import settings
    from django.db import connection, connections

    from horae.contrib.django import DjangoHorae
    from horae.contrib.django import horae as application
    from tests.contrib.django.shop.models import Order


@pytest.fixture(autouse=True)
def _environment_of_django() -> Iterator[None]:
    """The environment of a process of the project, with its time zone."""
    with changed_environment({**OF_DJANGO, "TZ": settings.TIME_ZONE}):
        yield


def settings_of(database: Database) -> dict[str, Any]:
    """The entry of `DATABASES` for a database."""
    url = database.url
    if database.is_file:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": url.database}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": url.database,
        "USER": url.username or "",
        "PASSWORD": url.password or "",
        "HOST": url.host or url.query.get("host", ""),
        "PORT": url.port or url.query.get("port", ""),
        "OPTIONS": {"application_name": "shop"},
    }


@contextmanager
def on_database(given: dict[str, Any], alias: str = "default") -> Generator[None]:
    """Put a database in the place of an alias, as a test runner may."""
    before = connections.settings[alias]
    forget_connections(alias)
    connections.settings[alias] = connections.configure_settings({"default": given})["default"]
    try:
        yield
    finally:
        forget_connections(alias)
        connections.settings[alias] = before


def forget_connections(alias: str) -> None:
    """Let this thread, and the one on which the ORM of coroutines runs, connect anew."""

    def forget() -> None:
        connections[alias].close()
        del connections[alias]

    forget()
    SyncToAsync.single_thread_executor.submit(forget).result()


@pytest.fixture
def horae(database: Database) -> Iterator[DjangoHorae]:
    """The application of the shop, with the table of its orders and no other one of Django's."""
    with shop_on(database) as horae:
        yield horae


@pytest.fixture
def postgres_horae(postgres_database: Database) -> Iterator[DjangoHorae]:
    """The same, for what a file cannot show."""
    with shop_on(postgres_database) as horae:
        yield horae


@contextmanager
def shop_on(database: Database) -> Generator[DjangoHorae]:
    """The application of the shop on a database."""
    with on_database(settings_of(database)):
        with connection.schema_editor() as editor:
            editor.create_model(Order)
        yield application
        application.close()
        if not database.is_file:  # the next test may get the same database
            with connection.schema_editor() as editor:
                editor.delete_model(Order)
