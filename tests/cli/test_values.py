"""Values on the command line: how arguments are parsed, and how values are printed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.cli.escaping import printable
from horae.cli.moments import moment
from horae.cli.printing.output import brief
from horae.cli.values import duration, parameters
from horae.errors import InvalidInterval, InvalidRequest
from tests.cli.shop import horae


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("30s", timedelta(seconds=30)),
        ("0", timedelta(0)),
        ("0s", timedelta(0)),
        ("1.5", timedelta(seconds=1.5)),
        ("30d", timedelta(days=30)),
        ("1h30m", timedelta(minutes=90)),
        ("1 month", timedelta(days=30)),
    ],
)
def test_durations(text: str, length: timedelta) -> None:
    assert duration(text) == length


@pytest.mark.parametrize(
    ("text", "error"), [("soon", InvalidInterval), ("-5s", InvalidInterval), ("9" * 30, InvalidRequest)]
)
def test_no_durations(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        duration(text)


def test_a_moment_with_an_offset_is_kept_and_one_without_is_local() -> None:
    assert moment("2026-03-29T01:30+01:00") == datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    assert moment("2026-03-29T12:30").replace(tzinfo=None) == datetime(2026, 3, 29, 12, 30)  # noqa: DTZ001 - on this wall
    with pytest.raises(InvalidRequest, match="--run-at 'tomorrow': expected an ISO time"):
        moment("tomorrow")


@pytest.mark.parametrize(
    ("pairs", "params", "expected"),
    [
        (["path=a.csv", "limit=5"], None, {"path": "a.csv", "limit": 5}),
        (["path=007"], None, {"path": "007"}),
        (["path=12345"], None, {"path": "12345"}),
        (['path="12345"'], None, {"path": "12345"}),
        (["path="], None, {"path": ""}),
        (["path=a=b"], None, {"path": "a=b"}),
        (["limit=1"], '{"path": "x", "limit": 2}', {"path": "x", "limit": 1}),
        (
            ["path=1", "limit=x"],
            None,
            {"path": 1, "limit": "x"},
        ),  # wrong either way: the refusal is to name what was meant
    ],
)
def test_parameters(pairs: list[str], params: str | None, expected: dict[str, Any]) -> None:
    assert parameters(horae.registry.get("import_csv"), pairs, params) == expected


@pytest.mark.parametrize(
    ("pairs", "params", "message"),
    [
        (["path"], None, "parameter 'path': write name=value"),
        (["owner=me"], None, "'owner' is an option of the command, not a parameter; write --owner"),
        ([], '{"path": ', "is not JSON"),
        ([], "[1]", "expected a JSON object"),
    ],
)
def test_no_parameters(pairs: list[str], params: str | None, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        parameters(horae.registry.get("import_csv"), pairs, params)


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert printable("Zoë\x1b[31m\x07\r\u202e\n") == "Zoë\\x1b[31m\\x07\\r\\u202e\n"


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0.25, "250ms"),
        (-3, "0ms"),
        (12, "12s"),
        (timedelta(minutes=3, seconds=20), "3m 20s"),
        (7200, "2h"),
        (90_061, "1d 1h"),
        (None, ""),
    ],
)
def test_lengths_of_time(length: float | timedelta | None, text: str) -> None:
    assert brief(length) == text
