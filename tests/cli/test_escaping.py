"""What users have written cannot look like a line of the program's own, nor control a terminal."""

from dataclasses import replace

import pytest

from horae import JobState
from horae.cli.commands.doctor import print_finding
from horae.cli.failures import complain
from horae.cli.printing.job_views import as_values, line_of, print_job
from horae.client.doctor.finding import warning
from horae.domain.jobs.job import AttemptOutcome
from horae.storage.engine.database import Database
from horae.storage.jobs.reading import PastAttempt
from tests.harness.applications import application

FORGED = "no\nok       rows: all rows can be read\x1b[2J"


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


def assert_harmless(written: str) -> None:
    assert "all rows can be read" in written
    assert not any(line.startswith("ok") for line in written.splitlines())
    assert "\x1b" not in written


def test_further_lines_are_indented(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    print_finding(warning("rows", FORGED, FORGED))
    assert_harmless(capsys.readouterr().out)
    complain(FORGED)
    assert_harmless(capsys.readouterr().err)
    with application(database) as horae:
        horae.job(name="work")(lambda: None)
        job = replace(
            horae.jobs.start("work"),
            state=JobState.FAILED,
            error=FORGED,
            human_readable_error=FORGED,
        )
        assert_harmless(line_of(job))
        attempt = PastAttempt(
            job_id=job.id,
            lease=1,
            attempt=1,
            node_id=None,
            started_at=job.created_at,
            finished_at=job.created_at,
            outcome=AttemptOutcome.FAILED,
            error=FORGED,
            traceback=FORGED,
        )
        values = {**as_values(job, horae.registry), "weight": 1, "attempts": [attempt]}
        print_job(job, values)
        shown = capsys.readouterr().out
        assert_harmless(shown)
        assert "attempt 1:\n    no\n    ok " in shown
