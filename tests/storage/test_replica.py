"""A primary with a standby: which server writes and lists reach, by one URL of both and by a URL of a replica."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from sqlalchemy import text

from horae.client.doctor.beside import check_replica
from horae.errors import ConfigurationError, DatabaseReadOnly
from horae.storage.engine.database import Database
from horae.storage.engine.replica import ReadReplica
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

NOWHERE = "postgresql://u:sesame@127.0.0.1:1/d"


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
    with closing(ReadReplica(primary, on_standby)) as replica:
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
    on_standby: str, call: Callable[[Database], object]
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


def test_a_list_is_as_late_as_the_replica(
    replica: ReadReplica, primary: Database, standby: Standby
) -> None:
    standby.catch_up()
    with standby.lagging():
        insert(primary)
        assert listed(replica) == 0
    standby.catch_up()
    assert listed(replica) == 1


def test_a_replica_that_does_not_answer_is_left_alone_for_a_while(
    primary: Database, caplog: pytest.LogCaptureFixture
) -> None:
    insert(primary)
    with closing(ReadReplica(primary, NOWHERE)) as replica:
        assert [listed(replica) for _ in range(3)] == [1, 1, 1]
        assert caplog.text.count("lists are read from the primary for 30 s") == 1
        assert "sesame" not in caplog.text


def test_a_replica_is_tried_again(
    replica: ReadReplica, primary: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("horae.storage.engine.replica.PAUSE", 0.0)
    with closing(Database(NOWHERE)) as lost:
        monkeypatch.setattr(replica, "_replica", lost)
        assert not from_standby(replica)
        monkeypatch.undo()
    assert from_standby(replica)


def test_a_server_that_is_no_standby_is_named_once(
    primary: Database, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(ReadReplica(primary, url)) as replica:
        assert [from_standby(replica) for _ in range(2)] == [False, False]
    assert caplog.text.count("lists are read from a server that is no standby") == 1


def test_lists_still_come_from_the_replica_while_the_primary_is_lost(
    replica: ReadReplica, pair: tuple[PostgresServer, Standby]
) -> None:
    with frozen(pair[0]):
        assert from_standby(replica)


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
    assert f"ok       replica: {on_standby} is in recovery, 0.0 s behind" in sound.stdout
    wrong = call(
        "doctor",
        "--database",
        url,
        env={"HORAE_READ_DATABASE": NOWHERE},
    )
    assert (
        "warning  replica: postgresql+psycopg://u:***@127.0.0.1:1/d cannot be used: connection failed"
        in (wrong.stdout)
    )
    assert (sound.exit_code, wrong.exit_code) == (0, 0)
    assert "sesame" not in sound.output + wrong.output


def test_doctor_says_how_far_a_replica_is_behind(
    primary: Database, replica: ReadReplica, standby: Standby, url: str
) -> None:
    def found(one: ReadReplica) -> tuple[str, str]:
        [finding] = check_replica(one)
        return finding.level.value, finding.message.removeprefix(one.shown)

    insert(primary)
    standby.catch_up()
    assert found(replica) == ("ok", " is in recovery, 0.0 s behind the primary")
    with standby.lagging():
        insert(primary)
        time.sleep(0.2)
        level, message = found(replica)
    assert level == "ok"
    assert 0.2 <= float(message.removeprefix(" is in recovery, ").partition(" s ")[0]) < 60
    with closing(ReadReplica(primary, url)) as itself:
        assert found(itself) == (
            "warning",
            " is not in recovery: it is a primary, and not a standby",
        )


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
