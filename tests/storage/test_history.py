"""The history on both databases: what is counted, who writes, what is kept, and what is read."""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from horae.domain.history import (
    BOUNDS,
    LENGTHS,
    Figures,
    Gauges,
    HistoryBucket,
    Named,
    StoredBucket,
    floor,
)
from horae.storage.engine.database import Database
from horae.storage.history import HistoryProgress, counting, writing
from horae.storage.queues import queues
from tests.storage.arrange import age, at_once, claimed, failure, running, settled, started, success

NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)
TEN = timedelta(seconds=10)
BUSY = Figures(
    finished=2,
    waits={3: 2},
    runs={7: 2},
    gauges=Gauges(waiting=4, lateness=1.5, slots=10, slots_used=1),
)


def bucket(figures: Figures = BUSY, **names: Figures) -> HistoryBucket:
    return HistoryBucket(figures, Named(names), Named({}))


def write(
    database: Database,
    start: datetime,
    reached: datetime | None = None,
    what: HistoryBucket | None = None,
    behind: dict[str, datetime] | None = None,
) -> bool:
    found = HistoryProgress(start, reached, {})
    return database.transact(writing.write, found, start, what or bucket(), behind or {})


def write_many(database: Database, start: datetime, count: int) -> datetime:
    """Write buckets one after the other, and return the end of the last."""
    reached = database.autocommit(writing.progress).reached
    for number in range(count):
        assert write(database, start + number * TEN, reached)
        reached = start + (number + 1) * TEN
    return start + count * TEN


def rows(database: Database, seconds: int) -> int:
    query = text("SELECT count(*) FROM horae_history WHERE seconds = :seconds")
    found: int = database.autocommit(
        lambda connection: connection.execute(query, {"seconds": seconds}).scalar_one()
    )
    return found


def read(database: Database, length: int, beside: str = "queues") -> list[StoredBucket]:
    reached = database.autocommit(writing.progress).reached
    assert reached is not None
    return database.autocommit(
        writing.read,
        LENGTHS[length],
        NOON - timedelta(days=40),
        NOON + timedelta(days=40),
        reached,
        beside,
    )


def test_what_ended_is_counted_by_queue_type_state_and_duration(database: Database) -> None:
    fine, broken = running(database), running(database, queue="mail", type="send")
    started(database, queue="later")
    settled(database, success(fine), failure(broken))
    age(database, fine.id, "started_at", 2.0)
    age(database, fine.id, "run_at", 3.0)
    now = database.autocommit(writing.progress).now
    found = database.autocommit(counting.ended, now - timedelta(minutes=1), now + TEN)
    assert (found.everything.finished, found.everything.failed, found.everything.ended) == (1, 1, 2)
    assert {name: each.finished for name, each in found.queues.items()} == {"default": 1, "mail": 0}
    assert {name: each.failed for name, each in found.types.items()} == {"import": 0, "send": 1}
    assert sum(found.everything.waits.values()) == sum(found.everything.runs.values()) == 2
    assert database.autocommit(counting.ended, now + TEN, now + 2 * TEN).queues == {}


@pytest.mark.parametrize("seconds", [0.0, 0.0005, 0.0021, 0.3, 7.0, 4000.0, 500_000.0])
def test_both_databases_find_the_slot_of_a_duration_that_the_domain_finds(
    database: Database, seconds: float
) -> None:
    claim = running(database)
    settled(database, success(claim))
    age(database, claim.id, "finished_at", 0.0)
    moved = text("UPDATE horae_jobs SET started_at = finished_at")
    with database.engine.begin() as connection:
        connection.execute(moved)
    now = database.autocommit(writing.progress).now
    shift = (
        f"run_at = started_at - CAST({seconds} * 1000000 AS INTEGER)"
        if database.is_file
        else f"run_at = started_at - make_interval(secs => {seconds})"
    )
    with database.engine.begin() as connection:
        connection.execute(text(f"UPDATE horae_jobs SET {shift}"))
    found = database.autocommit(counting.ended, now - timedelta(minutes=1), now + TEN)
    assert found.everything.waits == {bisect_left(BOUNDS, seconds): 1}


def test_open_work_has_due_and_held_jobs_and_the_settings_of_queues(
    database: Database,
) -> None:
    running(database, queue="mail")
    started(database)
    started(database)
    database.transact(queues.pause, "default", "why")
    database.transact(queues.limit, "mail", 3)
    found = database.autocommit(counting.open_work)
    assert [(each.queue, each.type, each.count) for each in found.due] == [("default", "import", 2)]
    assert [(each.queue, each.type, each.count) for each in found.held] == [("mail", "import", 1)]
    assert found.settings["default"].paused
    assert found.settings["mail"].concurrency_limit == 3
    assert not found.everything_is_paused
    database.transact(queues.pause, "", None)
    assert database.autocommit(counting.open_work).everything_is_paused
    assert claimed(database) == []


def test_open_jobs_are_looked_for_only_when_asked(database: Database) -> None:
    def found() -> list[bool]:
        return [
            database.autocommit(writing.progress, asked=asked).any_open for asked in (True, False)
        ]

    assert found() == [False, True]
    started(database)
    assert found() == [True, True]


def test_a_bucket_is_read_as_it_was_written(database: Database) -> None:
    since = {'a "name"': NOON}
    what = bucket(**{'a "name"': BUSY})
    assert database.autocommit(writing.progress).reached is None
    assert write(database, NOON, None, what, since)
    found = database.autocommit(writing.progress)
    assert (found.reached, found.behind) == (NOON + TEN, since)
    assert read(database, 0) == [StoredBucket(NOON, 10, what)]
    assert read(database, 0, "everything")[0].bucket.everything == BUSY


