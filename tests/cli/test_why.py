"""`horae why`: the reason for a time of a schedule, as a sentence and as JSON."""

from datetime import UTC, datetime

import pytest

from horae.cli.commands.why import moment_of
from horae.errors import InvalidRequest
from horae.storage.engine.database import Database
from tests.cli.conftest import Call, values

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/schedules runs on both databases."""
    return sqlite_database


def add(horae: Call) -> None:
    added = horae(
        *("schedules", "add", "import_csv", "--name", "nightly", "--cron", "0 3 * * *"),
        *("--timezone", "Europe/Berlin", "--config", "path=a.csv"),
    )
    assert added.exit_code == 0, added.output


def test_a_time_to_come_and_one_that_is_none(horae: Call, bare: Call) -> None:
    add(horae)
    said = bare("why", "nightly", "2099-01-02T03:00")
    assert said.stdout == (
        "nightly at 2099-01-02 03:00:00+01:00: It is still to come: it starts at 2099-01-02"
        " 03:00:00+01:00.\n"
    )
    found = values(bare("why", "nightly", "2099-01-02T12:00", "--json"))
    assert (found["kind"], found["before"], found["after"]) == (
        "not_a_time",
        "2099-01-02T02:00:00Z",
        "2099-01-03T02:00:00Z",
    )


def test_a_pause_is_told_with_its_note(horae: Call, bare: Call) -> None:
    add(horae)
    assert bare("schedules", "pause", "nightly", "--note", "disk full").exit_code == 0
    said = bare("why", "nightly", "2099-01-02T03:00").stdout
    assert "The schedule is paused. It was paused by " in said
    assert said.endswith(": disk full.\n")


def test_an_unknown_schedule_and_a_bad_time_are_refused(horae: Call, bare: Call) -> None:
    add(horae)
    assert bare("why", "nightli").exit_code != 0
    assert "for a job there are `horae jobs why 4711` and" in bare("why", "4711").stderr
    assert "expected an ISO time" in bare("why", "nightly", "noon").stderr


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("03:00", datetime(2026, 11, 24, 2, tzinfo=UTC)),
        ("9:05", datetime(2026, 11, 24, 8, 5, tzinfo=UTC)),
        ("14:00", datetime(2026, 11, 23, 13, tzinfo=UTC)),
        ("2026-07-01T03:00", datetime(2026, 7, 1, 1, tzinfo=UTC)),
        ("2026-07-01T03:00+00:00", datetime(2026, 7, 1, 3, tzinfo=UTC)),
    ],
)
def test_a_time_of_day_is_the_last_one(text: str, moment: datetime) -> None:
    assert moment_of(text, "Europe/Berlin", NOW) == moment


def test_a_time_that_no_clock_shows_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="TIME"):
        moment_of("29:00", "Europe/Berlin", NOW)
