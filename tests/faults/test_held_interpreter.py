"""A body that holds the interpreter for longer than the silence after which a node counts as dead."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from horae.storage.engine import Database
from tests.harness.applications import attempts_of, rows, url_of
from tests.harness.checked import findings
from tests.harness.fault_application import fault_application
from tests.harness.node_process import shrunk
from tests.harness.node_processes import NodeProcess
from tests.harness.nodes import running_node, until

SILENCE = 1.5


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_its_node_does_not_count_as_dead(
    database: Database, tmp_path: Path, body_log: Path
) -> None:
    with (
        closing(fault_application(url_of(database))) as horae,
        NodeProcess(database, tmp_path, silence=SILENCE) as process,
    ):
        node = await asyncio.to_thread(process.ready)
        job = await horae.aio.jobs.start("holding", seconds=2.5 * SILENCE)
        await until(lambda: rows(horae, "SELECT id FROM horae_jobs WHERE state = 'started'"))
        async with running_node(horae, liveness=shrunk(SILENCE)):
            assert await horae.aio.jobs.wait(job.id, timeout="30s") == 1
        assert attempts_of(horae, job.id) == ["finished"]
        assert process.node == node
    assert findings(database, body_log) == []
