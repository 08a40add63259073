"""A node is killed while the body of a batch runs: each job of it is rescued, and the others have lost nothing."""

from pathlib import Path

from sqlalchemy import Executable, text

from horae.storage.engine import Database
from tests.harness.checked import findings
from tests.harness.fault_application import fault_application
from tests.harness.node_processes import NodeProcess, wait_until

JOBS, SIZE, DEADLY = 60, 20, 25

ENDED = text("SELECT id, state, attempt, result FROM horae_jobs WHERE finished_at IS NOT NULL")
ATTEMPTS = text("SELECT job_id, outcome FROM horae_job_attempts ORDER BY job_id, attempt")


def rows(database: Database, statement: Executable) -> list[tuple[object, ...]]:
    return database.autocommit(
        lambda connection: [tuple(row) for row in connection.execute(statement)]
    )


def test_each_job_of_a_killed_batch_is_rescued(
    database: Database, tmp_path: Path, body_log: Path
) -> None:
    horae = fault_application(database.url.render_as_string(hide_password=False))
    ids = horae.jobs.start_many(
        "gathered", [{"number": number, "deadly": number == DEADLY} for number in range(JOBS)]
    )
    with NodeProcess(database, tmp_path, concurrency=1) as killed:
        killed.process.wait(30)
    with NodeProcess(database, tmp_path, concurrency=1) as rescuer:
        wait_until(lambda: len(rows(database, ENDED)) == JOBS)
        assert rescuer.end() == 0
    assert [horae.jobs.get(job_id).result for job_id in ids] == list(range(JOBS))
    outcomes: dict[object, list[str]] = {}
    for job_id, outcome in rows(database, ATTEMPTS):
        outcomes.setdefault(job_id, []).append(str(outcome))
    batches = [ids[first : first + SIZE] for first in range(0, JOBS, SIZE)]
    for number, batch in enumerate(batches):
        (found,) = {tuple(outcomes[job_id]) for job_id in batch}
        # The ends of the batch before the deadly one may not have been stored when it was killed.
        allowed = {("finished",), ("crashed", "finished")}
        assert found in ({("crashed", "finished")} if number == DEADLY // SIZE else allowed)
    assert findings(database, body_log) == []
    horae.close()
