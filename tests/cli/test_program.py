"""The program as a whole: its options, its exit codes, and how it finds an application."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from horae.cli.command_group import move_shared_options_first
from horae.cli.loading import load
from horae.cli.main import app, main
from horae.errors import ConfigurationError
from horae.storage.engine.database import Database
from tests.cli.conftest import SHOP, call
from tests.harness.applications import application

pytestmark = pytest.mark.one_database


def test_the_version() -> None:
    assert call("--version").stdout == f"horae {version('horae')}\n"


@pytest.mark.parametrize(
    "command",
    [["frobnicate"], ["jobs", "list", "--limit", "many"], ["jobs", "show"], ["run", "--x"]],
)
def test_a_wrong_call_ends_with_2_and_prints_nothing_on_stdout(command: list[str]) -> None:
    refused = call(*command)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Usage:" in refused.stderr


@pytest.mark.parametrize("program", ["flask horae", "manage.py horae"])
def test_advice_names_the_commands_of_the_program_that_is_called(
    sqlite_database: Database, program: str
) -> None:
    url = sqlite_database.url.render_as_string(hide_password=False)
    with application(sqlite_database) as horae:
        horae.job(name="work")(lambda: None)
        horae.jobs.start("work")
    told = CliRunner().invoke(app, ["--database", url, "doctor"], prog_name=program).stdout
    assert f"`{program} run" in told
    assert "module:attribute" not in told
    assert "`horae" not in told
    refused = CliRunner().invoke(app, ["--database", url, "pause"], prog_name=program).stderr
    assert f"`{program} pause --all`" in refused


def test_garbage_is_collected_again_as_soon_as_the_command_is_imported() -> None:
    """Nothing is collected while commands are imported, and what was imported never is."""
    program = (
        "import gc, sys; sys.argv = ['horae', 'cron', 'explain', '* * * * *'];"
        " from horae.cli.main import main\n"
        "try: main()\n"
        "finally: print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "True True", done.stdout


@pytest.mark.parametrize("command", ["run", "doctor", "jobs"])
def test_help_lists_the_exit_codes(command: str) -> None:
    shown = call(command, "--help")
    assert "Exit codes: 0 success; 1 the job failed" in " ".join(shown.stdout.split())


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("--help", "[tool.horae] in pyproject.toml"),
        ("watch --help", "text or json. [text]"),
        ("run --help", "Needs horae[reload]."),
    ],
)
def test_help_shows_brackets(command: str, text: str) -> None:
    shown = call(*command.split(), env={"COLUMNS": "400"})
    assert text in " ".join(shown.stdout.split())


def test_streams_that_are_closed_are_opened_before_anything_else() -> None:
    program = (
        "import os, sys; from horae.cli.main import open_standard_streams; open_standard_streams();"
        " opened = os.open(os.devnull, os.O_RDONLY); sys.stderr.isatty(); sys.stdout.write('text');"
        " sys.exit(0 if opened > 2 else 3)"
    )
    command = ["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, program]
    closed = subprocess.run(command, check=False)
    assert closed.returncode == 0


def test_a_reader_of_the_output_may_leave() -> None:
    """As in `horae jobs --help | head -1`."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        program = subprocess.run(
            [sys.executable, "-m", "horae", "jobs", "--help"],
            stdout=output,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert program.stderr == b""


def test_a_terminal_without_a_character_gets_another_and_programs_get_utf_8(url: str) -> None:
    def printed(*arguments: str) -> bytes:
        return subprocess.run(
            [sys.executable, "-m", "horae", "--database", url, *arguments],
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            stdout=subprocess.PIPE,
            check=False,
        ).stdout

    note = "“Müller” → 14:00 ☃"
    printed("queues", "pause", "mail", "--note", note)
    assert rb'"M\xfcller" -> 14:00 \u2603' in printed("status")
    [queue] = json.loads(printed("queues", "list", "--json"))["queues"]
    assert queue["note"] == note


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["jobs", "list", "--app", "a:b", "--json"], ["--app", "a:b", "jobs", "list", "--json"]),
        (["jobs", "list", "--database=x"], ["--database=x", "jobs", "list"]),
        (["--app", "a:b", "run"], ["--app", "a:b", "run"]),
        (["jobs", "start", "t", "--", "--app", "a"], ["jobs", "start", "t", "--", "--app", "a"]),
        (["jobs", "list", "--app"], ["--app", "jobs", "list"]),
        (["jobs", "start", "t", "--application=x"], ["jobs", "start", "t", "--application=x"]),
    ],
)
def test_the_options_of_the_program_may_stand_anywhere(typed: list[str], meant: list[str]) -> None:
    assert move_shared_options_first(typed) == meant


def test_the_application_is_found_in_the_environment() -> None:
    assert call("types", "list", "--json", env={"HORAE_APP": SHOP}).exit_code == 0
    nothing_named = call("types", "list", env={"HORAE_APP": None})
    assert nothing_named.exit_code == 2
    assert "name it with --app, HORAE_APP or `app` in horae.toml" in nothing_named.stderr


