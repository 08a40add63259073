"""Rescue of the jobs of dead nodes."""

import asyncio
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text

from horae import Horae, JobState
from horae.domain.cluster.liveness import Death
from horae.domain.jobs.job import Claim, JobId, NodeId
from horae.runtime.claims.claimer import Claimer
from horae.runtime.journal.files import Journals
from horae.runtime.journal.journal import Journal
from horae.runtime.liveness.membership import DatabaseMembership, FileMembership
from horae.runtime.timing import JournalTiming, SweeperTiming, Timing
from horae.storage.engine.database import side_car_path
from tests.harness.applications import ELSEWHERE, attempts_of, claim_as_another_node, execute, rows
from tests.harness.nodes import running_node, signals_of, until_state
from tests.harness.waiting import until_after, until_logged, until_stored

NO_SUCH_PROCESS = 2**22 - 1

COPY = """
INSERT INTO horae_nodes (id, name, host, pid, version, roles, types, concurrency, started_at, heartbeat_at)
SELECT 'elsewhere', name, host, :pid, version, roles, types, 1, started_at, heartbeat_at FROM horae_nodes
"""


COPY_OF_PROGRAM = COPY.replace("version, roles, types, 1", """version, '["inline"]', types, 1""")
"""Of a program that runs jobs of its own."""


async def jobs_elsewhere(horae: Horae, count: int) -> Sequence[int]:
    """Jobs that another node has taken."""
    ids = await horae.aio.jobs.start_many("work", [{}] * count)
    claim_as_another_node(horae)
    return ids


def list_the_dead(horae: Horae, copy: str = COPY) -> None:
    """Let that node be one of this host whose process is gone: its row is there, and on SQLite its file."""
    if horae.components.database.dialect == "sqlite":
        (side_car_path(horae.components.database, "nodes") / f"{ELSEWHERE}.lock").touch()
    execute(horae, copy, pid=NO_SUCH_PROCESS)


@pytest.fixture
def working(horae: Horae) -> Horae:
    @horae.job(max_count=None)
    def work() -> None: ...

    return horae


async def test_jobs_of_a_node_whose_process_is_gone(working: Horae) -> None:
    async with running_node(working, queues=("other",)) as node:
        ids = await jobs_elsewhere(working, 3)
        list_the_dead(working)
        for job_id in ids:
            await until_state(working, job_id, "failed")
            assert attempts_of(working, job_id) == ["crashed"]
        await until_stored(
            working, lambda: rows(working, "SELECT id FROM horae_nodes") == [(node.id,)]
        )


@pytest.mark.postgres
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_a_job_that_is_locked_meanwhile_is_rescued_soon_after(
    working: Horae, caplog: pytest.LogCaptureFixture
) -> None:
    """As by the last statement of the dead, which the server may still be busy with."""
    locked, free = await jobs_elsewhere(working, 2)
    with working.components.database.engine.begin() as connection:
        connection.execute(
            text("SELECT 1 FROM horae_jobs WHERE id = :id FOR UPDATE"), {"id": locked}
        )
        async with running_node(
            working, queues=("other",), timing=Timing(sweeper=SweeperTiming(look_every=10**9))
        ) as node:
            list_the_dead(working)
            await until_state(working, free, "failed")
            await until_logged(caplog, "its process is gone")
            assert (await working.aio.jobs.get(locked)).state is JobState.STARTED
            assert len(rows(working, "SELECT id FROM horae_nodes")) == 2
            connection.commit()
            await until_state(working, locked, "failed")
            await until_stored(
                working, lambda: rows(working, "SELECT id FROM horae_nodes") == [(node.id,)]
            )
    assert caplog.text.count(f"node {ELSEWHERE} is dead") == 1  # however often it was looked at


@pytest.mark.parametrize("holds_a_job", [True, False])
async def test_a_program_that_holds_no_job_has_ended_and_not_died(
    working: Horae, caplog: pytest.LogCaptureFixture, holds_a_job: bool
) -> None:
    # After the first routine look nobody rescues a job before the row of its node is there.
    [rescued_by_first_look] = await jobs_elsewhere(working, 1)
    timing = Timing(sweeper=SweeperTiming(look_every=10**9))
    async with running_node(working, queues=("other",), timing=timing) as node:
        await until_state(working, rescued_by_first_look, "failed")
        if holds_a_job:
            await jobs_elsewhere(working, 1)
        list_the_dead(working, COPY_OF_PROGRAM)
        await until_stored(
            working, lambda: rows(working, "SELECT id FROM horae_nodes") == [(node.id,)]
        )
    assert (f"node {ELSEWHERE} is dead" in caplog.text) is holds_a_job


