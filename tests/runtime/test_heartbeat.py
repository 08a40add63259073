"""The heartbeat of a node on PostgreSQL, which comes from a process of its own."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from horae import Horae
from horae.domain.cluster.liveness import LivenessLimits
from horae.domain.jobs.job import NodeId
from horae.runtime.components import NodeOptions
from horae.runtime.liveness import heartbeat
from horae.runtime.liveness.heartbeat import Heartbeat, Watcher
from horae.runtime.liveness.membership import DatabaseMembership, membership_of
from horae.runtime.liveness.node_record import record_of
from horae.runtime.node.node import Node
from horae.runtime.timing import HeartbeatTiming, SweeperTiming, Timing
from horae.storage.engine.database import Database
from horae.storage.nodes.heartbeat_process import is_stopped
from tests.harness.applications import execute, rows
from tests.harness.node_processes import NodeProcess
from tests.harness.nodes import running_node, until
from tests.harness.server_faults import table_locked

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.spawned,
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]

LIMITS = LivenessLimits(beat=0.1)
WAITING_BEATS = """
SELECT pid FROM pg_stat_activity
WHERE application_name = 'horae heartbeat' AND wait_event_type = 'Lock' AND datname = current_database()
"""
SILENT = """
INSERT INTO horae_nodes (id, name, host, pid, version, roles, types, concurrency, started_at, heartbeat_at)
SELECT 'silent', name, 'elsewhere', 1, version, roles, types, 1, now() - interval '1 hour', now() - interval '1 hour'
FROM horae_nodes LIMIT 1
"""


def heartbeat_of(node: Node) -> Heartbeat:
    """The one of its present incarnation."""
    incarnation = vars(node)["_incarnation"]
    return cast("Heartbeat", vars(vars(incarnation)["_membership"])["_heartbeat"])


def helper_of(node: Node) -> int | None:
    """The process that beats for it, once it does."""
    found = vars(heartbeat_of(node))["_helper"]
    return None if found is None else found.pid


def beaten_at(horae: Horae) -> object:
    [(moment,)] = rows(horae, "SELECT heartbeat_at FROM horae_nodes")
    return moment


async def beats_again(horae: Horae) -> None:
    before = beaten_at(horae)
    await until(lambda: beaten_at(horae) != before)


async def holds_lock(horae: Horae) -> None:
    await until(lambda: rows(horae, "SELECT pid FROM pg_locks WHERE locktype = 'advisory'"))


async def test_the_helper_shows_no_password_and_holds_no_file_of_the_node(horae: Horae) -> None:
    async with running_node(horae, liveness=LIMITS) as node:
        await holds_lock(horae)
        process = Path(f"/proc/{helper_of(node)}")
        assert (
            process.joinpath("cmdline").read_bytes().rstrip(b"\0").endswith(b"heartbeat_process.py")
        )
        held = [str(each.readlink()) for each in process.joinpath("fd").iterdir()]
        # Its pipes, nowhere, the node, the connection; libffi keeps its own library open.
        assert len([name for name in held if "libffi" not in name]) <= 5, held
    await until(lambda: not process.exists())


async def test_a_killed_helper_is_replaced_before_its_node_counts_as_dead(horae: Horae) -> None:
    async with running_node(horae, liveness=LIMITS) as node:
        await holds_lock(horae)
        first, incarnation = helper_of(node), node.id
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: helper_of(node) not in {first, None})
        await beats_again(horae)
        await holds_lock(horae)
        assert node.id == incarnation


async def test_heartbeats_that_wait_leave_no_sessions_behind(
    horae: Horae, database: Database
) -> None:
    """A session that waits for a lock ends with its client, else a server without an answer runs out of sessions."""
    told = database.url.update_query_dict({"keepalives_idle": "1"}).render_as_string(
        hide_password=False
    )
    with closing(Horae(told)) as impatient:
        async with running_node(impatient, liveness=LIMITS) as node:
            await holds_lock(horae)
            with table_locked(told, "horae_nodes"):
                await until(lambda: rows(horae, WAITING_BEATS))
                [(first,)] = rows(horae, WAITING_BEATS)
                helper = helper_of(node)
                assert helper is not None
                os.kill(helper, signal.SIGKILL)
                await until(lambda: (first,) not in rows(horae, WAITING_BEATS), within=20)


async def test_without_a_python_to_run_it_a_thread_beats(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/sbin/a-server-with-python-in-it")
    async with running_node(horae, liveness=LIMITS) as node:
        await holds_lock(horae)
        assert helper_of(node) is None
        await beats_again(horae)


async def test_without_a_python_to_run_it_the_thread_does_not_wait_until_a_beat_is_late(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/usr/sbin/a-server-with-python-in-it")
    async with running_node(horae, liveness=LivenessLimits(beat=60)):
        await holds_lock(horae)


async def test_a_process_that_cannot_be_started_is_tried_again(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = subprocess.Popen, iter([BlockingIOError("no more processes")])

    def popen(*arguments: object, **options: object) -> object:
        for failure in failures:
            raise failure
        return real(*arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr("horae.runtime.liveness.heartbeat_helper.subprocess.Popen", popen)
    async with running_node(horae, liveness=LIMITS) as node:
        await until(lambda: helper_of(node))
        await beats_again(horae)


async def test_it_does_not_beat_for_a_process_that_was_stopped_and_ends_with_it(
    horae: Horae, database: Database, tmp_path: Path
) -> None:
    with NodeProcess(database, tmp_path, silence=5.0) as process:
        await asyncio.to_thread(process.ready)
        await holds_lock(horae)
        process.stop()
        await until(lambda: is_stopped(process.process.pid))
        await asyncio.sleep(0.1)  # a beat may be under way
        before = beaten_at(horae)
        await asyncio.sleep(1.5)
        assert beaten_at(horae) == before
        process.kill()
        await until(lambda: rows(horae, "SELECT process_ended FROM horae_nodes") == [(True,)])
        await until(lambda: not rows(horae, "SELECT pid FROM pg_locks WHERE locktype = 'advisory'"))


@pytest.mark.without_redis
async def test_other_nodes_are_notified_at_once_of_an_ended_process(
    horae: Horae, database: Database, tmp_path: Path
) -> None:
    """By a hint of its helper: neither by a beat of their own nor by a look that was due anyway."""
    with NodeProcess(database, tmp_path) as process:
        gone = await asyncio.to_thread(process.ready)
        await holds_lock(horae)
        async with running_node(
            horae,
            liveness=LivenessLimits(beat=60, lock=120, silence=300, gap=180),
            timing=Timing(sweeper=SweeperTiming(look_every=1_000_000)),
        ) as node:
            await until(
                lambda: vars(heartbeat_of(node))["_helper_beat_at"] > 0
            )  # there is no other for a minute
            await until(lambda: horae.components.wakeup.connected)
            process.kill()
            await until(lambda: rows(horae, "SELECT id FROM horae_nodes") == [(node.id,)])
    assert gone != node.id


@pytest.mark.parametrize("state", ["stale", "fresh", "old"])
def test_a_node_with_a_late_heartbeat_declares_no_node_dead(horae: Horae, state: str) -> None:
    member = membership_of(
        horae.components.database,
        record_of(horae.registry, NodeOptions()),
        LivenessLimits(),
        Timing(),
    )
    assert isinstance(member, DatabaseMembership)
    member.join(Watcher())
    try:
        execute(horae, SILENT)
        contact = vars(vars(member)["_heartbeat"])["_contact"]
        if state != "fresh":
            vars(contact)["_since"] = -1e6
        if state == "stale":
            contact.silent_for = lambda now: 2.5
        expected = {NodeId("silent")} if state == "old" else set[NodeId]()
        assert set(member.find_dead()) == expected
    finally:
        member.leave()


def test_a_slow_answer_declares_no_node_dead(horae: Horae, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a server that was frozen: when it answers, all others seem to have been silent."""
    member = membership_of(
        horae.components.database,
        record_of(horae.registry, NodeOptions()),
        LivenessLimits(lock=0.05),
        Timing(),
    )
    member.join(Watcher())
    try:
        execute(horae, SILENT)
        vars(vars(vars(member)["_heartbeat"])["_contact"])["_since"] = -1e6
        autocommit = horae.components.database.autocommit

        def late(*arguments: object) -> object:
            answer: object = autocommit(*arguments)  # type: ignore[arg-type]
            time.sleep(0.1)
            return answer

        monkeypatch.setattr(horae.components.database, "autocommit", late)
        assert member.find_dead() == {}
    finally:
        member.leave()


def test_late_answers_to_beats_that_were_sent_in_time_end_an_isolation(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of several connections that have waited for one lock: no two of them were sent far from each other."""
    reported: list[str] = []
    watcher = Watcher(
        isolated=lambda level: reported.append(level.name),
        regained=lambda: reported.append("regained"),
    )
    monkeypatch.setattr(heartbeat, "clock", lambda: 0.0)
    monkeypatch.setattr(heartbeat, "start_helper", lambda *_: None)
    monkeypatch.setattr(Heartbeat, "_beat_here", lambda _: None)
    beat = Heartbeat(
        horae.components.database,
        record_of(horae.registry, NodeOptions()),
        LivenessLimits(),
        HeartbeatTiming(awake=0.0),
        watcher,
    )
    check, answered = beat._check, beat._take_answer  # noqa: SLF001 - what its thread calls
    check(8.5)
    for sent in (2.9, 5.8, 8.4):
        answered(sent, 0)
    check(8.6)
    check(8.7)
    assert reported == ["RETRYABLE", "regained"]