def test_of_two_writers_one_writes(database: Database) -> None:
    first = [write(database, NOON, None, bucket(Figures(finished=n))) for n in (1, 2)]
    assert first == [True, False]
    second = at_once(
        [lambda: write(database, NOON + TEN, NOON + TEN, bucket(Figures(finished=3)))] * 4
    )
    assert sorted(map(bool, second)) == [False, False, False, True]
    assert [each.bucket.everything.finished for each in read(database, 0)] == [1, 3]


def test_a_writer_that_is_gone_leaves_nothing_and_the_next_one_writes(
    database: Database,
) -> None:

    def die(connection: Any) -> None:
        assert writing.write(connection, HistoryProgress(NOON, None, {}), NOON, bucket(), {})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        database.transact(die)
    assert rows(database, 10) == 0
    assert write(database, NOON)


def test_a_lost_reply_changes_nothing_when_the_bucket_is_written_again(
    database: Database,
) -> None:
    assert write(database, NOON)
    assert not write(database, NOON)  # its writer does not know that it was written
    assert database.autocommit(writing.progress).reached == NOON + TEN


def test_longer_buckets_are_made_of_shorter_ones(database: Database) -> None:
    write_many(database, NOON, 360)
    assert [rows(database, length.seconds) for length in LENGTHS] == [360, 60, 6, 1, 0]
    [hour] = read(database, 3)
    assert (hour.start, hour.seconds) == (NOON, 3600)
    assert hour.bucket.everything.finished == 720
    assert hour.bucket.everything.gauges == BUSY.gauges
    assert hour.bucket.everything.waits == {3: 720}


def test_the_end_is_read_from_shorter_buckets(database: Database) -> None:
    write_many(database, NOON, 6 * 15 + 2)
    for length, expected in enumerate(
        ([10] * 92, [60] * 15 + [10] * 2, [600] + [60] * 5 + [10] * 2)
    ):
        found = read(database, length)
        assert [each.seconds for each in found] == expected
        assert sum(each.bucket.everything.finished for each in found) == 2 * 92


def test_a_gap_has_no_buckets_and_the_minute_before_it_is_closed(database: Database) -> None:
    end = write_many(database, NOON, 4)
    later = NOON + timedelta(minutes=30)
    assert write(database, later, end)
    found = read(database, 1)
    assert [(each.start, each.seconds) for each in found] == [(NOON, 60), (later, 10)]
    assert found[0].bucket.everything.finished == 8
    assert [each.seconds for each in read(database, 2)] == [600, 10]


def test_after_the_clock_was_set_back_buckets_are_replaced(database: Database) -> None:
    end = write_many(database, NOON, 12)
    assert write(database, NOON, end, bucket(Figures(finished=7)))
    assert database.autocommit(writing.progress).reached == NOON + TEN
    assert read(database, 0)[0].bucket.everything.finished == 7
    assert rows(database, 10) == 12


def test_old_buckets_are_deleted_few_at_a_time(database: Database) -> None:
    end = write_many(database, NOON, 60)
    later = NOON + timedelta(seconds=LENGTHS[0].kept + 600)
    assert write(database, later, end)
    assert rows(database, 10) == 60 - writing.MOST_REMOVED + 1
    write_many(database, later + TEN, 17)  # three minutes are over
    assert rows(database, 10) == 18
    assert rows(database, 60) == 10 + 3  # these are kept for longer


def test_a_row_that_cannot_be_read_is_left_out(database: Database) -> None:
    write_many(database, NOON, 3)
    spoilt = text(
        "UPDATE horae_history SET everything = '[1]' WHERE start = (SELECT min(start) FROM horae_history)"
    )
    with database.engine.begin() as connection:
        connection.execute(spoilt)
    assert len(read(database, 0)) == 2
    write_many(database, NOON + 3 * TEN, 3)
    assert read(database, 1)[0].bucket.everything.finished == 10
    assert floor(NOON, 60) == NOON


def test_a_time_before_the_first_long_bucket_is_read_from_shorter_ones(
    database: Database,
) -> None:
    hour, half_day = LENGTHS[-2], LENGTHS[-1]
    noon = NOON.replace(hour=12)
    # As after an update: the hours of two days, and the first half day at the end of the second.
    starts = [noon + number * timedelta(hours=1) for number in range(36)]
    for length, of_length in ((hour, starts), (half_day, [noon + timedelta(hours=24)])):
        for start in of_length:
            database.transact(writing._put, length, start, bucket())  # noqa: SLF001 - as it is stored
    reached = noon + timedelta(hours=36)
    found = database.autocommit(writing.read, half_day, noon, reached, reached, "queues")
    assert [each.seconds for each in found] == [hour.seconds] * 24 + [half_day.seconds]
    database.transact(
        lambda connection: connection.execute(
            text("DELETE FROM horae_history WHERE seconds = 43200")
        )
    )
    found = database.autocommit(writing.read, half_day, noon, reached, reached, "queues")
    assert [each.start for each in found] == starts


def test_one_name_is_read_alone(database: Database) -> None:
    write(database, NOON, what=bucket(mail=BUSY, export=BUSY))
    reached = NOON + TEN
    for name, expected in (("mail", {"mail": BUSY}), ('no "such', {})):
        [found] = database.autocommit(
            writing.read, LENGTHS[0], NOON, reached, reached, "queues", name
        )
        assert found.bucket.queues == Named(expected)
