"""Who writes the history: nodes that come and go, and a database that is away."""

from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Connection, update

from horae.domain.history import Ended, Figures
from horae.runtime.node import history_writer
from horae.runtime.node.history_writer import HistoryWriter, seen_in
from horae.runtime.node.node_status import SeenNode, look
from horae.runtime.timing import HistoryTiming
from horae.storage.engine.database import Database
from horae.storage.history import OpenWork, QueueSettings, history_state, writing
from horae.storage.history.counting import HeldCount
from horae.storage.nodes import nodes
from horae.storage.queues import DueJobs
from tests.harness.node_processes import NodeProcess, wait_until
from tests.storage.arrange import registered, running, settled, started, success

TEN = timedelta(seconds=10)
NOTHING = Ended(Figures(), {}, {})
EAGER = HistoryTiming(writers_turn=(0.0, 0.0), others_turn=(7.0, 7.0), look_rest=0.0)


def writer(database: Database) -> HistoryWriter:
    return HistoryWriter(database, EAGER, Random(1))


def test_one_bucket_is_written_and_others_find_it(database: Database) -> None:
    settled(database, success(running(database)))
    started(database, queue="export")
    first, second = writer(database), writer(database)
    assert 0 < first.write_next() <= 10
    reached = database.autocommit(writing.progress).reached
    assert reached is not None
    own, other = first.write_next(), second.write_next()
    if database.autocommit(writing.progress).reached == reached:  # no bucket has ended meanwhile
        assert (0 < own <= 10, 7 < other <= 17) == (True, True)


def test_while_nothing_is_open_nodes_are_seldom_read(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, looks = writer(database), list[int]()

    def counted(database: Database) -> list[SeenNode]:
        looks.append(1)
        return look(database)

    monkeypatch.setattr(history_writer, "look", counted)

    def write_again() -> int:
        reached = database.autocommit(writing.progress).reached
        assert reached is not None
        set_back = update(history_state).values(reached=reached - TEN)
        database.autocommit(lambda connection: connection.execute(set_back))
        one.write_next()
        return len(looks)

    one.write_next()
    assert [write_again() for _ in range(3)] == [1, 1, 1]
    started(database)
    assert [write_again() for _ in range(3)] == [2, 3, 4]


def test_open_jobs_are_looked_for_only_after_a_look_that_saw_none(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, asked_for, progress = writer(database), list[bool](), writing.progress

    def noted(connection: Connection, *, asked: bool = False) -> writing.HistoryProgress:
        asked_for.append(asked)
        return progress(connection, asked=asked)

    monkeypatch.setattr(writing, "progress", noted)

    def write_again() -> bool:
        reached = database.autocommit(progress).reached
        assert reached is not None
        set_back = update(history_state).values(reached=reached - TEN)
        database.autocommit(lambda connection: connection.execute(set_back))
        one.write_next()
        return asked_for[-1]

    one.write_next()
    assert asked_for[-1] is False, "it has not looked yet"
    assert write_again() is True
    started(database)
    assert [write_again() for _ in range(3)] == [True, False, False]


def test_what_is_seen_has_slots_of_living_workers_and_no_lateness_where_nothing_may_start(
    database: Database,
) -> None:
    registered(database, concurrency=6)
    [view] = database.autocommit(nodes.view)
    due = [
        DueJobs(queue="export", type="import", count=5, oldest=70.0),
        DueJobs(queue="mail", type="send", count=2, oldest=400.0),
    ]
    held = [HeldCount("export", "import", 3)]
    settings = {
        "export": QueueSettings(paused=False, concurrency_limit=4, backend=None),
        "mail": QueueSettings(paused=True, concurrency_limit=None, backend=None),
    }
    work = OpenWork(due, held, settings, everything_is_paused=False)
    seen = seen_in(work, [view], Ended(Figures(), {"old": Figures(finished=1)}, {}))
    assert (seen.everything.waiting, seen.everything.lateness) == (7, 70.0)
    assert (seen.everything.slots, seen.everything.slots_used) == (6, 3)
    assert (seen.queues["export"].slots, seen.queues["export"].slots_used) == (4, 3)
    assert (seen.queues["mail"].waiting, seen.queues["mail"].lateness) == (2, 0.0)
    assert (seen.queues["old"].waiting, seen.queues["old"].slots) == (0, 6)
    assert (seen.types["import"].slots, seen.types["send"].slots) == (6, 0)
    everything = OpenWork(due, held, settings, everything_is_paused=True)
    assert seen_in(everything, [view], NOTHING).everything.lateness == 0.0


async def test_a_database_that_is_away_is_asked_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio  # noqa: PLC0415

    calls: list[int] = []
    again = asyncio.Event()
    loop = asyncio.get_running_loop()

    def fail_once() -> float:
        calls.append(1)
        if len(calls) == 1:
            raise ConnectionError("away")
        loop.call_soon_threadsafe(again.set)
        return 3600.0

    made = HistoryWriter(database, HistoryTiming(retry=0.0), Random(1))
    monkeypatch.setattr(made, "write_next", fail_once)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.run())
        await asyncio.wait_for(again.wait(), 10)
        task.cancel()
    assert len(calls) == 2


@pytest.mark.timeout(90)
def test_the_history_goes_on_when_one_of_two_nodes_is_killed(
    database: Database, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        pair = [stack.enter_context(NodeProcess(database, tmp_path)) for _ in range(2)]
        for each in pair:
            each.ready()

        def reached() -> object:
            return database.autocommit(writing.progress).reached

        before = wait_until(reached)
        pair[0].kill()  # it may be the writer, or not: half of all runs each
        after = wait_until(lambda: (now := reached()) != before and now, within=30.0)
        assert after is not None
        assert isinstance(before, type(after))
        assert after - before in (timedelta(seconds=10), timedelta(seconds=20))  # type: ignore[operator]
