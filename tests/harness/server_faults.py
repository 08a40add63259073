"""Faults of a PostgreSQL server, each a context manager: the fault lasts as long as its block.

None draws random values, so that a test, a table of faults or a soak test can choose what happens when.
"""

import os
import signal
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

import psycopg
from psycopg import sql

from tests.harness.background import Repeated
from tests.harness.postgres import PostgresServer, StopMode

ADMINISTRATION: Final = "horae-faults"
"""The application name of connections that cause or watch faults, which no fault ends."""
CONNECT_TIMEOUT: Final = 5
"""Seconds, so that a stopped server cannot hold up a test."""


def administer(url: str) -> psycopg.Connection:
    """Connect in autocommit mode, beside the faults."""
    return psycopg.connect(
        url.replace("+psycopg", ""),
        autocommit=True,
        application_name=ADMINISTRATION,
        connect_timeout=CONNECT_TIMEOUT,
        options="-c default_transaction_read_only=off",
    )


@contextmanager
def server_away(server: PostgresServer, mode: StopMode = "fast") -> Generator[None]:
    """Stop the server, and start it at the end of the block."""
    server.halt(mode)
    try:
        yield
    finally:
        server.start()


@contextmanager
def frozen(server: PostgresServer) -> Generator[None]:
    """Stop all processes of the server with SIGSTOP, and continue them at the end of the block."""
    processes = server.processes()
    _signal(processes, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(processes, signal.SIGCONT)


@contextmanager
def read_only(server: PostgresServer) -> Generator[None]:
    """Let every transaction that begins in the block be read-only, as after a fail-over to a standby."""
    _set_read_only(server, "on")
    try:
        yield
    finally:
        _set_read_only(server, "off")


@contextmanager
def backends_terminated(server: PostgresServer, every: float) -> Generator[None]:
    """End all client connections, at once and again after each `every` seconds."""
    with Repeated(lambda: terminate_backends(server), every):
        yield


def terminate_backends(server: PostgresServer) -> int:
    """End all client connections but those of `administer`, and return their number."""
    with administer(server.url()) as connection:
        ended = connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND application_name <> %s",
            [ADMINISTRATION],
        ).fetchone()
    return 0 if ended is None else int(ended[0])


@contextmanager
def connections_used_up(server: PostgresServer) -> Generator[None]:
    """Take all connections that the server has left, and end those of others, so that they cannot connect again."""
    with ExitStack() as taken:
        terminate_backends(server)

        def take() -> None:
            with suppress(psycopg.OperationalError):  # until the others give up another one
                taken.enter_context(administer(server.url()))

        for _ in range(_max_connections(server)):
            take()
        with Repeated(take, 0.05):
            yield


@contextmanager
def table_locked(url: str, table: str) -> Generator[None]:
    """Hold a lock on the table that conflicts with all other uses of it, as `ALTER TABLE` does."""
    with administer(url) as connection, connection.transaction():
        connection.execute(
            sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(table))
        )
        yield


@contextmanager
def idle_transaction(url: str) -> Generator[None]:
    """Hold a snapshot in an idle transaction, so that no row version that it can see is removed."""
    with administer(url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with connection.transaction():
            connection.execute("SELECT count(*) FROM horae_jobs")
            yield


def _set_read_only(server: PostgresServer, value: str) -> None:
    with administer(server.url()) as connection:
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}".encode())
        connection.execute("SELECT pg_reload_conf()")


def _max_connections(server: PostgresServer) -> int:
    with administer(server.url()) as connection:
        found = connection.execute(
            "SELECT setting::int FROM pg_settings WHERE name = 'max_connections'"
        ).fetchone()
    return 0 if found is None else int(found[0])


def _signal(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)