def test_the_database_is_found_in_the_environment(tmp_path: Path) -> None:
    missing = call(
        "jobs", "list", env={"HORAE_DATABASE": f"sqlite:///{tmp_path}/none.db", "HORAE_APP": None}
    )
    assert f"there is no database file {tmp_path}/none.db" in missing.stderr
    assert "or the application with --app or HORAE_APP" in missing.stderr


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    refused = call("jobs", "list", "--database", f"sqlite:///{tmp_path}/none.db")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert (
        f"there is no database file {tmp_path}/none.db; name the database with --database"
        in refused.stderr
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("database", "code", "message"),
    [
        ("mysql://localhost/x", 2, "'mysql' is not supported; allowed are sqlite and postgresql"),
        ("nonsense", 2, "'nonsense' is not a database URL"),
        ("postgresql://somebody:secret@127.0.0.1:1/none", 1, "does not answer"),
    ],
)
def test_a_database_that_cannot_be_used(database: str, code: int, message: str) -> None:
    refused = call("jobs", "list", "--database", database)
    assert (refused.exit_code, refused.stdout) == (code, "")
    assert message in refused.stderr
    assert "secret" not in refused.stderr


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "horae.db"
    file.write_text(
        "This is a letter, and a long one, and nothing like the header of a database.\n" * 100
    )
    refused = call("jobs", "list", "--database", f"sqlite:///{file}")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "cannot be used now: file is not a database; run `horae doctor`" in refused.stderr


@pytest.mark.postgres
def test_tables_that_are_missing_name_the_command_to_run(request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("postgres_server")
    empty = server.create_database()
    for command in (["jobs", "list"], ["run", SHOP]):
        refused = call(*command, "--database", empty)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert "run `horae migrate up`" in refused.stderr
    server.drop_database(empty)


def test_migrate_works_on_the_database_of_the_program(database_url: str) -> None:
    status = call(
        "--database",
        database_url,
        "migrate",
        "status",
        "--json",
        env={"HORAE_DATABASE": "sqlite:///other.db"},
    )
    assert json.loads(status.stdout)["current"] is None
    assert call("--database", database_url, "migrate", "up").exit_code == 0
    after = call("migrate", "status", "--json", env={"HORAE_DATABASE": database_url})
    assert json.loads(after.stdout)["pending"] == []


def test_options_win_over_code_and_code_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "named_in_code.py").write_text(
        "from horae import Horae\nhorae = Horae('sqlite:///code.db')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    env: dict[str, str | None] = {
        "HORAE_DATABASE": "sqlite:///environment.db",
        "HORAE_APP": "named_in_code:horae",
    }
    assert "there is no database file code.db" in call("jobs", "list", env=env).stderr
    assert (
        "there is no database file call.db"
        in call("jobs", "list", "--database", "sqlite:///call.db", env=env).stderr
    )


def test_a_file_names_application_and_database_also_from_a_folder_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "below").mkdir()
    (tmp_path / "named_in_file.py").write_text(
        "from horae import Horae\nhorae = Horae()\n\n@horae.job\ndef greet() -> None: ...\n"
    )
    (tmp_path / "pyproject.toml").write_text(
        '[tool.horae]\napp = "named_in_file:horae"\ndatabase = "sqlite:///jobs.db"\n'
    )
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("HORAE_DATABASE", raising=False)
    assert "greet" in call("types", "list").stdout
    assert call("migrate", "up").exit_code == 0
    assert (tmp_path / "jobs.db").exists()
    assert call("jobs", "list").exit_code == 0
    assert call("--app", "nowhere:horae", "types", "list").exit_code == 2
    del sys.modules["named_in_file"]  # another process would import it anew
    elsewhere = call("jobs", "list", env={"HORAE_DATABASE": "sqlite:///other.db"})
    assert "there is no database file other.db" in elsewhere.stderr


