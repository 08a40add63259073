"""`horae migrate`: what it prints, what it changes, and its exit codes."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import inspect, text
from typer.testing import CliRunner, Result

from horae.cli.main import app
from horae.storage.engine import shown
from horae.storage.engine.database import Database
from horae.storage.migrations.version import HEAD, REVISIONS, VERSION_TABLE


def migrate(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["migrate", *arguments, "--database", url])


def tables(url: str) -> list[str]:
    with closing(Database(url)) as database:
        return database.transact(lambda connection: inspect(connection).get_table_names())


def test_up_status_and_down(database_url: str) -> None:
    database = f"database: {shown(database_url)}\n"
    before = migrate(database_url, "status")
    assert (before.exit_code, before.stdout) == (
        0,
        f"{database}revision: none\nhead:     {HEAD}\npending:  {', '.join(REVISIONS)}\nRun `horae migrate up`.\n",
    )
    up = migrate(database_url, "up")
    assert (up.exit_code, up.stdout) == (
        0,
        f"{database}revision: {HEAD}\nhead:     {HEAD}\nUp to date.\n",
    )
    assert "horae_jobs" in tables(database_url)
    assert migrate(database_url, "up").stdout == up.stdout
    down = migrate(database_url, "down", "base")
    assert (down.exit_code, down.stdout) == (0, before.stdout)
    assert tables(database_url) == []


def test_status_as_json(database_url: str) -> None:
    before = migrate(database_url, "status", "--json")
    assert json.loads(before.stdout) == {
        "current": None,
        "head": HEAD,
        "pending": list(REVISIONS),
        "ahead": False,
        "usable": False,
    }
    up = migrate(database_url, "up", "--json")
    after = migrate(database_url, "status", "--json")
    assert json.loads(after.stdout) == {
        "current": HEAD,
        "head": HEAD,
        "pending": [],
        "ahead": False,
        "usable": True,
    }
    assert up.stdout == after.stdout
    sql = migrate(database_url, "down", "base", "--sql")
    assert json.loads(migrate(database_url, "down", "base", "--sql", "--json").stdout) == {
        "sql": sql.stdout
    }
    assert migrate(database_url, "down", "base", "--json").stdout == before.stdout


def test_sql_is_printed_and_not_run(database_url: str) -> None:
    up = migrate(database_url, "up", "--sql")
    assert up.exit_code == 0
    assert "CREATE TABLE horae_jobs" in up.stdout
    assert tables(database_url) == []
    migrate(database_url, "up")
    down = migrate(database_url, "down", "base", "--sql")
    assert "DROP TABLE horae_jobs" in down.stdout
    assert "horae_jobs" in tables(database_url)


def test_sql_starts_where_the_database_is(database_url: str) -> None:
    migrate(database_url, "up")
    assert migrate(database_url, "up", "--sql").stdout == ""
    assert migrate(database_url, "up", "base", "--sql").stdout == ""
    assert migrate(database_url, "down", "head", "--sql").stdout == ""


def test_sql_needs_no_database_when_told_where_to_start() -> None:
    nowhere = "postgresql://127.0.0.1:1/none"
    printed = migrate(nowhere, "up", "--sql", "--from", "base")
    assert printed.exit_code == 0
    assert "CREATE UNLOGGED TABLE horae_live_jobs" in printed.stdout


def test_the_database_is_found_in_the_environment_or_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(app, ["migrate", "up"], env={"HORAE_DATABASE": "sqlite:///named.db"})
    assert (tmp_path / "named.db").exists()
    CliRunner().invoke(app, ["migrate", "up"], env={"HORAE_DATABASE": None})
    assert (tmp_path / "horae.db").exists()


@pytest.mark.parametrize(
    "command", [["up"], ["up", "--sql"], ["down", "base"], ["down", "base", "--sql"]]
)
def test_a_newer_database_is_a_failure(database_url: str, command: list[str]) -> None:
    migrate(database_url, "up")
    with closing(Database(database_url)) as database:
        database.transact(
            lambda connection: connection.execute(
                text(f"UPDATE {VERSION_TABLE} SET version_num = '9999', oldest_compatible = '9999'")
            )
        )
    assert migrate(database_url, "status").stdout.endswith("by a newer version: upgrade Horae.\n")
    refused = migrate(database_url, *command)
    assert refused.exit_code == 1
    assert "a newer version (revision 9999;" in refused.stderr
    assert refused.stdout == ""


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["up", "tail"], "revision 'tail' does not exist"),
        (["up", "--sql", "--from", "tail"], "revision 'tail' does not exist"),
        (["down"], "Missing argument"),
        (["sideways"], "No such"),
    ],
)
def test_a_wrong_call_is_a_usage_error(tmp_path: Path, command: list[str], message: str) -> None:
    refused = migrate(f"sqlite:///{tmp_path}/horae.db", *command)
    assert refused.exit_code == 2
    assert message in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_another_kind_of_database_is_a_usage_error() -> None:
    refused = migrate("mysql://localhost/x", "status")
    assert refused.exit_code == 2
    assert "'mysql' is not supported; allowed are sqlite and postgresql" in refused.stderr


def test_a_server_that_does_not_answer_is_a_failure() -> None:
    refused = migrate("postgresql://127.0.0.1:1/none", "up")
    assert refused.exit_code == 1
    assert "does not answer" in refused.stderr
