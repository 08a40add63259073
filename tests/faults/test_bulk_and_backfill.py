"""Changes of many jobs, and backfills, while their nodes are killed: everything happens, and nothing happens twice."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import text

from horae import Horae, StartOptions
from horae.domain.jobs import JobState
from horae.storage.engine import Database, read_clock
from tests.harness.applications import rows, url_of
from tests.harness.checked import findings
from tests.harness.fault_application import SCHEMA, fault_application
from tests.harness.node_processes import BODY_LOG, NodeProcess, wait_until

SILENCE: Final = 1.0
"""Seconds after which a node without a heartbeat counts as dead."""
CHANGED: Final = 300
"""Jobs that one order changes: some hundred a second, so that the kill comes while it runs."""
HOURS: Final = 24
"""Past times that a backfill runs."""


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    database.transact(lambda connection: connection.execute(text(SCHEMA)))
    with closing(fault_application(url_of(database))) as application:
        yield application


def noted(horae: Horae) -> int:
    """Return how many jobs the order has changed so far."""
    return int(
        rows(horae, "SELECT coalesce(sum(changed), 0) AS changed FROM horae_bulk_runs")[0].changed
    )


def has_ended(horae: Horae, runs: int) -> bool:
    """Return whether so many jobs have ended; a run of the killed node is a crash, which is not repeated."""
    counted = horae.jobs.count()
    return counted.keys() <= {JobState.FINISHED, JobState.FAILED} and sum(counted.values()) == runs


def test_a_change_of_many_jobs_goes_on_after_its_node_was_killed(
    horae: Horae, database: Database, tmp_path: Path
) -> None:
    ids = horae.jobs.start_many("brief", [{}] * CHANGED, options=StartOptions(delay="1h"))
    with NodeProcess(database, tmp_path, silence=SILENCE) as killed:
        killed.ready()
        order = horae.jobs.cancel_many(types=["brief"], by="alice")
        before = wait_until(lambda: noted(horae))
        killed.kill()
    assert before <= noted(horae) < CHANGED, "the node was killed too late"
    with NodeProcess(database, tmp_path, silence=SILENCE) as second:
        second.ready()
        result = horae.jobs.wait(order.id, timeout="60s")
    assert {horae.jobs.get(job_id).state for job_id in ids} == {JobState.CANCELLED}
    assert (result["changed"], result["errors"]) == (CHANGED, [])
    entries = rows(horae, "SELECT target FROM horae_audit WHERE action = 'job.cancel'")
    assert sorted(int(entry.target) for entry in entries) == sorted(ids), "each was cancelled once"
    assert list(horae.audit().findings) == []


def test_past_times_are_run_once_although_nodes_are_killed(
    horae: Horae, database: Database, tmp_path: Path
) -> None:
    end = database.autocommit(read_clock).replace(minute=0, second=0, microsecond=0)
    schedule = horae.schedules.add(
        "threaded", cron="0 * * * *", config={"seed": 1}, overlap="allow_all", name="hourly"
    )
    nodes = [NodeProcess(database, tmp_path, concurrency=2, silence=SILENCE) for _ in "ab"]
    with nodes[0], nodes[1]:
        ids = [node.ready() for node in nodes]
        horae.schedules.backfill("hourly", end - timedelta(hours=HOURS), end)
        busy = wait_until(
            lambda: rows(horae, "SELECT node_id FROM horae_jobs WHERE node_id IS NOT NULL")
        )
        nodes[ids.index(busy[0].node_id)].kill()
        wait_until(lambda: has_ended(horae, HOURS), within=60)
    ticks = horae.schedules.ticks("hourly")
    times = Counter(tick.nominal_time for tick in ticks if tick.decision == "fired")
    assert times == Counter(end - timedelta(hours=hour) for hour in range(1, HOURS + 1))
    jobs = horae.jobs.list(schedule_id=schedule.id).jobs
    assert {job.state for job in jobs} <= {JobState.FINISHED, JobState.FAILED}
    effects = Counter(row.job for row in rows(horae, "SELECT job FROM effects"))
    assert effects == Counter({job.id: 1 for job in jobs if job.state is JobState.FINISHED})
    crashed = [job.error for job in jobs if job.state is JobState.FAILED]
    assert all(error is not None and "stopped in the middle" in error for error in crashed)
    assert horae.schedules.statistics("hourly").total_crashes == len(crashed)
    assert list(horae.audit().findings) == []
    assert findings(database, tmp_path / BODY_LOG) == []
