"""What nodes and pages ask for again and again must not read jobs that have ended: there may be millions of them."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from sqlalchemy import Connection, event, text

from horae.domain.jobs.job import NodeId
from horae.domain.jobs.limits import HARD, OF_SCHEDULE, PENDING
from horae.storage.engine.database import Database
from horae.storage.jobs import claims, owed_hooks, premature
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits import limited_claims
from horae.storage.operations import doctor, nodes, queues
from horae.storage.outcomes import crashed_nodes, run_ending, time_limits

SCOPE: Final = ClaimScope(node=NodeId("n1"), types=["import"], queues=["default"])
ENDED_JOBS: Final = 20_000  # with fewer rows PostgreSQL prefers to read them all
NUMBERS: Final = {
    "sqlite": f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ENDED_JOBS}) ",
    "postgresql": f"WITH numbers AS (SELECT n FROM generate_series(1, {ENDED_JOBS}) AS n) ",
}
FILL: Final = (
    "INSERT INTO horae_jobs (type, queue, priority, state, run_at, created_at, updated_at, started_at, finished_at, "
    "lease, attempt) {numbers} SELECT 'import', 'default', 0, 'finished', {now}, {now}, {now}, {now}, {now}, 1, 1 "
    "FROM numbers"
)
REPEATED: Final[dict[str, Callable[[Connection], Any]]] = {
    "claim": lambda connection: claims.claim(connection, SCOPE, 10),
    "next work": claims.next_work,
    "queues with room": lambda connection: limited_claims.limited_queues_with_room(connection, SCOPE, 10),
    "claim within limits": lambda connection: limited_claims.claim(connection, SCOPE, 10, ["default"]),
    "orphaned claims": lambda connection: claims.orphaned(connection, NodeId("n1"), []),
    "abandoned jobs": lambda connection: crashed_nodes.abandoned_jobs(connection, [NodeId("n2")], 10),
    "hard limits": lambda connection: time_limits.overdue(connection, HARD, {"import": 60.0}),
    "limits of schedules": lambda connection: time_limits.overdue(connection, OF_SCHEDULE, {"import": 60.0}),
    "pending time-outs": lambda connection: time_limits.overdue(connection, PENDING, {"import": 60.0}),
    "jobs that wait for an earlier clock": lambda connection: premature.make_due(connection, 10),
    "lost runs": lambda connection: run_ending.end_unreported(connection, 10),
    "owed hooks": lambda connection: owed_hooks.due(connection, ["import"], 60.0),
    "nodes": nodes.view,
    "queues": queues.view,
    "due work": doctor.due_work,
    "started jobs": doctor.started,
}


@pytest.mark.parametrize("asked", REPEATED.values(), ids=list(REPEATED))
def test_a_repeated_statement_reads_no_ended_jobs(filled: Database, asked: Callable[[Connection], Any]) -> None:
    with filled.engine.begin() as connection, explained(connection) as plans:
        asked(connection)
    assert plans
    read = [line for plan in plans for line in plan if reads_all_jobs(line)]
    assert read == []


def test_a_statement_without_an_index_is_recognised(filled: Database) -> None:
    with filled.engine.begin() as connection, explained(connection) as plans:
        connection.execute(text("SELECT count(*) FROM horae_jobs WHERE state = 'started'"))
    assert any(reads_all_jobs(line) for plan in plans for line in plan)


@pytest.fixture
def filled(database: Database) -> Database:
    now = {"sqlite": "1700000000000000", "postgresql": "now()"}[database.dialect]
    with database.engine.begin() as connection:
        connection.execute(text(FILL.format(numbers=NUMBERS[database.dialect], now=now)))
    if database.dialect == "postgresql":
        with database.autocommit_engine.connect() as connection:
            connection.execute(text("VACUUM ANALYZE horae_jobs"))
    return database


@contextmanager
def explained(connection: Connection) -> Generator[list[list[str]]]:
    """Collect the plan of each statement that is executed on the connection."""
    plans: list[list[str]] = []
    explain = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN "

    def look(_connection: Any, cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        cursor.execute(explain + statement, parameters)
        plans.append([" ".join(map(str, row)) for row in cursor.fetchall()])

    event.listen(connection, "before_cursor_execute", look)
    try:
        yield plans
    finally:
        event.remove(connection, "before_cursor_execute", look)


def reads_all_jobs(line: str) -> bool:
    """Whether a line of a plan reads the whole table, or the index of the ended jobs."""
    whole = "Seq Scan on horae_jobs" in line or ("SCAN horae_jobs" in line and "USING" not in line)
    return whole or "horae_jobs_ended" in line
