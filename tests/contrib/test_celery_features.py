"""Sealed secrets, large values and traces of jobs in a real Celery worker."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography.fernet import Fernet

from horae import Horae
from horae.storage.engine.database import Database
from tests.contrib.celery_features_application import LIMIT, SPANS, declare, provider_of
from tests.harness.applications import rows, url_of
from tests.harness.celery_worker import CeleryWorker
from tests.harness.nodes import until, until_state
from tests.harness.postgres import PostgresServer
from tests.harness.redis import RedisServer

HIDDEN: Final = "correct-horse-battery"
LONG: Final = "a longer text, " * 500


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("features")


@pytest.fixture(scope="module")
def database(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[Database]:
    url = postgres_server.create_database(template=migrated_postgres)
    with closing(Database(url)) as database:
        yield database
    postgres_server.drop_database(url)


@pytest.fixture(scope="module")
def horae(database: Database, folder: Path, redis_server: RedisServer) -> Iterator[Horae]:
    """The application as in a program that starts jobs, beside a worker that has the same settings."""
    key, store = Fernet.generate_key().decode(), f"file://{folder / 'store'}"
    environment = {
        SPANS: str(folder / "spans"),
        "HORAE_SECRET_KEYS": key,
        "HORAE_LARGE_VALUES": store,
        "HORAE_LARGE_VALUES_OVER": str(LIMIT),
    }
    made = Horae(url_of(database), secret_keys=[key], large_values=store, large_values_over=LIMIT)
    spans = (folder / "spans").open("a")
    declare(made, provider_of(spans))
    worker = CeleryWorker(
        folder,
        url_of(database),
        redis_server.url(10),
        application="tests.contrib.celery_features_application",
        environment=environment,
    )
    with closing(made), spans, worker:
        yield made
        assert worker.stop() == 0
        assert HIDDEN not in worker.log


def spans_of(folder: Path, name: str) -> list[Any]:
    spans = [json.loads(line) for line in (folder / "spans").read_text().splitlines()]
    return [span for span in spans if span["name"] == name]


async def test_sealed_secrets(horae: Horae) -> None:
    """They are opened in the worker, and are in no row, error or log."""
    job = horae.jobs.start("log_in", user="ann", password=HIDDEN)
    refused = horae.jobs.start("refuse", password=HIDDEN)
    assert await horae.aio.jobs.wait(job, timeout="30s") == f"ann knows {len(HIDDEN)} characters"
    failed = await until_state(horae, refused.id, "failed")
    assert "is wrong in attempt 2" in str(failed.error)
    stored = [
        *rows(horae, "SELECT CAST(params AS TEXT), error, CAST(result AS TEXT) FROM horae_jobs"),
        *rows(horae, "SELECT error, traceback FROM horae_job_attempts"),
    ]
    assert HIDDEN not in str(stored)


async def test_large_values(horae: Horae, folder: Path) -> None:
    """Parameters and results go through the store, also of a former task, and go with their jobs."""
    shout, length = horae.jobs.chain([("shout", {"text": LONG}), "length"])
    task = horae.jobs.start("features.task", text=LONG)
    assert await horae.aio.jobs.wait(length, timeout="30s") == len(LONG)
    assert await horae.aio.jobs.wait(shout, timeout="30s") == LONG.upper()
    assert await horae.aio.jobs.wait(task, timeout="30s") == LONG.upper()
    files = [path for path in (folder / "store").rglob("*") if path.is_file()]
    assert len(files) == 4
    for job in (length, shout, task):
        horae.jobs.delete(job.id)
    assert [path for path in (folder / "store").rglob("*") if path.is_file()] == []


async def test_traces(horae: Horae, folder: Path) -> None:
    """A run in a process of the pool is part of the trace of its start, and so are its attempts."""
    result = await horae.aio.jobs.wait(horae.jobs.start("span"), timeout="30s")
    refused = horae.jobs.start("refuse", password=HIDDEN)
    await until_state(horae, refused.id, "failed")
    await until(lambda: spans_of(folder, "settle span") and spans_of(folder, "settle refuse")[1:])
    [start], [run], [settle] = (
        spans_of(folder, f"{name} span") for name in ("start", "run", "settle")
    )
    assert result == run["context"]["span_id"]
    assert run["parent_id"] == start["context"]["span_id"]
    assert settle["parent_id"] == run["context"]["span_id"]
    *_, first, second = spans_of(folder, "run refuse")
    assert first["context"]["trace_id"] == second["context"]["trace_id"]
    assert HIDDEN not in (folder / "spans").read_text()
