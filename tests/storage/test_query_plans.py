"""Frequent statements of nodes and pages must not read ended jobs: there may be millions of them."""

import re
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import Connection, Engine, Executable, event, text

from horae import Horae
from horae.domain.jobs import ACTIVE, TimeLimit
from horae.domain.jobs.job import JobId, JobState, NodeId
from horae.domain.jobs.query import parse_query
from horae.domain.jobs.retention import KeptFor
from horae.storage.engine.database import Database
from horae.storage.history import counting
from horae.storage.jobs import claims, owed_hooks, premature, reading, waiting_sample
from horae.storage.jobs.claims import ClaimScope, Part
from horae.storage.jobs.limits import lane_depth, limited_claims
from horae.storage.jobs.limits.lane_statements import AHEAD
from horae.storage.jobs.reading import JobFilter
from horae.storage.jobs.search import searching
from horae.storage.jobs.search.conditions import Search
from horae.storage.nodes import nodes
from horae.storage.operations import doctor, failures
from horae.storage.outcomes import crashed_nodes, deletion, run_ending, time_limits
from horae.storage.queues import queues
from horae.storage.schedules import reading as schedule_reading
from tests.harness.applications import url_of
from tests.harness.postgres import PostgresServer

SCOPE: Final = ClaimScope(node=NodeId("n1"), types=["import"], queues=["default"])
UNTIL_PREPARED: Final = 12
"""Executions after which the driver has prepared a statement."""
ENDED_JOBS: Final = 20_000  # with fewer rows PostgreSQL prefers to read them all
NUMBERS: Final = {
    "sqlite": f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ENDED_JOBS}) ",
    "postgresql": f"WITH numbers AS (SELECT n FROM generate_series(1, {ENDED_JOBS}) AS n) ",
}
FILL: Final = (
    "INSERT INTO horae_jobs (type, queue, priority, state, run_at, created_at, updated_at, started_at, finished_at, "
    "lease, attempt, retry_reason) {numbers} SELECT 'import', 'default', 0, 'finished', {now}, {now}, {now}, {now}, "
    f"{{now}}, 1, 1, '{'why ' * 100}' FROM numbers"  # as long as parameters and results are, or no index is worth it
)
ATTEMPTS: Final = (
    "INSERT INTO horae_job_attempts (job_id, lease, attempt, started_at, finished_at, outcome) "
    "SELECT id, 1, 1, now(), now(), CASE WHEN id % 3 = 0 THEN 'failed' ELSE 'finished' END FROM horae_jobs"
)
REPEATED: Final[dict[str, Callable[[Connection], Any]]] = {
    "claim": lambda connection: claims.claim(connection, SCOPE, 10),
    "claim of higher priorities": lambda connection: claims.claim(
        connection, SCOPE, 10, Part.HIGHER, JobId(1)
    ),
    "claim of lower priorities": lambda connection: claims.claim(
        connection, SCOPE, 10, Part.LOWER, JobId(1)
    ),
    "next work": claims.next_work,
    "limits": claims.limits,
    "queues with room": lambda connection: limited_claims.limited_queues_with_room(
        connection, SCOPE, 10
    ),
    "claim within limits": lambda connection: limited_claims.claim(
        connection, SCOPE, 10, ["default"]
    ),
    "orphaned claims": lambda connection: claims.find_orphaned(connection, NodeId("n1"), []),
    "abandoned jobs": lambda connection: crashed_nodes.abandoned_jobs(
        connection, [NodeId("n2")], 10
    ),
    "hard limits": lambda connection: time_limits.overdue(
        connection, TimeLimit.HARD, {"import": 60.0}
    ),
    "limits of schedules": lambda connection: time_limits.overdue(
        connection, TimeLimit.OF_SCHEDULE, {"import": 60.0}
    ),
    "pending time-outs": lambda connection: time_limits.overdue(
        connection, TimeLimit.PENDING, {"import": 60.0}
    ),
    "jobs that wait for an earlier clock": lambda connection: premature.make_due(connection, 10),
    "lost runs": lambda connection: run_ending.end_unreported(connection, 10),
    "owed hooks": lambda connection: owed_hooks.due(connection, ["import"], 60.0),
    "sample of waiting jobs": waiting_sample.sample_of_waiting,
    "nodes": nodes.view,
    "queues": queues.view,
    "list of pending jobs": lambda connection: reading.page(
        connection, JobFilter(states=[JobState.PENDING])
    ),
    "list of started jobs": lambda connection: reading.page(
        connection, JobFilter(states=[JobState.STARTED])
    ),
    "search of pending jobs": lambda connection: found(connection, "state:pending type:imp*"),
    "list of open jobs, searched": lambda connection: found(connection, "type:imp*", states=ACTIVE),
    "newest open jobs": lambda connection: reading.newest(connection, ACTIVE, 10),
    "failures": lambda connection: failures.read(connection, 86_400.0),
    "due work": doctor.due_work,
    "what the history sees": counting.open_work,
    "started jobs": doctor.find_started,
}

