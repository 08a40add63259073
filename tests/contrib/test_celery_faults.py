"""Celery workers that are killed, stopped and restarted, and a broker that loses its messages: no job is lost or doubled.

`TEST_CELERY_JOBS=2000 TEST_CELERY_SEED=7` runs a larger storm, or another one.
"""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

import pytest

from horae import Horae
from horae.storage.engine.database import Database
from tests.contrib.conftest import MakeWorker
from tests.harness.applications import rows
from tests.harness.body_log import append
from tests.harness.celery_worker import CeleryWorker
from tests.harness.checked import findings
from tests.harness.nodes import until
from tests.harness.redis import RedisServer

JOBS: Final = int(os.environ.get("TEST_CELERY_JOBS", "200"))
WITHIN: Final = 60 + JOBS / 10
"""Seconds in which the jobs of a part must have run, also on a busy machine."""
SEED: Final = int(os.environ.get("TEST_CELERY_SEED", "1"))
SOON: Final = {"HORAE_TEST_LOST_AFTER": "1"}


@pytest.fixture
def database(postgres_database: Database) -> Database:
    return postgres_database


@pytest.mark.timeout(120 + JOBS)
@pytest.mark.slow
async def test_no_job_is_lost_or_finished_twice(
    horae: Horae, database: Database, broker: RedisServer, start_worker: MakeWorker, log: Path
) -> None:
    draw = Random(SEED)
    workers = [start_worker(environment=SOON), start_worker(environment=SOON, pool="threads")]
    faults = Faults(workers, broker, draw)
    batch = max(3, JOBS // len(faults.all))
    total = batch * len(faults.all)
    for fault in faults.all:
        jobs = await horae.aio.jobs.start_many(
            "charge", [{"number": number, "pause": 0.01} for number in range(batch)]
        )
        for job_id in jobs:
            append(log, what="created", job=job_id)
        await until(lambda: count(horae, "finished_at IS NULL") < batch * 2 // 3 + 1, within=WITHIN)
        await asyncio.to_thread(fault)
    await until(lambda: not count(horae, "finished_at IS NULL"), within=60 + WITHIN)
    assert rows(horae, "SELECT state, count(*) FROM horae_jobs GROUP BY state") == [
        ("finished", total)
    ]
    for worker in workers:
        assert await asyncio.to_thread(worker.stop) == 0
    assert rows(horae, "SELECT count(*), count(DISTINCT job) FROM effects") == [(total, total)]
    assert findings(database, log) == []
    assert horae.audit().findings == []


def count(horae: Horae, condition: str) -> int:
    return int(rows(horae, f"SELECT count(*) FROM horae_jobs WHERE {condition}")[0][0])


class Faults:
    """What happens to the workers and the broker."""

    def __init__(self, workers: list[CeleryWorker], broker: RedisServer, draw: Random) -> None:
        self._workers, self._broker, self._draw = workers, broker, draw
        self.all = [
            self.kill_child,
            self.flush,
            self.kill_worker,
            self.restart_broker,
            self.restart_worker,
        ]
        draw.shuffle(self.all)

    def kill_child(self) -> None:
        """Kill a process of the pool; the worker starts another one."""
        with suppress(ProcessLookupError):
            os.kill(self._draw.choice(self._workers[0].children), signal.SIGKILL)

    def flush(self) -> None:
        """Lose every message."""
        self._broker.command("FLUSHALL")

    def kill_worker(self) -> None:
        """Kill a worker with all its processes, and start it again."""
        worker = self._draw.choice(self._workers)
        worker.kill()
        worker.start()

    def restart_broker(self) -> None:
        """Kill the broker with its messages, and start it again."""
        self._broker.kill()
        self._broker.start()

    def restart_worker(self) -> None:
        """Stop a worker, which finishes its jobs, and start it again."""
        worker = self._draw.choice(self._workers)
        assert worker.stop() == 0
        worker.start()
