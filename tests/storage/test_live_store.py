"""One contract for every live store, and what only a store in a file has to survive."""

import sqlite3
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError

from horae.domain.jobs.groups import GroupId
from horae.domain.jobs.job import JobId
from horae.domain.jobs.waits import Wait, WaitTarget
from horae.errors import DatabaseBusy, DatabaseUnavailable
from horae.live import sidecar
from horae.live.database import DatabaseLiveStore, latest
from horae.live.redis import RedisLiveStore
from horae.live.sidecar import SideCar
from horae.live.store import CancelRequest, LiveReport, LiveStore
from horae.redis_access.access import RedisAccess
from horae.storage.engine.database import Database
from horae.storage.jobs.tables import live_metadata
from tests.harness.postgres import PostgresServer
from tests.simulation.replaced import SimulatedLiveStore

FIRST, SECOND, THIRD = JobId(1), JobId(2), JobId(3)


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        pytest.param("redis", marks=pytest.mark.redis),
        pytest.param("postgresql", marks=pytest.mark.postgres),
        pytest.param("pgbouncer", marks=pytest.mark.postgres),
    ]
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveStore]:
    if request.param == "memory":
        yield SimulatedLiveStore()
        return
    if request.param == "redis":
        access = RedisAccess(request.getfixturevalue("redis_server").url(), f"test:{tmp_path}")
        beside = SimulatedLiveStore()
        with closing(access), closing(RedisLiveStore(access, beside)) as on_redis:
            yield on_redis
            assert (access.log.failing, beside.reports) == ({}, {})
        return
    if request.param == "sqlite":
        with (
            closing(Database(f"sqlite:///{tmp_path}/horae.db")) as database,
            closing(DatabaseLiveStore(database)) as made,
        ):
            yield made
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.create_database(template=request.getfixturevalue("migrated_postgres"))
    reached = (
        url if request.param == "postgresql" else request.getfixturevalue("pgbouncer").url(url)
    )
    with closing(Database(reached)) as database, closing(DatabaseLiveStore(database)) as made:
        yield made
    server.drop_database(url)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(f"sqlite:///{tmp_path}/horae.db")) as database:
        yield database


def impatient(database: Database) -> DatabaseLiveStore:
    """A store that does not wait long for a lock."""
    return DatabaseLiveStore(database, busy_timeout=0.05)


def report(
    percentage: int, *, job_id: JobId = FIRST, lease: int = 1, label: str | None = None
) -> LiveReport:
    return LiveReport(job_id, lease, percentage, label)


def shown(store: LiveStore, job_id: JobId = FIRST) -> LiveReport | None:
    return store.read([job_id]).get(job_id)


@contextmanager
def write_lock(file: str, *, readers_too: bool = False) -> Generator[None]:
    """As a process has it that is in the middle of a transaction."""
    with closing(sqlite3.connect(file, isolation_level=None)) as rival:
        if readers_too:
            rival.execute("PRAGMA locking_mode = EXCLUSIVE")
        rival.execute("BEGIN IMMEDIATE")
        yield


# Reports


def test_a_report_is_read_as_it_was_published(store: LiveStore) -> None:
    told = LiveReport(JobId(2**62), 2**40, 42, "importing ✓ 'table' \"7\"")
    store.publish([told, report(0, job_id=SECOND)])
    assert store.read([told.job_id, SECOND, THIRD]) == {
        told.job_id: told,
        SECOND: report(0, job_id=SECOND),
    }


def test_only_the_jobs_asked_for_are_read(store: LiveStore) -> None:
    store.publish([report(1), report(2, job_id=SECOND)])
    assert store.read((SECOND,)) == {SECOND: report(2, job_id=SECOND)}
    assert store.read({FIRST: "a collection, not a list"}.keys()) == {FIRST: report(1)}


def test_empty_reads_and_writes_are_allowed(store: LiveStore) -> None:
    store.publish([])
    store.forget([])
    assert store.read([]) == {}
    assert store.cancel_requests([]) == {}


def test_the_percentage_of_a_lease_never_falls(store: LiveStore) -> None:
    store.publish([report(50, label="half")])
    store.publish([report(49, label="late")])
    assert shown(store) == report(50, label="half")


