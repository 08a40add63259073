"""What callers are told if the database cannot serve a call."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import create_engine, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from horae import DatabaseUnavailable, Horae, SchemaMismatch
from horae.storage.engine import Database
from tests.harness.applications import execute, url_of

SQLITE: Final = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
REFUSED: Final = "postgresql+psycopg://postgres:sesame@127.0.0.1:1/shop"
CALLS: Final[list[Callable[[Horae], Any]]] = [
    lambda horae: horae.jobs.start("work", note=""),
    lambda horae: horae.jobs.get(1),
    lambda horae: horae.jobs.list(),
    lambda horae: horae.jobs.cancel(1),
    lambda horae: horae.schedules.list(),
    lambda horae: horae.queues.pause("mail"),
    lambda horae: horae.audit(),
]


def declare(horae: Horae) -> None:
    @horae.job
    def work(note: str = "") -> None:
        """Do nothing with it."""


@pytest.mark.parametrize("call", CALLS)
def test_a_server_that_does_not_answer(call: Callable[[Horae], Any]) -> None:
    with closing(Horae(REFUSED)) as horae:
        declare(horae)
        with pytest.raises(
            DatabaseUnavailable, match=r"127\.0\.0\.1:1/shop does not answer: .*refused"
        ) as caught:
            call(horae)
    assert "sesame" not in str(caught.value)
    assert isinstance(caught.value.__cause__, OperationalError)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_server_that_refuses_the_connection_has_answered(database: Database) -> None:
    """As it does if the password is wrong."""
    with closing(Horae(str(database.url.set(database="missing")))) as horae:
        declare(horae)
        with pytest.raises(DatabaseUnavailable, match=r"cannot be used now: .*FATAL:") as caught:
            horae.jobs.start("work")
    assert caught.value.answers


async def test_a_server_that_does_not_answer_a_coroutine() -> None:
    with closing(Horae(REFUSED)) as horae:
        declare(horae)
        with pytest.raises(DatabaseUnavailable, match="does not answer"):
            await horae.aio.jobs.start("work")


@SQLITE
def test_a_full_disk(horae: Horae) -> None:
    def fill(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # as many pages as there are

    declare(horae)
    database = horae.components.database
    vars(database)["_statement_connections"].close()
    for engine in (database.engine, database.autocommit_engine):
        event.listen(engine, "connect", fill)
        engine.dispose()  # those that are open
    with pytest.raises(
        DatabaseUnavailable, match="cannot be used now: database or disk is full"
    ) as caught:
        horae.jobs.start("work", note="x" * 1_000_000)
    assert caught.value.reason == "database or disk is full"


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "horae.db"
    file.write_text("a shopping list " * 100)
    with closing(Horae(f"sqlite:///{file}")) as horae:
        declare(horae)
        with pytest.raises(DatabaseUnavailable, match="file is not a database"):
            horae.jobs.start("work")


@pytest.mark.postgres
@pytest.mark.direct
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_an_error_in_a_transaction_of_the_caller_stays_as_it_is(horae: Horae) -> None:
    declare(horae)
    engine = create_engine(url_of(horae.components.database))
    end = text("SELECT pg_terminate_backend(:pid, 10000)")
    with Session(engine) as session:
        pid = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
        horae.components.database.autocommit(
            lambda connection: connection.execute(end, {"pid": pid}).scalar_one()
        )
        with pytest.raises(OperationalError):
            horae.jobs.start("work", session=session)
    engine.dispose()


@pytest.mark.postgres
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_tables_that_are_no_longer_found(horae: Horae) -> None:
    """As after a change of the role's search_path."""
    declare(horae)
    horae.jobs.start("work")
    execute(horae, "ALTER SCHEMA public RENAME TO elsewhere")
    for call in CALLS:
        with pytest.raises(
            SchemaMismatch, match=r"cannot be found any more: .* its role was changed"
        ):
            call(horae)
    execute(horae, "ALTER SCHEMA elsewhere RENAME TO public")
    assert horae.jobs.start("work").id > 1
