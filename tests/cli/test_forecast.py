"""`horae forecast`: what it prints, its exit codes, and that it changes nothing."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from horae import Horae
from horae.storage.engine.database import Database
from horae.storage.schedules.tables import schedule_statistics, schedules
from tests.cli.conftest import call


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


SPRING = ("--start", "2026-03-20", "--days", "14")
APPLICATION = """
from horae import Horae

horae = Horae()

@horae.cron("30 2 * * *", timezone="Europe/Berlin")
def nightly() -> None: ...

@horae.cron("0 * * * *", catch_up="all", catch_up_limit=2, queue="imports")
def hourly() -> None: ...

@horae.every("6h", max_runtime="5m")
def refresh() -> None: ...
"""
Ask = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an application, in which commands run."""
    (tmp_path / "forecasted.py").write_text(APPLICATION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ask(folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """Call `horae forecast` with the application as it is in the folder now, on the database."""
    monkeypatch.syspath_prepend(str(folder))

    def asked(*arguments: str, database: str = url) -> Any:
        monkeypatch.delitem(sys.modules, "forecasted", raising=False)
        importlib.invalidate_caches()
        return call("forecast", "forecasted:horae", "--database", database, *arguments)

    yield asked
    monkeypatch.delitem(sys.modules, "forecasted", raising=False)


def deployed(folder: Path, url: str) -> Horae:
    """Deploy the application as it is in the folder now."""
    scope: dict[str, Any] = {"__name__": "forecasted"}
    exec((folder / "forecasted.py").read_text(), scope)
    horae: Horae = scope["horae"]
    horae.settings = horae.settings.model_copy(update={"database": url})
    horae.deploy()
    return horae


def values(result: Any) -> Any:
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_it_prints_what_runs_and_a_change_of_the_clocks(ask: Ask) -> None:
    result = ask(*SPRING, "--duration", "hourly=70m", "--limit", "3")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines == [
        "Fri 2026-03-20 00:00 to Fri 2026-04-03 00:00 (UTC)",
        "",
        "SCHEDULE  RUNS  EACH TAKES  COALESCED  SKIPPED  MISSED  NOTE",
        "hourly    168   1h 10m                 167",
        "nightly   14    1s",
        "refresh   56    1s",
        "",
        "Runs at a time",
        "  2, 65 times, first Fri 2026-03-20 01:30: nightly, hourly",
        "",
        "Changes of the clocks",
        "  nightly, Sun 2026-03-29, Europe/Berlin: 02:30 is left out: 1 run, at 03:00+02",
        "",
        "Runs",
        "  Fri 2026-03-20 00:00  refresh",
        "  Fri 2026-03-20 01:00  hourly",
        "  Fri 2026-03-20 01:30  nightly",
        "  … and 235 more runs (--limit shows more)",
    ]


def test_json_has_the_figures(ask: Ask) -> None:
    found = values(ask(*SPRING, "--json", "--limit", "3", "--duration", "refresh=61m"))
    assert found["runs"] == 335 + 14 + 48
    by_name = {each["name"]: each for each in found["schedules"]}
    assert {name: (each["runs"], each["duration"]) for name, each in by_name.items()} == {
        "nightly": (14, 1.0),
        "hourly": (335, 1.0),
        "refresh": (48, 3660.0),
    }
    assert by_name["hourly"]["decisions"] == {"fired": {"on_time": 335}}
    assert len(found["first_runs"]) == 3
    assert found["peaks"][0]["running"] == 2
    assert [change["text"] for change in found["clock_changes"]] == [
        "02:30 is left out: 1 run, at 03:00+02"
    ]


def test_nothing_is_written_and_no_file_is_made(ask: Ask, folder: Path) -> None:
    before = sorted(file.name for file in folder.rglob("*"))
    result = ask(*SPRING, database=f"sqlite:///{folder}/missing.db")
    assert result.exit_code == 0
    after = sorted(file.name for file in folder.rglob("*") if "__pycache__" not in str(file))
    assert after == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--duration", "nothing=3s"],
            "duration of 'nothing': no such schedule; there are hourly, nightly, refresh",
        ),
        (["--duration", "soon"], "interval 'soon': it cannot be read"),
        (["--start", "yesterday"], "--start 'yesterday': expected an ISO time"),
        (["--timezone", "Europe/Berln"], "did you mean Europe/Berlin"),
        (["--days", "0"], "--days"),
        (["--against", "yesterday"], "--against"),
        (["--against", "deployed", "--no-database"], "leave out --no-database"),
    ],
)
def test_wrong_usage_ends_with_code_2_and_says_what_to_write(
    ask: Ask, arguments: list[str], words: str
) -> None:
    result = ask(*SPRING, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in " ".join(result.stderr.replace("│", " ").split())


class TestAgainstTheDeployed:
    def test_no_change_is_code_0(self, ask: Ask, folder: Path, url: str) -> None:
        with closing(deployed(folder, url)):
            result = ask(*SPRING, "--against", "deployed")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.endswith("No run would be added or dropped.\n")

    def test_a_change_is_code_1_and_each_run_is_listed(
        self, ask: Ask, folder: Path, url: str
    ) -> None:
        with closing(deployed(folder, url)):
            changed = APPLICATION.replace("30 2 * * *", "30 4 * * *").replace(
                '"0 * * * *"', '"0 */2 * * *"'
            )
            (folder / "forecasted.py").write_text(changed)
            result = ask(*SPRING, "--against", "deployed")
            found = ask(*SPRING, "--against", "deployed", "--json", "--limit", "1000")
        assert (result.exit_code, found.exit_code) == (1, 1)
        assert (
            "nightly: trigger: 30 2 * * * (Europe/Berlin) → 30 4 * * * (Europe/Berlin)"
            in result.stdout
        )
        assert "  - Fri 2026-03-20 01:30\n  + Fri 2026-03-20 03:30" in result.stdout
        assert "  - Fri 2026-03-20 01:00" in result.stdout
        assert result.stdout.endswith("Runs that would change: 14 added, 182 dropped.\n")
        comparison = json.loads(found.stdout)
        by_name = {each["name"]: each for each in comparison["schedules"]}
        assert (comparison["added"], comparison["dropped"]) == (14, 182)
        assert len(by_name["hourly"]["dropped_runs"]) == by_name["hourly"]["dropped"] == 168
        assert by_name["hourly"]["same"] == 167

    def test_new_and_removed_schedules(self, ask: Ask, folder: Path, url: str) -> None:
        with closing(deployed(folder, url)):
            (folder / "forecasted.py").write_text(APPLICATION.replace("def nightly", "def renamed"))
            result = ask(*SPRING, "--against", "deployed")
        assert result.exit_code == 1
        assert "nightly: removed: 30 2 * * * (Europe/Berlin)" in result.stdout
        assert "renamed: new: 30 2 * * * (Europe/Berlin)" in result.stdout
        assert result.stdout.endswith("Runs that would change: 14 added, 14 dropped.\n")

    def test_an_altered_schedule_stays_altered_under_the_same_code(
        self, ask: Ask, folder: Path, url: str
    ) -> None:
        with closing(deployed(folder, url)) as horae:
            horae.schedules.alter("nightly", cron="45 2 * * *")
            horae.schedules.pause("hourly")
            result = ask(*SPRING, "--against", "deployed")
            found = values(ask(*SPRING, "--json"))
        assert result.exit_code == 0
        by_name = {each["name"]: each for each in found["schedules"]}
        assert (by_name["hourly"]["runs"], by_name["hourly"]["disabled"]) == (0, "paused")
        nightly = next(run for run in found["first_runs"] if run["schedule"] == "nightly")
        assert nightly["start"] == "2026-03-20T01:45:00Z"


def test_durations_are_the_mean_of_the_runs_that_succeeded(
    ask: Ask, folder: Path, url: str
) -> None:
    with closing(deployed(folder, url)) as horae:
        horae.components.database.transact(record_runs, "hourly", 4, 6_000)
        found = values(ask(*SPRING, "--json"))
        given = values(ask(*SPRING, "--json", "--duration", "hourly=3m", "--duration", "2m"))
    durations = {each["name"]: each["duration"] for each in found["schedules"]}
    assert durations == {"nightly": 1, "hourly": 1_500, "refresh": 1}
    durations = {each["name"]: each["duration"] for each in given["schedules"]}
    assert durations == {"nightly": 120, "hourly": 180, "refresh": 120}


def record_runs(connection: Connection, name: str, runs: int, seconds: int) -> None:
    """Let a schedule have succeeded some times, for so long altogether."""
    connection.execute(
        update(schedule_statistics)
        .where(
            schedule_statistics.c.schedule_id.in_(
                select(schedules.c.id).where(schedules.c.name == name)
            )
        )
        .values(total_runs=runs, total_successes=runs, total_duration=seconds)
    )