def test_the_label_changes_at_the_same_percentage(store: LiveStore) -> None:
    store.publish([report(50, label="half")])
    store.publish([report(50, label="and more")])
    assert shown(store) == report(50, label="and more")
    store.publish([report(50)])
    assert shown(store) == report(50)


def test_a_newer_lease_starts_again(store: LiveStore) -> None:
    store.publish([report(90, lease=1)])
    store.publish([report(5, lease=2)])
    assert shown(store) == report(5, lease=2)


def test_an_older_lease_changes_nothing(store: LiveStore) -> None:
    store.publish([report(5, lease=2)])
    store.publish([report(100, lease=1, label="I am not dead")])
    assert shown(store) == report(5, lease=2)


def test_one_batch_may_have_several_reports_on_a_job(store: LiveStore) -> None:
    store.publish(
        [
            report(3),
            report(9, lease=2),
            report(9, lease=2, label="last"),
            report(7, lease=2),
            report(99),
        ]
    )
    assert shown(store) == report(9, lease=2, label="last")


def test_every_batch_takes_the_rows_in_one_order() -> None:
    """In different orders two publishers could wait for each other's locks."""
    reports = latest([report(1, job_id=id_) for id_ in (THIRD, FIRST, SECOND)])
    assert [report.job_id for report in reports] == [FIRST, SECOND, THIRD]


def test_a_stale_report_in_a_batch_affects_no_other(store: LiveStore) -> None:
    store.publish([report(50)])
    store.publish([report(40), report(60, job_id=SECOND)])
    assert store.read([FIRST, SECOND]) == {FIRST: report(50), SECOND: report(60, job_id=SECOND)}


def test_a_large_batch_is_one_of_any_size(store: LiveStore) -> None:
    reports = {JobId(id_): report(id_ % 101, job_id=JobId(id_)) for id_ in range(1, 5001)}
    store.publish(list(reports.values()))
    assert store.read(reports.keys()) == reports


def test_publishers_side_by_side_leave_the_newest(store: LiveStore) -> None:
    """Batches in any order, which would make two transactions wait for each other's rows."""
    ids = [JobId(id_) for id_ in range(1, 21)]

    def publish(seed: int) -> None:
        random = Random(seed)
        for percentage in range(0, 101, 10):
            store.publish([report(percentage, job_id=id_) for id_ in random.sample(ids, len(ids))])

    with ThreadPoolExecutor(4) as publishers:
        list(publishers.map(publish, range(4)))
    assert {told.progress_percentage for told in store.read(ids).values()} == {100}


# Cancel requests


def test_a_request_is_read_with_its_author(store: LiveStore) -> None:
    store.request_cancel(FIRST, CancelRequest("alice"))
    store.request_cancel(SECOND, CancelRequest())
    assert store.cancel_requests([FIRST, SECOND, THIRD]) == {
        FIRST: CancelRequest("alice"),
        SECOND: CancelRequest(),
    }
    assert store.cancel_requests([THIRD]) == {}


def test_the_first_request_is_kept(store: LiveStore) -> None:
    store.request_cancel(FIRST, CancelRequest("alice"))
    store.request_cancel(FIRST, CancelRequest("bob"))
    assert store.cancel_requests([FIRST]) == {FIRST: CancelRequest("alice")}


def test_force_is_added_to_a_request_and_never_removed(store: LiveStore) -> None:
    store.request_cancel(FIRST, CancelRequest("alice (by force)"))
    assert store.cancel_requests([FIRST]) == {
        FIRST: CancelRequest("alice (by force)", forced=False)
    }
    store.request_cancel(FIRST, CancelRequest("bob", forced=True))
    store.request_cancel(FIRST, CancelRequest("carol"))
    assert store.cancel_requests([FIRST]) == {FIRST: CancelRequest("alice (by force)", forced=True)}


def test_no_report_overwrites_a_request(store: LiveStore) -> None:
    store.publish([report(1)])
    store.request_cancel(FIRST, CancelRequest("alice"))
    store.publish([report(2), report(0, lease=2)])
    assert store.cancel_requests([FIRST]) == {FIRST: CancelRequest("alice")}
    assert shown(store) == report(0, lease=2)


