"""What every test may use: the databases, and what Hypothesis draws.

The suite draws the same values at each run, so it fails for whoever broke it and for nobody else. `make fuzz` draws new
ones; what it finds is kept as an `@example` of the test that failed, beside the mend.
"""

import gc
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

from horae.storage.engine import unreadable_rows
from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.harness import bytecode
from tests.harness.children import fork_children, spawn_children
from tests.harness.durations import Recorder
from tests.harness.forked import start_fork_server
from tests.harness.pgbouncer import PgBouncer
from tests.harness.postgres import THROW_AWAY, PostgresServer
from tests.harness.redis import RedisServer
from tests.harness.reuse import ReusedDatabases
from tests.harness.sessions import KEPT, share_sessions
from tests.harness.statements import share_compiled_statements

REDIS_NUMBER = 5
"""The database on the shared Redis server for tests whose applications are given Redis."""

NEEDS: Final = {"postgres_server": "postgres", "redis_server": "redis"}
"""The mark of tests that use a fixture."""

MEMORY: Final = Path("/dev/shm")
"""A file system in memory, as Linux has it."""
ROOM: Final = 8 * 2**30
"""Free bytes there from which on tests have their files in it; containers often have far less."""

# No deadline: a test says what is true, a benchmark how long it takes.
settings.register_profile(
    "suite",
    deadline=None,
    max_examples=int(os.environ.get("TEST_EXAMPLES", "50")),
    derandomize=True,
    database=None,
    print_blob=True,
)
settings.register_profile(
    "fuzz", deadline=None, max_examples=int(os.environ.get("TEST_FUZZ", "1000")), print_blob=True
)
settings.load_profile("fuzz" if "TEST_FUZZ" in os.environ else "suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option with which a run records what its files cost."""
    parser.addoption(
        "--durations-json",
        type=Path,
        metavar="FILE",
        help="write the wall and CPU time of each file",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Compile what the processes of tests run: once for all workers, before they start."""
    if config.option.durations_json is not None:
        config.pluginmanager.register(Recorder(config.option.durations_json))
    if not hasattr(config, "workerinput"):
        bytecode.compile_started()
        use_memory()
    fork_children()
    share_compiled_statements()
    share_sessions()
    gc.disable()  # until all tests are collected, which leaves hardly any garbage
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)


def use_memory() -> None:
    """Keep temporary files, such as the databases of tests, in memory if there is room, unless TMPDIR says where."""
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests by the servers that their fixtures start, also for a parameter of the fixture `database`."""
    for fixture, mark in NEEDS.items():
        if fixture in getattr(item, "fixturenames", ()):
            item.add_marker(mark)
    call = getattr(item, "callspec", None)
    if call is not None and call.params.get("database") == "postgresql":
        item.add_marker("postgres")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Begin with the files that have slow tests, then those with most tests: no worker gets a long one in the end."""
    if os.environ.keys().isdisjoint({"TEST_BEHIND", "TEST_WITH"}):
        put_off_postgres(items)  # before pytest selects what `-m nightly` asks for
    yield
    if "nightly" not in config.option.markexpr:
        deselect(config, items, "nightly")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in slow, -tests[item.path]))
    if os.environ.get("TEST_BEHIND") == "pgbouncer":
        skip(items, "direct", "needs a session of its own")
    if os.environ.get("TEST_WITH") == "redis":
        skip(items, "without_redis", "is about live state or hints in the database")


def pytest_collection_finish() -> None:
    """Leave modules and collected tests out of later collections of garbage, which took a tenth of the time of tests.

    What is garbage by now is left out as well: a look at all of it took each worker three quarters of a second.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20)
    gc.enable()


def put_off_postgres(items: list[pytest.Item]) -> None:
    """Leave to the night what no database can change and what also runs on SQLite."""
    names = {item.nodeid for item in items}
    for item in items:
        if (
            item.get_closest_marker("one_database")
            and "postgresql" in item.nodeid
            and item.nodeid.replace("postgresql", "sqlite") in names
        ):
            item.add_marker("nightly")


def deselect(config: pytest.Config, items: list[pytest.Item], mark: str) -> None:
    """Leave out the tests with this mark."""
    marked = [item for item in items if item.get_closest_marker(mark)]
    config.hook.pytest_deselected(items=marked)
    items[:] = [item for item in items if item not in marked]


def skip(items: list[pytest.Item], mark: str, reason: str) -> None:
    """Skip the tests with this mark."""
    for item in items:
        if item.get_closest_marker(mark):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the bytecode of test modules; later, tests write modules of their own and change them within a second."""
    with bytecode.kept():
        return (yield)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A server for the whole run; tests that stop or kill one start their own."""
    start_fork_server()  # nodes on PostgreSQL start a helper for their heartbeat
    with PostgresServer(THROW_AWAY) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A server for the whole run, on which each test has a prefix of its own; tests that kill one start their own."""
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def pgbouncer(postgres_server: PostgresServer) -> Iterator[PgBouncer]:
    """A pooler in transaction mode for the whole run, with as many sessions as tests hold transactions open."""
    with PgBouncer(postgres_server.port, default_pool_size=20) as pooler:
        yield pooler


@pytest.fixture(scope="module")
def pooler(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Iterator[PgBouncer]:
    """A pooler of the module, which its tests may kill, with the settings of its mark `pooler`."""
    mark = request.node.get_closest_marker("pooler")
    with PgBouncer(postgres_server.port, **(mark.kwargs if mark else {})) as pooler:
        yield pooler


@pytest.fixture
def direct_url(request: pytest.FixtureRequest, reused_databases: ReusedDatabases) -> Iterator[str]:
    """The URL of a database with all tables and no rows, for connections past a pooler."""
    with reused_databases.one(tables_of(request)) as url:
        yield url


@pytest.fixture
def pooled_url(pooler: PgBouncer, direct_url: str) -> str:
    """The URL of the same database through the pooler."""
    return pooler.url(direct_url)


@pytest.fixture
def sqlite_database(migrated_sqlite: Path, tmp_path: Path) -> Iterator[Database]:
    """A database for what does not depend on its kind: a test module names it `database`."""
    file = tmp_path / "horae.db"
    shutil.copy(migrated_sqlite, file)
    with closing(Database(f"sqlite:///{file}")) as database:
        yield database


@pytest.fixture
def postgres_database(direct_url: str) -> Iterator[Database]:
    """The same on PostgreSQL, without a pooler."""
    with closing(Database(direct_url)) as database:
        yield database


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a fresh database without tables, once for each kind of database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/horae.db"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.create_database()
    yield url
    server.drop_database(url)


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: PostgresServer) -> str:
    """The URL of a database with all tables, to be copied and never to be connected to."""
    url = postgres_server.create_database()
    migrate(url)
    return url


@pytest.fixture(scope="session")
def reused_databases(
    postgres_server: PostgresServer, migrated_postgres: str
) -> Iterator[ReusedDatabases]:
    """Databases with all tables and no rows; those that one test has emptied are used by the next."""
    with closing(ReusedDatabases(postgres_server, migrated_postgres)) as databases:
        yield databases


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables, to be copied and never to be opened."""
    file = tmp_path_factory.mktemp("migrated") / "horae.db"
    migrate(f"sqlite:///{file}")
    return file


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database of its own with all tables and no rows, once for each kind of database.

    The statement of a mark `tables` creates those of the application.
    """
    tables = tables_of(request)
    if request.param == "sqlite":
        file = tmp_path / "horae.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), file)
        with closing(Database(f"sqlite:///{file}")) as database:
            if tables:
                with database.engine.begin() as connection:
                    connection.exec_driver_sql(tables)
            yield database
        return
    databases: ReusedDatabases = request.getfixturevalue("reused_databases")
    with databases.one(tables) as url, closing(Database(behind_pooler(request, url))) as database:
        yield database


def tables_of(request: pytest.FixtureRequest) -> str:
    """Return the statement of the mark `tables`; empty if the test has none."""
    mark = request.node.get_closest_marker("tables")
    return mark.args[0] if mark else ""


@pytest.fixture(autouse=True)
def _no_unreadable_rows() -> None:
    """Forget the rows of earlier tests in this process, which are problems of the overview for some minutes."""
    unreadable_rows.clear()


@pytest.fixture(autouse=True)
def _spawned(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nodes start processes as they do elsewhere, in a test with the mark `spawned`."""
    if request.node.get_closest_marker("spawned"):
        spawn_children(monkeypatch)


@pytest.fixture(autouse=True)
def _own_sessions(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let sessions end when they are closed, in a test with the mark `own_sessions`."""
    with KEPT.none() if request.node.get_closest_marker("own_sessions") else nullcontext():
        yield


@pytest.fixture(autouse=True)
def _redis_for_applications(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `TEST_WITH=redis`, let the applications of tests with a database keep live state and hints on Redis."""
    if os.environ.get("TEST_WITH") == "redis" and "database" in request.fixturenames:
        use_redis(request.getfixturevalue("redis_server"), monkeypatch)


def use_redis(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name an empty database of this server in the environment, for this process and those that it starts."""
    # The next test may use the same database of PostgreSQL, and the ids of jobs begin again.
    server.command("FLUSHDB", number=REDIS_NUMBER)
    monkeypatch.setenv("HORAE_REDIS", server.url(REDIS_NUMBER))


def behind_pooler(request: pytest.FixtureRequest, url: str) -> str:
    """Return the URL through PgBouncer if `TEST_BEHIND=pgbouncer` is set, else the URL itself."""
    if os.environ.get("TEST_BEHIND") != "pgbouncer":
        return url
    pooler: PgBouncer = request.getfixturevalue("pgbouncer")
    return pooler.url(url)


def migrate(url: str) -> None:
    with closing(Database(url)) as database:
        upgrade(database)