def test_run_without_an_application_says_where_to_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = call("run")
    assert refused.exit_code == 2
    assert 'app = "app:horae" in horae.toml' in refused.stderr


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("tests.cli.shop", "'tests.cli.shop' names only a module; write tests.cli.shop:horae"),
        ("", "application '': write module:attribute, as in app:horae"),
        (":horae", "write module:attribute"),
        ("nowhere.at_all:horae", "module 'nowhere.at_all' was not found in "),
        (
            "tests.cli.shop:store",
            "module 'tests.cli.shop' has no 'store'; write tests.cli.shop:horae",
        ),
        (
            "tests.cli.shop:not_an_application",
            "is of type int, not Horae; write tests.cli.shop:horae",
        ),
        ("json:loads", "is of type function, not Horae; it declares no application"),
    ],
)
def test_an_application_that_is_not_there(reference: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(reference)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nowhere_at_all\n", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("\n1 / 0\n", "ZeroDivisionError"),
        ("import horae\nhorae.Horae().job(priority='high')(print)\n", "InvalidJobType"),
    ],
)
def test_the_error_of_a_broken_module_names_the_line(
    source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_shop.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    refused = call("types", "list", "--app", "broken_shop:horae")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"module 'broken_shop' cannot be imported: {message}" in refused.stderr
    assert f"broken_shop.py:{source.count(chr(10))}" in refused.stderr


@pytest.mark.parametrize(
    ("reference", "written"),
    [
        ("shop.py", "shop:horae"),
        ("./shop.py:app", "shop:app"),
        ("src/shop/jobs.py", "src.shop.jobs:horae"),
        ("src/shop:horae", "src.shop:horae"),
        ("shop/__init__.py:app", "shop:app"),
    ],
)
def test_a_file_in_place_of_a_module_is_answered_with_the_module(
    reference: str, written: str
) -> None:
    refused = call("types", "list", "--app", reference)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.endswith(f" is a file; write its module, as in {written}\n")


def test_a_syntax_error_names_the_file_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outer_shop.py").write_text("\nimport inner_shop\n")
    (tmp_path / "inner_shop.py").write_text("\n\ndef f(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    refused = call("types", "list", "--app", "outer_shop:horae")
    assert refused.stderr == (
        "Error: module 'outer_shop' cannot be imported: SyntaxError: invalid syntax at"
        f" {tmp_path}/inner_shop.py:3\n"
    )


def test_a_wrong_setting_is_not_called_a_broken_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "proper_shop.py").write_text("from horae import Horae\nhorae = Horae()\n")
    (tmp_path / "horae.toml").write_text("keep = \n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    refused = call("types", "list", "--app", "proper_shop:horae")
    assert refused.stderr.startswith(f"Error: {tmp_path}/horae.toml is not valid TOML: ")
    assert refused.stderr.endswith(f" at {tmp_path}/proper_shop.py:2\n")


def test_the_driver_of_postgres_is_an_extra(tmp_path: Path) -> None:
    without = "import sys; sys.modules['psycopg'] = None; from horae.cli.main import main; main()"
    command = [sys.executable, "-c", without, "jobs", "list", "--database"]
    refused = subprocess.run(
        [*command, "postgresql://127.0.0.1:1/none"], check=False, capture_output=True, text=True
    )
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "Error: PostgreSQL needs its driver: pip install 'horae[postgres]'\n"
    missing = subprocess.run(
        [*command, f"sqlite:///{tmp_path}/x"], check=False, capture_output=True, text=True
    )
    assert "there is no database file" in missing.stderr


WITHOUT_WEB: Final = (
    "import sys; sys.modules |= dict.fromkeys(['fastapi', 'h11', 'prometheus_client', 'starlette', 'uvicorn']); "
    "from horae.cli.main import main; main()"
)


def test_the_web_packages_are_an_extra(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        WITHOUT_WEB,
        "run",
        "tests.cli.shop:horae",
        "--database",
        f"sqlite:///{tmp_path}/x",
    ]
    refused = subprocess.run([*command, "--port", "0"], check=False, capture_output=True, text=True)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        "Error: the HTTP API needs its packages: pip install 'horae[web]', or run the node without"
        " it: `horae run --no-api`\n"
    )


def test_a_node_without_the_web_packages_runs_without_the_api(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_WEB, "run", "tests.cli.shop:horae", "--no-api"]
    with subprocess.Popen(
        [*command, "--database", f"sqlite:///{tmp_path}/x"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as node:
        assert node.stdout is not None
        assert "is ready" in node.stdout.readline()
        node.terminate()
        assert node.wait(timeout=60) == 0


def test_a_program_without_stdout_runs(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """As of a service manager that has closed it."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "argv", ["horae", "--database", url, "queues", "list"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert sys.stdout is not None
    sys.stdout.close()
    assert ended.value.code == 0


@pytest.mark.parametrize(
    "command", ["jobs list", "schedules list", "audit", "queues pause default"]
)
def test_a_command_leaves_the_database_of_another_application_alone(
    tmp_path: Path, command: str
) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE users (name TEXT)")
        other.commit()
        before = file.read_bytes()
        refused = call("--database", f"sqlite:///{file}", *command.split())
        assert (refused.exit_code, "has no tables of Horae" in refused.stderr) == (2, True), (
            refused.stderr
        )
    assert file.read_bytes() == before


def test_a_file_name_that_is_too_long_is_no_bug_of_the_program() -> None:
    refused = call("--database", f"sqlite:///{'x' * 300}.db", "jobs", "list")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("Error: there is no database file")


@pytest.mark.parametrize("command", ["schema", "deploy", "forecast --days 1 --no-database"])
def test_the_application_may_come_from_the_environment(command: str, url: str) -> None:
    done = call("--database", url, *command.split(), env={"HORAE_APP": SHOP})
    assert done.exit_code == 0, done.stderr
    assert call(*command.split(), env={"HORAE_APP": None}).stderr.startswith(
        "Error: this command needs the job types"
    )
