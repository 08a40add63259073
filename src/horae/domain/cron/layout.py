"""How an expression is laid out: five, six or seven texts, always given on as seven."""

import re
from typing import Final

from horae.domain.cron.ranges import (
    DAY_OF_MONTH,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    WEEKDAY,
    YEAR,
    read_number,
)
from horae.domain.cron.refusals import refusal
from horae.domain.times.interval_text import read_interval
from horae.errors import CronSyntaxError, InvalidInterval, quoted

FIELD_RANGES: Final = (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, WEEKDAY, YEAR)

_WITHOUT_SECOND: Final = 5
_WITHOUT_YEAR: Final = 6
_COMPLETE: Final = 7

# Each field as a list of all its values has 1,160 characters; nobody means that.
_LONGEST: Final = 1_000

# Not str.split(): that also splits at no-break spaces and control characters, which no one can see.
_SPACE: Final = re.compile(r"[ \t\r\n]+")
_NUMBER: Final = re.compile("[0-9]+")
_ALLOWED: Final = "5 fields (minute hour day month weekday), 6 (second first) or 7 (year last)"

_SHORTHANDS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def split_expression(text: str) -> tuple[str, ...]:
    """Split an expression into its fields as written; refuse every other count than 5, 6 and 7."""
    if len(text) > _LONGEST:
        raise _malformed(text, f"it has {len(text)} characters, at most {_LONGEST} are read")
    fields = tuple(field for field in _SPACE.split(text) if field)
    if fields and fields[0].startswith("@"):
        raise _shorthand(text, fields[0])
    if not _WITHOUT_SECOND <= len(fields) <= _COMPLETE:
        problem = f"{len(fields)} field{'' if len(fields) == 1 else 's'}"
        raise _malformed(text, problem, _hint_for_count(text, fields))
    if len(fields) < _COMPLETE:
        _refuse_year_as_weekday(fields)
    return fields


def complete(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Fill in what is left out: second 0, every year."""
    if len(fields) == _WITHOUT_SECOND:
        return ("0", *fields, "*")
    return (*fields, "*") if len(fields) == _WITHOUT_YEAR else fields


def never_fires(text: str) -> CronSyntaxError:
    """Build the error for an expression that is well formed but matches no time at all."""
    allowed = f"a date that exists from {YEAR.low} to {YEAR.high}"
    hint = "to run only by hand, pause the schedule"
    return CronSyntaxError(
        f"cron expression {quoted(text)}: it can never fire, expected {allowed}; {hint}",
        text=text,
        allowed=allowed,
        hint=hint,
    )


def never_fires_again(text: str) -> CronSyntaxError:
    """Build the error for an expression all of whose times are over."""
    hint = "name a year that is to come, or leave the years out"
    return CronSyntaxError(f"cron expression {quoted(text)}: it can never fire again; {hint}", text=text, hint=hint)


def _malformed(text: str, problem: str, hint: str | None = None) -> CronSyntaxError:
    message = f"cron expression {quoted(text)}: {problem}, expected {_ALLOWED}"
    return CronSyntaxError(f"{message}; {hint}" if hint else message, text=text, allowed=_ALLOWED, hint=hint)


def _shorthand(text: str, word: str) -> CronSyntaxError:
    instead = _SHORTHANDS.get(word.lower())
    hint = f"write {instead}" if instead else "for a period, use an interval"
    return _malformed(text, "words with @ are not supported", hint)


def _hint_for_count(text: str, fields: tuple[str, ...]) -> str | None:
    if len(fields) == 1 and set(fields[0]) == {"*"}:
        return "put spaces between the fields"
    try:
        read_interval(text)
    except InvalidInterval:
        return None
    length = text.strip()
    return f'this is an interval: write every="{length}", or @horae.every("{length}")'


def _refuse_year_as_weekday(fields: tuple[str, ...]) -> None:
    """Other programs read a sixth field of 1000 and more as a year. Here a year is the seventh."""
    last = fields[-1]
    numbers = [read_number(digits) for digits in _NUMBER.findall(last)]
    if not any(YEAR.low <= number <= YEAR.high for number in numbers):
        return
    # A missing field can only be the weekday, or the second before it.
    dates = fields[:-1] if len(fields) == _WITHOUT_YEAR else (*fields[:-1], "*")
    instead = " ".join(("0", *dates, last))
    raise refusal(WEEKDAY, last, "a year is the last of seven fields", f"write {instead}")