async def test_a_claim_that_takes_effect_after_the_rescue_of_its_node_is_no_start(
    working: Horae, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that the server was busy with when the node was killed: no node runs the jobs, and no row names it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    journals, journal = Journals(working.components.database, JournalTiming()), Journal()
    often = Timing(sweeper=SweeperTiming(round=0.05, look_every=1))
    async with running_node(working, queues=("other",), timing=often) as node:
        journals.open(journal, ELSEWHERE)
        journal.close(keep=True)
        list_the_dead(working)
        await until_stored(
            working, lambda: rows(working, "SELECT id FROM horae_nodes") == [(node.id,)]
        )
        await expect_no_start(working)
    async with running_node(
        working, queues=("other",), timing=often
    ):  # the one that rescued the jobs has stopped
        await expect_no_start(working)


async def expect_no_start(working: Horae) -> None:
    for job_id in await jobs_elsewhere(working, 2):
        await until_state(working, job_id, "pending")
        assert (attempts_of(working, job_id), (await working.aio.jobs.get(job_id)).attempt) == (
            [],
            0,
        )


async def test_the_journal_of_a_dead_node_is_removed_after_a_while(
    working: Horae, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    journals, journal = Journals(working.components.database, JournalTiming()), Journal()
    often = Timing(sweeper=SweeperTiming(round=0.05, look_every=1, journal_kept=0.05))
    async with running_node(working, queues=("other",), timing=often):
        journals.open(journal, ELSEWHERE)
        journal.close(keep=True)
        list_the_dead(working)
        file = journal.file
        assert file is not None
        await until_stored(working, lambda: not file.exists())


@pytest.mark.parametrize("answer", ["lost", "late"])
async def test_the_journal_of_a_node_that_left_shows_that_a_late_claim_is_no_start(
    working: Horae, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    asked = asyncio.Event()

    async def claim(*_: object) -> list[Claim]:
        asked.set()
        if answer == "late":
            await asyncio.Event().wait()
        raise ConnectionError("no answer")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Claimer, "claim", claim)
    async with running_node(working, grace=timedelta(0)) as node:
        await asked.wait()
    late = Claim(JobId(1), "work", "default", 0, None, None, 1, 1, 1, None, "{}")
    assert node.id is not None
    journals = Journals(working.components.database, JournalTiming())
    journals.find_folder()
    assert not journals.begun_by(node.id).may_include(late)


async def test_a_node_that_is_only_silent_keeps_the_jobs_in_their_last_attempt(
    working: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be cut off and run them to their end; those that may run again are rescued at once."""
    found: dict[NodeId, Death] = {}

    def find_dead(_: object) -> dict[NodeId, Death]:
        return found

    for kind in (DatabaseMembership, FileMembership):
        monkeypatch.setattr(kind, "find_dead", find_dead)
    again, last = [
        (await working.aio.jobs.start("work", max_attempts=attempts)).id for attempts in (2, 1)
    ]
    often = Timing(sweeper=SweeperTiming(round=0.05, look_every=1, journal_wait=0.0))
    async with running_node(working, queues=("other",), timing=often):
        execute(working, COPY, pid=NO_SUCH_PROCESS)
        claim_as_another_node(working)
        found[ELSEWHERE] = Death("it has been silent for 10 s", certain=False)
        await until_state(working, again, "pending")
        assert (await working.aio.jobs.get(last)).state is JobState.STARTED
        found[ELSEWHERE] = Death("it has been silent for 60 s")
        await until_state(working, last, "failed")


async def test_one_after_another_in_batches(working: Horae) -> None:
    async with running_node(
        working, queues=("other",), timing=Timing(sweeper=SweeperTiming(rescue_batch=7))
    ) as node:
        await jobs_elsewhere(working, 30)
        list_the_dead(working)
        await until_after(
            signals_of(node).rescued,
            lambda: rows(working, "SELECT DISTINCT state FROM horae_jobs") == [("failed",)],
        )


async def test_a_job_that_takes_its_process_down_is_tried_three_times(working: Horae) -> None:
    """However many attempts it may have: the next node would be next."""

    @working.job(max_attempts=100)
    def deadly() -> None: ...

    job = await working.aio.jobs.start(deadly)
    async with running_node(working, queues=("other",)) as node:
        for crashes in range(1, 4):
            execute(working, "UPDATE horae_jobs SET run_at = created_at")
            claim_as_another_node(working)
            list_the_dead(working)
            await until_after(
                signals_of(node).rescued, partial(_has_crashed, working, job.id, crashes)
            )
            await until_stored(
                working, lambda: len(rows(working, "SELECT id FROM horae_nodes")) == 1
            )
    ended = working.jobs.get(job.id)
    assert ended.state is JobState.FAILED
    assert "quarantined after 3 crashes" in (ended.error or "")


def _has_crashed(horae: Horae, job_id: int, times: int) -> bool:
    return attempts_of(horae, job_id) == ["crashed"] * times
