"""What the driver executes without SQLAlchemy: the same row, the same errors, the same listeners."""

from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import create_async_engine

from horae.domain.jobs import Claim, JobId, JobState, NodeId
from horae.errors import DatabaseReadOnly, DatabaseUnavailable
from horae.storage.engine import Database
from horae.storage.jobs import ClaimScope, JobRow, claims, creation, reading
from tests.storage.arrange import wall_clock

PLAIN = JobRow(type="letter", queue="post", priority=0, params=None)


def test_the_row_is_that_of_sqlalchemy(database: Database) -> None:
    row = replace(
        PLAIN,
        owner="alice",
        params='{"text": "ä\\"€%s:x?"}',
        run_at=wall_clock().replace(microsecond=123_457) + timedelta(days=1),
        meta='{"trace": "0"}',
        max_attempts=3,
    )
    ids = [
        database.autocommit(creation.add_alone, row).id,
        database.transact(creation.add, row).id,
    ]
    first, second = database.transact(reading.get_many, ids)
    created, updated = second.created_at, second.updated_at
    assert replace(first, id=second.id, created_at=created, updated_at=updated) == second
    assert first.run_at == row.run_at


def test_the_values_that_the_database_assigned_are_returned(database: Database) -> None:
    inserted = database.autocommit(creation.add_alone, replace(PLAIN, delay=90.0))
    (stored,) = database.transact(reading.get_many, [inserted.id])
    assert (inserted.run_at, inserted.created_at) == (stored.run_at, stored.created_at)


def test_a_value_that_the_database_refuses(database: Database) -> None:
    with pytest.raises(IntegrityError) as refused:
        database.autocommit(creation.add_alone, replace(PLAIN, meta="[]"))
    assert "[parameters" not in str(refused.value)
    assert database.autocommit(creation.add_alone, PLAIN).id


def test_a_listener_sees_the_statement(database: Database) -> None:
    seen: list[str] = []
    event.listen(
        database.autocommit_engine, "before_cursor_execute", lambda *given: seen.append(given[2])
    )
    database.autocommit(creation.add_alone, PLAIN)
    assert ["INSERT INTO horae_jobs" in statement for statement in seen] == [True]


@pytest.mark.direct
def test_a_lost_connection_is_reported_and_replaced(postgres_database: Database) -> None:
    database = postgres_database
    pid = database.autocommit(
        lambda connection: connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    )

    def add_without(connection: Connection) -> JobId:
        with closing(Database(database.url)) as other:
            other.autocommit(lambda own: own.execute(text(f"SELECT pg_terminate_backend({pid})")))
        return creation.add_alone(connection, PLAIN).id

    with pytest.raises(DatabaseUnavailable) as lost:
        database.autocommit(add_without)
    assert isinstance(lost.value.__cause__, DBAPIError)
    assert lost.value.__cause__.connection_invalidated
    assert database.autocommit(creation.add_alone, PLAIN).id


@pytest.mark.direct
def test_a_server_that_accepts_no_writes(postgres_database: Database) -> None:
    database = postgres_database

    def add_read_only(connection: Connection) -> None:
        connection.execute(text("SET default_transaction_read_only = on"))
        creation.add_alone(connection, PLAIN)

    with pytest.raises(DatabaseReadOnly):
        database.autocommit(add_read_only)
    assert database.autocommit(creation.add_alone, PLAIN).id


async def test_another_driver_gets_the_statement_from_sqlalchemy(database: Database) -> None:
    """The application may lend a connection of its own engine, such as an asyncpg one."""
    database.autocommit(creation.add_alone, PLAIN)
    scope = ClaimScope(node=NodeId("n1"), types=["letter"])
    driver = "sqlite+aiosqlite" if database.is_file else "postgresql+asyncpg"
    engine = create_async_engine(database.url.set(drivername=driver))

    def claim(connection: Connection) -> list[Claim]:
        database.adopt(connection)
        return claims.claim(connection, scope, 1)

    async with engine.begin() as connection:
        (claimed,) = await connection.run_sync(claim)
    await engine.dispose()
    (stored,) = database.transact(reading.get_many, [claimed.id])
    assert (stored.state, stored.lease) == (JobState.STARTED, claimed.lease)
