"""A deploy replaces nodes one after another under load: no job fails, and none is repeated without need."""

from pathlib import Path

import pytest

from horae.storage.engine import Database
from tests.harness.checked import findings
from tests.harness.rolling_restart import QUICK, REPEATABLE, SCHEDULED, restart_one_by_one


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_jobs_that_end_within_the_grace_run_once(
    database: Database, tmp_path: Path, body_log: Path
) -> None:
    done = restart_one_by_one(database, tmp_path, types=QUICK, scheduled=SCHEDULED)
    assert set(done.exit_codes) == {0}
    assert done.states == {"finished": done.jobs + done.runs}
    assert done.attempts == {"finished": done.jobs + done.runs}
    assert done.faulty_schedules == []
    assert findings(database, body_log) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "database",
    [
        # By day, the test above replaces nodes on SQLite.
        pytest.param("sqlite", marks=pytest.mark.nightly),
        pytest.param("postgresql", marks=pytest.mark.postgres),
    ],
    indirect=True,
)
def test_longer_jobs_are_interrupted_and_run_again_without_counting_it(
    database: Database, tmp_path: Path, body_log: Path
) -> None:
    """At most the jobs that run when a node stops; each in a transaction leaves one effect, although it is tried once."""
    done = restart_one_by_one(database, tmp_path, types=REPEATABLE, scheduled=SCHEDULED, grace=0.05)
    assert set(done.exit_codes) == {0}
    assert done.states == {"finished": done.jobs + done.runs}
    assert done.attempts["finished"] == done.jobs + done.runs
    assert done.wrong_effects == 0
    assert done.faulty_schedules == []
    assert done.attempts.keys() <= {"finished", "interrupted"}
    assert done.attempts.get("interrupted", 0) <= 4 * len(done.stops)
    assert done.counted_again == 0
    assert findings(database, body_log) == []
