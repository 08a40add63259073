"""A name that does not exist is pointed out, with the one that was probably meant."""

import json
import logging
import re

import pytest

from horae import ConfigurationError, Horae, InvalidRequest
from horae.cli.command_group import lazy_commands
from horae.cli.serving.logs import configure
from horae.settings import unknown_variables
from horae.storage.engine.database import Database
from tests.cli.conftest import Call, call, values


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


def test_a_job_type_that_nobody_knows(horae: Call, bare: Call) -> None:
    listed = horae("jobs", "list", "--type", "import_cvs")
    assert (listed.exit_code, listed.stdout) == (0, "No matching jobs.\n")
    assert (
        listed.stderr
        == "neither a node nor this program knows a job type 'import_cvs'; did you mean 'import_csv'?\n"
    )
    listed = horae("jobs", "list", "--type", "import_cvs", "--json")
    assert json.loads(listed.stdout) == {"jobs": [], "next": None}
    assert "did you mean 'import_csv'?" in listed.stderr
    assert values(horae("jobs", "list", "--type", "import_csv", "--json"))["jobs"] == []
    assert (
        values(bare("jobs", "list", "--type", "import_cvs", "--json"))["jobs"] == []
    )  # nothing tells the types


def test_a_queue_that_nobody_names(horae: Call) -> None:
    horae("jobs", "start", "import_csv", "path=a", "--queue", "reports")
    paused = horae("queues", "pause", "report", "--json")
    assert json.loads(paused.stdout) == {"name": "report", "paused": True}
    assert paused.stderr == (
        "no job, node or declaration names queue 'report' yet; it is paused all the same; did you mean 'reports'?\n"
    )
    for known in ("reports", "default", "report"):
        assert values(horae("queues", "pause", known, "--json")) == {"name": known, "paused": True}


def test_a_schedule_and_its_options(horae: Call) -> None:
    horae(
        "schedules",
        "add",
        "import_csv",
        "--name",
        "nightly",
        "--cron",
        "0 3 * * *",
        "--config",
        "path=a",
    )
    for command in ("show", "pause"):
        wrong = horae("schedules", command, "nihgtly")
        assert (wrong.exit_code, wrong.stderr) == (
            2,
            "Error: schedule 'nihgtly' does not exist; did you mean 'nightly'?\n",
        )
    assert "does not exist\n" in horae("schedules", "show", "77").stderr
    with pytest.raises(
        InvalidRequest, match=r"no option 'catchup'; there are .*; did you mean 'catch_up'\?"
    ):
        Horae("sqlite://").cron("0 3 * * *", catchup="all")  # type: ignore[call-arg] # the mistake


def test_a_setting(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(
        ConfigurationError, match=r"concurency: unknown setting; did you mean 'concurrency'\?"
    ):
        Horae("sqlite://", concurency=3)
    monkeypatch.setattr(logging.getLogger(), "level", logging.INFO)
    monkeypatch.setenv("HORAE_CONCURENCY", "3")
    monkeypatch.setenv("HORAE_APP", "app:horae")
    configure("text", "info")
    warned = [record.getMessage() for record in caplog.records if record.name == "horae.cli"]
    expected = (
        "HORAE_CONCURENCY is set, but there is no such setting; did you mean 'HORAE_CONCURRENCY'?"
    )
    assert [text for text in warned if "HORAE_CON" in text or "HORAE_APP" in text] == [expected]


def test_what_all_settings_have_in_common_makes_none_similar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HORAE_NONSENSE", "1")
    assert unknown_variables() == ["HORAE_NONSENSE is set, but there is no such setting"]


def test_a_setting_of_a_command(sqlite_database: Database) -> None:
    url = sqlite_database.url.render_as_string(hide_password=False)
    found = call("--database", url, "queues", "list", env={"HORAE_DATABSE": "sqlite:///shop.db"})
    assert found.stderr == (
        "Warning: HORAE_DATABSE is set, but there is no such setting; did you mean"
        " 'HORAE_DATABASE'?\n"
    )
    assert found.exit_code == 0


@pytest.mark.parametrize("name", ["", *lazy_commands()])
def test_the_help_names_values_and_no_types(name: str) -> None:
    shown = call(*name.split(), "--help", env={"COLUMNS": "100"}).stdout
    assert shown
    assert re.search(r"<\w+|\|\w+ng ", shown) is None


def test_the_help_of_a_part_names_no_types() -> None:
    shown = call("jobs", "list", "--help", env={"COLUMNS": "100"}).stdout
    assert re.search(r"--limit +N \[1<=x<=10000\]", shown)
    assert "<" not in shown.replace("[1<=x<=10000]", "")


@pytest.mark.parametrize(
    "command", [("migrate",), ("doctor",), ("jobs", "list"), ("jobs", "show", "1"), ()]
)
def test_an_application_in_the_place_of_an_argument(command: tuple[str, ...]) -> None:
    refused = call(*command, "tests.cli.shop:horae")
    assert refused.exit_code == 2
    assert "Name the application by --app tests.cli.shop:horae." in " ".join(
        refused.stderr.replace("\u2502", " ").split()
    )


@pytest.mark.timeout(20)  # it took minutes to look for the address of an application in it
def test_a_long_argument_is_refused_at_once() -> None:
    assert call("audit", "x" * 100_000).exit_code == 2
