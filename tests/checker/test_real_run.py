"""A run with all kinds of ends on both databases, without any fault: the checker finds nothing."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from horae import Backoff, Horae, JobContext
from horae.client.operations.queues import Queues
from horae.storage.engine.database import Database
from tests.harness.applications import execute, rows, url_of
from tests.harness.body_log import LOG_VARIABLE, append, log_body
from tests.harness.checked import findings
from tests.harness.fault_application import EFFECT, FAIR, MEMBERS, SCHEMA, fault_application
from tests.harness.nodes import running_node, until, until_released
from tests.harness.redis import RedisServer

ROOT = Path(__file__).parents[2]
AT_ONCE = Backoff(base=timedelta(0), jitter=0)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(LOG_VARIABLE, str(tmp_path / "bodies.jsonl"))
    return tmp_path / "bodies.jsonl"


@pytest.fixture
def redis() -> str | None:
    """The URL of a Redis server for live state and hints; a test may name one."""
    return None


@pytest.fixture
def horae(database: Database, redis: str | None) -> Iterator[Horae]:
    with closing(Horae(url_of(database), redis=redis)) as horae:
        execute(horae, SCHEMA)

        @horae.job(transaction="read committed", max_attempts=3, backoff=AT_ONCE, max_count=None)
        def charge(job: JobContext, *, failures: int = 0) -> None:
            log_body("begin", job)
            log_body("effect", job)
            job.connection.execute(EFFECT, {"job": job.id, "attempt": job.attempt})
            if job.attempt <= failures:
                raise RuntimeError
            log_body("end", job)

        @horae.job(max_count=None)
        async def endless(job: JobContext) -> None:
            log_body("begin", job)
            await asyncio.Event().wait()

        @horae.job(max_count=None, queue="narrow")
        async def narrow(job: JobContext) -> None:
            log_body("begin", job)
            await asyncio.sleep(0.01)
            log_body("end", job)

        yield horae


async def test_a_run_without_faults_has_no_findings(
    horae: Horae, database: Database, log: Path
) -> None:
    await run(horae, log, midway=lambda: None)
    check(horae, database, log)


@pytest.fixture
def redis_to_kill() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


class TestWithRedis:
    @pytest.fixture
    def redis(self, redis_to_kill: RedisServer) -> str:
        return redis_to_kill.url()

    async def test_a_run_during_which_redis_is_killed_has_no_findings(
        self, horae: Horae, database: Database, redis_to_kill: RedisServer, log: Path
    ) -> None:
        await run(horae, log, midway=redis_to_kill.kill)
        check(horae, database, log)
        audited = horae.audit()
        assert audited.findings == []


async def test_a_run_with_limits_turns_groups_and_snoozes_has_no_findings(
    database: Database, log: Path
) -> None:
    with closing(fault_application(url_of(database))) as horae:
        execute(horae, SCHEMA)
        horae.queues.fair(FAIR, "owner")
        start_many = horae.aio.jobs.start_many
        async with running_node(horae, concurrency=4):
            for owner in ("ann", "bob", "ann"):
                await start_many("shared", [{"seed": seed} for seed in range(8)], owner=owner)
            await start_many("metered", [{"seed": seed} for seed in range(20)])
            for _ in range(4):
                await horae.aio.jobs.start("single", seed=1)
            for failing in (False, True):
                members = [("polled", {"seed": seed}) for seed in range(MEMBERS)]
                group = await horae.aio.jobs.start_group(members, then="combined")
                if failing:
                    await horae.aio.jobs.cancel_group(group.id)
            await until(
                lambda: (
                    not rows(
                        horae,
                        "SELECT 1 FROM horae_jobs WHERE finished_at IS NULL OR node_id IS NOT NULL",
                    )
                )
            )
        assert findings(database, log) == []
        assert horae.audit().findings == []
        assert (
            len(rows(horae, "SELECT 1 FROM horae_job_attempts WHERE outcome = 'snoozed'"))
            >= MEMBERS
        )


async def run(horae: Horae, log: Path, midway: Callable[[], object]) -> None:
    """Run jobs with all kinds of ends, and a schedule; call `midway` while some of them run."""
    Queues(horae.components.database, horae.components.wakeup).limit("narrow", 2)
    schedule = horae.schedules.add("narrow", name="every second", cron="* * * * * *")
    async with running_node(horae):
        charged = await horae.aio.jobs.start_many(
            "charge", [{"failures": number} for number in (0, 1, 2, 3)]
        )
        await horae.aio.jobs.start_many("narrow", [{}] * 10)
        stopped = await horae.aio.jobs.start("endless")
        for job_id in (*charged, stopped.id):
            append(log, what="created", job=job_id)
        await until(
            lambda: log.exists() and f'"job": {stopped.id}, "attempt": 1' in log.read_text()
        )
        midway()
        await horae.aio.jobs.cancel(stopped.id)
        append(log, what="cancelled", job=stopped.id)
        await until_released(horae, stopped.id)
        await until(lambda: rows(horae, "SELECT 1 FROM horae_ticks"))
        horae.schedules.pause(schedule.id)
        await until(lambda: not rows(horae, "SELECT 1 FROM horae_jobs WHERE finished_at IS NULL"))


def check(horae: Horae, database: Database, log: Path) -> None:
    assert findings(database, log) == []
    states = rows(horae, "SELECT state FROM horae_jobs WHERE type = 'charge' ORDER BY id")
    assert [state for (state,) in states] == ["finished", "finished", "finished", "failed"]


def test_the_program_says_what_is_wrong(database: Database, tmp_path: Path) -> None:
    log = tmp_path / "bodies.jsonl"
    append(log, what="created", job=7)
    command = [sys.executable, "-m", "tests.checker", url_of(database), "--log", str(log)]
    wrong = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert wrong.stdout.splitlines() == [
        "no job is lost: job 7 was created, but has no row",
        "1 broken rule(s)",
    ]
    assert wrong.returncode == 1
    right = subprocess.run(
        [*command, "--deleted"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (right.returncode, right.stdout) == (0, "all 20 rules hold\n")
