"""`horae history`: what is recorded, of everything, a queue or a type."""

from datetime import timedelta

import pytest

from horae.domain.history import LENGTHS, Ended, Figures, Gauges, Seen, bucket_of, floor
from horae.storage.engine.database import Database
from horae.storage.history import writing
from tests.cli.conftest import Call, values


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The statements run on both databases in tests/storage."""
    return sqlite_database


@pytest.fixture
def recorded(database: Database) -> None:
    """A minute in which six jobs of one queue ended, two hours of nothing recorded before it."""
    now = database.autocommit(writing.progress).now
    seen = Seen(Gauges(waiting=40, lateness=95.0, slots=4), {"export": Gauges(waiting=40)}, {})
    ended = Ended(Figures(finished=1), {"export": Figures(finished=1)}, {})
    for number in range(6, 0, -1):
        found = database.autocommit(writing.progress)
        start = floor(now, LENGTHS[0].seconds) - number * timedelta(seconds=10)
        assert database.transact(writing.write, found, start, bucket_of(ended, seen), {})


def test_what_is_recorded_is_shown_and_a_gap_is_empty(bare: Call, recorded: None) -> None:
    answer = values(bare("history", "--span", "10m", "--json"))
    points = answer["points"]
    assert (answer["scope"], answer["step_seconds"]) == ("everything", 30)
    assert sum(point["finished"] for point in points if point["finished"] is not None) == 6
    assert max(point["waiting"] or 0 for point in points) == 40
    assert points[0]["finished"] is None
    shown = bare("history", "--span", "10m").stdout
    assert "LATE BY" in shown
    assert "1m 35s" in shown


def test_a_queue_or_a_type_is_chosen(bare: Call, recorded: None) -> None:
    answer = values(bare("history", "--queue", "export", "--span", "1h", "--json"))
    assert (answer["scope"], answer["name"]) == ("queue", "export")
    assert sum(point["finished"] or 0 for point in answer["points"]) == 6
    assert values(bare("history", "--type", "import_csv", "--json"))["scope"] == "type"
    assert bare("history", "--queue", "a", "--type", "b").exit_code == 2
    assert "at most 30 days" in bare("history", "--span", "31d").stderr
