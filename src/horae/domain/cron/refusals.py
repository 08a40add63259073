"""Why a field is refused: an error with the field, its text, what is allowed, and a better text."""

import re
from collections.abc import Callable
from typing import Final

from horae.domain.cron.fields import (
    DAY_OF_MONTH,
    HOUR,
    MONTH,
    WEEKDAY,
    WEEKDAYS,
    YEAR,
    FieldRange,
    read_number,
)
from horae.errors import CronSyntaxError
from horae.quoting import quoted
from horae.sentences import Sentence, SentenceCode

_MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_NAMES: Final = {
    WEEKDAY: {name.lower(): str(number) for number, name in enumerate(WEEKDAYS)},
    MONTH: {name: str(number) for number, name in enumerate(_MONTHS, start=1)},
}
_SHORTEST_NAME: Final = 3

# Notations of Quartz that are refused, and how to get the same: a list of days cannot express them,
# but the job itself can check the day, or the schedule can use a calendar interval.
_DAY_SPECIALS: Final = (
    (
        re.compile("L", re.IGNORECASE),
        "(the last day of the month)",
        "use a fixed interval of 1 month from the 31st, or run on 28-31 and check the date",
    ),
    (
        re.compile("LW|WL", re.IGNORECASE),
        "(the last workday of the month)",
        "run on 26-31 and check that it is the last day from Monday to Friday",
    ),
    (
        re.compile("L-[0-9]+W?", re.IGNORECASE),
        "(days before the end of the month)",
        "run on the days that can be meant and check the date",
    ),
    (
        re.compile("[0-9]+W", re.IGNORECASE),
        "(the nearest weekday)",
        "run on the days that can be meant and check the date",
    ),
)
_LAST_WEEKDAY: Final = re.compile("([0-7]|[A-Z]{3,9})L", re.IGNORECASE)
_NTH_WEEKDAY: Final = re.compile("[0-9A-Z]+#[0-9]*", re.IGNORECASE)


def refusal(
    field: FieldRange,
    text: str,
    problem: str,
    hint: str | None = None,
    *,
    instead: str | None = None,
) -> CronSyntaxError:
    """Build the error for one field; `instead` is a text for the field that means the same."""
    return CronSyntaxError(
        Sentence(
            f"{field.name} {quoted(text)}: {problem}, expected {field.allowed}",
            SentenceCode.CRON_FIELD,
            field=field.name,
            text=text,
            problem=problem,
            allowed=field.allowed,
        ),
        field=field.name,
        text=text,
        allowed=field.allowed,
        hint=hint,
        instead=instead,
    )


def with_line(error: CronSyntaxError, line: str | None) -> CronSyntaxError:
    """Return the error with the whole expression to write; without one its hint remains."""
    return CronSyntaxError(
        error.problem,
        field=error.field,
        text=error.text,
        allowed=error.allowed,
        hint=error.hint,
        instead=line,
    )


def never_fires(text: str) -> CronSyntaxError:
    """Build the error for an expression that is well formed but matches no time at all."""
    allowed = f"a date that exists from {YEAR.low} to {YEAR.high}"
    return CronSyntaxError(
        Sentence(
            f"cron expression {quoted(text)}: it can never fire, expected {allowed}",
            SentenceCode.CRON_NEVER,
            text=text,
            first=YEAR.low,
            last=YEAR.high,
        ),
        text=text,
        allowed=allowed,
        hint="to run only by hand, pause the schedule",
    )


def never_fires_again(text: str) -> CronSyntaxError:
    """Build the error for an expression all of whose times are over."""
    return CronSyntaxError(
        Sentence(
            f"cron expression {quoted(text)}: it can never fire again",
            SentenceCode.CRON_NEVER_AGAIN,
            text=text,
        ),
        text=text,
        hint="name a year that is to come, or leave the years out",
    )


def out_of_range(field: FieldRange, text: str, number: int) -> CronSyntaxError:
    """Build the error for a number that the field does not have."""
    hint = "midnight is 0" if field is HOUR and number == field.high + 1 else None
    shown = str(number) if number < 10_000 else "the number"  # noqa: PLR2004 - see read_number
    problem = Sentence(
        f"{shown} is out of range",
        SentenceCode.CRON_OUT_OF_RANGE,
        number=None if shown == "the number" else shown,
    )
    return refusal(field, text, problem, hint)


def reversed_range(
    field: FieldRange, text: str, first: int, last: int, step: int
) -> CronSyntaxError:
    """Build the error for a range that ends before it begins."""
    problem = Sentence(
        f"the range {first}-{last} ends before it begins",
        SentenceCode.CRON_RANGE_REVERSED,
        range=f"{first}-{last}",
    )
    return refusal(field, text, problem, instead=_unroll(field, first, last, step))


