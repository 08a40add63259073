"""A database that a test has used is given to the next one only if nothing but rows has changed."""

from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest

from tests.harness.postgres import PostgresServer
from tests.harness.reuse import ReusedDatabases, connected

pytestmark = pytest.mark.postgres


@pytest.fixture
def databases(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[ReusedDatabases]:
    with closing(ReusedDatabases(postgres_server, migrated_postgres)) as databases:
        yield databases


def used(databases: ReusedDatabases, *statements: str) -> tuple[str, str]:
    """Execute statements on one database, and return it and the next one."""
    with databases.one() as first, connected(first) as connection:
        for statement in statements:
            connection.execute(statement.encode())
    with databases.one() as second:
        return first, second


def test_rows_are_deleted_and_identities_begin_again(databases: ReusedDatabases) -> None:
    insert = "INSERT INTO horae_queues (name) VALUES ('export')"
    number = "SELECT nextval(pg_get_serial_sequence('horae_jobs', 'id'))"
    first, second = used(databases, insert, number, number)
    assert first == second
    with databases.one() as url, connected(url) as connection:
        assert connection.execute("SELECT count(*) FROM horae_queues").fetchone() == (0,)
        assert connection.execute(number.encode()).fetchone() == (1,)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE own (id int)",
        "DROP INDEX horae_groups_ended_at",
        "ALTER TABLE horae_jobs ADD COLUMN own int",
        "ALTER TABLE horae_jobs ALTER COLUMN queue DROP NOT NULL",
        "ALTER TABLE horae_jobs SET (autovacuum_enabled = off)",
        "CREATE FUNCTION own() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE SCHEMA own",
        "GRANT SELECT ON horae_jobs TO public",
        "ANALYZE horae_alembic_version",
        "UPDATE horae_alembic_version SET version_num = version_num",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET lock_timeout = 1', current_database()); END $$",
    ],
)
def test_a_database_with_any_other_change_is_dropped(
    databases: ReusedDatabases, statement: str
) -> None:
    first, second = used(databases, statement)
    assert first != second
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        connected(first)


def test_sessions_that_a_test_has_left_are_ended(databases: ReusedDatabases) -> None:
    left: list[Callable[[], object]] = []
    with databases.one() as first:
        connection = connected(first)
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE horae_jobs")
        left.append(connection.close)
    with databases.one() as second:
        assert first == second
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    for close in left:
        close()
