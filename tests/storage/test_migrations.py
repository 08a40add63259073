"""The migrations lead to the tables of `tables.py`, on both databases, whichever process runs them and however often."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, DateTime, MetaData, Table, event, inspect, text

from horae.errors import ConfigurationError, InvalidRequest, SchemaMismatch, Unavailable
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import POSTGRESQL, SQLITE
from horae.storage.history import tables as history_tables
from horae.storage.jobs import group_tables, limit_tables, log_tables
from horae.storage.jobs.search import bulk
from horae.storage.jobs.tables import live_metadata
from horae.storage.migrations import runner, scripts, version
from horae.storage.migrations.runner import check, downgrade, ensure, move, sql, status, upgrade
from horae.storage.migrations.version import HEAD, REVISIONS, VERSION_TABLE, current_revision
from horae.storage.operations import change_log_tables
from horae.storage.schedules import tables
from tests.harness.postgres import PostgresServer
from tests.storage.planted import FIRST, SCRIPTS, SECOND, copy_scripts, plant
from tests.storage.schema import describe

GOLDEN: Final = Path(__file__).with_name("golden")
# Each module of tables adds its own to the one MetaData.
metadata: Final = tables.schedules.metadata
assert limit_tables.lanes.metadata is metadata
assert (
    change_log_tables.change_log.metadata
    is log_tables.job_logs.metadata
    is group_tables.groups.metadata
    is metadata
)
assert bulk.bulk_runs.metadata is history_tables.history.metadata is metadata

ONLY_ON: Final = {
    "horae_jobs_params": POSTGRESQL,
    "horae_jobs_ended_values": POSTGRESQL,
    "horae_jobs_ended": SQLITE,
}
NEWER: Final = "9999"
NOW: Final = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)

# Rows of the first revision, which must survive all later ones; a new revision adds its own.
ROWS_AT: Final[dict[str, dict[str, dict[str, Any]]]] = {
    "0001": {
        "horae_jobs": {
            "id": 7,
            "type": "import",
            "queue": "default",
            "priority": 3,
            "state": "finished",
            "owner": "alice",
            "attempt": 1,
            "lease": 2,
            "run_at": NOW,
            "created_at": NOW,
            "updated_at": NOW,
            "finished_at": NOW,
        },
        "horae_job_attempts": {
            "job_id": 7,
            "lease": 2,
            "attempt": 1,
            "started_at": NOW,
            "finished_at": NOW,
            "outcome": "snoozed",
        },
        "horae_queues": {"name": "default", "paused_at": NOW, "backend": "celery"},
        "horae_deployments": {
            "id": 1,
            "key": "k",
            "module": "app",
            "schema": "module app",
            "schema_hash": "h",
            "min_replicas": 1,
            "created_at": NOW,
        },
        "horae_schedules": {
            "id": 3,
            "name": "nightly",
            "job_type": "import",
            "trigger_kind": "cron",
            "trigger": "0 3 * * *",
            "timezone": "UTC",
            "queue": "default",
            "priority": 0,
            "rules": "{}",
            "enabled": True,
            "partition": 7,
            "state": "idle",
            "next_start": NOW,
            "created_at": NOW,
            "updated_at": NOW,
            "max_attempts": 3,
        },
        "horae_schedule_statistics": {"schedule_id": 3, "total_runs": 1, "total_crashes": 1},
        "horae_ticks": {
            "schedule_id": 3,
            "nominal_time": NOW,
            "until": NOW,
            "count": 1,
            "decision": "fired",
            "reason": "on_time",
            "job_id": 7,
            "decided_at": NOW,
            "retried_as": 8,
        },
        "horae_backfill_times": {"schedule_id": 3, "nominal_time": NOW, "requested_at": NOW},
        "horae_audit": {
            "id": 1,
            "at": NOW,
            "actor": "a",
            "action": "cancel",
            "target": "job 7",
            "outcome": "done",
        },
        "horae_sessions": {
            "key_hash": "k",
            "token_hash": "t",
            "created_at": NOW,
            "expires_at": NOW,
        },
        "horae_limits": {"name": "api", "concurrency": 3},
        "horae_limit_buckets": {"id": 1, "limit_name": "api", "key": "a"},
        "horae_lanes": {
            "id": 1,
            "identity": "i",
            "queue": "default",
            "type": "import",
            "priority": 0,
            "weight": 1,
        },
        "horae_lane_buckets": {"lane_id": 1, "bucket_id": 1},
        "horae_job_logs": {
            "job_id": 7,
            "lease": 1,
            "line": 0,
            "attempt": 1,
            "at": NOW,
            "level": 20,
            "logger": "shop",
            "message": "began",
        },
        "horae_history": {
            "seconds": 10,
            "start": NOW,
            "everything": "{}",
            "queues": "{}",
            "types": "{}",
        },
        "horae_history_state": {"id": 1, "reached": NOW, "behind": "{}"},
    },
}


@pytest.fixture
def empty(database_url: str) -> Iterator[Database]:
    """A database without tables."""
    with closing(Database(database_url)) as database:
        yield database


def table_names(connection: Connection) -> list[str]:
    return inspect(connection).get_table_names()


def pretend(database: Database, revision: str) -> None:
    statement = text(
        f"UPDATE {VERSION_TABLE} SET version_num = :revision, oldest_compatible = :revision"
    )
    database.transact(lambda connection: connection.execute(statement, {"revision": revision}))


def test_the_revisions_are_those_that_have_scripts() -> None:
    newest_first = ScriptDirectory(str(SCRIPTS)).walk_revisions()
    assert [script.revision for script in newest_first][::-1] == list(REVISIONS)
    assert [path.name[:4] for path in sorted((SCRIPTS / "versions").glob("0*.py"))] == list(
        REVISIONS
    )


def test_up_down_and_up_again(empty: Database) -> None:
    upgrade(empty)
    first = empty.transact(describe)
    assert empty.transact(current_revision) == HEAD
    downgrade(empty, "base")
    assert empty.transact(table_names) == []
    upgrade(empty)
    assert empty.transact(describe) == first


def test_every_revision_can_be_reached_and_left(
    empty: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, monkeypatch, oldest_compatible=FIRST)
    for revision in version.REVISIONS:
        upgrade(empty, revision)
        assert empty.transact(current_revision) == revision
    for revision in [*version.REVISIONS[::-1], "base"]:
        downgrade(empty, revision)
        assert empty.transact(current_revision) == (None if revision == "base" else revision)


def test_the_schema_is_the_golden_one(database: Database) -> None:
    """After a wanted change: `python -m tests.storage.golden`, and look at the difference."""
    assert database.transact(describe) == (GOLDEN / f"{database.dialect}.sql").read_text(
        encoding="utf-8"
    )


def test_the_schema_is_that_of_the_table_definitions(empty: Database) -> None:
    upgrade(empty)
    migrated = empty.transact(describe).replace("CREATE UNLOGGED", "CREATE")
    downgrade(empty, "base")
    for declared in declared_in(empty):
        empty.transact(declared.create_all)
    assert empty.transact(describe) == without(migrated, VERSION_TABLE)


def test_alembic_finds_no_difference_from_the_table_definitions(database: Database) -> None:
    merged = MetaData()
    for table in (table for declared in declared_in(database) for table in declared.sorted_tables):
        table.to_metadata(merged)

    def is_here(_object: object, name: str | None, *_: object) -> bool:
        return ONLY_ON.get(name or "", database.dialect) == database.dialect

    def differences(connection: Connection) -> list[Any]:
        options = {
            "version_table": VERSION_TABLE,
            "compare_server_default": True,
            "compare_type": True,
            "include_object": is_here,
        }
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), merged))

    assert database.transact(differences) == []


def declared_in(database: Database) -> list[MetaData]:
    """The live tables are in a side-car file where the database is SQLite."""
    return [metadata] if database.dialect == SQLITE else [metadata, live_metadata]


def without(description: str, table: str) -> str:
    statements = [
        statement
        for statement in description.split(";\n")
        if f"CREATE TABLE {table} " not in statement
    ]
    return ";\n".join(statements)


@pytest.mark.parametrize("revision", REVISIONS)
def test_rows_survive_the_way_up(
    empty: Database, revision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade(empty, revision)
    rows = ROWS_AT[revision]
    for table, row in rows.items():
        empty.transact(insert_row, table, row)
    before = {table: empty.transact(read_row, table, row) for table, row in rows.items()}
    plant(tmp_path, monkeypatch, oldest_compatible=FIRST)
    upgrade(empty)
    after = {table: empty.transact(read_row, table, row) for table, row in rows.items()}
    assert after == before


def insert_row(connection: Connection, name: str, row: dict[str, Any]) -> None:
    """By the columns as they are in the database: `tables.py` may be newer than the revision."""
    table = Table(name, MetaData(), autoload_with=connection)
    values = {
        key: value
        if not isinstance(value, datetime) or isinstance(table.c[key].type, DateTime)
        else 10**15
        for key, value in row.items()
    }
    connection.execute(table.insert().values(values))


def read_row(connection: Connection, name: str, row: dict[str, Any]) -> dict[str, Any]:
    table = Table(name, MetaData(), autoload_with=connection)
    return dict(
        connection.execute(table.select().with_only_columns(*(table.c[key] for key in row)))
        .mappings()
        .one()
    )


def test_offline_statements_lead_to_the_same_schema(empty: Database) -> None:
    upgrade(empty)
    expected = empty.transact(describe)
    run_script(empty, sql(empty.dialect, start=HEAD, end="base", up=False))
    assert empty.transact(table_names) == []
    run_script(empty, sql(empty.dialect))
    assert empty.transact(describe) == expected
    check(empty)


def run_script(database: Database, script: str) -> None:
    assert script.startswith("BEGIN;")
    raw = database.engine.raw_connection()
    driver: Any = raw.driver_connection
    if isinstance(driver, psycopg.Connection):
        driver.autocommit = True
        driver.execute(script.encode())
    else:
        driver.executescript(script)
    raw.invalidate()


@pytest.mark.parametrize(
    "start_end_up", [("base", "base", True), ("head", "base", True), ("base", "head", False)]
)
def test_offline_statements_go_one_way_only(start_end_up: tuple[str, str, bool]) -> None:
    start, end, up = start_end_up
    assert sql("sqlite", start=start, end=end, up=up) == ""


def test_offline_statements_refuse_an_unknown_dialect() -> None:
    with pytest.raises(
        InvalidRequest, match="dialect 'mysql' is not supported; allowed are postgresql, sqlite"
    ):
        sql("mysql")


@pytest.mark.parametrize("migrate", [upgrade, downgrade])
def test_an_unknown_revision_is_refused(
    empty: Database, migrate: Callable[[Database, str], None]
) -> None:
    with pytest.raises(
        InvalidRequest, match="revision 'tail' does not exist; known revisions: base, 0001"
    ):
        migrate(empty, "tail")
    assert empty.transact(table_names) == []


def test_each_command_moves_in_its_own_direction_only(empty: Database) -> None:
    downgrade(empty, "head")
    assert status(empty).current is None
    upgrade(empty)
    upgrade(empty, "base")
    assert status(empty).current == HEAD


def test_the_status_lists_pending_migrations(empty: Database) -> None:
    assert status(empty) == runner.MigrationStatus(
        current=None, head=HEAD, pending=list(REVISIONS), ahead=False, usable=False
    )
    upgrade(empty)
    assert status(empty) == runner.MigrationStatus(
        current=HEAD, head=HEAD, pending=[], ahead=False, usable=True
    )
    pretend(empty, NEWER)
    assert status(empty) == runner.MigrationStatus(
        current=NEWER, head=HEAD, pending=[], ahead=True, usable=False
    )


def test_looking_creates_no_file(tmp_path: Path) -> None:
    with closing(Database(f"sqlite:///{tmp_path}/missing.db")) as database:
        assert status(database).current is None
        with pytest.raises(SchemaMismatch):
            check(database)
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_tables_is_refused(empty: Database) -> None:
    with pytest.raises(SchemaMismatch, match="has no tables yet: run `horae migrate up`"):
        check(empty)


def test_an_older_database_is_refused(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, monkeypatch, oldest_compatible=SECOND)
    with pytest.raises(
        SchemaMismatch,
        match=rf"at revision {FIRST}, this program needs {SECOND}: run `horae migrate up`",
    ):
        check(database)
    assert status(database).pending == [SECOND]


@pytest.mark.parametrize(
    "recorded",
    [
        f"UPDATE {VERSION_TABLE} SET version_num = '0016', oldest_compatible = '0015'",
        f"ALTER TABLE {VERSION_TABLE} DROP COLUMN oldest_compatible",
    ],
    ids=["0016", "0001"],
)
def test_tables_from_before_the_first_release_are_refused(
    database: Database, recorded: str
) -> None:
    database.transact(lambda connection: connection.execute(text(recorded)))
    before = database.transact(describe)
    calls: list[Callable[[Database], object]] = [
        check,
        ensure,
        status,
        upgrade,
        partial(downgrade, revision="base"),
    ]
    for refuse in calls:
        with pytest.raises(
            SchemaMismatch, match=r"before the first release .* `horae migrate down base`"
        ):
            refuse(database)
    assert database.transact(describe) == before


def test_a_newer_database_is_refused_and_left_alone(database: Database) -> None:
    pretend(database, NEWER)
    before = database.transact(describe)
    calls: list[Callable[[Database], object]] = [
        check,
        ensure,
        upgrade,
        partial(downgrade, revision="base"),
    ]
    for refuse in calls:
        with pytest.raises(
            SchemaMismatch, match=r"a newer version \(revision 9999; .*: upgrade the program"
        ):
            refuse(database)
    assert database.transact(describe) == before
    assert database.transact(current_revision) == NEWER


@pytest.mark.postgres
def test_a_server_that_does_not_answer_is_unavailable_and_its_password_is_not_shown() -> None:
    with closing(Database("postgresql://user:secret@127.0.0.1:1/none")) as database:
        for look in (status, check, upgrade):
            with pytest.raises(Unavailable, match="does not answer") as caught:
                look(database)
            assert "secret" not in str(caught.value)


@pytest.mark.postgres
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_no_tables_are_made_where_not_every_text_can_be_stored(
    postgres_server: PostgresServer, encoding: str
) -> None:
    url = postgres_server.create_database(encoding=encoding)
    with (
        closing(Database(url)) as database,
        pytest.raises(ConfigurationError, match=f"has the encoding {encoding}, .* 'UTF8'"),
    ):
        upgrade(database)
    postgres_server.drop_database(url)


def test_a_folder_that_is_missing_is_unavailable(tmp_path: Path) -> None:
    with (
        closing(Database(f"sqlite:///{tmp_path}/nowhere/horae.db")) as database,
        pytest.raises(Unavailable, match="unable to open database file"),
    ):
        upgrade(database)


def test_only_a_sqlite_file_is_made_ready_without_asking(empty: Database) -> None:
    if empty.dialect == SQLITE:
        ensure(empty)
        check(empty)
    else:
        with pytest.raises(SchemaMismatch, match="run `horae migrate up`"):
            ensure(empty)
        assert empty.transact(table_names) == []


def test_a_ready_database_is_neither_locked_nor_asked_twice(database: Database) -> None:
    asked: list[str] = []
    with (
        database.engine.begin() as rival,
        closing(Database(database.url, busy_timeout=0)) as newcomer,
    ):
        move(rival, HEAD, up=True)  # holds the lock of migrations until the block ends
        for engine in (newcomer.engine, newcomer.autocommit_engine):
            event.listen(engine, "before_cursor_execute", lambda *call: asked.append(call[2]))
        ensure(newcomer)
    assert len([statement for statement in asked if VERSION_TABLE in statement]) <= 2
    assert not [
        statement for statement in asked if "lock" in statement.lower() or "BEGIN" in statement
    ]


def test_a_ready_database_does_not_import_alembic(database: Database) -> None:
    lines = [
        "import sys",
        "from horae.storage.engine.database import Database",
        "from horae.storage.migrations.runner import ensure",
        f"database = Database({database.url.render_as_string(hide_password=False)!r})",
        "ensure(database)",
        "database.close()",
        "sys.exit('alembic' in sys.modules)",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


RIVAL: Final = """
import sys
from horae.storage.engine.database import Database
from horae.storage.migrations import runner, scripts
database = Database(sys.argv[1])
sys.stdin.readline()
runner.upgrade(database)
database.close()
"""


def test_of_two_processes_the_second_waits_and_finds_nothing_to_do(empty: Database) -> None:
    command = [sys.executable, "-c", RIVAL, empty.url.render_as_string(hide_password=False)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as rival:
        with empty.engine.begin() as connection:
            move(connection, HEAD, up=True)
            assert rival.stdin is not None
            rival.stdin.write(b"go\n")
            rival.stdin.flush()
            wait_until_it_waits(empty)
            assert rival.poll() is None
        assert rival.wait(timeout=60) == 0
    check(empty)


def wait_until_it_waits(database: Database) -> None:
    """SQLite does not tell; there the rival meets the lock, or comes when all is done."""
    while database.dialect != SQLITE and not waiting_for_locks(database):
        pass


def waiting_for_locks(database: Database) -> int:
    """How many sessions of PostgreSQL wait for locks."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    found: int = database.autocommit(lambda connection: connection.scalar(waiting))
    return found


