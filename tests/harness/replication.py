"""A standby of a PostgreSQL server under test: made with `pg_basebackup`, promoted with `pg_ctl promote`."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import make_url
from typing_extensions import override

from tests.harness.postgres import THROW_AWAY, PostgresServer
from tests.harness.program import PATIENCE, PAUSE
from tests.harness.server_faults import administer

NAME: Final = "standby"
"""The name under which the primary knows its standby."""


class Standby(PostgresServer):
    """A hot standby that runs inside `with`; it follows its primary until it is promoted."""

    def __init__(self, primary: PostgresServer) -> None:
        super().__init__(THROW_AWAY)
        self._primary = primary

    def promote(self) -> None:
        """Make it a primary, and wait until it accepts writes."""
        if self._run("pg_ctl", "promote", "--wait").wait(PATIENCE) != 0:
            raise self._failure("was not promoted")

    def position(self) -> int:
        """Return how many bytes of the primary's log of changes can be seen in queries here."""
        return _position(self, "pg_last_wal_replay_lsn()")

    def catch_up(self) -> None:
        """Wait until everything that the primary has written so far can be seen here."""
        wanted = _position(self._primary, "pg_current_wal_lsn()")
        _wait_until_true(self, f"SELECT pg_last_wal_replay_lsn() - '0/0'::pg_lsn >= {wanted}")

    @contextmanager
    def lagging(self) -> Generator[None]:
        """Show nothing new in the block, as a standby does that cannot keep up; the connection stays."""
        _run(self, "SELECT pg_wal_replay_pause()")
        _wait_until_true(self, "SELECT pg_get_wal_replay_pause_state() = 'paused'")
        try:
            yield
        finally:
            _run(self, "SELECT pg_wal_replay_resume()")

    @override
    def _create_cluster(self) -> None:
        primary = f"host=127.0.0.1 port={self._primary.port} user=postgres application_name={NAME}"
        options = ["--write-recovery-conf", "--checkpoint=fast", "--no-sync", f"--dbname={primary}"]
        if self._run("pg_basebackup", *options).wait(PATIENCE) != 0:
            raise self._failure("could not copy its primary")


def make_synchronous(primary: PostgresServer) -> None:
    """Let each commit on the primary wait until its standby has stored it too, and wait for that standby."""
    for statement in (
        f"ALTER SYSTEM SET synchronous_standby_names = '{NAME}'",
        "SELECT pg_reload_conf()",
    ):
        _run(primary, statement)
    _wait_until_true(primary, "SELECT 'sync' = ANY (SELECT sync_state FROM pg_stat_replication)")


def url_of_all(url: str, *servers: PostgresServer) -> str:
    """Return the URL of a database that names several servers, as an application would write it."""
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    return f"postgresql://postgres@{hosts}/{make_url(url).database}"


def _position(server: PostgresServer, function: str) -> int:
    with administer(server.url()) as connection:
        found = connection.execute(
            f"SELECT ({function} - '0/0'::pg_lsn)::bigint".encode()
        ).fetchone()
    assert found is not None
    return int(found[0])


def _run(server: PostgresServer, statement: str) -> None:
    with administer(server.url()) as connection:
        connection.execute(statement.encode())


def _wait_until_true(server: PostgresServer, query: str) -> None:
    deadline = time.monotonic() + PATIENCE
    with administer(server.url()) as connection:
        while connection.execute(query.encode()).fetchone() != (True,):
            if time.monotonic() > deadline:
                raise TimeoutError(f"this did not become true: {query}")
            time.sleep(PAUSE)
