"""Every constraint can refuse: for each there is a row that violates it, and it alone."""

from datetime import UTC, datetime
from typing import Any, Final

import pytest
from sqlalchemy import CheckConstraint, Connection, Table
from sqlalchemy.exc import IntegrityError

from horae.storage.database import Database
from horae.storage.dialect import POSTGRESQL
from horae.storage.tables import job_attempts, jobs, live_metadata, metadata, nodes, queues

NOW: Final = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)

Row = dict[str, Any]

JOB: Final[Row] = {
    "type": "import",
    "queue": "default",
    "priority": 0,
    "state": "pending",
    "run_at": NOW,
    "created_at": NOW,
    "updated_at": NOW,
}
ATTEMPT: Final[Row] = {
    "job_id": 1,
    "lease": 1,
    "attempt": 1,
    "started_at": NOW,
    "finished_at": NOW,
    "outcome": "finished",
}
NODE: Final[Row] = {
    "id": "n1",
    "name": "n",
    "host": "h",
    "pid": 1,
    "version": "1",
    "roles": "[]",
    "types": "[]",
    "concurrency": 1,
    "started_at": NOW,
    "heartbeat_at": NOW,
}

VIOLATIONS: Final[list[tuple[str, Table, Row]]] = [
    ("horae_jobs_state", jobs, {**JOB, "state": "sleeping"}),
    ("horae_jobs_ended", jobs, {**JOB, "state": "finished"}),
    ("horae_jobs_ended", jobs, {**JOB, "state": "failed"}),
    ("horae_jobs_ended", jobs, {**JOB, "state": "cancelled"}),
    ("horae_jobs_ended", jobs, {**JOB, "finished_at": NOW}),
    ("horae_jobs_ended", jobs, {**JOB, "state": "started", "node_id": "n1", "finished_at": NOW}),
    ("horae_jobs_held", jobs, {**JOB, "node_id": "n1"}),
    ("horae_jobs_held", jobs, {**JOB, "state": "started"}),
    ("horae_jobs_held", jobs, {**JOB, "state": "finished", "node_id": "n1", "finished_at": NOW}),
    ("horae_jobs_progress", jobs, {**JOB, "progress_percentage": -1}),
    ("horae_jobs_progress", jobs, {**JOB, "progress_percentage": 101}),
    ("horae_jobs_attempts", jobs, {**JOB, "attempt": -1}),
    ("horae_jobs_attempts", jobs, {**JOB, "max_attempts": 0}),
    ("horae_jobs_attempts", jobs, {**JOB, "attempt": 2, "lease": 1}),
    ("horae_jobs_cancelled_by", jobs, {**JOB, "cancelled_by": "alice"}),
    ("horae_job_attempts_outcome", job_attempts, {**ATTEMPT, "outcome": "lost"}),
]

ALLOWED: Final[list[tuple[Table, Row]]] = [
    (jobs, JOB),
    (jobs, {**JOB, "progress_percentage": 100}),
    (jobs, {**JOB, "state": "started", "node_id": "n1", "attempt": 1, "lease": 1}),
    (jobs, {**JOB, "state": "finished", "finished_at": NOW}),
    (jobs, {**JOB, "state": "failed", "finished_at": NOW, "node_id": "n1"}),
    (jobs, {**JOB, "state": "cancelled", "finished_at": NOW, "node_id": "n1", "cancelled_by": "alice"}),
    (job_attempts, ATTEMPT),
    (nodes, NODE),
    (queues, {"name": "default"}),
]

KEYS: Final[list[tuple[str, Table, Row, Row]]] = [
    ("horae_jobs_pkey", jobs, {**JOB, "id": 1}, {**JOB, "id": 1}),
    ("horae_jobs_unique_key", jobs, {**JOB, "unique_key": "k"}, {**JOB, "unique_key": "k"}),
    ("horae_job_attempts_pkey", job_attempts, ATTEMPT, {**ATTEMPT, "attempt": 2}),
    ("horae_nodes_pkey", nodes, NODE, {**NODE, "name": "m"}),
    ("horae_queues_pkey", queues, {"name": "q"}, {"name": "q", "note": "again"}),
]


def insert(connection: Connection, table: Table, *rows: Row) -> None:
    for row in rows:
        connection.execute(table.insert().values(row))


def test_every_check_has_a_violation() -> None:
    tables = [*metadata.tables.values(), *live_metadata.tables.values()]
    checks = {item.name for table in tables for item in table.constraints if isinstance(item, CheckConstraint)}
    assert {name for name, _, _ in VIOLATIONS} == checks


def test_every_key_has_a_violation() -> None:
    tables = metadata.tables.values()
    keys = {table.primary_key.name for table in tables}
    unique = {index.name for table in tables for index in table.indexes if index.unique}
    assert {name for name, _, _, _ in KEYS} == keys | unique


@pytest.mark.parametrize(("table", "row"), ALLOWED)
def test_a_row_that_keeps_the_rules_is_taken(database: Database, table: Table, row: Row) -> None:
    database.transact(insert, table, row)


@pytest.mark.parametrize(("constraint", "table", "row"), VIOLATIONS)
def test_a_row_that_breaks_a_check_is_refused(database: Database, constraint: str, table: Table, row: Row) -> None:
    with pytest.raises(IntegrityError) as caught:
        database.transact(insert, table, row)
    quoted = f'check constraint "{constraint}"' if database.dialect == POSTGRESQL else f"failed: {constraint}"
    assert quoted in str(caught.value.orig)


@pytest.mark.parametrize(("key", "table", "first", "second"), KEYS)
def test_a_row_that_repeats_a_key_is_refused(
    database: Database, key: str, table: Table, first: Row, second: Row
) -> None:
    database.transact(insert, table, first)
    with pytest.raises(IntegrityError) as caught:
        database.transact(insert, table, second)
    quoted = (
        f'unique constraint "{key}"' if database.dialect == POSTGRESQL else f"UNIQUE constraint failed: {table.name}."
    )
    assert quoted in str(caught.value.orig)


def test_a_unique_key_is_free_again_when_its_job_has_ended(database: Database) -> None:
    ended = {**JOB, "unique_key": "k", "state": "finished", "finished_at": NOW}
    database.transact(insert, jobs, ended, ended, {**JOB, "unique_key": "k"})


def test_a_number_is_never_given_twice(database: Database) -> None:
    database.transact(insert, jobs, JOB)
    gone = database.transact(lambda connection: connection.execute(jobs.delete().returning(jobs.c.id)).scalar_one())
    database.transact(insert, jobs, JOB)
    assert database.transact(lambda connection: connection.execute(jobs.select()).scalar_one()) > gone
