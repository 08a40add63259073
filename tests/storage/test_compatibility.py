"""Programs of several versions on one database: which may use it, and which migrations wait until nodes have stopped."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from types import MappingProxyType

import pytest
from sqlalchemy import text

from horae.errors import SchemaMismatch
from horae.runtime.liveness.life_lock import LifeLock
from horae.storage.engine.database import Database, side_car_path
from horae.storage.engine.dialect import SQLITE
from horae.storage.engine.sqlite.file_modes import make_folder
from horae.storage.migrations import runner, version
from horae.storage.migrations.runner import check, downgrade, ensure, status, upgrade
from horae.storage.migrations.version import HEAD, OLDEST_COMPATIBLE, REVISIONS, VERSION_TABLE
from horae.storage.operations import nodes
from tests.storage.arrange import NODE, registered
from tests.storage.test_migrations import NEWER, run_script

BEFORE = REVISIONS[-2]


@pytest.fixture
def empty(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as database:
        yield database


def migrated_by_a_newer_version(database: Database, oldest_compatible: str) -> None:
    values = {"revision": NEWER, "oldest": oldest_compatible}
    statement = text(f"UPDATE {VERSION_TABLE} SET version_num = :revision, oldest_compatible = :oldest")
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


def test_each_revision_from_the_first_that_records_it_names_its_oldest_program() -> None:
    """A new revision whose tables older programs can use names an older one than itself."""
    assert list(OLDEST_COMPATIBLE) == [revision for revision in REVISIONS if revision >= "0015"]
    assert all(oldest <= revision for revision, oldest in OLDEST_COMPATIBLE.items())


def test_a_migration_records_which_programs_can_use_its_tables(empty: Database) -> None:
    upgrade(empty)
    assert recorded(empty) == OLDEST_COMPATIBLE[HEAD]


def test_so_do_the_statements_for_an_administrator(empty: Database) -> None:
    run_script(empty, runner.sql(empty.dialect))
    assert recorded(empty) == OLDEST_COMPATIBLE[HEAD]


@pytest.mark.parametrize("oldest", [HEAD, BEFORE])
def test_a_program_uses_newer_tables_that_are_compatible_with_it(database: Database, oldest: str) -> None:
    migrated_by_a_newer_version(database, oldest)
    for use in (check, ensure, upgrade):
        use(database)
    found = status(database)
    assert (found.current, found.ahead, found.usable) == (NEWER, True, True)
    with pytest.raises(SchemaMismatch, match="newer version"):  # only the newer version knows how
        downgrade(database, BEFORE)


def test_tables_are_not_dropped_below_running_nodes(empty: Database) -> None:
    upgrade(empty)
    with running_node(empty):
        refused = rf"nodes are running that cannot use the tables of revision {BEFORE} \(first\): stop all nodes first"
        with pytest.raises(SchemaMismatch, match=refused):
            downgrade(empty, BEFORE)
        assert status(empty).current == HEAD


def test_a_migration_waits_until_nodes_have_stopped_that_cannot_use_its_tables(empty: Database) -> None:
    upgrade(empty, BEFORE)
    with running_node(empty):
        for migrate in (upgrade, ensure):
            with pytest.raises(SchemaMismatch):
                migrate(empty)
        assert status(empty).current == BEFORE
    empty.transact(nodes.remove, [NODE])
    upgrade(empty)
    check(empty)


def test_a_compatible_migration_waits_for_no_node(empty: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (runner, version):
        monkeypatch.setattr(module, "OLDEST_COMPATIBLE", MappingProxyType({HEAD: BEFORE}))
    upgrade(empty, BEFORE)
    with running_node(empty):
        upgrade(empty)
    check(empty)


def test_a_node_that_was_killed_holds_up_no_migration(empty: Database) -> None:
    upgrade(empty)
    with running_node(empty):
        pass
    old = text("UPDATE horae_nodes SET heartbeat_at = heartbeat_at - INTERVAL '11 seconds'")
    if empty.dialect != SQLITE:
        empty.transact(lambda connection: connection.execute(old))
    downgrade(empty, BEFORE)
    assert status(empty).current == BEFORE
