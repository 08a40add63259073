"""A process that is stopped for longer than the silence after which a node counts as dead, and then continues."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from horae import Horae
from horae.domain.cluster import Death
from horae.domain.jobs import NodeId
from horae.runtime.liveness.membership import FileMembership
from horae.runtime.timing import SweeperTiming, Timing
from horae.storage.engine import Database
from tests.harness.applications import attempts_of, execute, rows, url_of
from tests.harness.checked import findings
from tests.harness.fault_application import SCHEMA, fault_application
from tests.harness.node_process import shrunk
from tests.harness.node_processes import NodeProcess
from tests.harness.nodes import running_node, until

SILENCE = 1.5
SOON = Timing(sweeper=SweeperTiming(round=0.1))


async def at_the_gate(horae: Horae, job_id: int) -> None:
    async def waiting() -> bool:
        return (await horae.aio.jobs.get(job_id)).label == "waiting at the gate"

    await until(waiting)


async def incarnations(horae: Horae, process: NodeProcess) -> list[str]:
    found = rows(horae, "SELECT id FROM horae_nodes WHERE pid = :pid", pid=process.process.pid)
    return [str(node) for (node,) in found]


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("early", [True, False])
async def test_late_writes_of_a_dead_node_change_no_row(
    database: Database, tmp_path: Path, body_log: Path, *, early: bool
) -> None:
    """On PostgreSQL its silence counts as death: another node has run its job meanwhile."""
    gate = tmp_path / "gate"
    with (
        closing(fault_application(url_of(database))) as horae,
        NodeProcess(database, tmp_path, silence=SILENCE) as process,
    ):
        execute(horae, SCHEMA)
        stopped = await asyncio.to_thread(process.ready)
        job = await horae.aio.jobs.start("stalling", gate=str(gate), early=early)
        await at_the_gate(horae, job.id)
        process.stop()
        async with running_node(horae, liveness=shrunk(SILENCE), timing=SOON):
            assert await horae.aio.jobs.wait(job.id, timeout="30s") == 2
            gate.touch()
            process.go_on()
            # It finds itself declared dead, stops its bodies, and begins again with a new id.
            reborn = await until(lambda: incarnations_but(horae, process, stopped))
            assert len(reborn) == 1
        again = await horae.aio.jobs.start("fragile", seed=1)
        await horae.aio.jobs.wait(again.id, timeout="30s")
        assert attempts_of(horae, again.id) == ["finished"]
        assert await asyncio.to_thread(process.end) == 0
        assert rows(horae, "SELECT job, attempt FROM effects") == [(job.id, 2)]
        assert attempts_of(horae, job.id) == ["crashed", "finished"]
    assert findings(database, body_log, frozen_processes=True) == []


async def incarnations_but(horae: Horae, process: NodeProcess, former: str) -> list[str]:
    return [node for node in await incarnations(horae, process) if node != former]


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("early", [True, False])
async def test_on_sqlite_it_still_counts_as_alive(
    database: Database,
    tmp_path: Path,
    body_log: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    early: bool,
) -> None:
    """On SQLite a lock on a file proves that a node is alive: it continues where it stopped, even with the write lock."""
    gate, looks, find_dead = (
        tmp_path / "gate",
        list[dict[NodeId, Death]](),
        FileMembership.find_dead,
    )

    def noted(self: FileMembership) -> dict[NodeId, Death]:
        looks.append(dict(find_dead(self)))
        return looks[-1]

    monkeypatch.setattr(FileMembership, "find_dead", noted)
    with (
        closing(fault_application(url_of(database))) as horae,
        NodeProcess(database, tmp_path, silence=SILENCE) as process,
    ):
        execute(horae, SCHEMA)
        stopped = await asyncio.to_thread(process.ready)
        async with running_node(horae, queues=("none",), timing=SOON):
            job = await horae.aio.jobs.start("stalling", gate=str(gate), early=early)
            await at_the_gate(horae, job.id)
            process.stop()
            begun, seen = asyncio.get_running_loop().time(), len(looks)
            enough = 0 if early else 3  # a sweeper that has to write waits for the lock as well
            await until(
                lambda: (
                    len(looks) >= seen + enough
                    and asyncio.get_running_loop().time() > begun + 1.5 * SILENCE
                )
            )
            assert not any(looks)
            process.go_on()
            gate.touch()
            assert await horae.aio.jobs.wait(job.id, timeout="30s") == 1
        assert await incarnations(horae, process) == [stopped]
        assert rows(horae, "SELECT job, attempt FROM effects") == [(job.id, 1)]
        assert attempts_of(horae, job.id) == ["finished"]
    assert findings(database, body_log) == []


@pytest.mark.slow
async def test_a_node_that_is_asked_to_stop_leaves_no_jobs_behind(
    database: Database, tmp_path: Path, body_log: Path
) -> None:
    with (
        closing(fault_application(url_of(database))) as horae,
        NodeProcess(database, tmp_path) as process,
    ):
        execute(horae, SCHEMA)
        await asyncio.to_thread(process.ready)
        for _ in range(3):
            await horae.aio.jobs.start_many("threaded", [{"seed": 1}] * 20)
        await until(lambda: rows(horae, "SELECT id FROM horae_jobs WHERE state = 'finished'"))
        assert await asyncio.to_thread(process.end) == 0
        assert rows(horae, "SELECT id FROM horae_jobs WHERE node_id IS NOT NULL") == []
        assert rows(horae, "SELECT id FROM horae_nodes") == []
        crashed = "SELECT job_id FROM horae_job_attempts WHERE outcome <> 'finished'"
        assert rows(horae, crashed) == []
    assert findings(database, body_log, over=False) == []
