"""`horae simulate`: what it prints, its exit codes, and that it changes nothing."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from horae import Horae
from horae.domain.jobs.job import finished
from horae.storage.jobs.tables import job_attempts
from horae.storage.outcomes import settling
from horae.storage.queues import queues
from tests.cli.conftest import call
from tests.harness.applications import ELSEWHERE, claim_as_another_node

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
Simulate = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an application, in which commands run."""
    (tmp_path / "simulated.py").write_text(APPLICATION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def simulate(folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulate]:
    """Call `horae simulate` with the application as it is in the folder now, on the database."""
    monkeypatch.syspath_prepend(str(folder))

    def simulated(*arguments: str, database: str = url) -> Any:
        monkeypatch.delitem(sys.modules, "simulated", raising=False)
        importlib.invalidate_caches()
        return call("simulate", "simulated:horae", "--database", database, *arguments)

    yield simulated
    monkeypatch.delitem(sys.modules, "simulated", raising=False)


def deployed(folder: Path, url: str) -> Horae:
    """Deploy the application as it is in the folder now."""
    scope: dict[str, Any] = {"__name__": "simulated"}
    exec((folder / "simulated.py").read_text(), scope)
    horae: Horae = scope["horae"]
    horae.settings = horae.settings.model_copy(update={"database": url})
    horae.deploy()
    return horae


def values(result: Any) -> Any:
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_it_prints_what_runs_with_an_outage_and_a_change_of_the_clocks(simulate: Simulate) -> None:
    result = simulate(
        *SPRING, "--outage", "2026-03-25T02:00/9h", "--duration", "hourly=20m", "--slots", "1"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "Fri 2026-03-20 00:00 to Fri 2026-04-03 00:00 (UTC), 1 node"
    assert next(
        line for line in lines if line.startswith(("hourly", "nightly", "refresh"))
    ).startswith("hourly")
    assert (
        "  nightly, Sun 2026-03-29, Europe/Berlin: 02:30 is left out: 1 run, at 03:00+02" in lines
    )
    assert any(line.startswith("  down Wed 2026-03-25 02:00 for 9h: then ") for line in lines)
    assert "With 1 slot, jobs wait: up to " in result.stdout


def test_json_has_the_figures(simulate: Simulate) -> None:
    found = values(simulate(*SPRING, "--json", "--limit", "3"))
    assert (found["nodes"], found["slots"], found["slots_needed"], found["most_waiting"]) == (
        1,
        10,
        2,
        0,
    )
    by_name = {each["name"]: each for each in found["schedules"]}
    assert {name: each["runs"] for name, each in by_name.items()} == {
        "nightly": 14,
        "hourly": 335,
        "refresh": 56,
    }
    assert by_name["hourly"]["decisions"] == {"fired": {"on_time": 335}}
    assert len(by_name["hourly"]["first_runs"]) == 3
    assert [change["text"] for change in found["clock_changes"]] == [
        "02:30 is left out: 1 run, at 03:00+02"
    ]


def test_the_same_question_has_the_same_answer(simulate: Simulate) -> None:
    arguments = (*SPRING, "--json", "--load", "imports=20/1h:90s", "--seed", "7", "--slots", "1")
    assert simulate(*arguments).stdout == simulate(*arguments).stdout
    assert values(simulate(*arguments))["other_jobs"] > 5_000


def test_an_outage_each_day_and_killed_nodes(simulate: Simulate) -> None:
    found = values(
        simulate(*SPRING, "--json", "--outage", "02:00/3h", "--timezone", "Europe/Berlin")
    )
    assert [each["start"] for each in found["outages"]][8:10] == [
        "2026-03-28T01:00:00Z",
        "2026-03-29T01:00:00Z",
    ]
    assert len(found["outages"]) == 14
    killed = values(
        simulate(
            *SPRING,
            "--json",
            "--nodes",
            "3",
            "--slots",
            "1",
            "--duration",
            "hourly=30m",
            "--kill",
            "2026-03-21T03:10/node",
            "--kill",
            "2026-03-21T04:10/node-2/10m",
        )
    )
    assert (killed["slots"], killed["outages"]) == (3, [])
    assert sum(each["crashes"] for each in killed["schedules"]) in {0, 1, 2}


def test_nothing_is_written_and_no_file_is_made(simulate: Simulate, folder: Path) -> None:
    before = sorted(file.name for file in folder.rglob("*"))
    result = simulate(*SPRING, database=f"sqlite:///{folder}/missing.db")
    assert result.exit_code == 0
    assert "Durations: measured for 0 of 3 schedules" in result.stdout
    after = sorted(file.name for file in folder.rglob("*") if "__pycache__" not in str(file))
    assert after == before


def test_a_page_is_written_and_loads_nothing(simulate: Simulate, folder: Path) -> None:
    result = simulate(*SPRING, "--html", "page.html", "--outage", "2026-03-25T02:00/9h")
    assert (result.exit_code, result.stderr) == (0, "wrote page.html\n")
    page = (folder / "page.html").read_text()
    assert "<svg" in page
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    assert "nightly, Sun 2026-03-29 00:00: 1 run" in page
    assert simulate(*SPRING, "--html", "nowhere/page.html").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--outage", "3h"], "--outage '3h': write start/length, as in 02:00/3h"),
        (["--outage", "25:00/3h"], "expected a time of day from 00:00 to 23:59"),
        (["--outage", "02:00/soon"], "--outage '02:00/soon'"),
        (["--outage", "02:00/0s"], "expected a duration of more than zero"),
        (["--outage", "2027-01-01T02:00/3h"], "not within the simulated period"),
        (["--kill", "2026-03-21T03:00"], "write time/node, as in 2026-12-01T03:00/node-2"),
        (["--kill", "2026-03-21T03:00/node-2"], "node 2: expected 1 to 1"),
        (["--load", "many"], "write [queue=]jobs/period:duration"),
        (["--load", "0/1m:1s"], "expected at least one job"),
        (
            ["--duration", "nothing=3s"],
            "duration of 'nothing': no such schedule; there are hourly, nightly, refresh",
        ),
        (["--start", "yesterday"], "--start 'yesterday': expected an ISO time"),
        (["--timezone", "Europe/Berln"], "did you mean Europe/Berlin"),
        (["--days", "0"], "--days"),
        (["--against", "yesterday"], "--against"),
        (["--against", "deployed", "--no-database"], "leave out --no-database"),
    ],
)
def test_wrong_usage_ends_with_code_2_and_says_what_to_write(
    simulate: Simulate, arguments: list[str], words: str
) -> None:
    result = simulate(*SPRING, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in " ".join(result.stderr.replace("│", " ").split())


class TestAgainstTheDeployed:
    def test_no_change_is_code_0(self, simulate: Simulate, folder: Path, url: str) -> None:
        with closing(deployed(folder, url)):
            result = simulate(*SPRING, "--against", "deployed")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.endswith("No run would be added, moved or dropped.\n")

    def test_a_change_is_code_1_and_each_run_is_listed(
        self, simulate: Simulate, folder: Path, url: str
    ) -> None:
        with closing(deployed(folder, url)):
            changed = APPLICATION.replace("30 2 * * *", "30 4 * * *").replace(
                '"0 * * * *"', '"0 */2 * * *"'
            )
            (folder / "simulated.py").write_text(changed)
            result = simulate(*SPRING, "--against", "deployed")
            found = simulate(*SPRING, "--against", "deployed", "--json", "--limit", "1000")
        assert (result.exit_code, found.exit_code) == (1, 1)
        assert (
            "nightly: trigger: 30 2 * * * (Europe/Berlin) → 30 4 * * * (Europe/Berlin)"
            in result.stdout
        )
        assert "  ~ Fri 2026-03-20 01:30 → Fri 2026-03-20 03:30" in result.stdout
        assert "  - Fri 2026-03-20 01:00" in result.stdout
        assert result.stdout.endswith(
            "Runs that would change: 14 moved, 168 dropped. Slots needed: 2 → 1.\n"
        )
        comparison = json.loads(found.stdout)
        by_name = {each["name"]: each for each in comparison["schedules"]}
        assert (comparison["moved"], comparison["dropped"], comparison["added"]) == (14, 168, 0)
        assert len(by_name["hourly"]["changes"]) == by_name["hourly"]["dropped"] == 168
        assert by_name["hourly"]["same"] == 167

    def test_new_and_removed_schedules(self, simulate: Simulate, folder: Path, url: str) -> None:
        with closing(deployed(folder, url)):
            (folder / "simulated.py").write_text(APPLICATION.replace("def nightly", "def renamed"))
            result = simulate(*SPRING, "--against", "deployed")
        assert result.exit_code == 1
        assert "nightly: removed: 30 2 * * * (Europe/Berlin)" in result.stdout
        assert "renamed: new: 30 2 * * * (Europe/Berlin)" in result.stdout
        assert result.stdout.endswith("Runs that would change: 14 added, 14 dropped.\n")

    def test_an_altered_schedule_stays_altered_under_the_same_code(
        self, simulate: Simulate, folder: Path, url: str
    ) -> None:
        with closing(deployed(folder, url)) as horae:
            horae.schedules.alter("nightly", cron="45 2 * * *")
            horae.schedules.pause("hourly")
            result = simulate(*SPRING, "--against", "deployed")
            found = values(simulate(*SPRING, "--json"))
        assert result.exit_code == 0
        by_name = {each["name"]: each for each in found["schedules"]}
        assert (by_name["hourly"]["runs"], by_name["hourly"]["disabled"]) == (0, "paused")
        assert by_name["nightly"]["first_runs"][0]["due"] == "2026-03-20T01:45:00Z"


def test_durations_pauses_and_limits_are_those_of_the_database(
    simulate: Simulate, folder: Path, url: str
) -> None:
    with closing(deployed(folder, url)) as horae:
        run(horae, "hourly", seconds=4_000)
        horae.components.database.transact(queues.pause, "default", None)
        found = values(simulate(*SPRING, "--json"))
        text = simulate(*SPRING).stdout
    by_name = {each["name"]: each for each in found["schedules"]}
    assert (
        by_name["hourly"]["failures"] == by_name["hourly"]["runs"] == 335
    )  # the time limit of its type is 30 minutes
    assert (by_name["nightly"]["runs"], by_name["nightly"]["unfinished"]) == (1, 1)
    assert "Durations: measured for 1 of 3 schedules" in text


def run(horae: Horae, name: str, seconds: float) -> None:
    """Run a schedule once by hand, and let its body have taken some time."""
    job = horae.schedules.run_now(name)
    (claim,) = claim_as_another_node(horae)
    assert claim.id == job
    horae.components.database.transact(settling.settle, ELSEWHERE, [finished(claim)])
    with horae.components.database.engine.begin() as connection:
        ended = connection.execute(select(job_attempts.c.finished_at)).scalar_one()
        connection.execute(
            update(job_attempts).values(started_at=ended - timedelta(seconds=seconds))
        )
