"""The pooler of the tests is a real one, in transaction mode, and can be killed, paused and started again."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import make_url

from tests.harness.pgbouncer import PgBouncer
from tests.harness.postgres import PostgresServer

pytestmark = pytest.mark.postgres


def connected(pooler: PgBouncer) -> psycopg.Connection:
    return psycopg.connect(
        f"host=127.0.0.1 port={pooler.port} user=postgres dbname=postgres", autocommit=True
    )


def session_of(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    return int(row[0])


def test_connections_share_sessions(pooler: PgBouncer) -> None:
    with connected(pooler) as first, connected(pooler) as second:
        assert session_of(first) == session_of(second)
        with first.transaction():
            assert session_of(first) != session_of(second)


def test_it_can_be_killed_and_started_again(pooler: PgBouncer) -> None:
    with connected(pooler) as connection:
        with pooler.away(), pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        with connected(pooler) as again:
            again.execute("SELECT 1")


def test_transactions_wait_while_it_is_paused(pooler: PgBouncer) -> None:
    with connected(pooler) as connection, ThreadPoolExecutor(1) as threads:
        with pooler.paused():
            answer = threads.submit(session_of, connection)
            [pool] = [row for row in pooler.command("SHOW POOLS") if row["database"] == "postgres"]
            assert not answer.done()
            assert pool["sv_active"] == "0"
        assert answer.result(timeout=30)


def test_its_url_leads_to_the_same_database(
    pooler: PgBouncer, postgres_server: PostgresServer
) -> None:
    direct, pooled = make_url(postgres_server.url()), make_url(pooler.url(postgres_server.url()))
    assert pooled.set(port=direct.port) == direct
    assert pooled.port == pooler.port
