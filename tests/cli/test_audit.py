"""`horae audit`: what it prints and how it exits, and a real node whose work leaves no findings."""

import asyncio
import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from horae import Backoff, Horae, JobContext
from horae.client.operations.queues import Queues
from horae.storage.engine.database import Database
from tests.cli.conftest import Call, call
from tests.harness.applications import execute, rows
from tests.harness.nodes import running_node, until, until_released


async def work(horae: Horae) -> None:
    """Jobs and runs with all kinds of ends: success, failure, retries, cancels, a limited queue, a pause."""

    @horae.job(max_count=None, max_attempts=2, backoff=Backoff(base="0s", jitter=0), queue="narrow")
    def failing(job: JobContext, *, failures: int) -> None:
        if job.attempt <= failures:
            raise RuntimeError

    @horae.job(max_count=None)
    async def endless() -> None:
        await asyncio.Event().wait()

    @horae.job(max_count=None)
    def beat() -> None: ...

    Queues(horae.components.database, horae.components.wakeup).limit("narrow", 1)
    horae.schedules.add("beat", cron="* * * * * *")
    horae.schedules.add("beat", name="often", every="200ms")
    async with running_node(horae):
        await horae.aio.jobs.start_many(
            "failing", [{"failures": number % 3} for number in range(9)]
        )
        stopped = await horae.aio.jobs.start("endless")
        await until(
            lambda: rows(
                horae, "SELECT 1 FROM horae_jobs WHERE type = 'endless' AND state = 'started'"
            )
        )
        await horae.aio.jobs.cancel(stopped.id)
        await until_released(horae, stopped.id)
        await until(
            lambda: len(rows(horae, "SELECT 1 FROM horae_ticks WHERE decision = 'fired'")) > 4
        )
        horae.schedules.pause("beat")
        horae.schedules.resume("beat")
        horae.schedules.alter("beat", cron="*/2 * * * * *")
        await until(
            lambda: (
                not rows(
                    horae, "SELECT 1 FROM horae_jobs WHERE type = 'failing' AND finished_at IS NULL"
                )
            )
        )


def audited(url: str, *more: str) -> Any:
    result = call("--database", url, "audit", "--json", *more)
    return result.exit_code, json.loads(result.stdout)


async def test_the_work_of_a_node_has_no_findings(url: str, database: Database) -> None:
    with closing(Horae(url)) as horae:
        await work(horae)
    code, report = await asyncio.to_thread(audited, url)
    assert report["findings"] == []
    assert (code, report["ok"]) == (0, True)
    assert set(report) == {"ok", "since", "checked", "findings", "not_shown", "notes"}
    assert report["checked"]["jobs"] >= 15
    assert report["checked"]["decisions"] >= 5
    code, report = await asyncio.to_thread(audited, url, "--since", "1h")
    assert (code, report["findings"]) == (0, [])
    assert report["since"] is not None


def finished_job(horae: Horae) -> int:
    @horae.job
    def task() -> int:
        return 1

    job = horae.jobs.start("task", sync=True)
    execute(horae, "DELETE FROM horae_job_attempts WHERE job_id = :id", id=job.id)
    return job.id


def test_a_finding_names_its_rows_and_exits_with_1(url: str, database: Database) -> None:
    with closing(Horae(url)) as horae:
        job = finished_job(horae)
    code, report = audited(url)
    [finding] = report["findings"]
    message = f"job {job} (task): it is finished, but no attempt with its lease 1 finished"
    assert (code, finding) == (
        1,
        {
            "invariant": "ended jobs",
            "message": message,
            "job_id": job,
            "schedule_id": None,
            "queue": None,
        },
    )
    text = call("--database", url, "audit")
    assert text.exit_code == 1
    assert re.search(rf"^ended jobs +{re.escape(message)}$", text.stdout, re.MULTILINE)
    assert "note: no node is alive, so due work is not reported as stuck" in text.stdout
    assert call("--database", url, "audit", "--since", "2999-01-01").stdout.endswith(
        "no finding: all invariants hold\n"
    )


def test_it_changes_nothing(url: str, database: Database) -> None:
    with closing(Horae(url)) as horae:
        finished_job(horae)
        before = rows(horae, "SELECT * FROM horae_jobs")
        audited(url)
        assert rows(horae, "SELECT * FROM horae_jobs") == before
        with (
            pytest.raises(Exception, match=r"read-?only"),
            horae.components.database.snapshot() as connection,
        ):
            connection.exec_driver_sql("DELETE FROM horae_jobs")


def test_a_wrong_call_or_an_absent_database_exits_with_2(bare: Call, tmp_path: Path) -> None:
    wrong = bare("audit", "--since", "yesterday")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "--since 'yesterday': expected an ISO time" in wrong.stderr
    assert "or a length of time such as 2h or 7d" in wrong.stderr
    missing = call("--database", f"sqlite:///{tmp_path}/none.db", "audit")
    assert missing.exit_code == 2
    away = call("--database", "postgresql://nobody@127.0.0.1:1/none", "audit")
    assert away.exit_code == 2
    assert away.stderr.startswith("Error: the database cannot be read: ")
