"""`horae cron`: fire times, words, and errors on stderr with exit code 2."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner, Result

from horae.cli.main import app

BERLIN = ("--timezone", "Europe/Berlin")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["cron", *arguments])


def fires(*arguments: str) -> list[str]:
    result = run("next", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    listed: list[str] = json.loads(result.stdout)
    return listed


def test_next_prints_one_fire_a_line() -> None:
    result = run("next", "0 3 * * *", "--after", "2026-01-01T00:00Z", "--count", "2")
    assert result.exit_code == 0
    assert result.stdout == "2026-01-01T03:00:00+00:00\n2026-01-02T03:00:00+00:00\n"
    assert result.stderr == ""


def test_json_is_a_list_of_times_with_offset() -> None:
    listed = fires("0 3 * * *", "--after", "2026-03-28T00:00", "--count", "2", *BERLIN)
    assert listed == ["2026-03-28T03:00:00+01:00", "2026-03-29T03:00:00+02:00"]


def test_a_time_without_offset_is_one_of_the_zone() -> None:
    assert fires("0 3 * * *", "--after", "2026-01-01T02:59", "--count", "1", *BERLIN) == [
        "2026-01-01T03:00:00+01:00"
    ]
    assert fires("0 3 * * *", "--after", "2026-01-01T02:59Z", "--count", "1", *BERLIN) == [
        "2026-01-02T03:00:00+01:00"
    ]


def test_a_fire_at_the_very_moment_counts_if_asked_for() -> None:
    moment = ("0 3 * * *", "--after", "2026-01-01T03:00Z", "--count", "1")
    assert fires(*moment) == ["2026-01-02T03:00:00+00:00"]
    assert fires(*moment, "--inclusive") == ["2026-01-01T03:00:00+00:00"]


def test_the_policies_for_daylight_saving_are_options() -> None:
    spring = ("30 2 * * *", "--after", "2026-03-29T00:00", "--count", "1", *BERLIN)
    assert fires(*spring) == ["2026-03-29T03:00:00+02:00"]
    assert fires(*spring, "--dst-gap", "skip") == ["2026-03-30T02:30:00+02:00"]
    autumn = ("30 2 * * *", "--after", "2026-10-25T00:00", "--count", "2", *BERLIN)
    assert fires(*autumn)[0] == "2026-10-25T02:30:00+02:00"
    assert fires(*autumn, "--dst-fold", "second")[0] == "2026-10-25T02:30:00+01:00"
    both = ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"]
    assert fires(*autumn, "--dst-fold", "both") == both


def test_the_list_is_shorter_when_the_years_are_over() -> None:
    last_year = ("0 0 0 1 1,2 * 2099", "--after", "2098-01-01T00:00Z", "--count", "9")
    assert fires(*last_year) == ["2099-01-01T00:00:00+00:00", "2099-02-01T00:00:00+00:00"]
    assert "No more times" in run("next", *last_year).stderr
    assert fires("0 3 * * *", "--after", "2099-12-31T12:00Z") == []


def test_without_a_moment_the_next_fires_are_those_after_now() -> None:
    before = datetime.now(UTC)  # noqa: TID251 - what the command itself looks at
    listed = [datetime.fromisoformat(fire) for fire in fires("* * * * * *", "--count", "3")]
    assert before < listed[0] < before + timedelta(minutes=1)
    assert listed[2] - listed[0] == timedelta(seconds=2)


@pytest.mark.parametrize("command", ["next", "explain"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["61 * * * *"], "minute '61': 61 is out of range, expected 0-59"),
        (["0 0 30 2 *"], "can never fire"),
        (["0 3 * * *", "--timezone", "Europe/Berln"], "did you mean Europe/Berlin"),
    ],
)
def test_a_bad_expression_or_zone_ends_with_code_2(
    command: str, arguments: list[str], words: str
) -> None:
    result = run(command, *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in result.stderr


def test_a_bad_moment_or_count_ends_with_code_2() -> None:
    assert "expected an ISO time" in run("next", "0 3 * * *", "--after", "tomorrow").stderr
    assert run("next", "0 3 * * *", "--after", "tomorrow").exit_code == 2
    assert run("next", "0 3 * * *", "--count", "0").exit_code == 2
    assert run("next", "0 3 * * *", "--dst-gap", "jump").exit_code == 2


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 3 * * *", "At 03:00."),
        ("*/15 * * * *", "Every 15 minutes."),
        ("*/25 * * * *", "At 0, 25, and 50 minutes past the hour."),
        ("30 8 * * 1-5", "At 08:30, Monday through Friday."),
        ("15 30 2 * * *", "At 02:30:15."),
        ("0 0 0 1 1 * 2030", "At 00:00, on day 1 of the month, only in January, only in 2030."),
        ("0 0 * * 7", "At 00:00, only on Sunday."),
        ("0 0 * * 0,7", "At 00:00, only on Sunday."),
        ("0 0 * * 5-7", "At 00:00, only on Sunday, Friday, and Saturday."),
        ("0 0 * * 1/2", "At 00:00, only on Sunday, Monday, Wednesday, and Friday."),
        ("0 0 13 * 5", "At 00:00, on day 13 of the month, or on Friday."),
        (
            "0 0 13 * */2",
            "At 00:00, on day 13 of the month, but only if it is a Sunday, Tuesday, Thursday or Saturday.",
        ),
        ("0 0 1-31 * 5", "At 00:00."),  # every day, or Fridays
        ("0 0 *,13 * 5", "At 00:00, only on Friday."),
        ("0 0 1 */6 *", "At 00:00, on day 1 of the month, only in January and July."),
    ],
)
def test_explain_matches_the_documented_rules(expression: str, words: str) -> None:
    result = run("explain", expression)
    assert result.exit_code == 0
    assert result.stdout == f"{words}\n"


@pytest.mark.parametrize(
    ("expression", "options", "words"),
    [
        (
            "30 2 * * *",
            [],
            "at the first moment after the gap, a time in a fold in the first pass.",
        ),
        (
            "30 2 * * *",
            ["--dst-gap", "skip", "--dst-fold", "both"],
            "not at all, a time in a fold in both passes.",
        ),
        ("*/30 * * * *", [], "It follows the wall clock"),
    ],
)
def test_explain_describes_daylight_saving_in_a_zone(
    expression: str, options: list[str], words: str
) -> None:
    result = run("explain", expression, *BERLIN, *options)
    assert "Time zone: Europe/Berlin." in result.stdout
    assert words in result.stdout


@pytest.mark.parametrize(
    ("expression", "instead", "words"),
    [
        ("0 9 * * MON-FRI", "0 9 * * 1-5", "At 09:00, Monday through Friday."),
        (
            "0 0 1 JAN,JUL ?",
            "0 0 1 1,7 *",
            "At 00:00, on day 1 of the month, only in January and July.",
        ),
        ("@daily", "0 0 * * *", "At 00:00."),
    ],
)
def test_explain_translates_what_other_programs_write(
    expression: str, instead: str, words: str
) -> None:
    result = run("explain", expression)
    assert (result.exit_code, result.stdout) == (0, f"Write {instead}\n{words}\n")
    said = json.loads(run("explain", expression, "--json").stdout)
    assert (said["expression"], said["instead"], said["words"]) == (expression, instead, words)


def test_next_refuses_names_with_the_line_to_write() -> None:
    result = run("next", "@daily")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "write 0 0 * * *" in result.stderr


def test_explain_refuses_what_has_no_translation() -> None:
    result = run("explain", "0 0 L * MON")
    assert result.exit_code == 2
    assert "the last day of the month" in result.stderr


def test_explain_as_json() -> None:
    said = json.loads(run("explain", "0 3 * * *", "--json").stdout)
    assert said == {
        "expression": "0 3 * * *",
        "instead": None,
        "words": "At 03:00.",
        "timezone": "UTC",
        "daylight_saving": None,
    }
    berlin = json.loads(run("explain", "0 3 * * *", *BERLIN, "--json").stdout)
    assert berlin["daylight_saving"] in run("explain", "0 3 * * *", *BERLIN).stdout
