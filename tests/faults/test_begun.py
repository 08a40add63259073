"""A node is killed with many jobs claimed ahead of its slots: bodies that had not begun run elsewhere as a first attempt."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import Executable, text

from horae.runtime.journal import Journals
from horae.runtime.timing import JournalTiming
from horae.storage.engine import Database
from tests.checker.body_log import BodyLog, read
from tests.harness.checked import findings
from tests.harness.fault_application import fault_application
from tests.harness.figures import figure
from tests.harness.node_processes import NodeProcess, wait_until

JOBS = 300
DEADLY = 100
SLOTS = 8

ENDED = text(
    "SELECT id, state, attempt FROM horae_jobs WHERE finished_at IS NOT NULL AND node_id IS NULL"
)
ATTEMPTS = text("SELECT job_id, outcome FROM horae_job_attempts")
BY_NODE = text("SELECT node_id, outcome FROM horae_job_attempts")
NODES = text("SELECT id FROM horae_nodes")


def rows(database: Database, statement: Executable) -> list[tuple[int | str, ...]]:
    return database.autocommit(
        lambda connection: [tuple(row) for row in connection.execute(statement)]
    )


@pytest.fixture
def _own_temporary_folder(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For this process, and for the nodes that it starts; not for a server, which other tests share."""
    del database
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.mark.parametrize("kind", ["quick", "brief"])
@pytest.mark.usefixtures("_own_temporary_folder")
def test_only_what_had_begun_has_crashed(
    database: Database, tmp_path: Path, body_log: Path, kind: str
) -> None:
    horae = fault_application(database.url.render_as_string(hide_password=False))
    horae.jobs.start_many(kind, [{"deadly": number == DEADLY} for number in range(JOBS)])
    with NodeProcess(database, tmp_path, concurrency=SLOTS) as killed:
        killed.process.wait(30)
    held = rows(database, text("SELECT count(*) FROM horae_jobs WHERE state = 'started'"))[0][0]
    with NodeProcess(database, tmp_path, concurrency=SLOTS) as rescuer:
        wait_until(lambda: len(rows(database, ENDED)) == JOBS)
        assert rescuer.end() == 0
    begun = BodyLog.of(read(body_log)).jobs("begin")
    ended = {int(job_id): str(state) for job_id, state, _ in rows(database, ENDED)}
    failed = {job_id for job_id, state in ended.items() if state == "failed"}
    figure(
        f"{database.dialect}, {kind}: {held} held by the killed node, {len(failed)} of them were under way and failed"
    )
    assert set(ended) == {
        int(job_id) for (job_id,) in rows(database, text("SELECT id FROM horae_jobs"))
    }
    # On a thread, the kill may come after the body was entered in the journal and before its first line.
    cut = set(ended) - begun
    assert cut <= (failed if kind == "brief" else set())
    assert (
        1 <= len(failed) <= SLOTS
    )  # bodies that had returned count as finished, though their ends were not committed
    assert findings(database, body_log) == []
    assert {attempt for _, _, attempt in rows(database, ENDED)} == {1}
    assert Counter(outcome for _, outcome in rows(database, ATTEMPTS)) == {
        "finished": JOBS - len(failed),
        "crashed": len(failed),
    }
    assert rows(database, NODES) == []
    killed_node = {str(node) for node, outcome in rows(database, BY_NODE) if outcome == "crashed"}
    kept = {file.stem for file in Journals(database, JournalTiming()).find_folder().glob("*.begun")}
    assert (
        kept == killed_node
    )  # a claim of it may still take effect, and the node that knew when that is over has left
    horae.close()
