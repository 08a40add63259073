"""Programs of several versions on one database: which may use it, and which migrations wait until nodes have stopped."""

from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from horae.domain.cluster.liveness import LivenessLimits
from horae.errors import SchemaMismatch
from horae.runtime.liveness.heartbeat import Watcher
from horae.runtime.liveness.membership import LifeLock, membership_of
from horae.runtime.timing import Timing
from horae.storage.engine.database import Database, side_car_path
from horae.storage.engine.dialect import SQLITE
from horae.storage.engine.sqlite.file_modes import make_folder
from horae.storage.migrations import runner
from horae.storage.migrations.runner import (
    check,
    downgrade,
    ensure,
    refuse_beside_running_nodes,
    status,
    upgrade,
)
from horae.storage.migrations.version import HEAD, OLDEST_COMPATIBLE, REVISIONS, VERSION_TABLE
from horae.storage.nodes import nodes
from tests.storage.arrange import NODE, record, registered
from tests.storage.planted import FIRST, SECOND, plant
from tests.storage.test_migrations import NEWER, run_script, waiting_for_locks


@pytest.fixture
def empty(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as database:
        yield database


def migrated_by_a_newer_version(database: Database, oldest_compatible: str) -> None:
    values = {"revision": NEWER, "oldest": oldest_compatible}
    statement = text(
        f"UPDATE {VERSION_TABLE} SET version_num = :revision, oldest_compatible = :oldest"
    )
    database.transact(lambda connection: connection.execute(statement, values))


def recorded(database: Database) -> str | None:
    statement = text(f"SELECT oldest_compatible FROM {VERSION_TABLE}")
    with database.engine.connect() as connection:
        found: str | None = connection.scalar(statement)
    return found


@contextmanager
def running_node(database: Database) -> Generator[None]:
    """Register a node that shows that it lives, as its kind of database needs it."""
    registered(database, NODE, name="first")
    if database.dialect != SQLITE:
        yield
        return
    folder = side_car_path(database, "nodes")
    make_folder(folder)
    lock = LifeLock(folder / f"{NODE}.lock")
    lock.take()
    try:
        yield
    finally:
        lock.release()


def test_each_revision_names_its_oldest_program() -> None:
    """A new revision whose tables older programs can use names an older one than itself."""
    assert tuple(OLDEST_COMPATIBLE) == REVISIONS
    assert all(oldest <= revision for revision, oldest in OLDEST_COMPATIBLE.items())


def test_a_migration_records_which_programs_can_use_its_tables(empty: Database) -> None:
    upgrade(empty)
    assert recorded(empty) == OLDEST_COMPATIBLE[HEAD]


def test_so_do_the_statements_for_an_administrator(empty: Database) -> None:
    run_script(empty, runner.sql(empty.dialect))
    assert recorded(empty) == OLDEST_COMPATIBLE[HEAD]


@pytest.mark.parametrize("oldest", [FIRST, SECOND])
def test_a_program_uses_newer_tables_that_are_compatible_with_it(
    database: Database, oldest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, monkeypatch, oldest_compatible=FIRST)
    migrated_by_a_newer_version(database, oldest)
    for use in (check, ensure, upgrade):
        use(database)
    found = status(database)
    assert (found.current, found.ahead, found.usable) == (NEWER, True, True)
    with pytest.raises(SchemaMismatch, match="newer version"):  # only the newer version knows how
        downgrade(database, FIRST)


def test_tables_are_not_dropped_below_running_nodes(
    empty: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, monkeypatch, oldest_compatible=FIRST)
    upgrade(empty)
    with running_node(empty):
        refused = rf"nodes are running that cannot use the tables of revision {FIRST} \(first\): stop all nodes first"
        with pytest.raises(SchemaMismatch, match=refused):
            downgrade(empty, FIRST)
        assert status(empty).current == SECOND


def test_a_migration_waits_until_nodes_have_stopped_that_cannot_use_its_tables(
    empty: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, monkeypatch, oldest_compatible=SECOND)
    upgrade(empty, FIRST)
    with running_node(empty):
        for migrate in (upgrade, ensure):
            with pytest.raises(SchemaMismatch):
                migrate(empty)
        assert status(empty).current == FIRST
    empty.transact(nodes.remove, [NODE])
    upgrade(empty)
    check(empty)


def test_a_compatible_migration_waits_for_no_node(
    empty: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, monkeypatch, oldest_compatible=FIRST)
    upgrade(empty, FIRST)
    with running_node(empty):
        upgrade(empty)
    check(empty)


def test_a_node_that_was_killed_holds_up_no_migration(
    empty: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, monkeypatch, oldest_compatible=FIRST)
    upgrade(empty)
    with running_node(empty):
        pass
    old = text("UPDATE horae_nodes SET heartbeat_at = heartbeat_at - INTERVAL '11 seconds'")
    if empty.dialect != SQLITE:
        empty.transact(lambda connection: connection.execute(old))
    downgrade(empty, FIRST)
    assert status(empty).current == FIRST


def test_a_node_that_starts_during_a_migration_is_refused(
    empty: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its registration waits until the migration ends, and then finds tables that it cannot use."""
    plant(tmp_path, monkeypatch, oldest_compatible=FIRST)
    upgrade(empty)
    node = membership_of(empty, record(), LivenessLimits(), Timing())
    joining: list[Future[None]] = []

    def look_and_let_a_node_start(connection: Connection, revision: str) -> None:
        refuse_beside_running_nodes(connection, revision)
        joining.append(threads.submit(node.join, Watcher()))
        while empty.dialect != SQLITE and not joining[0].done() and not waiting_for_locks(empty):
            pass

    monkeypatch.setattr(runner, "refuse_beside_running_nodes", look_and_let_a_node_start)
    with ThreadPoolExecutor(1) as threads:
        downgrade(empty, FIRST)
        with pytest.raises(
            SchemaMismatch, match=f"is at revision {FIRST}, this program needs {SECOND}"
        ):
            joining[0].result()
    assert (
        empty.autocommit(
            lambda connection: connection.scalar(text("SELECT count(*) FROM horae_nodes"))
        )
        == 0
    )


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT gone FROM horae_jobs",
        "SELECT id FROM horae_gone",
        "INSERT INTO horae_queues (name) VALUES ('one') ON CONFLICT (priority) DO NOTHING",
    ],
    ids=["column", "table", "index"],
)
def test_a_program_that_stays_open_over_a_migration_is_told_to_restart(
    database: Database, statement: str
) -> None:
    ensure(database)
    with pytest.raises(DBAPIError):  # a mistake, if the tables are as they were
        database.autocommit(lambda connection: connection.execute(text(statement)))
    migrated_by_a_newer_version(database, NEWER)
    restart = "the tables have changed since this program opened the database, so restart it: this database was migrated by a"
    with pytest.raises(SchemaMismatch, match=restart):
        database.autocommit(lambda connection: connection.execute(text(statement)))
