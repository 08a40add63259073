"""What is refused, and what the error says about it."""

import re

import pytest

from horae.domain.cron.expression import CronExpression
from horae.errors import CronSyntaxError, InvalidRequest


def refused(text: str) -> CronSyntaxError:
    with pytest.raises(CronSyntaxError) as caught:
        CronExpression.parse(text)
    return caught.value


def test_an_error_names_field_text_and_allowed_values() -> None:
    error = refused("61 * * * *")
    assert str(error) == "minute '61': 61 is out of range, expected 0-59"
    assert (error.field, error.text, error.allowed, error.hint) == ("minute", "61", "0-59", None)
    assert isinstance(error, InvalidRequest)
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("text", "field", "written", "hint"),
    [
        ("* 24 * * *", "hour", "24", "midnight is 0"),
        ("* * ? * *", "day of month", "?", "write * * * * *"),
        ("0 0 * * ?", "day of week", "?", "write 0 0 * * *"),
        ("?/15 * * * *", "minute", "?/15", "write */15 * * * *"),
        ("0,? * * * *", "minute", "0,?", "write 0,* * * * *"),
        ("5? * * * *", "minute", "5?", None),
        ("0 0 * * MON", "day of week", "MON", "write 0 0 * * 1"),
        ("0 0 * * mon-fri", "day of week", "mon-fri", "write 0 0 * * 1-5"),
        ("0 0 * * Sat-Mon", "day of week", "Sat-Mon", "write 0 0 * * 6,0-1"),
        ("0 0 * * Fri-Tue/2", "day of week", "Fri-Tue/2", "write 0 0 * * 5,0,2"),
        ("0 0 * * MON,8", "day of week", "MON,8", None),
        ("0 0 * * MON#5", "day of week", "MON#5", "run on every such weekday and check the date"),
        ("0 0 * * MON,TUE#1", "day of week", "MON,TUE#1", None),
        ("0 0 * * Wednesday,0", "day of week", "Wednesday,0", "write 0 0 * * 3,0"),
        ("0 0 1 JAN *", "month", "JAN", "write 0 0 1 1 *"),
        ("0 0 1 nov-feb *", "month", "nov-feb", "write 0 0 1 11-12,1-2 *"),
        ("0 0 1 MON *", "month", "MON", None),
        ("30-10 * * * *", "minute", "30-10", "write 30-59,0-10 * * * *"),
        ("0 22-2 * * *", "hour", "22-2", "write 0 22-23,0-2 * * *"),
        ("0 22-2/3 * * *", "hour", "22-2/3", "write 0 22,1 * * *"),
        ("0 22-1/3 * * *", "hour", "22-1/3", "write 0 22,1 * * *"),
        ("0 0 1 1 2150", "day of week", "2150", None),
        ("0 0 * * 5-1", "day of week", "5-1", "write 0 0 * * 5-6,0-1"),
        ("0 0 * * 6-0", "day of week", "6-0", "write 0 0 * * 6,0"),
        ("0 0 * * 7-2", "day of week", "7-2", "write 0 0 * * 0-2"),
        ("0 0 25-5 * *", "day of month", "25-5", "write 0 0 25-31,1-5 * *"),
        ("0 0 0 1 1 * 2030-2026", "year", "2030-2026", "write 0 0 0 1 1 * 2026-2030"),
        ("*/0 * * * *", "minute", "*/0", "write a step of 1 or more"),
        ("1,,2 * * * *", "minute", "1,,2", "leave the extra comma out"),
        (", * * * *", "minute", ",", "leave the extra comma out"),
        ("٣ * * * *", "minute", "٣", "write 3 * * * *"),
        ("٦٦ * * * *", "minute", "٦٦", None),
        (
            "*/61 * * * *",
            "minute",
            "*/61",
            "for minute 0 only write 0 instead of */61; for longer periods use an interval",
        ),
        (
            "0 5/25 * * *",
            "hour",
            "5/25",
            "for hour 5 only write 5 instead of 5/25; for longer periods use an interval",
        ),
        (
            "0 0 2,3-9/40 * *",
            "day of month",
            "2,3-9/40",
            "for day of month 3 only write 3 instead of 3-9/40; for longer periods use an interval",
        ),
        ("0 0 0 1 1 * */131", "year", "*/131", "name the years"),
        ("１５ * * * *", "minute", "１５", "write 15 * * * *"),  # noqa: RUF001 - full width digits
        ("0 0 1 1 2030", "day of week", "2030", "write 0 0 0 1 1 * 2030"),
        ("0 0 1 1 * 2030", "day of week", "2030", "write 0 0 0 1 1 * 2030"),
        ("0 0 1 1 * 2026-2030", "day of week", "2026-2030", "write 0 0 0 1 1 * 2026-2030"),
        ("@daily", None, "@daily", "write 0 0 * * *"),
        ("@HOURLY", None, "@HOURLY", "write 0 * * * *"),
        (
            "@every 5m",
            None,
            "@every 5m",
            'this is an interval: write every="5m", or @horae.every("5m")',
        ),
        ("@every", None, "@every", "for a period, use an interval"),
        (
            "@reboot",
            None,
            "@reboot",
            "for what is to run when a node starts, use @horae.on_node_start",
        ),
        ("*****", None, "*****", "write * * * * *"),
        ("**", None, "**", None),
        ("0m", None, "0m", None),
        (
            "TZ=Europe/Berlin 0 3 * * *",
            None,
            "TZ=Europe/Berlin 0 3 * * *",
            'leave it out and give timezone="Europe/Berlin"',
        ),
        (
            "CRON_TZ=UTC * * * * *",
            None,
            "CRON_TZ=UTC * * * * *",
            'leave it out and give timezone="UTC"',
        ),
        (
            "1h30m",
            None,
            "1h30m",
            'this is an interval: write every="1h30m", or @horae.every("1h30m")',
        ),
        (
            "2 days",
            None,
            "2 days",
            'this is an interval: write every="2 days", or @horae.every("2 days")',
        ),
        ("0 0 * * L", "day of week", "L", "write 0 0 * * 6"),
    ],
)
def test_an_error_says_what_to_write_instead(
    text: str, field: str | None, written: str, hint: str | None
) -> None:
    error = refused(text)
    assert (error.field, error.text, error.hint) == (field, written, hint)
    assert repr(written) in str(error)
    assert str(error.allowed) in str(error)
    assert hint is None or hint in str(error)
    line = re.fullmatch("write ([0-9*,/ -]+)", hint or "")
    assert error.instead == (line and line[1])
    if line:
        assert str(CronExpression.parse(line[1])) == line[1]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("0 9 * JAN MON-FRI", "0 9 * 1 1-5"),
        ("0 22-2 ? DEC-FEB SUN,SAT", "0 22-23,0-2 * 12,1-2 0,6"),
        ("0 0 1 JAN ? 2030", "0 0 0 1 1 * 2030"),
        ("30 0 9 ? * MON", "30 0 9 * * 1"),
        ("0 0 0 ? JAN L 2030", "0 0 0 * 1 6 2030"),
    ],
)
def test_an_error_gives_a_line_in_which_every_field_is_mended(text: str, line: str) -> None:
    error = refused(text)
    assert error.instead == line
    assert str(error).endswith(f"; write {line}")
    assert str(CronExpression.parse(line)) == line


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("0 0 61 * MON", None),  # the 61 can be anything
        ("0 0 * JAN 61", "write 1"),
        ("0 0 30 FEB *", "write 2"),  # this line would never fire
        ("0 0 L * MON", "use a fixed interval of 1 month"),
    ],
)
def test_no_line_is_given_where_none_means_the_same(text: str, hint: str | None) -> None:
    error = refused(text)
    assert error.instead is None
    assert (error.hint or "").startswith(hint or "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 0 L * *", "'L' (the last day of the month) is not supported"),
        ("0 0 LW * *", "'LW' (the last workday of the month) is not supported"),
        ("0 0 lw * *", "run on 26-31 and check"),
        ("0 0 L-3 * *", "'L-3' (days before the end of the month)"),
        ("0 0 * * 5L", "'5L' (the last Friday of the month) is not supported"),
        ("0 0 * * 5L", "run on 5 (every Friday) and check that seven days later is another month"),
        ("0 0 15W * *", "nearest weekday"),
        ("0 0 * * 5#3", "n-th weekday"),
        ("*/90 * * * *", "longer than the field"),
        ("0 0 1 */13 *", "longer than the field"),
        ("0 0 * * */8", "longer than the field"),
    ],
)
def test_what_cron_cannot_say_gets_an_explanation(text: str, words: str) -> None:
    error = refused(text)
    assert words in str(error)
    assert error.hint


