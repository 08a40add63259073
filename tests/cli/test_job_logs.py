"""`horae jobs logs`: what is printed, as text and as JSON, and when following ends."""

import json

import pytest

from horae.storage.engine.database import Database
from tests.cli.conftest import Call


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


def started(horae: Call) -> None:
    assert horae("jobs", "start", "speak", "--sync").exit_code == 0


def test_lines_are_printed(horae: Call) -> None:
    started(horae)
    first, second, gap = horae("jobs", "logs", 1).stdout.splitlines()
    assert first.endswith(" [1] WARNING shop: line 0")
    assert second.endswith(" [1] ERROR shop: line \\x1b[1m 1")
    assert gap == "… 2 lines were not kept …"


def test_a_job_without_lines_is_said_to_have_none(horae: Call) -> None:
    started(horae)
    none = horae("jobs", "logs", 1, "--level", "critical")
    assert (none.exit_code, none.stdout, none.stderr) == (
        0,
        "",
        "job 1 has no log lines from critical on\n",
    )


def test_lines_are_printed_as_json(horae: Call) -> None:
    started(horae)
    first, *_, gap = [
        json.loads(line) for line in horae("jobs", "logs", 1, "--json").stdout.splitlines()
    ]
    del first["at"]
    assert first == {
        "attempt": 1,
        "logger": "shop",
        "message": "line 0",
        "cursor": "1.0",
        "level": "warning",
    }
    assert gap == {"dropped": 2, "attempt": 1, "cursor": "1.2"}
    assert (
        len(horae("jobs", "logs", 1, "--json", "--after", first["cursor"]).stdout.splitlines()) == 2
    )


def test_following_ends_after_the_job(horae: Call) -> None:
    started(horae)
    assert len(horae("jobs", "logs", 1, "--follow").stdout.splitlines()) == 3


def test_wrong_usage_is_explained(horae: Call) -> None:
    started(horae)
    assert horae("jobs", "logs", 9).exit_code != 0
    assert (
        "level is 'loud', expected one of debug"
        in horae("jobs", "logs", 1, "--level", "loud").output
    )
    assert "after is 'x', expected the cursor" in horae("jobs", "logs", 1, "--after", "x").output
    assert horae("jobs", "logs", 1, "--owner", "mallory").exit_code != 0
