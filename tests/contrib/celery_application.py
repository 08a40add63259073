"""The Celery application of the tests. Its worker imports this module; the environment names the database and broker."""

import asyncio
import ctypes
import json
import os
import time
from datetime import timedelta
from typing import Any

from horae import Backoff, Horae, JobContext
from horae.contrib.celery import setup, task_type
from horae.contrib.celery.library import celery_module
from horae.errors import SoftTimeLimitExceeded
from horae.runtime.timing import DispatcherTiming, Timing
from tests.harness.body_log import log_body, logged
from tests.harness.fault_application import EFFECT

SHORT_BACKOFF = Backoff(base=timedelta(milliseconds=20), cap=timedelta(milliseconds=200))


def declare(horae: Horae) -> None:
    """Declare the job types of the tests."""
    _declare_work(horae)
    _declare_limits(horae)
    _declare_ends(horae)
    _declare_others(horae)


def _declare_work(horae: Horae) -> None:
    """Declare jobs that do their work."""

    @horae.job(
        backend="celery",
        transaction="read committed",
        max_attempts=100,
        backoff=SHORT_BACKOFF,
        max_count=None,
    )
    def charge(job: JobContext, number: int, pause: float = 0.0) -> int:
        """Insert a row in the transaction that finishes the job."""
        with logged(job):
            time.sleep(pause)
            log_body("effect", job)
            job.connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
            return number

    @horae.job(backend="celery", max_count=None)
    def steps(job: JobContext, number: int = 100, pause: float = 0.05) -> None:
        with logged(job):
            for done in range(number):
                time.sleep(pause)
                job.progress.set(100 * (done + 1) // number, "at work")

    @horae.job(backend="celery", max_count=None)
    async def waits(job: JobContext, seconds: float) -> str:
        with logged(job):
            await asyncio.sleep(seconds)
            return "waited"


def _declare_limits(horae: Horae) -> None:
    """Declare jobs that exceed their time limits."""

    @horae.job(backend="celery", soft_time_limit="500ms", grace="5s")
    def patient(job: JobContext) -> str:
        """Notice its soft time limit in a blocking call."""
        with logged(job):
            try:
                time.sleep(60)
            except SoftTimeLimitExceeded:
                return "noticed"
            return "not noticed"

    @horae.job(backend="celery", soft_time_limit="300ms", grace="300ms")
    def stubborn(job: JobContext) -> None:
        """Ignore its soft time limit."""
        with logged(job):
            while True:
                try:
                    time.sleep(60)
                except SoftTimeLimitExceeded:
                    continue


def _declare_ends(horae: Horae) -> None:
    """Declare jobs that end their process."""

    @horae.job(backend="celery")
    def leaves(job: JobContext) -> None:
        raise SystemExit("the body ends the process")

    @horae.job(backend="celery", max_attempts=2, backoff=SHORT_BACKOFF)
    def crashes_once(job: JobContext) -> int:
        if job.attempt == 1:
            ctypes.string_at(0)
        return job.attempt


def _declare_others(horae: Horae) -> None:
    """Declare jobs that Horae's nodes run unless their queue says otherwise."""

    @horae.job(max_count=None)
    def own(job: JobContext) -> int:
        """Run on Horae's nodes."""
        return os.getpid()

    @horae.job(queue="reports", max_count=None)
    def report(job: JobContext) -> int:
        """Run where the queue says."""
        return os.getpid()


def declare_tasks(app: Any, horae: Horae) -> None:
    """Declare Celery tasks as they were written before, and the job types that they become."""
    celerys_limit = celery_module("celery.exceptions").SoftTimeLimitExceeded

    @app.task(bind=True, name="shop.import_csv")
    def import_csv(self: Any, rows: int, pause: float = 0.0) -> dict[str, Any]:
        for done in range(rows):
            time.sleep(pause)
            self.update_state(state="IMPORTING", meta={"current": done + 1, "total": rows})
        return {"rows": rows, "attempt": self.request.retries + 1}

    @app.task(name="shop.slow")
    def slow() -> str:
        try:
            time.sleep(60)
        except celerys_limit:
            return "noticed"
        return "not noticed"

    @app.task(bind=True, name="shop.again", max_retries=3)
    def again(self: Any) -> int:
        if self.request.retries < 1:
            raise self.retry(exc=ConnectionError("not yet"), countdown=60)
        return int(self.request.retries)

    task_type(horae, "shop.import_csv", max_count=None)
    task_type(horae, "shop.slow", soft_time_limit="300ms", grace="5s")
    task_type(horae, "shop.again", max_attempts=3, backoff=SHORT_BACKOFF)
    task_type(horae, "shop.missing", name="missing")


def make() -> tuple[Any, Horae]:
    """Return both applications."""
    horae = Horae()
    declare(horae)
    app = celery_module("celery").Celery("tests", broker=os.environ.get("CELERY_BROKER_URL"))
    app.conf.update(worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)
    app.conf.update(json.loads(os.environ.get("HORAE_TEST_CELERY", "{}")))
    soon = DispatcherTiming(
        compare_every=0.5, lost_after=float(os.environ.get("HORAE_TEST_LOST_AFTER", "15"))
    )
    setup(app, horae, timing=Timing(dispatcher=soon))
    declare_tasks(app, horae)
    return app, horae


if "HORAE_DATABASE" in os.environ:
    app, horae = make()