READ_WAITING_JOBS: Final = (
    "what the history sees",
    "list of pending jobs",
    "list of started jobs",
    "newest open jobs",
    "due work",
    "queues",
)
"""Statements for which the whole table is the right choice while most jobs wait."""
BY_ID_AND_REPEATED: Final[dict[str, Callable[[Connection], Any]]] = {
    **{name: asked for name, asked in REPEATED.items() if name not in READ_WAITING_JOBS},
    "deletion": lambda connection: deletion.delete_jobs(
        connection, [JobId(id_) for id_ in range(1, 501)]
    ),
    "taking for deletion": lambda connection: owed_hooks.take_for_deletion(
        connection, JobId(1), 60.0
    ),
    "asking for deletion": lambda connection: owed_hooks.request_deletion(connection, JobId(1)),
}


def found(connection: Connection, query: str, **wanted: Any) -> Any:
    search = Search(query=parse_query(query), types={}, schedules={})
    return searching.find(connection, JobFilter(**wanted), search, limit=10)


@pytest.mark.parametrize("asked", REPEATED.values(), ids=list(REPEATED))
def test_a_repeated_statement_reads_no_ended_jobs(
    filled: Database, asked: Callable[[Connection], Any]
) -> None:
    with filled.engine.connect() as connection, explained(connection) as plans:
        asked(connection)
    assert plans
    read = [line for plan in plans for line in plan if reads_all_jobs(line)]
    assert read == []


@pytest.mark.postgres
@pytest.mark.parametrize("asked", BY_ID_AND_REPEATED.values(), ids=list(BY_ID_AND_REPEATED))
def test_statistics_of_a_backlog_make_no_statement_read_its_ended_jobs(
    drained: Database, asked: Callable[[Connection], Any]
) -> None:
    with drained.engine.connect() as connection, explained(connection) as plans:
        asked(connection)
    read = [line for plan in plans for line in plan if reads_all_jobs(line)]
    assert read == []


