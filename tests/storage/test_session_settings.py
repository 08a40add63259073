"""A role or database whose sessions have unusual defaults: jobs are written and read as with the usual ones."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Final

import pytest
from sqlalchemy import make_url, text

from horae import ConfigurationError, Horae, JobContext
from horae.cli.commands.doctor import examine
from horae.client.doctor import Level
from horae.storage.engine.connections import session
from tests.harness.nodes import running_node, until_state
from tests.harness.pgbouncer import PgBouncer
from tests.harness.postgres import PostgresServer
from tests.harness.server_faults import administer

pytestmark = pytest.mark.postgres

UNUSUAL: Final = {
    "datestyle": "German",  # the driver reads no moments in it
    "client_encoding": "SQL_ASCII",  # the driver returns bytes in it
    "timezone": "Asia/Kathmandu",
    "intervalstyle": "sql_standard",
    "extra_float_digits": "-10",
    "standard_conforming_strings": "off",
    "default_transaction_isolation": "serializable",
    "bytea_output": "escape",
    "transform_null_equals": "on",
    "array_nulls": "off",
}
TEXT: Final = "Ä😀 \\n ' \""


@pytest.fixture(params=["directly", "pooled"])
def url(
    request: pytest.FixtureRequest, postgres_server: PostgresServer, migrated_postgres: str
) -> Iterator[str]:
    url = postgres_server.create_database(template=migrated_postgres)
    with administer(url) as connection:
        for name, value in UNUSUAL.items():
            connection.execute(
                f"ALTER DATABASE \"{make_url(url).database}\" SET {name} = '{value}'".encode()
            )
    if request.param == "pooled":
        pooler: PgBouncer = request.getfixturevalue("pgbouncer")
        yield pooler.url(url)
    else:
        yield url
    postgres_server.drop_database(url)


def test_a_server_that_is_too_old_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "OLDEST", 99)
    with closing(Horae(url)) as horae:
        complaint = r"the server is PostgreSQL \d+\.\d+, and Horae needs version 99 or later"
        with pytest.raises(ConfigurationError, match=complaint):
            horae.migrate()
        (finding,) = examine(horae)
        assert (finding.check, finding.level) == ("connection", Level.PROBLEM)
        assert re.match(complaint, finding.message)


async def test_jobs_run_whatever_the_defaults_of_sessions_are(url: str) -> None:
    with closing(Horae(url)) as horae:

        @horae.job(max_count=None, transaction="read committed")
        async def both(job: JobContext, given: str) -> list[str]:
            now = (
                await job.async_connection.execute(text("SELECT statement_timestamp()"))
            ).scalar_one()
            return [given, now.astimezone(UTC).isoformat()]

        @horae.job(max_count=None, transaction="read committed")
        def bound(job: JobContext, given: str) -> list[str]:
            now: datetime = job.connection.execute(
                text("SELECT statement_timestamp()")
            ).scalar_one()
            return [given, now.astimezone(UTC).isoformat()]

        async with running_node(horae):
            for kind in (both, bound):
                job = await horae.aio.jobs.start(kind, given=TEXT)
                done = await until_state(horae, job.id, "finished", "failed")
                assert done.error is None
                assert (done.created_at, done.params) == (job.created_at, {"given": TEXT})
                assert done.result[0] == TEXT
                assert (
                    abs((datetime.fromisoformat(done.result[1]) - job.created_at).total_seconds())
                    < 60
                )
        assert horae.audit().findings == []
