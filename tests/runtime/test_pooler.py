"""Behind a pooler in transaction mode, where a connection's next transaction may be in another session of the server."""

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

import psycopg
import pytest
from sqlalchemy import make_url, text

from horae import Horae, JobContext, JobState
from horae.client.doctor.basics import check_connection, check_hints, check_pooler
from horae.client.doctor.finding import Level
from horae.errors import ConfigurationError, Unavailable
from horae.storage.engine.connections.pooler import UNPREPARED
from horae.storage.engine.database import Database
from tests.harness.nodes import running_node, until
from tests.harness.pgbouncer import PgBouncer, tracks_prepared_statements
from tests.harness.postgres import PostgresServer

pytestmark = pytest.mark.postgres

WORKERS = 6
STATEMENTS = 40
UNTRACKED: Final[dict[str, Any]] = (
    {"max_prepared_statements": 0} if tracks_prepared_statements() else {}
)
"""Settings with which PgBouncer does not keep track of prepared statements, as older versions never do."""
USABLE: Final[list[dict[str, Any]]] = [
    {"pool_mode": "session"},
    *([{}] if tracks_prepared_statements() else []),
]
"""Settings with which prepared statements can be used."""


def prepare_threshold_of(database: Database) -> int | None:
    with database.engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        threshold: int | None = driver.prepare_threshold
        return threshold


def ask_many_times(database: Database, number: int) -> None:
    """The same few statements on one connection, each in a transaction of its own."""
    with database.engine.connect() as connection:
        for turn in range(STATEMENTS):
            width = (number + turn) % 5 + 1
            columns = ", ".join(f":v{column}" for column in range(width))
            values = {f"v{column}": number for column in range(width)}
            assert connection.execute(text(f"SELECT {columns}"), values).one() == (number,) * width
            connection.commit()


def test_a_pooler_is_recognised(direct_url: str, pooled_url: str) -> None:
    with closing(Database(direct_url)) as direct, closing(Database(pooled_url)) as pooled:
        assert (direct.pooled, pooled.pooled) == (False, True)
        assert prepare_threshold_of(direct) is not None
        assert prepare_threshold_of(pooled) is None


def test_a_setting_goes_before_what_is_found(direct_url: str, pooled_url: str) -> None:
    with (
        closing(Database(direct_url, pooler=True)) as told,
        closing(Database(pooled_url, pooler=False)) as denied,
    ):
        assert (told.pooled, denied.pooled) == (True, False)


def test_every_statement_gets_its_own_answer(pooled_url: str) -> None:
    with closing(Database(pooled_url)) as database, ThreadPoolExecutor(WORKERS) as threads:
        for done in [threads.submit(ask_many_times, database, number) for number in range(WORKERS)]:
            done.result()


async def test_coroutines_get_their_own_answers(pooled_url: str) -> None:
    with closing(Database(pooled_url)) as database:

        async def ask(number: int) -> None:
            for _ in range(STATEMENTS):
                async with database.async_transaction("read committed") as connection:
                    assert (
                        await connection.execute(text("SELECT :value"), {"value": number})
                    ).scalar_one() == number

        async with asyncio.TaskGroup() as group:
            for number in range(WORKERS):
                group.create_task(ask(number))
        await database.close_async()


