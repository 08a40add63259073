"""What `jobs.why` says besides the reason: who paused, until when, its place, an estimate, what has become of it."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from typer.testing import CliRunner

from horae import Horae, JobDoesNotExist
from horae.cli.main import app as command_line
from horae.domain.jobs import WaitReason
from horae.domain.jobs.job import NodeId
from horae.runtime.components import NodeOptions
from horae.runtime.liveness.node_record import record_of
from horae.storage.engine import LOCK_SUFFIX
from horae.storage.engine.database import Database, side_car_path
from horae.storage.nodes import nodes
from tests.harness.applications import (
    application,
    claim_as_another_node,
    execute,
    url_of,
)


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with application(database) as made:
        made.job(name="work", pending_timeout="30m")(lambda: None)
        yield made


def register_node(horae: Horae, slots: int = 2) -> NodeId:
    record = record_of(horae.registry, NodeOptions(concurrency=slots))
    horae.components.database.transact(nodes.register, record)
    return record.id


def test_a_pause_says_who_made_it_when_and_why(horae: Horae) -> None:
    job = horae.jobs.start("work")
    with horae.acting_as("ada"):
        horae.queues.pause("default", "the disk is full")
    with horae.acting_as("bob"):
        horae.queues.pause("other")
    why = horae.jobs.why(job.id)
    assert (why.reason, why.note, why.by) == (WaitReason.QUEUE_PAUSED, "the disk is full", "ada")
    assert why.since is not None
    assert why.fails_at is None, "the time limit of pending jobs does not run in a pause"
    with horae.acting_as("eve"):
        horae.queues.pause_everything("moving house")
    why = horae.jobs.why(job.id)
    assert (why.reason, why.note, why.by) == (WaitReason.EVERYTHING_PAUSED, "moving house", "eve")


def test_a_planned_start_is_its_own_estimate(horae: Horae) -> None:
    job = horae.jobs.start("work", delay="1h", expires="1h")
    why = horae.jobs.why(job.id)
    assert (why.reason, why.until, why.starts_at) == (WaitReason.PLANNED, job.run_at, job.run_at)
    assert why.fails_at == job.expires_at


def test_an_estimate_has_a_ground_or_is_none(horae: Horae) -> None:
    register_node(horae, slots=2)
    first = [horae.jobs.start("work").id for _ in range(6)]
    claim_as_another_node(horae, 2)
    execute(
        horae,
        "UPDATE horae_jobs SET node_id = (SELECT id FROM horae_nodes) WHERE node_id IS NOT NULL",
    )
    last = horae.jobs.start("work", owner="ann")
    why = horae.jobs.why(last.id)
    assert (why.reason, why.ahead, why.starts_at) == (WaitReason.SLOT, 4, None)
    assert why.text == "4 jobs come before it, and all 2 slots of the nodes that run it are taken."
    assert why.fails_at == last.run_at + timedelta(minutes=30)
    for job_id in first:  # a cancelled job has not ended a run, so it is no ground
        horae.jobs.cancel(job_id)
    assert horae.jobs.why(last.id).starts_at is None
    now = "started_at = created_at, finished_at = created_at"
    execute(
        horae,
        f"UPDATE horae_jobs SET {now}, state = 'finished', node_id = NULL, cancelled_by = NULL WHERE state = 'cancelled'",
    )
    execute(horae, "UPDATE horae_nodes SET concurrency = 0")
    why = horae.jobs.why(last.id)
    assert why.starts_at is not None
    assert "such jobs ended a minute lately" in (why.reckoned or "")


def test_a_full_queue_names_who_holds_it(horae: Horae) -> None:
    horae.queues.limit("default", 1)
    register_node(horae)
    first, second = horae.jobs.start("work").id, horae.jobs.start("work").id
    claim = claim_as_another_node(horae, 1)
    assert claim == []  # a queue with a limit is claimed by a statement of its own
    why = horae.jobs.why(second)
    assert (why.reason, why.ahead, why.holders) == (WaitReason.QUEUE_LIMIT, 1, ())
    horae.queues.limit("default", None)
    claim_as_another_node(horae, 1)
    horae.queues.limit("default", 1)
    why = horae.jobs.why(second)
    assert (why.reason, why.ahead, why.holders) == (WaitReason.QUEUE_LIMIT, 0, (first,))


def test_a_dead_node_serves_nobody(horae: Horae, database: Database) -> None:
    node = register_node(horae)
    job = horae.jobs.start("work")
    assert horae.jobs.why(job.id).reason is WaitReason.NEXT
    if database.is_file:  # its lock is free
        folder = side_car_path(database, "nodes")
        folder.mkdir()
        (folder / f"{node}{LOCK_SUFFIX}").touch()
    else:
        execute(horae, "UPDATE horae_nodes SET heartbeat_at = heartbeat_at - interval '11 seconds'")
    assert horae.jobs.why(job.id).reason is WaitReason.NO_NODE


def test_a_job_that_runs_says_so_without_the_live_store(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    job = horae.jobs.start("work")
    claim_as_another_node(horae)

    def fail(_job_ids: object) -> None:
        raise OSError("no descriptor is left")

    monkeypatch.setattr(horae.components.live, "cancel_requests", fail)
    assert horae.jobs.why(job.id).reason is WaitReason.RUNNING
    assert "no descriptor is left" in caplog.text


def test_a_job_that_runs_or_has_ended_says_so(horae: Horae) -> None:
    job = horae.jobs.start("work", owner="ann")
    claim_as_another_node(horae)
    why = horae.jobs.why(job.id, owner="ann")
    assert (why.reason, why.text, why.node) == (WaitReason.RUNNING, "It runs, at 0%.", "elsewhere")
    assert why.since is not None
    horae.jobs.cancel(job.id, by="bob")
    why = horae.jobs.why(job.id)
    assert why.reason is WaitReason.STOPPING
    assert why.text == "It was cancelled by 'bob', and its body has not stopped yet."
    execute(horae, "UPDATE horae_jobs SET node_id = NULL")
    assert horae.jobs.why(job.id).text == "It was cancelled by 'bob'."
    with pytest.raises(JobDoesNotExist):
        horae.jobs.why(job.id, owner="eve")


def test_the_command_and_coroutines_say_the_same(horae: Horae, database: Database) -> None:
    job = horae.jobs.start("work", delay="1h")
    assert asyncio.run(horae.aio.jobs.why(job.id)) == horae.jobs.why(job.id)
    arguments = ["--database", url_of(database), "jobs", "why", str(job.id)]
    shown = CliRunner().invoke(command_line, arguments).stdout
    assert shown.startswith("It is due at ")
    assert "starts" in shown
    as_json = CliRunner().invoke(command_line, [*arguments, "--json"]).stdout
    assert '"reason":"planned"' in as_json
    missing = CliRunner().invoke(command_line, [*arguments, "--owner", "eve"])
    assert missing.exit_code != 0
