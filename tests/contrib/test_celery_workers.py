"""Other pools and databases, and workers that are killed or refuse to start."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from horae import Horae
from horae.storage.engine.database import Database
from horae.storage.nodes import nodes
from tests.contrib.conftest import MakeWorker
from tests.harness.applications import rows, url_of
from tests.harness.celery_worker import CeleryWorker
from tests.harness.checked import findings
from tests.harness.nodes import until, until_released, until_state
from tests.harness.redis import RedisServer


@pytest.fixture
def database(postgres_database: Database) -> Database:
    return postgres_database


def check(horae: Horae, database: Database, log: Path) -> None:
    assert findings(database, log) == []
    assert horae.audit().findings == []


def bodies(log: Path) -> set[int]:
    """The processes in which bodies have begun."""
    return {
        int(entry["node"])
        for entry in map(json.loads, log.read_text().splitlines() if log.exists() else ())
    }


async def run_and_cancel(
    horae: Horae, database: Database, start_worker: MakeWorker, log: Path, pool: str
) -> None:
    worker = start_worker(pool=pool)
    charged = [horae.jobs.start("charge", number=number).id for number in range(3)]
    for number, job_id in enumerate(charged):
        assert (await until_state(horae, job_id, "finished")).result == number
    [main] = [view for view in database.autocommit(nodes.view) if view.is_backend_worker]
    assert (main.concurrency, main.queues) == (
        1 if pool == "solo" else 2,
        ["celery", "celery:celery", "celery:export"],
    )
    steps, left = horae.jobs.start("steps", number=2000, pause=0.02), horae.jobs.start("leaves")
    await until_state(horae, steps.id, "started")
    horae.jobs.cancel(steps.id)
    assert (await until_released(horae, steps.id)).state == "cancelled"
    await until_state(horae, left.id, "failed")
    waits = horae.jobs.start("waits", seconds=0.01)
    assert (await until_state(horae, waits.id, "finished")).result == "waited"
    assert worker.stop() == 0
    assert rows(horae, "SELECT id FROM horae_nodes") == []
    check(horae, database, log)


@pytest.mark.parametrize("pool", ["threads", "solo"])
async def test_a_worker_without_child_processes(
    horae: Horae, database: Database, start_worker: MakeWorker, log: Path, pool: str
) -> None:
    await run_and_cancel(horae, database, start_worker, log, pool)


class TestOnSqlite:
    @pytest.fixture
    def database(self, sqlite_database: Database) -> Database:
        return sqlite_database

    async def test_a_worker_with_child_processes(
        self, horae: Horae, database: Database, start_worker: MakeWorker, log: Path
    ) -> None:
        await run_and_cancel(horae, database, start_worker, log, "prefork")


@pytest.mark.slow
async def test_a_killed_worker_is_rescued_by_another(
    horae: Horae, database: Database, start_worker: MakeWorker, log: Path
) -> None:
    soon = {"HORAE_TEST_LOST_AFTER": "1"}  # messages that the killed worker had received are lost
    first = start_worker(environment=soon)
    jobs = [horae.jobs.start("charge", number=number, pause=0.2) for number in range(12)]
    await until(lambda: rows(horae, "SELECT 1 FROM horae_jobs WHERE state = 'started'"))
    first.kill()
    start_worker(environment=soon)
    for job in jobs:
        await until_state(horae, job.id, "finished")
    check(horae, database, log)


async def test_a_worker_that_is_stopped_at_once_interrupts_its_jobs(
    horae: Horae, database: Database, start_worker: MakeWorker, log: Path
) -> None:
    """As a node whose grace has passed: what is safe to run again goes back without an attempt."""
    worker = start_worker(
        concurrency=3, options=("-l", "debug", "-X", "celery")
    )  # not the queues of jobs
    assert worker.process is not None
    once, again = (
        horae.jobs.start("steps", number=2000, pause=0.02),
        horae.jobs.start("charge", number=7, pause=30),
    )
    begun = await until(lambda: begins if len(begins := bodies(log)) == 2 else None)
    (idle,) = set(worker.children) - begun
    os.kill(
        idle, signal.SIGSTOP
    )  # the worker has given it a task when it is stopped, but does not know that it runs
    late = horae.jobs.start("charge", number=8, pause=30)
    await until(lambda: worker.log.count("TaskPool: Apply") == 3)
    worker.process.send_signal(signal.SIGQUIT)
    await until(lambda: "will terminate all running tasks" in worker.log)
    os.kill(idle, signal.SIGCONT)
    began = time.monotonic()
    assert worker.process.wait(60) == 0
    assert time.monotonic() - began < 20  # less than the bodies pause
    failed = horae.jobs.get(once.id)
    assert (failed.state, str(failed.error).partition(";")[0]) == (
        "failed",
        "the node stopped before the job ended",
    )
    for each in (again, late):
        assert (horae.jobs.get(each.id).state, horae.jobs.get(each.id).attempt) == ("pending", 0)
        horae.jobs.cancel(each.id)
    assert rows(horae, "SELECT id FROM horae_nodes") == []
    check(horae, database, log)


class TestRefusedStarts:
    """A worker that cannot run jobs as they are declared ends with a message, before it takes one."""

    def refuse(
        self,
        database: Database,
        tmp_path: Path,
        broker: str = "redis://127.0.0.1:1/0",
        **options: object,
    ) -> str:
        worker = CeleryWorker(tmp_path, url_of(database), broker, **options)  # type: ignore[arg-type]
        assert worker.run_to_its_end() == 1
        return worker.log

    def test_no_broker(self, database: Database, tmp_path: Path) -> None:
        log = self.refuse(database, tmp_path, broker="")
        assert "horae: the Celery application 'tests' has no broker" in log

    def test_messages_that_it_would_reject(self, database: Database, tmp_path: Path) -> None:
        settings = {"HORAE_TEST_CELERY": '{"accept_content": ["yaml"]}'}
        log = self.refuse(database, tmp_path, environment=settings)
        assert (
            "horae: the Celery application 'tests' writes messages as 'json' (task_serializer), and its workers"
            in log
        )

    def test_messages_without_bound(self, horae: Horae, database: Database, tmp_path: Path) -> None:
        settings = {"HORAE_TEST_CELERY": '{"worker_prefetch_multiplier": 0}'}
        log = self.refuse(database, tmp_path, environment=settings)
        assert "horae: worker_prefetch_multiplier is 0" in log
        assert rows(horae, "SELECT id FROM horae_nodes") == []

    def test_two_deployments_name_different_backends(
        self, horae: Horae, database: Database, tmp_path: Path, redis_server: RedisServer
    ) -> None:
        horae.queues.set_backend("reports", "horae")
        queues = {"HORAE_QUEUE_BACKENDS": "reports=celery"}
        log = self.refuse(database, tmp_path, broker=redis_server.url(8), environment=queues)
        assert "horae: queue 'reports': this application names the backend 'celery'" in log
        assert rows(horae, "SELECT id FROM horae_nodes") == []