async def test_a_node_behind_a_pooler_runs_everything_and_logs_what_is_missing(
    pooled_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    ran = set[int]()
    before = threading.enumerate()  # the receiver of an earlier test may still be ending
    with closing(Horae(pooled_url)) as horae:

        @horae.job(max_count=None, transaction="read committed")
        def work(job: JobContext, number: int) -> None:
            ran.add(job.connection.execute(text("SELECT :number"), {"number": number}).scalar_one())

        async with running_node(horae, concurrency=8):
            await horae.aio.jobs.start_many(work, [{"number": number} for number in range(60)])

            async def all_over() -> bool:
                return (await horae.aio.jobs.count()).get(JobState.FINISHED) == 60

            await until(all_over)
        assert not [
            thread
            for thread in threading.enumerate()
            if thread.name == "horae-hints-receiver" and thread not in before
        ]
    assert ran == set(range(60))
    [line] = [record.message for record in caplog.records if "pooler" in record.message]
    assert (
        f"{UNPREPARED}; no hints, so the node polls for work every 1 s; set HORAE_HINTS_DATABASE"
        in line
    )


def test_doctor_reports_the_pooler(pooled_url: str, direct_url: str) -> None:
    with (
        closing(Database(pooled_url)) as pooled,
        closing(Database(direct_url)) as direct,
        closing(Horae(pooled_url)) as horae,
    ):
        assert UNPREPARED in check_pooler(pooled).message
        assert "directly to the server" in check_pooler(direct).message
        hints = check_hints(horae.components.wakeup, wanted=True)
        assert hints.level is Level.OK
        assert "HORAE_HINTS_DATABASE" in (hints.advice or "")


def test_the_application_name_of_a_url_passes_the_pooler(pooled_url: str) -> None:
    url = make_url(pooled_url).update_query_dict({"application_name": "reports"})
    with closing(Database(url)) as database:
        assert database.autocommit(
            lambda connection: connection.exec_driver_sql("SHOW application_name").scalar()
        ) == ("reports")


class TestPreparedStatements:
    """Debian 12 has PgBouncer 1.18, which does not keep track of them; in session mode it need not."""

    @pytest.mark.parametrize("settings", USABLE)
    def test_they_are_used_if_the_settings_demand_it(
        self, postgres_server: PostgresServer, direct_url: str, settings: dict[str, Any]
    ) -> None:
        """Whether each session serves one client, or PgBouncer knows what is prepared where."""
        with (
            PgBouncer(postgres_server.port, **settings) as pooler,
            closing(Database(pooler.url(direct_url), prepared_statements=True)) as database,
            ThreadPoolExecutor(WORKERS) as threads,
        ):
            assert prepare_threshold_of(database) is not None
            assert database.pooled
            sharing = WORKERS if "pool_mode" not in settings else 1
            for done in [
                threads.submit(ask_many_times, database, number) for number in range(sharing)
            ]:
                done.result()
            if "pool_mode" not in settings:
                assert check_pooler(database).level is Level.OK

    @pytest.mark.parametrize("mode", ["session", "transaction"])
    def test_doctor_warns_of_a_pooler_that_does_not_keep_track_of_them(
        self, postgres_server: PostgresServer, direct_url: str, mode: str
    ) -> None:
        with (
            PgBouncer(postgres_server.port, pool_mode=mode, **UNTRACKED) as pooler,
            closing(Database(pooler.url(direct_url), prepared_statements=True)) as database,
        ):
            for _ in range(2):  # a statement of the first check would be in the way of the second
                finding = check_pooler(database)
                assert finding.level is Level.WARNING
                assert "max_prepared_statements" in (finding.advice or "")

    def test_an_old_driver_is_refused(
        self, pooled_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(psycopg.capabilities, "has_send_close_prepared", lambda: False)
        with (
            closing(Database(pooled_url, prepared_statements=True)) as database,
            pytest.raises(ConfigurationError, match="needs libpq 17 or newer"),
        ):
            _ = database.pooled


def test_a_pooler_in_statement_mode_is_named_as_the_cause(
    postgres_server: PostgresServer, direct_url: str
) -> None:
    with (
        PgBouncer(postgres_server.port, pool_mode="statement") as pooler,
        closing(Database(pooler.url(direct_url))) as database,
    ):
        with pytest.raises(
            Unavailable, match="statement mode, which allows no transactions: set pool_mode"
        ):
            _ = database.pooled
        finding = check_connection(database)
        assert (finding.level, "statement mode" in finding.message) == (Level.PROBLEM, True)


def test_prepared_statements_can_be_switched_off_without_a_pooler(direct_url: str) -> None:
    with closing(Database(direct_url, prepared_statements=False)) as database:
        assert not database.pooled
        assert prepare_threshold_of(database) is None


def test_bodies_in_child_processes_use_the_same_settings(pooled_url: str) -> None:
    with (
        closing(Database(pooled_url, pooler=True, prepared_statements=True)) as database,
        closing(Database(**database.arguments)) as child,
    ):
        assert (child.pooled, child.prepared_statements, child.url) == (True, True, database.url)