def test_threads_of_one_process_do_not_share_alembics_context(tmp_path: Path) -> None:
    together = threading.Barrier(4)

    def migrate(number: int) -> str | None:
        with closing(Database(f"sqlite:///{tmp_path}/{number}.db")) as database:
            together.wait()
            upgrade(database)
            return status(database).current

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(migrate, range(4))) == [HEAD] * 4


def test_a_failed_upgrade_leaves_nothing(empty: Database) -> None:
    empty.transact(
        lambda connection: connection.execute(text("CREATE TABLE horae_queues (name TEXT)"))
    )
    with pytest.raises(Exception, match="already exists"):
        upgrade(empty)
    assert empty.transact(table_names) == ["horae_queues"]


def test_a_draft_follows_the_newest_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = copy_scripts(tmp_path)
    monkeypatch.setattr(scripts, "HOME", str(home))
    scripts.draft("Add schedules")
    number = f"{len(REVISIONS) + 1:04d}"
    written = (home / "versions" / f"{number}_add_schedules.py").read_text(encoding="utf-8")
    assert f'revision: Final = "{number}"' in written.replace("'", '"')
    assert f'down_revision: Final = "{HEAD}"' in written.replace("'", '"')
    compile(written, "draft", "exec")
    assert "Generating" in capsys.readouterr().out
