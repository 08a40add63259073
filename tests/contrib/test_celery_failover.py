"""Celery workers whose database becomes read-only before another server is promoted: they go on by themselves."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from horae import Horae
from horae.contrib.celery import setup
from horae.contrib.celery.library import celery_module
from tests.contrib.celery_application import declare
from tests.contrib.celery_messages import send_twice
from tests.faults.test_failover import cluster, demoted
from tests.harness.applications import rows
from tests.harness.celery_worker import CeleryWorker
from tests.harness.checked import findings
from tests.harness.nodes import until
from tests.harness.postgres import PostgresServer
from tests.harness.redis import RedisServer
from tests.harness.replication import Standby

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(120)]

SOON = {"HORAE_TEST_LOST_AFTER": "1"}


@dataclass
class Scene:
    """A program that starts jobs, their worker, and the servers of their database."""

    horae: Horae
    worker: CeleryWorker
    primary: PostgresServer
    standby: Standby
    broker: str
    log: Path
    jobs: list[int] = field(default_factory=list)

    def start_jobs(self, number: int) -> None:
        """Start jobs that take a moment."""
        self.jobs += [
            self.horae.jobs.start("charge", number=each, pause=0.05).id for each in range(number)
        ]

    async def finish(self) -> None:
        """Promote the standby, and wait until all jobs have finished there, once each."""
        self.standby.promote()
        database = self.horae.components.database.url.database or ""
        with closing(Horae(self.standby.url(database))) as seen:
            await until(
                lambda: not rows(seen, "SELECT 1 FROM horae_jobs WHERE finished_at IS NULL")
            )
            assert self.worker.stop() == 0
            assert rows(seen, "SELECT state, count(*) FROM horae_jobs GROUP BY state") == [
                ("finished", len(self.jobs))
            ]
            assert rows(seen, "SELECT count(*), count(DISTINCT job) FROM effects") == [
                (len(self.jobs),) * 2
            ]
            assert findings(seen.components.database, self.log) == []


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with cluster() as (primary, standby, url), RedisServer() as broker, ExitStack() as stack:
        horae = stack.enter_context(closing(Horae(url, keep_logs="off")))
        declare(horae)
        setup(celery_module("celery").Celery("starter"), horae)
        log = tmp_path / "bodies.jsonl"
        worker = CeleryWorker(tmp_path, url, broker.url(), environment=SOON, log=log)
        stack.callback(worker.kill)
        yield Scene(horae, worker, primary, standby, broker.url(), log)


async def test_a_worker_that_runs_jobs_goes_on(scene: Scene) -> None:
    scene.worker.start()
    scene.start_jobs(40)
    await until(lambda: rows(scene.horae, "SELECT 1 FROM horae_jobs WHERE finished_at IS NOT NULL"))
    with demoted(scene.primary):
        await until(lambda: "the database has accepted no writes" in scene.worker.log)
        await scene.finish()


async def test_a_worker_that_starts_meanwhile_waits(scene: Scene) -> None:
    scene.start_jobs(5)
    with demoted(scene.primary):
        scene.worker.start()
        await until(
            lambda: "the node of this worker cannot start yet and keeps trying" in scene.worker.log
        )
        send_twice(scene.broker, scene.jobs[0])  # as another worker has sent them before
        await until(
            lambda: (
                "gets another message later: the database accepts no writes now" in scene.worker.log
            )
        )
        await scene.finish()
    assert "the node of this worker has started after all" in scene.worker.log
    assert (
        "raised unexpected" not in scene.worker.log
    )  # as Celery logs, with a traceback for each message


async def test_a_worker_that_waits_can_be_stopped(scene: Scene) -> None:
    with demoted(scene.primary):
        scene.worker.start()
        await until(
            lambda: "the node of this worker cannot start yet and keeps trying" in scene.worker.log
        )
        assert scene.worker.stop() == 0
