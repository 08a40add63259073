"""A primary with a standby: which server writes and lists reach, by one URL of both and by a URL of a replica."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import pytest
from sqlalchemy import text

from horae.client.doctor.replica import check_replica
from horae.errors import ConfigurationError, DatabaseReadOnly
from horae.storage.engine.database import Database
from horae.storage.engine.replica import ReadReplica, ReplicaTiming
from horae.storage.jobs import creation, reading
from horae.storage.jobs.reading import JobFilter
from horae.storage.migrations import runner
from horae.wakeup.channel import Hint, HintKind
from horae.wakeup.postgres import PostgresChannel
from tests.cli.conftest import call
from tests.harness.node_processes import wait_until
from tests.harness.postgres import THROW_AWAY, PostgresServer, database_name
from tests.harness.replication import Standby, url_of_all
from tests.harness.server_faults import frozen
from tests.storage.arrange import PLAIN

pytestmark = pytest.mark.postgres

QUICK = ReplicaTiming(every=0.02, most_behind=0.4, answer_within=0.3)
NOW = float("-inf")
"""A user who has changed nothing."""


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[PostgresServer, Standby]]:
    """A primary and its standby, which no test of this module promotes."""
    with PostgresServer(THROW_AWAY) as primary, Standby(primary) as standby:
        yield primary, standby


@pytest.fixture(scope="module")
def url(pair: tuple[PostgresServer, Standby]) -> str:
    """A migrated database, by the URL of the primary alone."""
    primary, standby = pair
    url = primary.create_database()
    with closing(Database(url)) as database:
        runner.upgrade(database)
    standby.catch_up()
    return url


@pytest.fixture
def standby(pair: tuple[PostgresServer, Standby], url: str) -> Standby:
    return pair[1]


@pytest.fixture
def on_standby(standby: Standby, url: str) -> str:
    """The same database, by the URL of the standby alone."""
    return standby.url(database_name(url))


@pytest.fixture
def primary(url: str) -> Iterator[Database]:
    with closing(Database(url)) as database:
        database.transact(lambda connection: connection.execute(text("DELETE FROM horae_jobs")))
        yield database


@pytest.fixture
def replica(primary: Database, on_standby: str) -> Iterator[ReadReplica]:
    with closing(ReadReplica(primary, on_standby, QUICK)) as replica:
        wait_until(lambda: replica.contains(NOW))
        yield replica


def listed(reads: Database | ReadReplica) -> int:
    return len(reads.autocommit(reading.page, JobFilter(limit=None)))


def from_standby(reads: Database | ReadReplica) -> bool:
    return bool(
        reads.autocommit(
            lambda connection: connection.execute(text("SELECT pg_is_in_recovery()")).scalar()
        )
    )


def insert(database: Database) -> None:
    database.transact(creation.add, PLAIN)


def test_writes_and_hints_find_the_primary_behind_the_standby(
    pair: tuple[PostgresServer, Standby], url: str, primary: Database
) -> None:
    both = url_of_all(url, pair[1], pair[0])
    with closing(Database(both)) as database, closing(PostgresChannel(database.url)) as channel:
        insert(database)
        runner.upgrade(database)
        assert listed(primary) == 1
        with closing(PostgresChannel(primary.url)) as other:
            arrived = threading.Event()
            channel.subscribe(
                lambda hint: arrived.set() if hint == Hint(HintKind.SCHEDULES) else None
            )
            wait_until(lambda: channel.connected)
            arrived.clear()
            other.send(Hint(HintKind.SCHEDULES))
            assert arrived.wait(10)


@pytest.mark.parametrize("call", [insert, runner.upgrade])
def test_a_standby_is_read_only_and_says_so(
    on_standby: str, call: Callable[[Database], None]
) -> None:
    with closing(Database(on_standby)) as database:
        assert listed(database) >= 0
        if call is runner.upgrade:
            call = lambda database: runner.downgrade(database, "base")  # noqa: E731 - the newest needs no write
        with pytest.raises(
            DatabaseReadOnly, match="accepts no writes now: the server is a standby"
        ):
            call(database)


def test_without_a_primary_the_database_is_read_only(
    pair: tuple[PostgresServer, Standby], url: str
) -> None:
    only = url_of_all(url, pair[1], pair[1])
    with (
        closing(Database(only)) as database,
        pytest.raises(DatabaseReadOnly, match="no server that answers does"),
    ):
        insert(database)


def test_lists_come_from_the_replica(replica: ReadReplica) -> None:
    assert from_standby(replica)


def test_a_user_reads_own_changes_from_the_primary_until_the_replica_has_them(
    replica: ReadReplica, primary: Database, standby: Standby
) -> None:
    with standby.lagging():
        insert(primary)
        changed = time.monotonic()
        assert not replica.contains(changed)
    wait_until(lambda: replica.contains(changed))
    assert (listed(replica), from_standby(replica)) == (1, True)


def test_a_replica_that_is_far_behind_is_not_used(
    replica: ReadReplica, primary: Database, standby: Standby, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "horae.database"):
        with standby.lagging():
            insert(primary)
            wait_until(lambda: not from_standby(replica))
            assert listed(replica) == 1
        wait_until(lambda: from_standby(replica))
    messages = [record.getMessage() for record in caplog.records]
    assert [message.partition(" (")[0] for message in messages] == [
        "lists are read from the primary until the replica",
        "lists are read from the replica",
    ]
    assert "it is more than 0.4 s behind" in messages[0]


def test_a_replica_that_stops_to_answer_holds_up_no_list_for_long(
    replica: ReadReplica, primary: Database, standby: Standby, caplog: pytest.LogCaptureFixture
) -> None:
    insert(primary)
    with frozen(standby):
        began = time.monotonic()
        assert listed(replica) == 1
        assert time.monotonic() - began < 5
        wait_until(lambda: not replica.contains(NOW))
    assert caplog.text.count("lists are read from the primary") == 1
    wait_until(partial(from_standby, replica))


def test_lists_still_come_from_the_replica_while_the_primary_is_lost(
    replica: ReadReplica, pair: tuple[PostgresServer, Standby]
) -> None:
    with frozen(pair[0]):
        deadline = time.monotonic() + 2 * QUICK.most_behind
        while time.monotonic() < deadline:
            assert from_standby(replica)


def test_another_database_is_not_taken_for_a_replica(
    primary: Database, pair: tuple[PostgresServer, Standby], caplog: pytest.LogCaptureFixture
) -> None:
    other = pair[0].create_database()
    with closing(Database(other)) as database:
        runner.upgrade(database)
    with closing(ReadReplica(primary, other, QUICK)) as replica:
        replica.contains(NOW)
        wait_until(lambda: "is not a replica of this database" in caplog.text)
        assert not replica.contains(NOW)
        assert listed(replica) == 0


def test_comparisons_end_when_no_lists_are_read(primary: Database, on_standby: str) -> None:
    with closing(
        ReadReplica(primary, on_standby, ReplicaTiming(every=0.01, unused_after=0.1))
    ) as replica:
        replica.contains(NOW)
        wait_until(
            lambda: not any(thread.name == "horae-replica" for thread in threading.enumerate())
        )
        assert not replica.contains(NOW)  # what was known is old
        wait_until(lambda: replica.contains(NOW))


def test_only_postgresql_has_replicas(primary: Database, tmp_path: object) -> None:
    with closing(Database(f"sqlite:///{tmp_path}/horae.db")) as file:
        for database, url in (
            (file, "postgresql://h/d"),
            (primary, f"sqlite:///{tmp_path}/horae.db"),
        ):
            with pytest.raises(ConfigurationError, match="only a PostgreSQL database has replicas"):
                ReadReplica(database, url)
    with pytest.raises(ConfigurationError, match="read_database"):
        ReadReplica(primary, "mysql://h/d")


def test_commands_work_with_several_servers_and_a_replica(
    pair: tuple[PostgresServer, Standby], url: str, on_standby: str, primary: Database
) -> None:
    both = url_of_all(url, pair[1], pair[0]).replace("postgres@", "postgres:sesame@")
    assert call("migrate", "up", "--database", both).exit_code == 0
    sound = call("doctor", "--database", both, env={"HORAE_READ_DATABASE": on_standby})
    lines = sound.stdout.splitlines()
    hosts = f"127.0.0.1:{pair[1].port},127.0.0.1:{pair[0].port}"
    assert f"@{hosts}/{database_name(url)}?target_session_attrs=read-write" in lines[0]
    assert f"ok       replica: {on_standby} follows the primary; it was " in sound.stdout
    wrong = call(
        "doctor",
        "--database",
        url,
        env={"HORAE_READ_DATABASE": "postgresql://u:sesame@127.0.0.1:1/d"},
    )
    assert (
        "warning  replica: postgresql+psycopg://u:***@127.0.0.1:1/d cannot be used: connection failed"
        in (wrong.stdout)
    )
    assert (sound.exit_code, wrong.exit_code) == (0, 0)
    assert "sesame" not in sound.output + wrong.output


def test_doctor_finds_a_replica_from_which_no_lists_are_read(
    primary: Database, replica: ReadReplica, standby: Standby, url: str
) -> None:
    def found(one: ReadReplica) -> tuple[str, str]:
        [finding] = check_replica(one)
        return finding.level.value, finding.message.partition(": ")[2].partition(";")[0]

    assert found(replica)[0] == "ok"
    with standby.lagging():
        insert(primary)
        assert found(replica) == ("warning", "it is more than 0.4 s behind")
    with frozen(standby):
        assert found(replica) == ("warning", "it has not answered in time")
    with closing(ReadReplica(primary, url, QUICK)) as itself:
        assert found(itself) == ("warning", "it is the primary itself")


def test_doctor_tells_a_standby_from_a_lost_server(
    pair: tuple[PostgresServer, Standby], url: str, on_standby: str
) -> None:
    alone = call("doctor", "--database", on_standby)
    assert "problem  server: PostgreSQL " in alone.stdout
    assert "is a standby server: it accepts no writes" in alone.stdout
    neither = call("doctor", "--database", url_of_all(url, pair[1], pair[1]))
    assert (
        "problem  connection: the database accepts no writes now: no server that answers does"
        in neither.stdout
    )
    assert (alone.exit_code, neither.exit_code) == (1, 1)
