"""Reads the text of a cron expression: five, six or seven fields, always returned as seven."""

import re
from functools import partial
from typing import Final, TypeVar

from horae.domain.cron.fields import FIELD_RANGES, WEEKDAY, YEAR, CronField, FieldRange, read_number
from horae.domain.cron.refusals import bad_step, out_of_range, refusal, reversed_range, unreadable
from horae.domain.times import Interval
from horae.errors import CronSyntaxError, InvalidInterval
from horae.quoting import quoted
from horae.sentences import Sentence, SentenceCode, counted

WITHOUT_SECOND: Final = 5
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

_ZONE: Final = re.compile(r"(?:CRON_)?TZ=(.*)", re.IGNORECASE)

_ITEM: Final = re.compile(r"(?:\*|([0-9]+)(?:-([0-9]+))?)(/[0-9]+)?")
_LEADING_ZEROS: Final = re.compile(r"(?<![0-9])0+(?=[0-9])")
_SUNDAY_AS_7: Final = 1 << 7

_FieldT = TypeVar("_FieldT")


def split_expression(text: str) -> tuple[str, ...]:
    """Split an expression into its fields as written; refuse every other count than 5, 6 and 7."""
    if len(text) > _LONGEST:
        raise _malformed(
            text,
            Sentence(
                f"it has {len(text)} characters, at most {_LONGEST} are allowed",
                SentenceCode.CRON_CHARACTERS,
                count=len(text),
                most=_LONGEST,
            ),
        )
    fields = tuple(field for field in _SPACE.split(text) if field)
    if fields and fields[0].startswith("@"):
        raise _shorthand(text, fields)
    if fields and (zone := _ZONE.fullmatch(fields[0])):
        name = zone[1].strip("\"'")
        raise _malformed(
            text,
            "a time zone is no part of an expression",
            f'leave it out and give timezone="{name}"'
            if name
            else "leave it out and give timezone=",
        )
    if not WITHOUT_SECOND <= len(fields) <= _COMPLETE:
        problem = Sentence(
            counted(len(fields), "field"),
            SentenceCode.CRON_FIELDS,
            count=len(fields),
        )
        stars = len(fields) == 1 and set(fields[0]) == {"*"}
        if stars and WITHOUT_SECOND <= len(fields[0]) <= _COMPLETE:
            raise _malformed(text, problem, instead=" ".join(fields[0]))
        raise _malformed(text, problem, _hint_for_interval(text.strip()))
    if len(fields) < _COMPLETE:
        _refuse_year_as_weekday(fields)
    return fields


def complete(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Fill in what is left out: second 0, every year."""
    if len(fields) == WITHOUT_SECOND:
        return ("0", *fields, "*")
    return (*fields, "*") if len(fields) == _WITHOUT_YEAR else fields


def as_written(fields: tuple[_FieldT, ...], count: int) -> tuple[_FieldT, ...]:
    """Leave out of seven fields what an expression of `count` fields does not have."""
    return fields[0 if count > WITHOUT_SECOND else 1 :][:count]


def _malformed(
    text: str, problem: str, hint: str | None = None, *, instead: str | None = None
) -> CronSyntaxError:
    return CronSyntaxError(
        Sentence(
            f"cron expression {quoted(text)}: {problem}, expected {_ALLOWED}",
            SentenceCode.CRON_WHOLE,
            text=quoted(text),
            problem=problem,
        ),
        text=text,
        allowed=_ALLOWED,
        hint=hint,
        instead=instead,
    )


def _shorthand(text: str, fields: tuple[str, ...]) -> CronSyntaxError:
    word, *rest = fields
    instead = _SHORTHANDS.get(word.lower())
    hint = None
    if instead is None and word.lower() == "@reboot":
        hint = "for what is to run when a node starts, use @horae.on_node_start"
    elif instead is None:
        hint = _hint_for_interval(" ".join(rest)) or "for a period, use an interval"
    problem = Sentence("words with @ are not supported", SentenceCode.CRON_WORDS)
    return _malformed(text, problem, hint, instead=instead)


def _hint_for_interval(length: str) -> str | None:
    try:
        Interval.parse(length)
    except InvalidInterval:
        return None
    return f'this is an interval: write every="{length}", or @horae.every("{length}")'


def _refuse_year_as_weekday(fields: tuple[str, ...]) -> None:
    """Other programs read a sixth field of 1000 and more as a year. Here a year is the seventh."""
    last = fields[-1]
    numbers = [read_number(digits) for digits in _NUMBER.findall(last)]
    if not any(YEAR.low <= number <= YEAR.high for number in numbers):
        return
    # A missing field can only be the weekday, or the second before it.
    dates = fields[:-1] if len(fields) == _WITHOUT_YEAR else (*fields[:-1], "*")
    raise refusal(
        WEEKDAY,
        last,
        "a year is the last of seven fields",
        instead=" ".join(("0", *dates, last)) if _reads(YEAR, last) else None,
    )


def parse_fields(written: tuple[str, ...]) -> tuple[CronField, ...]:
    """Read all fields; `instead` of an error is the whole line in which its field is mended."""
    completed = complete(written)
    parsed: list[CronField] = []
    for field_range, text in zip(FIELD_RANGES, completed, strict=True):
        try:
            parsed.append(parse_field(field_range, text))
        except CronSyntaxError as error:
            if error.instead is not None:
                mended = (*completed[: len(parsed)], error.instead, *completed[len(parsed) + 1 :])
                error.instead = " ".join(as_written(mended, len(written)))
            raise
    return tuple(parsed)


def parse_field(field_range: FieldRange, text: str) -> CronField:
    """Read one field; `CronSyntaxError` names it, its text, what is allowed and a better text."""
    mask, low, high = 0, field_range.low, field_range.high
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise unreadable(field_range, text, item, partial(_reads, field_range))
        first_digits, last_digits, slashed_step = match.groups()
        step = read_number(slashed_step[1:]) if slashed_step else 1
        first = low if first_digits is None else read_number(first_digits)
        if last_digits is not None:
            last = read_number(last_digits)
        else:  # a star and `x/y` run to the end of the field
            last = high if first_digits is None or slashed_step else first
        for number in (first, last):
            if not low <= number <= high:
                raise out_of_range(field_range, text, number)
        if not 1 <= step <= field_range.size:
            raise bad_step(field_range, text, item, step)
        if first > last:
            raise reversed_range(field_range, text, first, last, step)
        mask |= sum(1 << (number - low) for number in range(first, last + 1, step))
    # Sunday as 7 becomes 0 only now, because a range may end in 7 and a step may land on it.
    if field_range is WEEKDAY and mask & _SUNDAY_AS_7:
        mask = mask & ~_SUNDAY_AS_7 | 1
    return CronField(field_range, _LEADING_ZEROS.sub("", text), mask)


def _reads(field_range: FieldRange, text: str) -> bool:
    try:
        parse_field(field_range, text)
    except CronSyntaxError:
        return False
    return True
