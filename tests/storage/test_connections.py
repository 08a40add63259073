"""How connections to PostgreSQL notice that the other end is gone, and how they are ended from outside."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import psycopg
import pytest
from sqlalchemy import ARRAY, Connection, Text, bindparam, text
from sqlalchemy.exc import DBAPIError, OperationalError

from horae.errors import DatabaseUnavailable
from horae.storage.engine.connections import pooler
from horae.storage.engine.connections.timeouts import (
    BODY_BOUNDS,
    CALL_DEADLINE,
    SERVICE_BOUNDS,
    SET_BOUNDS,
)
from horae.storage.engine.database import Database
from tests.harness.network import Network
from tests.harness.nodes import until

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]
WAITING = (
    "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'"
)


def bounds_of(connection: Connection) -> dict[str, str]:
    driver = connection.connection.driver_connection
    assert driver is not None
    found = driver.info.get_parameters()
    return {name: value for name, value in found.items() if name in SERVICE_BOUNDS}


def ping(connection: Connection) -> object:
    return connection.execute(text("SELECT 1")).scalar_one()


def sleep(connection: Connection) -> None:
    connection.execute(text("SELECT pg_sleep(30)"))


def waits(database: Database) -> bool:
    return bool(database.autocommit(lambda connection: connection.execute(text(WAITING)).all()))


@pytest.fixture
def apart(database: Database) -> Iterator[tuple[Database, Network]]:
    """The same database behind a network that may fail."""
    assert database.url.port is not None
    with (
        Network(database.url.port) as network,
        closing(Database(database.url.set(port=network.port))) as apart,
    ):
        yield apart, network
        network.resume()


def test_every_connection_has_bounds(database: Database) -> None:
    service = {name: str(value) for name, value in SERVICE_BOUNDS.items()}
    assert database.transact(bounds_of) == database.autocommit(bounds_of) == service
    with database.transaction("read committed") as connection:
        assert bounds_of(connection) == {name: str(value) for name, value in BODY_BOUNDS.items()}
    assert {name: str(database.driver_arguments()[name]) for name in SERVICE_BOUNDS} == service


def test_keepalives_are_set_in_the_kernel(database: Database) -> None:
    def options(connection: Connection) -> tuple[int, int]:
        driver = connection.connection.driver_connection
        assert driver is not None
        with socket.fromfd(driver.fileno(), socket.AF_INET, socket.SOCK_STREAM) as copy:
            return (
                copy.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
                copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
            )

    assert database.autocommit(options) == (1, 10_000)


@pytest.mark.direct
def test_the_server_notices_a_lost_client_as_soon_as_the_client_a_lost_server(
    database: Database,
) -> None:
    def of_server(connection: Connection) -> list[int]:
        names = (
            "tcp_keepalives_idle",
            "tcp_keepalives_interval",
            "tcp_keepalives_count",
            "tcp_user_timeout",
        )
        query = text(
            "SELECT setting::int FROM pg_settings WHERE name = ANY (:names) ORDER BY array_position(:names, name)"
        )
        return list(connection.execute(query, {"names": list(names)}).scalars())

    assert database.transact(of_server) == database.autocommit(of_server) == [5, 2, 3, 10_000]
    with database.transaction("read committed") as connection:
        assert of_server(connection) == [10, 5, 4, 30_000]


@pytest.mark.direct
@pytest.mark.parametrize("use", ["service", "body"])
async def test_a_statement_ends_whose_client_is_gone(database: Database, use: str) -> None:
    """While a statement runs, or waits for a lock, the server reads nothing, so a closed connection goes unnoticed."""
    with closing(Database(database.url.update_query_dict({"keepalives_idle": "1"}))) as gone:

        def body() -> None:
            with gone.transaction("read committed") as connection:
                sleep(connection)

        waiting = asyncio.ensure_future(
            asyncio.to_thread(body if use == "body" else partial(gone.transact, sleep))
        )
        await until(lambda: waits(database))
        gone.hang_up()
        gone.hang_up_bodies([])
        with pytest.raises((DBAPIError, DatabaseUnavailable)):
            await waiting
        await until(lambda: not waits(database), within=20)


@pytest.mark.direct
def test_a_server_without_such_checks_gets_none(database: Database) -> None:
    """Older ones lack the setting, and not every system can look for a client."""
    unknown = SET_BOUNDS.format(":names", ":values").replace("::text[]", "")
    values = {"names": ["no_such_setting", "tcp_keepalives_idle"], "values": ["1", "7"]}
    statement = text(unknown).bindparams(*(bindparam(name, type_=ARRAY(Text())) for name in values))
    assert (
        database.transact(lambda connection: connection.execute(statement, values).scalar_one())
        == 1
    )


@pytest.mark.direct
def test_a_change_of_the_style_of_dates_on_the_server_does_not_reach_connections(
    database: Database,
) -> None:
    """The driver reads moments in no other style than that which it sets while it connects."""
    source = text("SELECT source FROM pg_settings WHERE name = 'DateStyle'")
    assert database.autocommit(lambda connection: connection.scalar(source)) == "session"


def test_options_in_the_url_win(database: Database) -> None:
    with closing(Database(database.url.update_query_dict({"keepalives_idle": "77"}))) as told:
        assert told.autocommit(bounds_of)["keepalives_idle"] == "77"


async def test_a_service_that_waits_beyond_its_deadline_is_ended_and_others_are_not(
    database: Database,
) -> None:
    service = asyncio.ensure_future(database.autocommit_async(sleep))
    await until(lambda: waits(database))
    database.end_overdue_calls(time.monotonic() + CALL_DEADLINE - 1)
    assert waits(database)
    database.end_overdue_calls(time.monotonic() + CALL_DEADLINE + 1)
    with pytest.raises(DBAPIError):
        await service
    assert not waits(database)
    body = asyncio.ensure_future(asyncio.to_thread(database.autocommit, sleep))  # a caller's own
    await until(lambda: waits(database))
    database.end_overdue_calls(time.monotonic() + CALL_DEADLINE + 1)
    assert waits(database)
    database.hang_up()
    with pytest.raises(DatabaseUnavailable):
        await body


async def test_a_waiter_on_a_silent_connection_gets_an_error_at_its_close(
    apart: tuple[Database, Network],
) -> None:
    database, network = apart
    database.autocommit(ping)
    network.silence()
    waiting = asyncio.ensure_future(database.autocommit_async(ping))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 0.1)
    database.hang_up()
    with pytest.raises(OperationalError):
        await waiting
    network.resume()
    assert database.autocommit(ping)


def test_a_connection_that_cannot_be_prepared_is_closed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLAlchemy does so itself from 2.1 on."""
    opened: list[Any] = []

    def fail(connection: Any) -> bool:
        opened.append(connection)
        raise psycopg.OperationalError

    monkeypatch.setattr(pooler, "is_pooled", fail)
    with closing(Database(database.url)) as apart, pytest.raises(DatabaseUnavailable):
        apart.autocommit(ping)
    assert opened
    assert all(connection.closed for connection in opened)
