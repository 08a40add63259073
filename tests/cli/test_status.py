"""`horae status`: the sentence, the list, and the exit code."""

import json
from datetime import datetime
from typing import Any

import pytest

from horae.storage.engine import unreadable_rows
from horae.storage.engine.database import Database
from tests.cli.conftest import Call, called, node_of


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The statements are those of the overview, which tests/api runs on both databases."""
    return sqlite_database


@pytest.fixture(autouse=True)
def no_unreadable_rows() -> None:
    """Forget the rows of earlier tests in this process, which are problems of the overview."""
    unreadable_rows.clear()


def status_of(horae: Call, exit_code: int) -> dict[str, Any]:
    result = horae("status", "--json")
    assert (result.exit_code, result.stderr) == (exit_code, "")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


async def test_all_is_well_beside_a_node(url: str, horae: Call) -> None:
    async with node_of(url):
        result = await called(url, "status")
    assert result.exit_code == 0
    assert result.stdout.startswith("All well\n1 node with 10 slots; 0 jobs running, 0 waiting")


def test_a_pause_is_no_failure(horae: Call) -> None:
    horae("queues", "pause", "mail", "--note", "moving")
    found = status_of(horae, 0)
    assert (found["ok"], found["summary"]) == (True, "Nothing is wrong; 1 thing deserves a look")
    (problem,) = found["problems"]
    assert (problem["kind"], problem["deeds"]) == ("queue_paused", ["resume"])
    assert problem["about"] == {"noun": "queue", "name": "mail", "id": None}
    assert datetime.fromisoformat(problem["since"]).tzinfo is not None
    assert "@" in problem["message"].partition(" by ")[2], "it names the user of the command"


def test_waiting_jobs_without_a_node_are(horae: Call) -> None:
    horae("jobs", "start", "refuse")
    found = status_of(horae, 1)
    assert (found["ok"], found["summary"]) == (False, "1 thing is wrong")
    (problem,) = found["problems"]
    assert problem["kind"] == "no_worker"
    assert problem["counted"] == {"count": 1, "query": "state:pending queue:default type:refuse"}
    shown = horae("status")
    assert shown.exit_code == 1
    assert shown.stdout.startswith("1 thing is wrong\nproblem  work: 1 due job of type 'refuse'")
    assert "→ Start one: `horae run module:attribute`." in shown.stdout