def test_only_forgotten_entries_are_removed(store: LiveStore) -> None:
    store.publish([report(1), report(2, job_id=SECOND), report(3, job_id=THIRD)])
    for job_id in (FIRST, SECOND, THIRD):
        store.request_cancel(job_id, CancelRequest("alice"))
    store.forget([FIRST, THIRD, JobId(99)])
    assert store.read([FIRST, SECOND, THIRD]).keys() == {SECOND}
    assert store.cancel_requests([FIRST, SECOND, THIRD]).keys() == {SECOND}


def test_a_forgotten_job_can_be_reported_again(store: LiveStore) -> None:
    store.publish([report(90, lease=7)])
    store.forget([FIRST])
    store.publish([report(1, lease=6)])
    assert shown(store) == report(1, lease=6)


def test_a_wait_is_kept_until_it_ends_or_its_job_is_forgotten(store: LiveStore) -> None:
    of_job = Wait(FIRST, 1, None, WaitTarget.job(SECOND))
    of_group = Wait(FIRST, 1, GroupId(7), WaitTarget.group(GroupId(2)))
    left = Wait(SECOND, 3, GroupId(7), WaitTarget.job(THIRD))
    for wait in (of_job, of_group, left):
        store.begin_wait(wait)
    assert set(store.waits()) == {of_job, of_group, left}
    store.end_wait(of_job)
    assert set(store.waits()) == {of_group, left}
    store.forget(store.reported(FIRST, 10))
    assert list(store.waits()) == [of_group]
    store.end_wait(of_group)
    assert not store.waits()


# A file beside the database


def test_reports_of_this_process_are_announced_to_those_who_follow(database: Database) -> None:
    calls: list[str] = []

    def note() -> None:
        calls.append("called")

    with closing(DatabaseLiveStore(database)) as store:
        leave, leave_too = store.follow(note), store.follow(note)
        store.publish([LiveReport(FIRST, 1, 10, None)])
        assert len(calls) == 2
        leave()
        leave()
        store.publish([LiveReport(FIRST, 1, 20, None)])
        assert len(calls) == 3
        leave_too()
        store.publish([LiveReport(FIRST, 1, 30, None)])
    assert len(calls) == 3


def test_a_second_process_shares_the_store(database: Database) -> None:
    with (
        closing(DatabaseLiveStore(database)) as mine,
        closing(DatabaseLiveStore(database)) as other,
    ):
        mine.publish([report(10)])
        assert shown(other) == report(10)
        other.request_cancel(FIRST, CancelRequest("alice"))
        assert mine.cancel_requests([FIRST]) == {FIRST: CancelRequest("alice")}


def test_many_processes_make_the_file_at_once(database: Database) -> None:
    together = threading.Barrier(8)

    def open_and_publish(number: int) -> None:
        with closing(DatabaseLiveStore(database)) as store:
            together.wait()
            store.publish([report(number, job_id=JobId(number))])

    with ThreadPoolExecutor(8) as processes:
        list(processes.map(open_and_publish, range(1, 9)))
    with closing(DatabaseLiveStore(database)) as store:
        assert len(store.read([JobId(number) for number in range(1, 9)])) == 8


def test_a_long_transaction_on_the_database_holds_nothing_up(database: Database) -> None:
    with closing(DatabaseLiveStore(database)) as store, write_lock(database.url.database or ""):
        store.publish([report(10)])
        store.request_cancel(FIRST, CancelRequest("alice"))
        assert shown(store) == report(10)
        assert store.cancel_requests([FIRST]) == {FIRST: CancelRequest("alice")}
        store.forget([FIRST])


def delete(file: Path) -> None:
    for suffix in sidecar.SUFFIXES:
        Path(f"{file}{suffix}").unlink(missing_ok=True)


def delete_the_file_alone(file: Path) -> None:
    file.unlink()


def overwrite(file: Path) -> None:
    file.write_bytes(b"no database " * 4096)


def empty(file: Path) -> None:
    delete(file)
    file.touch()


