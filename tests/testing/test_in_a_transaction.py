"""An application works in the transaction of a test, which is rolled back."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine, StaticPool, create_engine, text
from sqlalchemy.orm import scoped_session, sessionmaker

from horae import Horae, JobContext, JobState
from horae.storage.engine.database import Database
from horae.testing import testing
from tests.harness.applications import url_of

NOW = datetime(2030, 3, 1, 12, tzinfo=UTC)


class Shop:
    """An application with a table of orders beside Horae's."""

    def __init__(self, horae: Horae) -> None:
        self.horae = horae
        self.runs: list[datetime | None] = []

        @horae.job
        def ship(order: int) -> int:
            return order

        @horae.job(transaction="read committed")
        def pay(job: JobContext, order: int, *, fail: bool = False) -> None:
            job.connection.execute(text("INSERT INTO orders VALUES (:order)"), {"order": order})
            ship.with_options(session=job.session).start(order=order)
            if fail:
                raise ValueError("no money")

        @horae.cron("0 3 * * *")
        def nightly(job: JobContext) -> None:
            self.runs.append(job.nominal_time)

        self.ship, self.pay = ship, pay


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The engine of the application's own tests."""
    if request.param == "memory":
        made = create_engine("sqlite://", poolclass=StaticPool)
    else:
        kind = "postgres_database" if request.param == "postgresql" else "sqlite_database"
        database: Database = request.getfixturevalue(kind)
        made = create_engine(url_of(database))
    yield made
    made.dispose()


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    with engine.connect() as connection:
        connection.begin()
        connection.execute(text("CREATE TABLE orders (number INTEGER)"))
        yield connection
        connection.rollback()


@pytest.fixture
def shop() -> Iterator[Shop]:
    with closing(Horae("sqlite:///never-opened.db")) as horae:
        yield Shop(horae)


def orders(connection: Connection) -> list[int]:
    return list(connection.execute(text("SELECT number FROM orders ORDER BY 1")).scalars())


def test_jobs_run_in_the_transaction_of_the_test(
    shop: Shop, engine: Engine, connection: Connection
) -> None:
    with testing(shop.horae, connection=connection) as t:
        shop.pay.start(order=1)
        failing = shop.pay.start(order=2, fail=True)
        t.drain(check=False)
        assert orders(connection) == [1]  # what the failed body wrote is rolled back alone
        assert [job.result for job in t.started(shop.ship)] == [1]
        assert shop.horae.jobs.get(failing.id).state is JobState.FAILED
    connection.rollback()
    with engine.connect() as after, after.begin():
        if after.dialect.name != "sqlite" or engine.url.database:
            assert after.execute(text("SELECT count(*) FROM horae_jobs")).scalar_one() == 0


@pytest.mark.parametrize("scoped", [False, True])
def test_a_session_whose_commits_are_savepoints(
    shop: Shop, connection: Connection, *, scoped: bool
) -> None:
    made = sessionmaker(connection, join_transaction_mode="create_savepoint")
    session = scoped_session(made) if scoped else made()
    with closing(session), testing(shop.horae, connection=session) as t:
        shop.horae.jobs.start(shop.ship, order=1, session=session)
        session.rollback()
        t.nothing_started()
        shop.horae.jobs.start(shop.ship, order=2, session=session)
        session.commit()
        t.drain()
        t.started(shop.ship, order=2)


def test_eager_jobs_in_a_transaction(shop: Shop, connection: Connection) -> None:
    with testing(shop.horae, connection=connection, eager=True) as t:
        shop.pay.start(order=1)
        assert orders(connection) == [1]
        assert [job.state for job in t.started(shop.ship)] == [JobState.FINISHED]


def test_the_clock_of_the_transaction(shop: Shop, connection: Connection) -> None:
    with testing(shop.horae, connection=connection, now=NOW) as t:
        job = shop.ship.with_options(delay="1h").start(order=1)
        t.run_due(timedelta(days=3))
        assert shop.horae.jobs.get(job.id).started_at == NOW + timedelta(hours=1)
        assert t.now == NOW + timedelta(days=3)
    assert [None if run is None else run.day for run in shop.runs] == [2, 3, 4]
    now = "CURRENT_TIMESTAMP" if connection.dialect.name == "sqlite" else "statement_timestamp()"
    assert "2030" not in str(connection.execute(text(f"SELECT {now}")).scalar_one())


async def test_coroutines_in_a_transaction(shop: Shop, connection: Connection) -> None:
    with testing(shop.horae, connection=connection) as t:
        job = await shop.ship.aio.start(order=1)
        assert await shop.horae.aio.jobs.wait(job) == 1
        assert len(t.started(shop.ship)) == 1


def test_jobs_from_before_the_test_do_not_count(shop: Shop, connection: Connection) -> None:
    with testing(shop.horae, connection=connection):
        shop.ship.start(order=1)
    with testing(shop.horae, connection=connection) as t:
        t.nothing_started()
        shop.ship.start(order=2)
        assert len(t.started(shop.ship)) == 1