@pytest.mark.parametrize(
    "text",
    [
        "60 * * * *",
        "60 * * * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 0 *",
        "* * * 13 *",
        "* * * * 8",
        "* * * * 0-8",
        "0 0 0 * * * 1969",
        "0 0 0 * * * 2100",
        "0 0 0 * * * 0",
        "9" * 9_000 + " * * * *",
        "-1 * * * *",
        "+1 * * * *",
        "1_0 * * * *",
        "1.5 * * * *",
        "0x1 * * * *",
        "*5 * * * *",
        "*-5 * * * *",
        "5-* * * * *",
        "1-2-3 * * * *",
        "1/2/3 * * * *",
        "*/ * * * *",
        "/5 * * * *",
        "1- * * * *",
        "*/-1 * * * *",
        "*/* * * * *",
        "* * * * foo",
        "5 s",
        "",
        " ",
        "* * * *",
        "* * * * * * * *",
        "0\u00a00 * * *",
        "0\x1c0 * * *",
        "² * * * *",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    error = refused(text)
    assert error.allowed
    assert len(str(error)) < 500


def test_a_step_as_long_as_the_field_means_its_first_value() -> None:
    for text in ("*/60 * * * *", "0 */24 * * *", "0 0 */31 * *", "0 0 1 */12 *", "0 0 * * */7"):
        CronExpression.parse(text)


@pytest.mark.parametrize(
    "text", ["9" * 9_000 + " * * * *", "* " * 9_000, "0 0 * * " + "1," * 600 + "1"]
)
def test_a_long_text_is_refused_for_its_length_and_echoed_in_part(text: str) -> None:
    error = refused(text)
    assert "characters" in str(error)
    assert len(str(error)) < 300


def test_an_error_echoes_sixty_characters_of_what_was_written() -> None:
    assert repr("1" * 60 + "…") in str(refused("1" * 61 + " * * * *"))
