"""Values on the command line: how arguments are parsed, and how values are printed."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from pydantic import BaseModel, ConfigDict
from typer.main import get_command

from horae.cli.commands.jobs.jobs import jobs_app
from horae.cli.escaping import printable
from horae.cli.moments import parse_moment
from horae.cli.printing.output import brief
from horae.cli.values import ONLY_IN_PYTHON, backoff, duration, parameters, start_parameters
from horae.domain.backoff import Backoff
from horae.errors import InvalidInterval, InvalidRequest
from horae.types.job_type import JobType
from horae.types.options.start_options import START_OPTIONS
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
    ("text", "error"),
    [("soon", InvalidInterval), ("-5s", InvalidInterval), ("9" * 30, InvalidRequest)],
)
def test_no_durations(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        duration(text)


def test_a_moment_with_an_offset_is_kept_and_one_without_is_local() -> None:
    assert parse_moment("2026-03-29T01:30+01:00") == datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    assert parse_moment("2026-03-29T12:30").replace(tzinfo=None) == datetime(2026, 3, 29, 12, 30)  # noqa: DTZ001 - on this wall
    with pytest.raises(InvalidRequest, match="--run-at 'tomorrow': expected an ISO time"):
        parse_moment("tomorrow")


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
        ([], '{"path": ', "is not JSON"),
        ([], "[1]", "expected a JSON object"),
    ],
)
def test_no_parameters(pairs: list[str], params: str | None, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        parameters(horae.registry.get("import_csv"), pairs, params)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("base=10s", Backoff(base="10s")),
        ("base=0", Backoff(base=timedelta(0))),
        (
            " cap=1h , base=2m,factor=constant,jitter=0 ",
            Backoff(base="2m", cap="1h", factor="constant", jitter=0),
        ),
    ],
)
def test_backoff(text: str, expected: Backoff) -> None:
    assert backoff(text) == expected


@pytest.mark.parametrize(
    "text", ["", "10s", "base=", "base", "base=x", "wait=1s", "jitter=x", "jitter=2", "factor=x"]
)
def test_no_backoff(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"backoff|interval"):
        backoff(text)


class Anything(JobType[Any]):
    """A type with parameters of any name."""

    type = "anything"

    class params(BaseModel):  # noqa: N801 - the name of the option
        model_config = ConfigDict(extra="allow")

    def run(self, job: Any) -> None: ...


COMMANDS: Final[Any] = get_command(jobs_app)
FLAGS: Final = {name for option in COMMANDS.commands["start"].params for name in option.opts}


@pytest.mark.parametrize("name", sorted(START_OPTIONS))
def test_options_of_a_start_are_no_parameters(name: str) -> None:
    fixed, anything, text = horae.registry.get("import_csv"), Anything(), json.dumps({name: 1})
    for pairs, params in (([f"{name}=1"], None), ([], text)):
        with pytest.raises(
            InvalidRequest, match=f"{name!r} is an option of .*, not a parameter"
        ) as refused:
            start_parameters(fixed, pairs, params)
        advised = str(refused.value).partition("write ")[2]
        assert (advised in FLAGS) is (name not in ONLY_IN_PYTHON)
    with pytest.raises(
        InvalidRequest,
        match=re.escape(f'for a parameter of this name, write --params \'{{"{name}"'),
    ):
        start_parameters(anything, [f"{name}=1"], None)
    assert start_parameters(anything, ["path=a"], text) == {name: 1, "path": "a"}


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
