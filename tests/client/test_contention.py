"""Callers that create jobs under one limit or key: exact at every isolation level, with bounded waits, and without delaying others."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from horae import DatabaseBusy, Horae, InvalidRequest, MaxJobCountExceeded, StartOptions
from horae.api.problems import response_to
from horae.client.jobs.limits import USUAL
from horae.storage.engine.database import Database
from tests.harness.applications import execute, limit_jobs, own_engine, rows

postgres = pytest.mark.parametrize("database", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True)
BOUND = timedelta(milliseconds=150)


@pytest.fixture
def engine(database: Database) -> Iterator[Engine]:
    with own_engine(database) as engine:
        yield engine


@pytest.fixture
def shop(horae: Horae) -> Horae:
    @horae.job(max_count=1)
    def export() -> None: ...

    @horae.job(max_count=None)
    def nightly() -> None: ...

    return horae


@pytest.fixture
def brief(shop: Horae) -> Horae:
    """The application with a bound that no test has to sit out."""
    limit_jobs(shop, contention=BOUND)
    return shop


def _start(shop: Horae, connection: Connection, *, many: bool) -> None:
    if many:
        shop.jobs.start_many("export", [{}], session=connection, options=StartOptions(owner="alice"))
    else:
        shop.jobs.start("export", session=connection, owner="alice")


@postgres
@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize("many", [False, True])
def test_a_snapshot_that_may_be_old_is_not_counted_in(
    shop: Horae, engine: Engine, isolation: str, *, many: bool
) -> None:
    with engine.connect().execution_options(isolation_level=isolation) as connection:
        connection.execute(text("SELECT count(*) FROM horae_jobs"))
        shop.jobs.start("export", owner="alice")
        with pytest.raises(InvalidRequest, match="does not see"):
            _start(shop, connection, many=many)
        assert shop.jobs.start("export", session=connection).owner is None  # it is counted for nobody
        connection.commit()
    assert rows(shop, "SELECT count(*) FROM horae_jobs WHERE owner = 'alice'") == [(1,)]


@postgres
def test_the_server_s_default_isolation_does_not_matter(shop: Horae, database: Database) -> None:
    of_database = f'ALTER DATABASE "{database.url.database}"'
    execute(shop, f"{of_database} SET default_transaction_isolation TO 'serializable'")
    try:
        database.engine.dispose()
        shop.jobs.start("export", owner="alice")
        with pytest.raises(MaxJobCountExceeded):
            shop.jobs.start("export", owner="alice")
    finally:
        execute(shop, f"{of_database} RESET default_transaction_isolation")


@postgres
@pytest.mark.parametrize("options", [{"owner": "alice"}, {"unique_key": "x"}])
def test_an_open_transaction_is_not_waited_for_without_end(
    brief: Horae, engine: Engine, options: dict[str, Any]
) -> None:
    kind = "export" if "owner" in options else "nightly"
    with engine.connect() as connection:
        brief.jobs.start(kind, session=connection, **options)
        with pytest.raises(DatabaseBusy, match="another transaction"):
            brief.jobs.start(kind, **options)
        with engine.connect() as other, pytest.raises(DatabaseBusy):
            brief.jobs.start(kind, session=other, **options)
        connection.rollback()
    assert brief.jobs.start(kind, **options).id


@postgres
async def test_a_waiting_change_delays_no_other_call(shop: Horae, engine: Engine) -> None:
    """As many callers wait as there are threads, and more."""
    with engine.connect() as connection:
        held = shop.jobs.start("export", session=connection, owner="alice")
        waiting = [asyncio.ensure_future(shop.aio.jobs.start("export", owner="alice")) for _ in range(20)]
        async with asyncio.timeout(USUAL.contention.total_seconds() - 0.5):
            await shop.aio.jobs.start("export", owner="bob")
            await shop.aio.jobs.start("nightly", owner="alice")
            assert len((await shop.aio.jobs.list(owner="bob")).jobs) == 1
        assert not any(call.done() for call in waiting)
        connection.commit()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(answer, MaxJobCountExceeded) for answer in answers), answers
    assert rows(shop, f"SELECT count(*) FROM horae_jobs WHERE owner = 'alice' AND id <> {held.id}") == [(1,)]


@postgres
def test_two_callers_that_would_wait_for_each_other(brief: Horae, engine: Engine) -> None:
    with ExitStack() as stack:
        first, second = (stack.enter_context(engine.connect()) for _ in range(2))
        brief.jobs.start("nightly", session=first, unique_key="a")
        brief.jobs.start("nightly", session=second, unique_key="b")
        with pytest.raises(DatabaseBusy):
            brief.jobs.start("nightly", session=first, unique_key="b")
        second.rollback()
        assert brief.jobs.start("nightly", session=first, unique_key="b").id
        first.commit()
    assert rows(brief, "SELECT unique_key FROM horae_jobs ORDER BY 1") == [("a",), ("b",)]


@postgres
def test_a_conflict_in_the_caller_s_transaction_is_horae_s_error(shop: Horae, engine: Engine) -> None:
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        connection.execute(text("SELECT count(*) FROM horae_jobs"))
        shop.jobs.start("nightly", unique_key="x")
        with pytest.raises(DatabaseBusy, match="roll this one back and repeat it"):
            shop.jobs.start("nightly", session=connection, unique_key="x")


def test_over_http_the_answer_has_retry_after() -> None:
    response = response_to(DatabaseBusy("another transaction has started a job"))
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
