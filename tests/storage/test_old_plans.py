"""A statement that took long gets a new plan: PostgreSQL may have made the old one while the table was empty."""

import math
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection

from horae.domain.jobs.job import NodeId
from horae.storage.engine import direct
from horae.storage.engine.database import Database
from horae.storage.jobs import claims, creation
from horae.storage.jobs.claims import ClaimScope, Part
from horae.storage.jobs.creation import JobRow
from horae.storage.migrations.runner import upgrade

pytestmark = pytest.mark.postgres

SCOPE = ClaimScope(node=NodeId("n1"), types=["import"])
UNTIL_KEPT = 12
"""Executions after which the driver has prepared the statement, and PostgreSQL keeps its plan."""


@pytest.fixture
def connection(
    postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Connection]:
    """A connection of which PostgreSQL has kept a plan for claims from an empty table."""
    monkeypatch.setattr(direct, "SLOW", math.inf)
    # Its own statement: the one of the process may have been planned anew by another test.
    statement = claims.CLAIM[Part.ALL]._statement  # noqa: SLF001
    monkeypatch.setitem(claims.CLAIM, Part.ALL, direct.Direct(statement))
    upgrade(postgres_database)
    with postgres_database.autocommit_engine.connect() as connection:
        # Otherwise SQLAlchemy executes the claims, by a text that never changes.
        assert not connection.dispatch.before_cursor_execute, "something listens for statements"
        for table in ("horae_jobs", "horae_queues"):
            connection.exec_driver_sql(f"VACUUM ANALYZE {table}")
        claim_often(connection)
        new = JobRow(type="import", queue="default", priority=0, params=None)
        creation.add_many(connection, new, [None] * 1000)
        yield connection


def claim_often(connection: Connection) -> None:
    for _ in range(UNTIL_KEPT):
        claims.claim(connection, SCOPE, 1)


def plan_of_newest(connection: Connection) -> str:
    """Return the kept plan of the statement that was prepared last."""
    name = connection.exec_driver_sql(
        "SELECT name FROM pg_prepared_statements ORDER BY prepare_time DESC LIMIT 1"
    ).scalar_one()
    executed = f"EXPLAIN EXECUTE {name}(ARRAY['import'], true, ARRAY[]::text[], 1, 'n1')"
    return "\n".join(connection.exec_driver_sql(executed).scalars())


def test_without_a_slow_execution_the_plan_for_the_empty_table_is_kept(
    connection: Connection,
) -> None:
    claim_often(connection)
    assert "horae_jobs_ready" not in plan_of_newest(connection)


def test_after_a_slow_execution_the_statement_is_planned_anew(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as slow:
        slow.setattr(direct, "SLOW", -1.0)
        slow.setattr(direct, "PLANNED_FOR", 0.0)
        claims.claim(connection, SCOPE, 1)
    claim_often(connection)
    plan = plan_of_newest(connection)
    assert "horae_jobs_ready" in plan, plan


def test_plans_are_kept_for_a_while_even_if_each_execution_is_slow(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct, "SLOW", -1.0)
    claim_often(connection)
    prepared = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'WITH due%%'"
    assert connection.exec_driver_sql(prepared).scalar_one() <= 2
