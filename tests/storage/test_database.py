"""The one way to run a function of a Connection: committed or rolled back, repeated after conflicts, bounded in waiting."""

import random
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from horae.domain.jobs.job import JobId
from horae.errors import ConfigurationError, DatabaseBusy, DatabaseReadOnly, DatabaseUnavailable
from horae.storage.engine.database import Database, side_car_path
from horae.storage.engine.direct import Direct
from horae.storage.engine.failures import is_transient
from horae.storage.engine.sqlite.opening import MOST_LOG_KEPT
from horae.storage.engine.url import normalised
from horae.storage.jobs import creation, jobs, reading
from tests.storage.arrange import PLAIN, POSTGRESQL, count, started

SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


def two_jobs(connection: Connection, error: Exception | None = None) -> list[JobId]:
    first = creation.add(connection, PLAIN).id
    if error is not None:
        raise error
    return [first, creation.add(connection, PLAIN).id]


def conflicting(times: int, sqlstate: str) -> tuple[list[int], Callable[[Connection], JobId]]:
    """A function that fails so many times with this SQLSTATE, after it has written."""
    calls: list[int] = []

    def insert(connection: Connection) -> JobId:
        calls.append(len(calls))
        created = creation.add(connection, PLAIN).id
        if len(calls) <= times:
            connection.execute(
                text(f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{sqlstate}'; END $$")
            )
        return created

    return calls, insert


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///horae.db", "sqlite:///horae.db"),
        ("sqlite+aiosqlite:////var/horae.db", "sqlite:////var/horae.db"),
        ("postgres://u@h/d", "postgresql+psycopg://u@h/d"),
        (
            "postgresql://u@h:5433/d?sslmode=require",
            "postgresql+psycopg://u@h:5433/d?sslmode=require",
        ),
        ("postgresql+asyncpg://h/d", "postgresql+psycopg://h/d"),
    ],
)
def test_urls_get_the_driver_that_is_used(url: str, expected: str) -> None:
    assert normalised(url).render_as_string(hide_password=False) == expected
    assert normalised(make_url(url)) == normalised(url)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        (
            "horae.db",
            "'horae.db' is not a database URL; write sqlite:///horae.db or postgresql://host/name",
        ),
        ("", "'' is not a database URL"),
        ("mysql://h/d", "'mysql' is not supported; allowed are sqlite and postgresql"),
        ("sqlite:///a?b.db", r"^database: in the path of a SQLite file write '\?' as %3F$"),
        ("postgresql://u:hun@ter2@h/d", "^database: in a user name or password write '@' as %40$"),
        ("sqlite://", "SQLite needs a file that other processes can open"),
        ("sqlite:///:memory:", "SQLite needs a file that other processes can open"),
    ],
)
def test_an_unusable_database_is_refused(url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        normalised(url)


def test_a_transaction_is_all_or_nothing(database: Database) -> None:
    with pytest.raises(LookupError):
        database.transact(two_jobs, LookupError())
    assert count(database) == (0, 0)
    assert len(database.transact(two_jobs)) == 2
    assert count(database) == (2, 0)


def test_without_a_transaction_each_statement_stands_alone(database: Database) -> None:
    with pytest.raises(LookupError):
        database.autocommit(two_jobs, LookupError())
    assert count(database) == (1, 0)


async def test_coroutines_have_the_same(database: Database) -> None:
    [first, second] = await database.transact_async(two_jobs)
    found = await database.autocommit_async(reading.get_many, [first, second])
    assert len(found) == 2
    with pytest.raises(LookupError):
        await database.transact_async(two_jobs, LookupError())
    assert count(database) == (2, 0)


@POSTGRESQL
@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
def test_a_conflict_that_left_nothing_is_tried_again(database: Database, sqlstate: str) -> None:
    calls, insert = conflicting(4, sqlstate)
    created = database.transact(insert)
    assert (len(calls), count(database)) == (5, (1, 0))
    assert database.transact(reading.get, created) is not None


@POSTGRESQL
def test_a_conflict_is_not_retried_for_ever(database: Database) -> None:
    calls, insert = conflicting(100, "40001")
    with pytest.raises(DatabaseBusy):
        database.transact(insert)
    assert (len(calls), count(database)) == (5, (0, 0))


@POSTGRESQL
def test_a_pause_leaves_the_random_numbers_to_the_application(database: Database) -> None:
    random.seed(1)
    before = random.getstate()
    _, insert = conflicting(1, "40001")
    database.transact(insert)
    assert random.getstate() == before


@POSTGRESQL
def test_other_errors_are_not_tried_again(database: Database) -> None:
    calls, insert = conflicting(100, "23505")
    with pytest.raises(IntegrityError):
        database.transact(insert)
    assert len(calls) == 1


@POSTGRESQL
def test_a_cut_connection_is_recognised_and_replaced(database: Database) -> None:
    with pytest.raises(DatabaseUnavailable) as caught:
        database.transact(
            lambda connection: connection.execute(
                text("SELECT pg_terminate_backend(pg_backend_pid())")
            )
        )
    assert is_transient(caught.value)
    with pytest.raises(DBAPIError) as wrong:
        database.transact(lambda connection: connection.execute(text("SELECT 1 / 0")))
    assert not is_transient(wrong.value)
    assert not is_transient(LookupError())
    started(database)


async def body_writes(database: Database) -> None:
    async with database.async_transaction("read committed") as connection:
        await connection.run_sync(two_jobs)


async def thread_writes(database: Database) -> None:
    with database.transaction("read committed") as connection:
        two_jobs(connection)


async def call_writes(database: Database) -> None:
    database.transact(two_jobs)


async def statement_writes(database: Database) -> None:
    database.write_one(two_jobs)


@SQLITE
@pytest.mark.parametrize("write", [call_writes, statement_writes, thread_writes, body_writes])
async def test_a_connection_opened_while_the_file_was_read_only_is_replaced(
    database: Database, write: Callable[[Database], Awaitable[None]]
) -> None:
    """SQLite opens a file that it must not write for reading, and the connection stays so."""
    refused: list[str] = []

    def read_only(dialect: Any, record: object, arguments: list[Any], options: Any) -> Any:
        if refused:
            return None
        refused.append(arguments[0])
        # SQLAlchemy 2.0 would keep changed arguments for the connections after this one.
        return dialect.connect(f"{Path(arguments[0]).as_uri()}?mode=ro", uri=True, **options)

    started(database)  # opens the file, and takes the connection of calls
    database.close()
    again = Database(database.url)
    event.listen(Engine, "do_connect", read_only)
    try:
        with pytest.raises((DatabaseUnavailable, OperationalError), match="readonly"):
            await write(again)
        await write(again)
        assert refused
        assert count(again) == (3, 0)
    finally:
        event.remove(Engine, "do_connect", read_only)
        await again.close_async()
        again.close()


def past_sqlalchemy(connection: Connection) -> None:
    Direct(update(jobs).values(priority=1).returning(jobs.c.id)).all(connection, {})


@SQLITE
@pytest.mark.parametrize("write", [two_jobs, past_sqlalchemy])
def test_a_refused_write_gives_the_lock_back_while_its_error_is_kept(
    database: Database, write: Callable[[Connection], object]
) -> None:
    """SQLite keeps the lock of a closed connection until the statement that failed is deleted."""

    def refused(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA query_only = 1")
        write(connection)

    with pytest.raises(DatabaseUnavailable) as kept:
        database.transact(refused)
    database.transact_at_once(two_jobs)  # raises `DatabaseBusy` if the lock is held
    assert "readonly" in str(kept.value)


@SQLITE
def test_the_log_of_a_file_shrinks_after_a_long_read(database: Database) -> None:
    file = Path(make_url(database.url).database or "")

    def write(connection: Connection, size: int) -> None:
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS big (content BLOB)")
        connection.exec_driver_sql(f"INSERT INTO big VALUES (zeroblob({size}))")

    with closing(sqlite3.connect(file)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM horae_jobs").fetchone()
        database.transact(write, MOST_LOG_KEPT + 8_000_000)
        database.transact(write, 8_000_000)
        reader.rollback()
    log = file.with_name(f"{file.name}-wal")
    assert log.stat().st_size > MOST_LOG_KEPT
    for _ in range(3):  # one commit empties the log, and the next one begins it anew
        database.transact(write, 8_000_000)
    assert log.stat().st_size <= MOST_LOG_KEPT


@POSTGRESQL
def test_a_body_gets_the_isolation_it_asked_for(database: Database) -> None:
    for isolation in ("read committed", "repeatable read", "serializable"):
        with database.transaction(isolation) as connection:
            assert connection.execute(text("SHOW transaction_isolation")).scalar_one() == isolation


@pytest.fixture
def hasty(database: Database) -> Database:
    """A second user of the file that waits for nobody."""
    return Database(database.url, busy_timeout=0.05)


@SQLITE
def test_a_lock_that_is_held_too_long_is_named(database: Database, hasty: Database) -> None:
    with (
        closing(hasty),
        database.engine.begin(),
        pytest.raises(DatabaseBusy, match=r"horae\.db for 0\.05 s"),
    ):
        hasty.transact(two_jobs)
    assert is_transient(DatabaseBusy())


@SQLITE
def test_a_body_takes_the_lock_at_its_first_write(database: Database, hasty: Database) -> None:
    with closing(hasty), database.transaction("read committed") as connection:
        assert reading.counts(connection) == {}
        started(hasty)
        assert sum(reading.counts(connection).values()) == 1
        creation.add(connection, PLAIN)
        with pytest.raises(DatabaseBusy):
            started(hasty)
    assert count(database) == (2, 0)


@SQLITE
def test_a_serializable_body_takes_the_lock_at_once(database: Database, hasty: Database) -> None:
    with closing(hasty), database.transaction("serializable"), pytest.raises(DatabaseBusy):
        started(hasty)


@SQLITE
def test_a_files_settings(database: Database) -> None:
    with database.engine.begin() as connection:
        found = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert found == ["wal", 2, 1]


@SQLITE
def test_an_applications_own_connection_is_adopted(database: Database) -> None:
    engine = create_engine(database.url)
    with engine.begin() as connection:
        with pytest.raises(OperationalError, match="no such function: horae_now"):
            creation.add(connection, PLAIN)
        for _ in range(2):
            database.adopt(connection)
            creation.add(connection, PLAIN)
    engine.dispose()
    assert count(database) == (2, 0)


def test_a_reserved_connection_is_not_shared(database: Database) -> None:
    with database.own_connection() as one, database.own_connection() as other:
        assert one.connection.dbapi_connection is not other.connection.dbapi_connection
        creation.add(one, PLAIN)
        assert sum(reading.counts(other).values()) == 1


@POSTGRESQL
def test_a_reserved_connection_tells_a_server_that_accepts_no_writes(database: Database) -> None:
    """A node without a helper sends its heartbeats on one; it is closed then."""
    with database.own_connection() as connection:
        driver: Any = connection.connection.dbapi_connection
        connection.exec_driver_sql("SET default_transaction_read_only = on")
        with pytest.raises(DatabaseReadOnly, match="default_transaction_read_only is on"):
            connection.exec_driver_sql("CREATE TABLE refused ()")
    assert driver.closed


def test_which_engine_leads_to_the_same_database(database: Database, tmp_path: Path) -> None:
    assert database.is_at(database.url)
    if database.dialect == "sqlite":
        assert database.is_at(make_url(f"sqlite+aiosqlite:///{tmp_path}/./horae.db"))
        assert not database.is_at(make_url(f"sqlite:///{tmp_path}/other.db"))
    else:
        assert database.is_at(database.url.set(drivername="postgresql+asyncpg", username="another"))
        assert not database.is_at(database.url.set(database="postgres"))
        assert not database.is_at(database.url.set(port=1))


def test_the_port_of_postgresql_need_not_be_written() -> None:
    with closing(Database("postgresql:///d")) as database:
        assert database.is_at(make_url("postgresql+psycopg://:5432/d"))
        assert not database.is_at(make_url("sqlite:///d"))


def test_files_beside_the_database_are_known(tmp_path: Path) -> None:
    with closing(Database(f"sqlite:///{tmp_path}/horae.db")) as database:
        assert side_car_path(database, "live") == tmp_path / "horae.db-live"


def test_the_driver_is_as_new_as_the_statements_need() -> None:
    assert sqlite3.sqlite_version_info >= (3, 35)  # RETURNING


@POSTGRESQL
@pytest.mark.direct
@pytest.mark.parametrize("way", ["transact", "autocommit"])
def test_the_first_call_after_a_restart_of_the_server_works(database: Database, way: str) -> None:
    call = database.transact if way == "transact" else database.autocommit
    pid = call(lambda connection: connection.execute(text("SELECT pg_backend_pid()")).scalar_one())
    with closing(Database(database.url)) as other:
        ended = text("SELECT pg_terminate_backend(:pid, 10000)")
        assert other.transact(
            lambda connection: connection.execute(ended, {"pid": pid}).scalar_one()
        )
    assert call(creation.add, PLAIN).id


def test_an_error_does_not_tell_what_a_job_was_given(database: Database) -> None:
    def mistaken(connection: Connection) -> None:
        connection.execute(text("SELECT :given FROM nowhere"), {"given": "sesame"})

    with pytest.raises(DBAPIError) as caught:
        database.autocommit(mistaken)
    assert "sesame" not in str(caught.value)
