"""`horae groups`, and jobs that wait for others on the command line."""

from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from horae import Horae
from horae.storage.engine.database import Database
from tests.cli.conftest import Call, values


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


GROUP_FIELDS = {
    "id",
    "owner",
    "on_failure",
    "then_id",
    "total",
    "finished",
    "failed",
    "cancelled",
    "created_at",
    "inserting_at",
    "cancelled_at",
    "cancelled_by",
    "ended_at",
    "progress_percentage",
    "state",
}


@pytest.fixture
def group(horae: Call, database: Database) -> int:
    """A group of two members."""
    horae("jobs", "start", "import_csv", "path=a")  # makes the tables
    with closing(Horae(database.url.render_as_string(hide_password=False))) as application:

        @application.job
        def import_csv(path: str) -> None: ...

        return application.jobs.start_group(
            [(import_csv, {"path": "b"})] * 2, then=(import_csv, {"path": "c"})
        ).id


def test_a_group_is_shown_and_cancelled(
    horae: Call, bare: Call, database: Database, group: int
) -> None:
    shown = values(bare("groups", "show", str(group), "--json"))
    assert set(shown) == GROUP_FIELDS
    assert (shown["state"], shown["total"]) == ("open", 2)
    assert "0%" in bare("groups", "show", str(group)).stdout
    inserting = "UPDATE horae_groups SET inserting_at = created_at"
    with database.engine.begin() as connection:
        connection.execute(text(inserting))
    assert "not known while members are inserted" in bare("groups", "show", str(group)).stdout
    with database.engine.begin() as connection:
        connection.execute(text(inserting.replace("= created_at", "= NULL")))
    listed = values(horae("jobs", "list", "--group", str(group), "--json"))["jobs"]
    assert [job["params"]["path"] for job in listed] == ["b", "b"]
    assert bare("groups", "wait", str(group), "--timeout", "10ms").exit_code == 1
    cancelled = values(bare("groups", "cancel", str(group), "--by", "ann", "--json"))
    assert (cancelled["state"], cancelled["cancelled_by"], cancelled["cancelled"]) == (
        "cancelled",
        "ann",
        2,
    )
    assert bare("groups", "wait", str(group), "--json").exit_code == 1
    assert bare("groups", "show", "4711").exit_code == 2


def test_a_job_waits_for_another_one(horae: Call) -> None:
    first = horae("jobs", "start", "import_csv", "path=a").stdout.strip()
    waiting = values(horae("jobs", "start", "import_csv", "path=b", "--after", first, "--json"))
    assert waiting["waits_for"] == "jobs"
    assert "waits for other jobs" in horae("jobs", "list").stdout
    wrong = horae(
        "jobs", "start", "import_csv", "path=b", "--after", first, "--on-dependency-failure", "no"
    )
    assert wrong.exit_code == 2


def test_a_group_is_started_from_a_file(horae: Call, tmp_path: Path) -> None:
    file = tmp_path / "members.jsonl"
    file.write_text('{"type": "import_csv", "params": {"path": "a"}}\n\n{"type": "refuse"}\n')
    last = '{"type": "import_csv", "params": {"path": "z"}}'
    started = values(
        horae("groups", "start", str(file), "--then", last, "--on-failure", "cancel", "--json")
    )
    assert set(started) == GROUP_FIELDS
    assert (started["total"], started["on_failure"]) == (2, "cancel")
    listed = values(horae("jobs", "list", "--group", started["id"], "--json"))["jobs"]
    assert {job["type"] for job in listed} == {"import_csv", "refuse"}
    assert horae("groups", "start", str(file)).stdout.strip().isdigit()


@pytest.mark.parametrize(
    "line", ["import_csv", '{"params": {}}', '{"type": "refuse", "parms": {}}', '["refuse"]']
)
def test_a_line_that_is_no_member_is_named(horae: Call, tmp_path: Path, line: str) -> None:
    file = tmp_path / "members.jsonl"
    file.write_text(f'{{"type": "refuse"}}\n{line}\n')
    wrong = horae("groups", "start", str(file))
    assert wrong.exit_code == 2
    assert "line 2: " in wrong.stderr
    assert 'expected {"type": "fetch", "params": {"n": 1}}' in wrong.stderr
