"""A session that is closed is opened again, and cannot be told from a new one."""

import os
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from tests.harness.reuse import ReusedDatabases, connected
from tests.harness.sessions import KEPT, MOST

pytestmark = pytest.mark.postgres

OTHER_SETTINGS = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET lock_timeout = 1', current_database()); END $$"
LEFT = """
SELECT (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'),
       (SELECT count(*) FROM pg_listening_channels()), to_regclass('pg_temp.own'), current_setting('lock_timeout'),
       (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM horae_queues)
"""


@pytest.fixture
def url(reused_databases: ReusedDatabases) -> Iterator[str]:
    with reused_databases.one() as url:
        yield url


def process(url: str) -> int:
    """Return the process of the server that serves the next session."""
    with closing(connected(url)) as connection:
        return connection.info.backend_pid


def test_nothing_of_its_earlier_use_is_left(url: str) -> None:
    with closing(connected(url)) as connection:
        first = connection.info.backend_pid
        connection.execute("SELECT pg_advisory_lock(1)")
        connection.execute("LISTEN own")
        connection.execute("CREATE TEMPORARY TABLE own (id int)")
        connection.execute("SET lock_timeout = '1s'")
        connection.execute("SELECT 1", prepare=True)
        connection.execute("BEGIN")
        connection.execute("INSERT INTO horae_queues (name) VALUES ('own')")
    with closing(connected(url)) as connection:
        assert connection.info.backend_pid == first
        assert connection.execute(LEFT).fetchone() == (0, 0, None, "0", 0, 0)


def test_no_more_are_kept_than_leave_room_for_others(url: str) -> None:
    opened = [connected(url) for _ in range(MOST + 3)]
    for connection in opened:
        connection.close()
    assert len(KEPT.processes()) == MOST


def test_a_closed_connection_is_closed(url: str) -> None:
    connection = connected(url)
    connection.close()
    connection.close()
    assert connection.closed
    with pytest.raises(psycopg.OperationalError, match="the connection is closed"):
        connection.execute("SELECT 1")


def test_one_whose_process_was_ended_is_not_opened_again(url: str) -> None:
    with closing(connected(url)) as other:
        ended = process(url)
        other.execute("SELECT pg_terminate_backend(%s)", [ended])
        assert process(url) != ended


def test_settings_of_the_database_hold_for_all_that_are_opened_later(url: str) -> None:
    with closing(connected(url)) as connection:
        process(url)
        connection.execute(OTHER_SETTINGS)
    with closing(connected(url)) as connection:
        assert connection.execute("SHOW lock_timeout").fetchone() == ("1ms",)


def test_one_that_has_other_settings_is_not_kept(url: str) -> None:
    with closing(connected(url)) as connection:
        connection.execute(OTHER_SETTINGS)
        other = connected(url)
        connection.execute(OTHER_SETTINGS.replace("SET lock_timeout = 1", "RESET lock_timeout"))
    other.close()
    with closing(connected(url)) as first, closing(connected(url)) as second:
        assert first.execute("SHOW lock_timeout").fetchone() == ("0",)
        assert second.execute("SHOW lock_timeout").fetchone() == ("0",)


def test_a_forked_process_has_none_of_them(url: str) -> None:
    process(url)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(KEPT.processes()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert (os.read(reading, 64), KEPT.processes() != []) == (b"[]", True)


@pytest.mark.own_sessions
def test_where_sessions_are_looked_for_they_end(url: str) -> None:
    assert process(url) != process(url)
    assert KEPT.processes() == []
