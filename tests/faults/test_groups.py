"""Nodes that are killed while the last members of groups end: the job after each group runs exactly once."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Final

import pytest
from sqlalchemy import text

from horae import Group, Horae
from horae.storage.engine import Database
from tests.harness.applications import rows, url_of
from tests.harness.checked import findings
from tests.harness.fault_application import SCHEMA, fault_application
from tests.harness.node_processes import BODY_LOG, NodeProcess, wait_until

ROUNDS: Final = int(os.environ.get("TEST_KILLS", "3"))
SEED: Final = int(os.environ.get("TEST_SEED", "20260101"))
SILENCE: Final = 1.0
"""Seconds after which a node without a heartbeat counts as dead."""


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    database.transact(lambda connection: connection.execute(text(SCHEMA)))
    application = fault_application(url_of(database))
    yield application
    application.close()


def begun(horae: Horae, group: Group) -> bool:
    """Whether both members run."""
    return all(job.state == "started" for job in horae.jobs.members(group.id))


@pytest.mark.slow
@pytest.mark.timeout(120 + 40 * ROUNDS)
def test_then_runs_once_although_nodes_are_killed_as_the_last_members_end(
    horae: Horae, database: Database, tmp_path: Path
) -> None:
    draw = Random(SEED)
    groups: list[Group] = []
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(NodeProcess(database, tmp_path, concurrency=2, silence=SILENCE))
            for _ in "ab"
        ]
        for node in nodes:
            node.ready()
        for number in range(ROUNDS):
            gate = tmp_path / f"gate-{number}"
            # Two that end in their own transactions at the same moment, and two that the node settles.
            waiting = ("stalling", {"gate": str(gate), "early": False})
            group = horae.jobs.start_group([waiting, waiting], then=("threaded", {"seed": number}))
            wait_until(lambda group=group: begun(horae, group))  # type: ignore[misc]
            gate.touch()
            short = horae.jobs.start_group(["brief", "brief"], then=("threaded", {"seed": number}))
            time.sleep(draw.uniform(0.0, 0.05))
            nodes[number % 2].kill()
            nodes[number % 2] = stack.enter_context(
                NodeProcess(database, tmp_path, concurrency=2, silence=SILENCE)
            )
            groups += [horae.jobs.wait_for_group(each.id, timeout="60s") for each in (group, short)]
    for group in groups:
        effects = rows(horae, "SELECT attempt FROM effects WHERE job = :job", job=group.then_id)
        assert (group.unfinished, horae.jobs.get(group.then_id or 0).state, len(effects)) == (
            0,
            "finished",
            1,
        )
    assert list(horae.audit().findings) == []
    assert findings(database, tmp_path / BODY_LOG) == []
