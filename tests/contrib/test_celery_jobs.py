"""Jobs in one Celery worker of child processes, which serves all tests here: whatever they do, it stays."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from horae import Horae
from horae.live.store import CancelRequest
from horae.runtime.timing import DispatcherTiming
from horae.storage.engine.database import Database
from tests.contrib.celery_messages import send_twice
from tests.contrib.conftest import application
from tests.harness.applications import url_of
from tests.harness.celery_worker import CeleryWorker
from tests.harness.checked import findings
from tests.harness.nodes import until, until_released, until_state
from tests.harness.postgres import PostgresServer
from tests.harness.redis import RedisServer


@pytest.fixture(scope="module")
def database(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[Database]:
    url = postgres_server.create_database(template=migrated_postgres)
    with closing(Database(url)) as database:
        yield database
    postgres_server.drop_database(url)


@pytest.fixture(scope="module")
def horae(database: Database) -> Iterator[Horae]:
    with application(database) as horae:
        yield horae


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bodies") / "log.jsonl"


@pytest.fixture(scope="module")
def worker(
    database: Database, horae: Horae, redis_server: RedisServer, log: Path
) -> Iterator[CeleryWorker]:
    """A worker, on a database of the shared Redis server that no other test uses."""
    queues = {"HORAE_QUEUE_BACKENDS": "reports=celery:slow"}
    with CeleryWorker(
        log.parent, url_of(database), redis_server.url(9), log=log, environment=queues
    ) as worker:
        yield worker
        assert worker.stop() == 0
    assert (
        horae.components.database.autocommit(
            lambda c: c.exec_driver_sql("SELECT id FROM horae_nodes").all()
        )
        == []
    )
    for job in horae.jobs.list(states=["pending"]).jobs:
        horae.jobs.cancel(job.id)
    assert findings(database, log) == []
    assert horae.audit().findings == []


@pytest.fixture(autouse=True)
async def _the_worker_stays(worker: CeleryWorker, horae: Horae) -> AsyncIterator[None]:
    await until(lambda: len(worker.children) == 2)  # the test before may have ended one
    yield
    assert worker.process is not None
    assert worker.process.poll() is None
    assert (
        await until_state(horae, horae.jobs.start("charge", number=1).id, "finished")
    ).result == 1


async def test_functions_and_coroutines(horae: Horae) -> None:
    charged = [horae.jobs.start("charge", number=number).id for number in range(5)]
    waits = horae.jobs.start("waits", seconds=0.05)
    for number, job_id in enumerate(charged):
        assert (await until_state(horae, job_id, "finished")).result == number
    assert (await until_state(horae, waits.id, "finished")).result == "waited"


async def test_the_queue_of_a_job_decides_as_well(horae: Horae) -> None:
    own, report = horae.jobs.start("own"), horae.jobs.start("report")
    assert (await until_state(horae, report.id, "finished")).result != os.getpid()
    assert horae.jobs.get(own.id).state == "pending"


async def test_the_jobs_of_a_queue_with_a_limit_follow_each_other_at_once(horae: Horae) -> None:
    """Its worker has forked the processes whose hints it receives."""
    horae.queues.limit("default", 1)
    jobs = [horae.jobs.start("charge", number=number).id for number in range(8)]
    within = (
        3 * DispatcherTiming().limits_every
    )  # without a hint each would wait for as long as a third of it
    await until(
        lambda: all(horae.jobs.get(job_id).state == "finished" for job_id in jobs), within=within
    )
    horae.queues.limit("default", None)


async def test_progress_is_seen_and_a_cancel_heard(horae: Horae) -> None:
    job, asleep = (
        horae.jobs.start("steps", number=2000, pause=0.02),
        horae.jobs.start("waits", seconds=60),
    )

    async def underway() -> bool:
        seen = await horae.aio.jobs.get(job.id)
        return seen.progress_percentage > 0 and seen.label == "at work"

    await until(underway)
    await until_state(horae, asleep.id, "started")
    for each in (job, asleep):
        horae.jobs.cancel(each.id)
        assert (await until_released(horae, each.id)).state == "cancelled"


async def test_a_body_that_exits_fails(horae: Horae) -> None:
    left = horae.jobs.start("leaves")
    assert "SystemExit" in str((await until_state(horae, left.id, "failed")).error)


async def test_a_soft_limit_interrupts_a_blocking_call(horae: Horae, worker: CeleryWorker) -> None:
    before = set(worker.children)
    job = horae.jobs.start("patient")
    assert (await until_state(horae, job.id, "finished")).result == "noticed"
    assert set(worker.children) == before


async def test_at_the_hard_limit_the_child_goes(horae: Horae, worker: CeleryWorker) -> None:
    before = set(worker.children)
    failed = await until_released(horae, horae.jobs.start("stubborn").id)
    assert (failed.state, failed.error_code) == ("failed", "hard_time_limit")
    await until(lambda: len(before & set(worker.children)) == 1)


async def test_a_forced_cancel_ends_the_child(horae: Horae, worker: CeleryWorker) -> None:
    before = set(worker.children)
    job = horae.jobs.start("charge", number=1, pause=60)
    await until_state(horae, job.id, "started")
    horae.components.live.request_cancel(job.id, CancelRequest("an operator", forced=True))
    assert (await until_released(horae, job.id)).state == "cancelled"
    await until(lambda: len(before & set(worker.children)) == 1)


async def test_a_crashed_child_is_rescued(horae: Horae) -> None:
    job = horae.jobs.start("crashes_once")
    assert (await until_state(horae, job.id, "finished")).attempt == 2


async def test_a_second_message_does_nothing(
    horae: Horae, worker: CeleryWorker, redis_server: RedisServer
) -> None:
    job = horae.jobs.start("charge", number=3)
    send_twice(redis_server.url(9), job.id)
    assert (await until_state(horae, job.id, "finished")).attempt == 1
    await until(lambda: worker.log.count(f"job {job.id} needs no run") >= 2)


async def test_a_celery_task_is_a_job(horae: Horae) -> None:
    job = horae.jobs.start("shop.import_csv", rows=3, owner="alice")
    done = await until_state(horae, job.id, "finished")
    assert done.result == {"rows": 3, "attempt": 1}
    assert done.progress_percentage == 100


async def test_what_a_task_reports_is_seen_and_it_learns_of_a_cancel(horae: Horae) -> None:
    job = horae.jobs.start("shop.import_csv", rows=2000, pause=0.02)

    async def underway() -> bool:
        seen = await horae.aio.jobs.get(job.id)
        return seen.progress_percentage > 0 and seen.label == "importing"

    await until(underway)
    horae.jobs.cancel(job.id)
    assert (await until_released(horae, job.id)).state == "cancelled"


async def test_a_task_catches_a_soft_limit_as_celerys_own(horae: Horae) -> None:
    assert (
        await until_state(horae, horae.jobs.start("shop.slow").id, "finished")
    ).result == "noticed"


async def test_a_retry_of_a_task_is_an_attempt_of_the_job(horae: Horae) -> None:
    job = await until_state(horae, horae.jobs.start("shop.again").id, "finished")
    assert (job.result, job.attempt) == (1, 2)


async def test_a_task_that_the_worker_does_not_have(horae: Horae) -> None:
    job = await until_state(horae, horae.jobs.start("missing").id, "failed")
    assert "this worker has no Celery task 'shop.missing'" in str(job.error)


async def test_the_worker_fires_schedules(horae: Horae) -> None:
    schedule = horae.schedules.add(
        "shop.import_csv", config={"rows": 1}, name="every second", cron="* * * * * *"
    )
    interval = horae.schedules.add(
        "charge", config={"number": 5}, name="again and again", every="200ms"
    )

    def runs(of: int) -> int:
        return horae.schedules.get(of).statistics.total_successes

    await until(lambda: runs(schedule.id) >= 1 and runs(interval.id) >= 3)
    for each in (schedule, interval):
        horae.schedules.pause(each.id)
    await until(lambda: not horae.jobs.list(states=["started"]).jobs)
