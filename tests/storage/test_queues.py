"""Queues: paused, resumed, and listed with the jobs that wait in them."""

from datetime import timedelta

import pytest

from horae.storage.engine.database import Database
from horae.storage.queues import queues
from horae.storage.queues.queues import QueueView
from tests.storage.arrange import age, failure, running, settled, started, wall_clock


def view(database: Database) -> dict[str, QueueView]:
    return {queue.name: queue for queue in database.transact(queues.view)}


def test_an_empty_database_has_no_queues(database: Database) -> None:
    assert database.transact(queues.view) == []


def test_a_queue_is_seen_with_what_waits_and_runs_in_it(database: Database) -> None:
    waiting = [started(database, queue="b") for _ in range(3)]
    age(database, waiting[1], "run_at", 120)
    running(database, queue="b")
    settled(database, failure(running(database, queue="b")))
    started(database, queue="a")
    found = database.transact(queues.view)
    assert [(queue.name, queue.pending, queue.started, queue.paused_at) for queue in found] == [
        ("a", 1, 0, None),
        ("b", 3, 1, None),
    ]
    assert found[0].oldest_due is not None
    assert 0 <= found[0].oldest_due < 60
    assert found[1].oldest_due == pytest.approx(120, abs=60)
    assert found[1].oldest_due is not None
    assert found[1].oldest_due >= 120


def test_a_delayed_job_does_not_count_as_waiting(database: Database) -> None:
    started(database, queue="later", delay=3600.0)
    running(database, queue="busy")
    assert view(database)["later"] == QueueView(
        name="later",
        paused_at=None,
        note=None,
        concurrency_limit=None,
        pending=1,
        due=0,
        started=0,
        oldest_due=None,
    )
    assert view(database)["busy"].oldest_due is None
    due = started(database, queue="later")
    age(database, due, "run_at", 5)
    assert view(database)["later"].oldest_due == pytest.approx(5, abs=5)


def test_a_pause_and_its_note_are_seen(database: Database) -> None:
    database.transact(queues.pause, "q", "the disk is full ä")
    found = view(database)["q"]
    assert (found.note, found.pending, found.started, found.oldest_due) == (
        "the disk is full ä",
        0,
        0,
        None,
    )
    assert found.paused_at is not None
    assert abs(found.paused_at - wall_clock()) < timedelta(seconds=60)


def test_pausing_again_changes_the_note_and_not_since_when(database: Database) -> None:
    database.transact(queues.pause, "q", "one")
    first = view(database)["q"].paused_at
    database.transact(queues.pause, "q", None)
    found = view(database)["q"]
    assert (found.paused_at, found.note) == (first, None)


def test_resuming(database: Database) -> None:
    database.transact(queues.pause, "q", "one")
    database.transact(queues.pause, "other", None)
    assert database.transact(queues.resume, "q")
    assert list(view(database)) == ["other"]
    started(database, queue="q")
    assert (view(database)["q"].paused_at, view(database)["q"].note) == (None, None)
    assert not database.transact(queues.resume, "q")
    assert not database.transact(queues.resume, "never paused")


def test_a_queue_is_paused_again_after_it_was_resumed(database: Database) -> None:
    database.transact(queues.pause, "q", "one")
    database.transact(queues.resume, "q")
    database.transact(queues.pause, "q", "two")
    found = view(database)["q"]
    assert found.note == "two"
    assert found.paused_at is not None


def test_a_limit_is_shown_until_it_is_removed(database: Database) -> None:
    database.transact(queues.limit, "q", 3)
    assert (view(database)["q"].concurrency_limit, view(database)["q"].paused_at) == (3, None)
    database.transact(queues.limit, "q", 2)
    assert view(database)["q"].concurrency_limit == 2
    database.transact(queues.limit, "q", None)
    database.transact(queues.limit, "never heard of", None)
    assert view(database) == {}


def test_a_limit_and_a_pause_leave_each_other_alone(database: Database) -> None:
    database.transact(queues.pause, "q", "why")
    database.transact(queues.limit, "q", 3)
    found = view(database)["q"]
    assert (found.note, found.concurrency_limit, found.paused_at is None) == ("why", 3, False)
    database.transact(queues.pause, "q", "again")
    database.transact(queues.resume, "q")
    assert view(database)["q"].concurrency_limit == 3
    database.transact(queues.pause, "q", "once more")
    database.transact(queues.limit, "q", None)
    assert (view(database)["q"].note, view(database)["q"].concurrency_limit) == ("once more", None)
