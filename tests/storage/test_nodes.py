"""Nodes: one row for each incarnation, its heartbeats, its lock, the jobs that it holds, and its end."""

import json
from datetime import timedelta

import pytest
from sqlalchemy import bindparam, update

from horae.domain.cluster.liveness import Death, LivenessLimits, Signs, death_of
from horae.domain.jobs.job import NodeId
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import seconds_from_now
from horae.storage.jobs.tables import nodes as table
from horae.storage.nodes import nodes
from horae.storage.nodes.nodes import NodeView
from horae.storage.outcomes import cancelling
from tests.storage.arrange import (
    NODE,
    OTHER,
    POSTGRESQL,
    registered,
    running,
    settled,
    success,
    wall_clock,
)


def silent(database: Database, node: NodeId, seconds: float) -> None:
    moved = (
        update(table)
        .where(table.c.id == bindparam("node"))
        .values(heartbeat_at=seconds_from_now(-seconds))
    )
    with database.engine.begin() as connection:
        connection.execute(moved, {"node": node})


def view(database: Database) -> dict[NodeId, NodeView]:
    return {node.id: node for node in database.transact(nodes.view)}


def test_a_node_is_seen_as_it_announced_itself(database: Database) -> None:
    registered(
        database,
        name="näme",
        host="here/boot",
        pid=77,
        version="0.1",
        roles='["worker", "api"]',
        queues='["a", "b"]',
        types=json.dumps(["import", "export"]),
        concurrency=3,
        lock_key=None,
    )
    found = view(database)[NODE]
    assert (found.name, found.host, found.pid, found.version) == ("näme", "here/boot", 77, "0.1")
    assert (found.roles, found.queues, found.types) == (
        ["worker", "api"],
        ["a", "b"],
        ["import", "export"],
    )
    assert (found.concurrency, found.lock_key, found.lock_free, found.running) == (
        3,
        None,
        None if database.dialect == "sqlite" else False,
        0,
    )
    assert (
        found.started_at == found.heartbeat_at
        or found.heartbeat_at - found.started_at < timedelta(seconds=1)
    )
    assert abs(found.started_at - wall_clock()) < timedelta(seconds=60)
    assert 0 <= found.silence < 60


def test_a_node_of_every_queue(database: Database) -> None:
    registered(database)
    assert view(database)[NODE].queues is None


def test_nodes_are_seen_oldest_first_with_what_they_hold(database: Database) -> None:
    registered(database, OTHER)
    registered(database, NODE)
    running(database)
    cancelled, finished = running(database), running(database)
    database.transact(cancelling.cancel, cancelled.id, None)
    settled(database, success(finished))
    found = database.transact(nodes.view)
    assert [(node.id, node.running) for node in found] == [(OTHER, 0), (NODE, 2)]


def test_a_heartbeat_ends_the_silence(database: Database) -> None:
    registered(database)
    silent(database, NODE, 30)
    assert view(database)[NODE].silence >= 30
    assert database.autocommit(nodes.heartbeat, NODE) == 0
    assert view(database)[NODE].silence < 30


@POSTGRESQL
def test_a_heartbeat_returns_the_number_of_suspects(database: Database) -> None:
    registered(database)
    for number in range(3):
        registered(database, NodeId(f"o{number}"))
    assert database.autocommit(nodes.heartbeat, NODE) == 0
    silent(database, NodeId("o0"), 1.3)
    silent(database, NodeId("o1"), 500)
    silent(database, NODE, 500)  # its own silence is over
    assert database.autocommit(nodes.heartbeat, NODE) == 2


@POSTGRESQL
def test_a_heartbeat_shows_that_the_clock_was_set_back(database: Database) -> None:
    registered(database)
    registered(database, OTHER)
    silent(database, OTHER, -3600)
    assert database.autocommit(nodes.heartbeat, NODE) == 1
    assert database.autocommit(nodes.heartbeat, OTHER) == 1  # by the last one of its own
    assert database.autocommit(nodes.heartbeat, OTHER) == 0


def test_a_heartbeat_of_an_unregistered_node_is_refused(database: Database) -> None:
    registered(database, OTHER)
    assert database.autocommit(nodes.heartbeat, NODE) is None
    assert list(view(database)) == [OTHER]


def test_a_dead_node_is_unregistered(database: Database) -> None:
    registered(database)
    registered(database, OTHER)
    assert database.transact(nodes.remove, [NODE, NodeId("unknown")]) == {NODE}
    assert database.transact(nodes.remove, [NODE]) == set()
    assert database.transact(nodes.remove, []) == set()
    assert list(view(database)) == [OTHER]
    assert database.autocommit(nodes.heartbeat, NODE) is None


@POSTGRESQL
@pytest.mark.direct
@pytest.mark.parametrize("key", [1, 2**31, 2**32 + 5, 2**62 - 1])
def test_a_lock_is_seen_while_its_session_lives(database: Database, key: int) -> None:
    registered(database, lock_key=key)
    registered(database, OTHER, lock_key=key + 1)
    assert view(database)[NODE].lock_free
    with database.own_connection() as connection:
        nodes.take_lock(connection, key)
        assert (view(database)[NODE].lock_free, view(database)[OTHER].lock_free) == (False, True)
    assert any(
        view(database)[NODE].lock_free for _ in range(5000)
    )  # a session takes a moment to end


@POSTGRESQL
def test_a_free_lock_and_two_missed_heartbeats_mean_death(database: Database) -> None:
    registered(database, lock_key=5)
    silent(database, NODE, 2.5)
    seen = view(database)[NODE]
    signs = Signs(silence=seen.silence, lock_free=seen.lock_free, process_gone=None)
    assert death_of(signs, 60.0, LivenessLimits()) is not None
    with database.own_connection() as connection:
        nodes.take_lock(connection, 5)
        seen = view(database)[NODE]
    signs = Signs(silence=seen.silence, lock_free=seen.lock_free, process_gone=None)
    assert death_of(signs, 60.0, LivenessLimits()) is None


def test_unregistered_nodes_are_listed_for_a_while(database: Database) -> None:
    registered(database, name="näme", host="here/boot", pid=77)
    registered(database, OTHER)
    assert database.transact(nodes.recently_died, 3600.0) == []
    database.transact(
        nodes.remove_dead,
        {NODE: Death("its lock is free")},
        {NODE: {"pending": 2, "failed": 1}, OTHER: {"pending": 9}},
    )
    database.transact(nodes.remove, [OTHER])  # it has left in good order
    program, crashed = NodeId("program"), NodeId("crashed")
    for each in (program, crashed):
        registered(database, each, roles='["inline"]')
    ended = Death("its process is gone", expected=True)
    database.transact(nodes.remove_dead, {program: ended, crashed: ended}, {crashed: {"failed": 1}})
    of_program, dead = database.transact(nodes.recently_died, 3600.0)
    assert of_program.id == crashed  # one that held no job has ended, and not died
    assert (dead.id, dead.name, dead.host, dead.pid) == (NODE, "näme", "here/boot", 77)
    assert dead.jobs == {"pending": 2, "failed": 1}
    assert database.transact(nodes.recently_died, 0.0) == []
