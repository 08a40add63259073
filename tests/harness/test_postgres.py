"""Tests of the PostgreSQL server that other tests use: its faults would look like faults of Horae."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import psycopg
import pytest

from tests.harness.operating_system import ProgramMissing, find_postgres_programs
from tests.harness.postgres import THROW_AWAY, PostgresServer
from tests.harness.program import ProgramFailed

pytestmark = pytest.mark.postgres

ROOT: Final = Path(__file__).parents[2]
UNTIL_GONE: Final = 'while [ -e "$1" ]; do sleep 0.02; done'


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A separate server: these tests stop and kill it."""
    with PostgresServer(THROW_AWAY) as server:
        yield server


def connect(url: str) -> psycopg.Connection:
    return psycopg.connect(url.replace("+psycopg", ""), autocommit=True)


def run(url: str, statement: bytes) -> list[tuple[object, ...]]:
    with closing(connect(url)) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description is not None else []


def test_a_database_is_fresh_and_goes_away(server: PostgresServer) -> None:
    first, second = server.create_database(), server.create_database()
    run(first, b"CREATE TABLE only_here ()")
    assert run(second, b"SELECT to_regclass('only_here')") == [(None,)]
    with closing(connect(first)):
        server.drop_database(first)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        connect(first)
    server.drop_database(second)


def test_a_database_can_be_the_copy_of_another(server: PostgresServer) -> None:
    template = server.create_database()
    run(template, b"CREATE TABLE answers AS SELECT 42 AS answer")
    copy = server.create_database(template)
    assert run(copy, b"SELECT answer FROM answers") == [(42,)]


@pytest.mark.parametrize("end", ["fast", "immediate", "kill"])
def test_commits_survive_every_end(server: PostgresServer, end: str) -> None:
    url = server.create_database()
    run(url, b"CREATE TABLE answers AS SELECT 42 AS answer")
    with closing(connect(url)):
        if end == "kill":
            server.kill()
            server.start()
        else:
            server.restart("immediate" if end == "immediate" else "fast")
    assert run(url, b"SELECT answer FROM answers") == [(42,)]


def test_settings_reach_the_server_and_are_its_own_by_default(server: PostgresServer) -> None:
    assert run(server.url(), b"SHOW fsync") == [("off",)]
    with PostgresServer() as as_shipped:
        assert run(as_shipped.url(), b"SHOW fsync") == [("on",)]
        assert as_shipped.port != server.port


def test_a_server_that_cannot_start_shows_its_log() -> None:
    with (
        pytest.raises(ProgramFailed, match='"fsync" requires a Boolean'),
        PostgresServer({"fsync": "perhaps"}),
    ):
        pass


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tests.harness.operating_system.DEBIAN_VERSIONS", tmp_path)
    with pytest.raises(ProgramMissing, match="install Debian's package postgresql"):
        find_postgres_programs()


def test_the_server_ends_with_the_process_that_started_it() -> None:
    script = """
        import os, signal
        from tests.harness.postgres import THROW_AWAY, PostgresServer
        server = PostgresServer(THROW_AWAY).__enter__()
        print(server.url(), server.folder, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    victim = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    url, folder = victim.stdout.split()
    # The guard is a process unknown to this test, so wait for the folder, which it removes last.
    subprocess.run(["/bin/sh", "-c", UNTIL_GONE, "wait", folder], check=True, timeout=30)
    with pytest.raises(psycopg.OperationalError, match="refused"):
        connect(url)
