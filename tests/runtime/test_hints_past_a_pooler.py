"""Behind a pooler that drops notifications, hints arrive by a direct URL; without one everything is found by polling."""

import asyncio
import logging
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import make_url, text

from horae import Horae, JobContext, JobState
from horae.client.doctor.basics import check_hints
from horae.client.doctor.finding import Level
from horae.errors import ConfigurationError
from horae.runtime.timing import Timing, WorkerTiming
from tests.harness.applications import declare_as
from tests.harness.nodes import running_node, until, until_state
from tests.harness.postgres import PostgresServer
from tests.harness.waiting import Record

pytestmark = [pytest.mark.postgres, pytest.mark.pooler(default_pool_size=1)]

NEVER: Final = 3600.0
"""Seconds; no test waits so long."""
ONLY_BY_HINTS: Final = Timing(worker=WorkerTiming(poll_with_hints=NEVER, poll_idle=NEVER))

LEFT_BEHIND: Final = {
    "prepared statements": "SELECT count(*) FROM pg_prepared_statements",
    "session locks": "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
    "channels": "SELECT count(*) FROM pg_listening_channels()",
    "settings": "SELECT string_agg(name, ',') FROM pg_settings WHERE source = 'session' AND name <> ALL (:kept)",
    "temporary tables": "SELECT count(*) FROM pg_class WHERE relpersistence = 't'",
    "cursors": "SELECT count(*) FROM pg_cursors WHERE is_holdable",
}
"""What a client may leave in a session of the server, and the query that finds it."""
KEPT: Final = ["application_name", "transaction_isolation"]
"""Settings that do not stay: PgBouncer sets the first for each client, and each transaction has the second."""


async def test_hints_arrive_by_a_direct_url(
    pooled_url: str, direct_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Those of other processes, which send them through the pooler."""
    caplog.set_level(logging.INFO)
    with (
        closing(Horae(pooled_url, hints_database=direct_url)) as horae,
        closing(Horae(pooled_url)) as caller,
    ):

        @horae.job(max_count=None)
        async def quick() -> None: ...

        declare_as(caller, horae)
        async with running_node(horae, timing=ONLY_BY_HINTS):
            await until(lambda: horae.components.wakeup.connected)
            for _ in range(3):
                job = await caller.aio.jobs.start("quick")
                await until_state(horae, job.id, "finished")
        assert (
            check_hints(horae.components.wakeup, wanted=True).message
            == "hints from other processes arrive"
        )
    [line] = [record.message for record in caplog.records if "pooler" in record.message]
    assert "hints do not pass it and arrive another way" in line


def test_a_direct_url_that_leads_to_a_pooler_is_noticed(pooled_url: str) -> None:
    with closing(Horae(pooled_url, hints_database=pooled_url)) as horae:
        finding = check_hints(horae.components.wakeup, wanted=True, timeout=1.0)
        assert finding.level is Level.WARNING


def test_a_direct_url_that_leads_to_another_database_is_noticed(
    postgres_server: PostgresServer, direct_url: str
) -> None:
    """Else nodes would wait for hints that programs without this setting send elsewhere."""
    with closing(Horae(direct_url, hints_database=postgres_server.url())) as horae:
        finding = check_hints(horae.components.wakeup, wanted=True, timeout=1.0)
        assert finding.level is Level.WARNING


async def test_a_direct_url_that_does_not_answer_stops_no_job(pooled_url: str) -> None:
    nowhere = make_url(pooled_url).set(port=1).render_as_string(hide_password=False)
    with closing(Horae(pooled_url, hints_database=nowhere)) as horae:

        @horae.job(max_count=None)
        async def quick() -> None: ...

        async with running_node(horae):
            job = await horae.aio.jobs.start(quick)
            await until_state(horae, job.id, "finished")


@pytest.mark.parametrize("problem", ["sqlite", "redis", "scheme", "no URL"])
def test_a_direct_url_that_makes_no_sense_is_refused(
    problem: str, direct_url: str, tmp_path: Path
) -> None:
    database = f"sqlite:///{tmp_path}/horae.db" if problem == "sqlite" else direct_url
    url = {
        "scheme": "mysql://secret@host/name",
        "no URL": "postgresql://secret@host:port/name",
    }.get(problem, direct_url)
    redis = "redis://127.0.0.1:1" if problem == "redis" else None
    with pytest.raises(ConfigurationError, match="hints_database") as caught:
        Horae(database, hints_database=url, redis_hints=redis).open()
    assert "secret" not in str(caught.value)


def declare(horae: Horae, ran: Record[str]) -> None:
    """Declare jobs with progress, with a transaction, and with a schedule."""

    @horae.job(max_count=None)
    async def lasting(job: JobContext) -> None:
        ran.append("lasting")
        while True:
            job.progress.set(10, "waiting")
            await asyncio.sleep(0.01)

    @horae.job(max_count=None, transaction="read committed")
    def writing(job: JobContext) -> None:
        job.connection.execute(text("SELECT 1"))

    @horae.every(timedelta(seconds=0.3))
    def ticking() -> None:
        ran.append("tick")


async def test_nothing_is_left_in_a_session_that_others_use_next(pooled_url: str) -> None:
    """All clients share one session here, so whatever one of them leaves can be seen by the next."""
    ran = Record[str]()
    with closing(Horae(pooled_url)) as horae, closing(Horae(pooled_url)) as other:
        declare(horae, ran)
        declare_as(other, horae)
        async with running_node(horae, concurrency=4):
            await other.aio.jobs.start_many("writing", [{}] * 20)
            job = await other.aio.jobs.start("lasting")
            await ran.reaches(3)
            await until_state(horae, job.id, "started")
            await until(lambda: other.jobs.get(job.id).progress_percentage == 10)
            await other.aio.jobs.cancel(job.id)

            async def all_over() -> bool:
                return (await horae.aio.jobs.count()).get(JobState.FINISHED, 0) >= 20

            await until(all_over)
        with other.components.database.engine.connect() as connection:
            left = {
                what: connection.execute(text(query), {"kept": KEPT}).scalar()
                for what, query in LEFT_BEHIND.items()
            }
        assert {what: found for what, found in left.items() if found} == {}
        assert not horae.audit().findings