@pytest.mark.postgres
@pytest.mark.parametrize(
    "query",
    [
        "type:nightly*",
        "type:nightly,weekly",
        "queue:mail",
        "created:2020-11-01",
        "until:2020-11-01",
        "-state:finished",
        "owner:alice",
        "schedule:nightly",
    ],
)
def test_a_search_for_what_few_ended_jobs_have_reads_no_other_jobs(
    filled_postgres: Database, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(searching, "RANGES", (2 * ENDED_JOBS,))
    with filled_postgres.engine.connect() as connection, explained(connection) as plans:
        assert found(connection, query).ids == []
    assert [line for plan in plans for line in plan if reads_all_rows(line)] == []


@pytest.mark.parametrize(
    "query",
    ["-state:finished", "-state:finished -state:failed", "state:cancelled", "duration:>30s"],
)
def test_a_search_for_few_jobs_reads_small_indexes_on_sqlite(
    filled_sqlite: Database, query: str
) -> None:
    with filled_sqlite.engine.connect() as connection, explained(connection) as plans:
        assert found(connection, query).ids == []
    read = [
        line for plan in plans for line in plan if "SCAN horae_jobs" in line or "rowid>" in line
    ]
    assert [line for line in read if "INDEX" not in line] == []


@pytest.mark.postgres
@pytest.mark.parametrize(
    "filters", [{"types": ["nightly"]}, {"queues": ["mail"]}, {"states": ["!finished"]}]
)
def test_a_list_of_what_few_ended_jobs_have_reads_no_other_jobs(
    filled_postgres: Database, monkeypatch: pytest.MonkeyPatch, filters: dict[str, Any]
) -> None:
    monkeypatch.setattr(searching, "RANGES", (2 * ENDED_JOBS,))
    with (
        closing(Horae(url_of(filled_postgres))) as horae,
        explained(horae.components.database.autocommit_engine) as plans,
    ):
        assert horae.jobs.list(**filters).jobs == []
    assert [line for plan in plans for line in plan if reads_all_rows(line)] == []


def test_states_are_counted_by_indexes_without_reading_jobs(filled: Database) -> None:
    with filled.engine.connect() as connection, explained(connection) as plans:
        assert reading.counts(connection) == {JobState.FINISHED: ENDED_JOBS}
    lines = [line for plan in plans for line in plan]
    assert [line for line in lines if reads_all_jobs(line) and "horae_jobs_ended" not in line] == []
    assert any("horae_jobs_ended" in line for line in lines)


@pytest.mark.parametrize(
    "asked",
    [run_ending.OTHER_RUNS, schedule_reading.OPEN_RUNS, schedule_reading.LIVE_RUNS],
    ids=["others", "open", "live"],
)
def test_open_runs_are_found_without_reading_those_that_have_ended(
    database: Database, asked: Executable
) -> None:
    with closing(Horae(url_of(database))) as horae:

        @horae.job(name="import")
        def load() -> None: ...

        horae.schedules.add("import", name="often", cron="* * * * * *", overlap="allow_all")
    fill(database, {"sqlite": "1700000000000000", "postgresql": "now()"}[database.dialect])
    with database.autocommit_engine.connect() as connection:
        connection.execute(text("UPDATE horae_jobs SET schedule_id = 1"))
        connection.execute(text("ANALYZE horae_jobs"))
        with explained(connection) as plans:
            connection.execute(asked, {"ids": [1], "ended": [1], "schedule_id": 1})
    assert any("horae_jobs_open_runs" in line for plan in plans for line in plan), plans


def past_keeping(connection: Connection) -> Any:
    kept = KeptFor(1e9, (JobState.FINISHED,), ("import",))
    return owed_hooks.past_keeping(connection, kept, limit=10)


def test_jobs_to_delete_are_not_sorted_for_each_batch_on_sqlite(filled_sqlite: Database) -> None:
    with filled_sqlite.engine.connect() as connection, explained(connection) as plans:
        past_keeping(connection)
    lines = [line for plan in plans for line in plan]
    assert any("USING INDEX horae_jobs_ended" in line for line in lines), lines
    assert not any("TEMP B-TREE" in line for line in lines), lines


@pytest.mark.postgres
def test_jobs_to_delete_are_not_sorted_for_each_batch_on_postgresql(
    filled_postgres: Database,
) -> None:
    with filled_postgres.autocommit_engine.connect() as connection:
        connection.exec_driver_sql("DEALLOCATE ALL")
        for _ in range(UNTIL_PREPARED):
            past_keeping(connection)
        name = connection.exec_driver_sql(
            "SELECT name FROM pg_prepared_statements WHERE statement LIKE '%%finished_at < %%'"
        ).scalar_one()
        # It plans for any parameters, as PostgreSQL does after some executions.
        connection.exec_driver_sql("SET plan_cache_mode = force_generic_plan")
        executed = f"EXPLAIN EXECUTE {name} (1e9, NULL, 1e10, 0, '{{finished}}', '{{import}}', 10)"
        plan = connection.exec_driver_sql(executed).scalars().all()
        connection.exec_driver_sql("RESET plan_cache_mode")
    assert any("using horae_jobs_ended_values" in line for line in plan), plan
    assert not any("Sort" in line for line in plan), plan


@pytest.mark.postgres
def test_failures_are_read_from_their_index(filled_postgres: Database) -> None:
    with filled_postgres.engine.connect() as connection:
        connection.execute(text(ATTEMPTS))
        connection.execute(text("ANALYZE horae_job_attempts"))
        with explained(connection) as plans:
            failures.read(connection, 86_400.0, limit=1000)
    read = [line for plan in plans for line in plan if " on horae_job_attempts" in line]
    assert len(read) == 3
    assert [line for line in read if "Index" not in line] == []


@pytest.mark.postgres
def test_ready_jobs_of_queues_are_counted_without_reading_their_rows(
    filled_postgres: Database,
) -> None:
    with filled_postgres.engine.connect() as connection:
        connection.execute(text("SET LOCAL enable_bitmapscan = off"))
        with explained(connection) as plans:
            queues.view(connection)
    read = [line for plan in plans for line in plan if "using horae_jobs_ready" in line]
    assert len(read) == 1
    assert "Index Only Scan" in read[0]


@pytest.mark.parametrize("limit", [1, 3, 5])
def test_pages_of_open_jobs_are_complete(
    database: Database, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """Whether the newest ids fill a page, or the indexes of open jobs are read."""
    monkeypatch.setattr(reading, "NEWEST", 4)
    now = {"sqlite": "1700000000000000", "postgresql": "now()"}[database.dialect]
    kinds = [
        ("finished", now, "NULL"),
        ("pending", "NULL", "NULL"),
        ("failed", now, "'n1'"),
        ("started", "NULL", "'n1'"),
    ]
    with database.engine.begin() as connection:
        for number in (0, 1, 1, 1, 0, 0, 2, 0, 3, 0, 0, 1, 0, 0, 0, 0):
            state, ended, node = kinds[number]
            connection.execute(
                text(
                    "INSERT INTO horae_jobs (type, queue, priority, state, run_at, created_at, updated_at, finished_at, "
                    f"node_id) VALUES ('import', 'default', 0, '{state}', {now}, {now}, {now}, {ended}, {node})"
                )
            )
        everything = reading.page(connection, JobFilter(limit=100))
        for states in ([JobState.PENDING], [JobState.STARTED], ACTIVE):
            wanted, pages = JobFilter(states=states, limit=limit), list[int]()
            while found_now := reading.page(connection, wanted):
                pages += [job.id for job in found_now]
                wanted = replace(wanted, before=found_now[-1].id)
            assert pages == [job.id for job in everything if job.state in states]


@pytest.mark.parametrize(
    "statement",
    [
        (
            "INSERT INTO horae_jobs (type, queue, priority, state, run_at, created_at, updated_at) "
            "VALUES ('import', 'default', 0, 'pending', 1, 1, 1)"
        ),
        "UPDATE horae_jobs SET state = 'failed', finished_at = 1, hook_owed = 'on_error' WHERE id = 1",
        (
            "INSERT INTO horae_job_attempts (job_id, lease, attempt, started_at, finished_at, outcome) "
            "VALUES (1, 1, 1, 1, 1, 'finished')"
        ),
    ],
    ids=["start", "end", "attempt"],
)
def test_sqlite_builds_no_table_to_check_a_row(sqlite_database: Database, statement: str) -> None:
    """As it does for IN with more than two values in a CHECK."""
    with sqlite_database.engine.begin() as connection:
        steps = [row.opcode for row in connection.execute(text(f"EXPLAIN {statement}"))]
    assert "MakeRecord" in steps
    assert "OpenEphemeral" not in steps


@pytest.mark.parametrize("asked", [AHEAD, lane_depth.RUNNING, lane_depth.FILED])
def test_what_limits_allow_is_read_from_the_jobs_that_run_on_sqlite(
    sqlite_database: Database, asked: Executable
) -> None:
    """And not from all lanes: there is one for each key for which a job waits."""
    with sqlite_database.engine.connect() as connection, explained(connection) as plans:
        connection.execute(asked)
    lines = [line for plan in plans for line in plan]
    assert any("horae_jobs_lane_held" in line for line in lines)
    assert [line for line in lines if re.search("SCAN horae_lane(s|_buckets)", line)] == []


def test_a_statement_without_an_index_is_recognised(filled: Database) -> None:
    with filled.engine.connect() as connection, explained(connection) as plans:
        connection.execute(text("SELECT count(*) FROM horae_jobs WHERE state = 'started'"))
    assert any(reads_all_jobs(line) for plan in plans for line in plan)


@pytest.fixture(scope="module")
def filled_sqlite(
    migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """A file with ended jobs, which no test changes."""
    file = tmp_path_factory.mktemp("filled") / "horae.db"
    shutil.copy(migrated_sqlite, file)
    with closing(Database(f"sqlite:///{file}")) as database:
        fill(database, "1700000000000000")
        yield database


@pytest.fixture(scope="module")
def filled_postgres(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[Database]:
    """The same on PostgreSQL, with statistics."""
    with filled_on(postgres_server, migrated_postgres) as database:
        with database.autocommit_engine.connect() as connection:
            connection.execute(text("VACUUM ANALYZE horae_jobs"))
        yield database


@pytest.fixture(scope="module")
def drained(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[Database]:
    """Jobs that ended after PostgreSQL had collected its statistics of the backlog."""
    with filled_on(postgres_server, migrated_postgres) as database:
        with database.autocommit_engine.connect() as connection:
            pending = "state = 'pending', started_at = NULL, finished_at = NULL"
            connection.execute(text(f"UPDATE horae_jobs SET {pending}"))
            connection.execute(text("ANALYZE horae_jobs"))
            ended = "state = 'finished', started_at = now(), finished_at = now()"
            connection.execute(text(f"UPDATE horae_jobs SET {ended}"))
        yield database


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def filled(request: pytest.FixtureRequest) -> Database:
    """Each of the two."""
    name = "filled_sqlite" if request.param == "sqlite" else "filled_postgres"
    database: Database = request.getfixturevalue(name)
    return database


@contextmanager
def filled_on(server: PostgresServer, template: str) -> Generator[Database]:
    """Fill a database of the server, and drop it afterwards."""
    url = server.create_database(template=template)
    with closing(Database(url)) as database:
        fill(database, "now()")
        yield database
    server.drop_database(url)


def fill(database: Database, now: str) -> None:
    with database.engine.begin() as connection:
        connection.execute(text(FILL.format(numbers=NUMBERS[database.dialect], now=now)))


@contextmanager
def explained(connection: Connection | Engine) -> Generator[list[list[str]]]:
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


def reads_all_rows(line: str) -> bool:
    """Whether a line of a plan of PostgreSQL reads the rows of all jobs, and not only an index of them."""
    return "Seq Scan on horae_jobs" in line or "Index Scan using horae_jobs_pkey" in line


def reads_all_jobs(line: str) -> bool:
    """Whether a line of a plan reads the whole table, or the index of the ended jobs."""
    whole = "Seq Scan on horae_jobs" in line or ("SCAN horae_jobs" in line and "USING" not in line)
    return whole or "horae_jobs_ended" in line
