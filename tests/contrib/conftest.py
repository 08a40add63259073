"""Databases, brokers and workers for jobs in Celery."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

import pytest

from horae import Horae
from horae.contrib.celery import setup, task_type
from horae.contrib.celery.library import celery_module
from horae.storage.engine.database import Database
from tests.contrib.celery_application import SHORT_BACKOFF, declare
from tests.harness.applications import execute, url_of
from tests.harness.celery_worker import CeleryWorker
from tests.harness.fault_application import SCHEMA
from tests.harness.redis import RedisServer

TASK_OPTIONS: Final[dict[str, Any]] = {"shop.again": {"max_attempts": 3, "backoff": SHORT_BACKOFF}}
MakeWorker = Callable[..., CeleryWorker]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let the tests of jobs in Celery use databases that have the table of effects already."""
    if item.path.name.startswith("test_celery"):
        item.add_marker(pytest.mark.tables(SCHEMA))


@pytest.fixture
def broker() -> Iterator[RedisServer]:
    """A broker of its own, which the test may kill."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of the bodies."""
    return tmp_path / "bodies.jsonl"


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    """The application as in a program that starts jobs and runs none."""
    with application(database) as horae:
        yield horae


@pytest.fixture
def start_worker(
    database: Database, broker: RedisServer, tmp_path: Path, log: Path
) -> Iterator[MakeWorker]:
    """Start a worker, which is killed at the end of the test."""
    with ExitStack() as started:

        def start(**options: Any) -> CeleryWorker:
            options.setdefault("log", log)
            worker = CeleryWorker(tmp_path, url_of(database), broker.url(), **options)
            return started.enter_context(worker)

        yield start


def application(database: Database) -> "closing[Horae]":
    """Return the application without Celery, on a database that gets the table of effects."""
    horae = Horae(url_of(database), keep_logs="off")
    declare(horae)
    app = celery_module("celery").Celery("starter")
    setup(app, horae)
    for task in ("shop.import_csv", "shop.slow", "shop.again"):
        task_type(horae, task, max_count=None, **TASK_OPTIONS.get(task, {}))
    task_type(horae, "shop.missing", name="missing")
    execute(horae, SCHEMA)
    return closing(horae)