def bad_step(field: FieldRange, text: str, item: str, step: int) -> CronSyntaxError:
    """Build the error for a step of zero, or one longer than the field."""
    if step == 0:
        problem = Sentence("a step of 0 never moves", SentenceCode.CRON_STEP_ZERO)
        return refusal(field, text, problem, "write a step of 1 or more")
    problem = Sentence(
        f"the step is longer than the field, which has {field.size} values",
        SentenceCode.CRON_STEP_TOO_LONG,
        size=field.size,
    )
    if field is YEAR:
        return refusal(field, text, problem, "name the years")
    # Such an item could mean one value: its first.
    base = item.partition("/")[0]
    first = field.low if base == "*" else read_number(base.partition("-")[0])
    hint = f"for {field.name} {first} only write {first} instead of {item}; for longer periods use"
    return refusal(field, text, problem, f"{hint} an interval")


def unreadable(
    field: FieldRange, text: str, item: str, reads: Callable[[str], bool]
) -> CronSyntaxError:
    """Build the error for an item that is no star, number or range; most mean a known notation.

    `reads`: whether a text of the field can be read, so that no hint gives one that cannot.
    """
    if not item:
        return refusal(field, text, "a list has an empty item", "leave the extra comma out")
    if not item.isascii():
        problem = "only the ASCII digits 0 to 9 are read"
        import unicodedata  # 0.7 MB, which no process needs that meets no such text

        instead = "".join(str(unicodedata.decimal(each, each)) for each in text)
    elif "?" in item:
        problem, instead = "'?' is not supported", text.replace("?", "*")
    elif (special := _special(field, item)) is not None:
        meaning, hint = special
        return refusal(field, text, f"{quoted(item)} {meaning} is not supported", hint)
    elif field is WEEKDAY and item.upper() == "L":
        problem = f"{quoted(item)} (Saturday) is not supported"
        instead = re.sub("L", "6", text, flags=re.IGNORECASE)
    elif (numbers := _names_as_numbers(field, text)) is not None:
        problem = Sentence("names are not supported", SentenceCode.CRON_NAMES)
        instead = _forward_ranges(field, numbers)
    else:
        instead = ""
        problem = Sentence(
            f"{quoted(item)} is not one of *, */n, n, n-m, n/n, n-m/n",
            SentenceCode.CRON_ITEM,
            item=item,
        )
    return refusal(
        field, text, problem, instead=instead if instead != text and reads(instead) else None
    )


def _special(field: FieldRange, item: str) -> tuple[str, str] | None:
    """Explain a Quartz notation in this field, and how to write it instead."""
    if field is DAY_OF_MONTH:
        return next(
            ((meaning, hint) for sign, meaning, hint in _DAY_SPECIALS if sign.fullmatch(item)), None
        )
    if field is WEEKDAY and _NTH_WEEKDAY.fullmatch(item):
        return "(the n-th weekday of a month)", "run on every such weekday and check the date"
    if field is not WEEKDAY or (last := _LAST_WEEKDAY.fullmatch(item)) is None:
        return None
    number = _names_as_numbers(WEEKDAY, last[1]) or last[1]
    if not number.isdigit():
        return None
    name = WEEKDAYS[int(number) % len(WEEKDAYS)]
    hint = f"run on {number} (every {name}) and check that seven days later is another month"
    return f"(the last {name} of the month)", hint


def _names_as_numbers(field: FieldRange, text: str) -> str | None:
    """Replace the names of weekdays or months by numbers; None if there is any other word."""
    names = _NAMES.get(field, {})
    unknown = False

    def number_of(match: re.Match[str]) -> str:
        nonlocal unknown
        word = match.group().lower()
        for name, number in names.items():
            if word in (name, name[:_SHORTEST_NAME]):
                return number
        unknown = True
        return word

    replaced = re.sub("[A-Za-z]+", number_of, text)
    return None if unknown or replaced == text else replaced


def _forward_ranges(field: FieldRange, numbers: str) -> str:
    """Rewrite ranges of names that go over the end of the field, such as Saturday to Monday."""

    def rewrite(match: re.Match[str]) -> str:
        first, last, step = (read_number(digits or "1") for digits in match.groups())
        if first <= last or not 1 <= step <= field.size:
            return match.group()
        return _unroll(field, first, last, step)

    return re.sub("([0-9]+)-([0-9]+)(?:/([0-9]+))?", rewrite, numbers)


def _unroll(field: FieldRange, first: int, last: int, step: int) -> str:
    """Write the range that the author means, going over the end of the field and on from its low.

    Years do not come round again, so theirs is turned about.
    """
    if field is YEAR:
        return f"{last}-{first}" + (f"/{step}" if step > 1 else "")
    highest = field.low + field.size - 1
    if step > 1:
        values = range(first, last + field.size + 1, step)
        wrapped = ((value - field.low) % field.size + field.low for value in values)
        return ",".join(str(value) for value in wrapped)
    first = field.low if first > highest else first  # Sunday as 7
    if first == field.low:
        return _range(first, last)
    return f"{_range(first, highest)},{_range(field.low, last)}"


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