def drop_a_table(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE horae_live_jobs")


def leave_half_made(file: Path) -> None:
    """As a process does that is killed while it makes the tables."""
    drop_a_table(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 0")


LOSSES = [delete, delete_the_file_alone, overwrite, empty, drop_a_table, leave_half_made]


@pytest.mark.parametrize("lose", LOSSES)
def test_a_store_lost_under_open_connections_is_made_again(
    database: Database, lose: object
) -> None:
    assert callable(lose)
    with (
        closing(DatabaseLiveStore(database)) as mine,
        closing(DatabaseLiveStore(database)) as other,
    ):
        mine.publish([report(10)])
        assert shown(other) == report(10)
        lose(Path(f"{database.url.database}-live"))
        mine.publish([report(20)])
        assert shown(other) in (
            None,
            report(20),
        )  # what was written before anybody noticed may be lost
        mine.publish([report(30, job_id=SECOND)])
        assert shown(other, SECOND) == report(30, job_id=SECOND)
        other.request_cancel(SECOND, CancelRequest("alice"))
        assert mine.cancel_requests([SECOND]) == {SECOND: CancelRequest("alice")}


@pytest.mark.parametrize("lose", LOSSES)
def test_a_lost_store_can_be_read(database: Database, lose: object) -> None:
    assert callable(lose)
    with closing(DatabaseLiveStore(database)) as store:
        store.publish([report(10)])
        lose(Path(f"{database.url.database}-live"))
        assert store.cancel_requests([FIRST]) == {}
        assert shown(store) in (None, report(10))


def test_a_file_of_another_layout_is_replaced(database: Database) -> None:
    file = Path(f"{database.url.database}-live")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(
            "CREATE TABLE horae_live_jobs (job_id INTEGER PRIMARY KEY, lease INTEGER, colour TEXT)"
        )
        connection.execute("CREATE TABLE horae_live_cancels (job_id INTEGER PRIMARY KEY)")
        connection.execute("PRAGMA user_version = 7")
    with closing(DatabaseLiveStore(database)) as store:
        store.publish([report(10)])
        assert shown(store) == report(10)


def test_a_sound_file_outlives_its_users(database: Database) -> None:
    with closing(DatabaseLiveStore(database)) as store:
        store.publish([report(10)])
    with closing(DatabaseLiveStore(database)) as store:
        assert shown(store) == report(10)


def test_a_wrong_value_fails_only_its_own_call(database: Database) -> None:
    with closing(DatabaseLiveStore(database)) as store:
        store.publish([report(10)])
        with pytest.raises(IntegrityError):
            store.publish([LiveReport(SECOND, None, 0)])  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] - the point
        assert shown(store) == report(10)


def test_a_store_that_stays_locked_raises(database: Database) -> None:
    with closing(DatabaseLiveStore(database)) as store:
        store.publish([report(10)])
        with write_lock(f"{database.url.database}-live"), closing(impatient(database)) as late:
            with pytest.raises(DatabaseBusy, match="has held"):
                late.publish([report(20)])
            assert shown(late) == report(10)
        store.publish([report(20)])
        assert shown(store) == report(20)


def test_a_file_that_cannot_be_examined_is_left_alone(database: Database) -> None:
    with closing(DatabaseLiveStore(database)) as store:
        store.publish([report(10)])
    with (
        write_lock(f"{database.url.database}-live", readers_too=True),
        closing(impatient(database)) as late,
        pytest.raises(DatabaseBusy, match="has held"),
    ):
        late.publish([report(20)])
    with closing(DatabaseLiveStore(database)) as store:
        assert shown(store) == report(10)


def test_every_connection_is_closed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one to a file that cannot be read, and those of threads that open the file at once."""
    made: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def record(*args: Any, **options: Any) -> sqlite3.Connection:
        made.append(connect(*args, **options))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", record)
    at_once = threading.Barrier(8)

    def publish(store: DatabaseLiveStore) -> None:
        at_once.wait()
        store.publish([report(10)])

    with closing(DatabaseLiveStore(database)) as store, ThreadPoolExecutor(8) as threads:
        list(threads.map(publish, [store] * 8))
    with (
        write_lock(f"{database.url.database}-live", readers_too=True),
        closing(impatient(database)) as late,
        pytest.raises(DatabaseBusy, match="has held"),
    ):
        late.publish([report(20)])
    for connection in made:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_what_is_in_use_at_close_is_closed_when_it_is_given_back(database: Database) -> None:
    """As by a thread of the application that waits for a job while another one closes it."""
    side_car = SideCar(Path(f"{database.url.database}-live"), live_metadata)

    def close_within(connection: Connection) -> sqlite3.Connection:
        side_car.close()
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        return driver

    used = side_car.run(close_within)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        used.execute("SELECT 1")
    with pytest.raises(DatabaseUnavailable, match="was closed meanwhile"):
        side_car.run(close_within)
