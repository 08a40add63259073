"""Jobs in a Celery worker beside plain tasks in the same worker, whose results are in the same PostgreSQL server."""

import importlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import psycopg

from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Grounds, Scale
from benchmarks.raw import RawPostgres
from tests.harness.celery_worker import CeleryWorker
from tests.harness.redis import RedisServer

PAUSE = 0.1
"""Seconds between two checks whether all have ended, which read all results: checks every 20 ms took 5 % of a round."""
WITHIN = 300.0
"""Seconds in which a round must end."""
PROCESSES = 2
"""Processes of the worker's pool."""


def celery(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure from the first message, or the insert of the jobs, to the commit of the last result."""
    figures: list[Figure] = []
    for ground in grounds:
        if not isinstance(ground.raw, RawPostgres):
            continue
        ground.clear()
        with RedisServer() as broker, TemporaryDirectory(prefix="horae-celery-") as folder:
            with patch.dict(
                os.environ, {"HORAE_DATABASE": ground.url, "CELERY_BROKER_URL": broker.url()}
            ):
                application = importlib.import_module("benchmarks.celery_application")
            options: dict[str, Any] = {
                "application": application.__name__,
                "concurrency": PROCESSES,
            }
            with CeleryWorker(Path(folder), ground.url, broker.url(), **options):
                figures.append(_measured(ground.name, ground.url, application, scale))
            application.horae.close()
        ground.clear()
    return figures


def _measured(name: str, url: str, application: Any, scale: Scale) -> Figure:
    count = scale.share(10)
    jobs: list[float] = []
    plain: list[float] = []
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        for round_ in range(scale.rounds + 1):
            plain.append(_rate(connection, count, lambda: _send_plain(application, count), PLAIN))
            jobs.append(_rate(connection, count, lambda: _start_jobs(application, count), JOBS))
            if round_ == 0:  # the processes connect in the first round
                jobs.clear()
                plain.clear()
    return Figure(
        "jobs in a Celery worker, beside plain tasks",
        name,
        "jobs/s",
        Samples.of(jobs),
        Samples.of(plain),
        Budget("ratio at least", 0.8),
        note=f"{PROCESSES} processes, results in PostgreSQL",
    )


PLAIN = "SELECT count(*) FROM celery_taskmeta WHERE status = 'SUCCESS'"
JOBS = "SELECT count(*) FROM horae_jobs WHERE state = 'finished' AND type = 'noop'"


def _send_plain(application: Any, count: int) -> None:
    for _ in range(count):
        application.plain.delay()


def _start_jobs(application: Any, count: int) -> None:
    application.horae.jobs.start_many(application.noop, [{}] * count)


def _rate(
    connection: psycopg.Connection[Any], count: int, start: Callable[[], None], finished: str
) -> float:
    began, before = time.perf_counter(), _count(connection, finished)
    start()
    while _count(connection, finished) - before < count:
        if time.perf_counter() - began > WITHIN:
            raise TimeoutError("the worker has not run all jobs")
        time.sleep(PAUSE)
    return count / (time.perf_counter() - began)


def _count(connection: psycopg.Connection[Any], query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    return 0 if row is None else int(row[0])
