"""Why a field is refused: an error with the field, its text, what is allowed, and a better text."""

import re
import unicodedata
from typing import Final

from horae.domain.cron.ranges import DAY_OF_MONTH, HOUR, MONTH, WEEKDAY, FieldRange, read_number
from horae.errors import CronSyntaxError

_LONGEST_QUOTE: Final = 80

_WEEKDAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
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
    WEEKDAY: {name: str(number) for number, name in enumerate(_WEEKDAYS)},
    MONTH: {name: str(number) for number, name in enumerate(_MONTHS, start=1)},
}
_SHORTEST_NAME: Final = 3

# A list of days cannot say these; the job itself, or a calendar interval, can.
_SPECIALS: Final = (
    (
        re.compile(r"[0-9]*LW?|L-[0-9]+", re.IGNORECASE),
        "'L' (the last day) is not supported",
        "use a fixed interval of 1 month from the 31st, or run on 28-31 and check the date",
    ),
    (
        re.compile(r"[0-9]+W", re.IGNORECASE),
        "'W' (the nearest weekday) is not supported",
        "run on the days that can be meant and check the date",
    ),
    (
        re.compile(r"[0-9A-Z]+#[0-9]*", re.IGNORECASE),
        "'#' (the n-th weekday of a month) is not supported",
        "run on every such weekday and check the date",
    ),
)


def quoted(text: str) -> str:
    """Quote a user's text, cut where it would drown the message."""
    return repr(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…")


def refusal(field: FieldRange, text: str, problem: str, hint: str | None = None) -> CronSyntaxError:
    """Build the error for one field; the hint says what to write instead."""
    message = f"{field.name} {quoted(text)}: {problem}, expected {field.allowed}"
    return CronSyntaxError(
        f"{message}; {hint}" if hint else message,
        field=field.name,
        text=text,
        allowed=field.allowed,
        hint=hint,
    )


def out_of_range(field: FieldRange, text: str, number: int) -> CronSyntaxError:
    """Build the error for a number that the field does not have."""
    hint = "midnight is 0" if field is HOUR and number == field.high + 1 else None
    shown = str(number) if number < 10_000 else "the number"  # noqa: PLR2004 - see read_number
    return refusal(field, text, f"{shown} is out of range", hint)


def reversed_range(field: FieldRange, text: str, first: int, last: int, step: int) -> CronSyntaxError:
    """Build the error for a range that ends before it begins."""
    problem = f"the range {first}-{last} ends before it begins"
    return refusal(field, text, problem, f"write {_unrolled(field, first, last, step)}")


def bad_step(field: FieldRange, text: str, step: int) -> CronSyntaxError:
    """Build the error for a step of zero, or one longer than the field."""
    if step == 0:
        return refusal(field, text, "a step of 0 never moves", "write a step of 1 or more")
    problem = f"the step is longer than the field, which has {field.size} values"
    hint = "leave the step out to run once, or use an interval for longer periods"
    return refusal(field, text, problem, hint)


def unreadable(field: FieldRange, text: str, item: str) -> CronSyntaxError:
    """Build the error for an item that is no star, number or range; most mean a known notation."""
    if not item:
        return refusal(field, text, "a list has an empty item", "leave the extra comma out")
    if not item.isascii():
        return _not_ascii(field, text)
    if "?" in item:
        return refusal(field, text, "'?' is not supported", "write *")
    if (numbers := _names_as_numbers(field, text)) is not None:
        return refusal(field, text, "names are not supported", _hint_for(field, numbers))
    for pattern, problem, hint in _SPECIALS:
        if field in (DAY_OF_MONTH, WEEKDAY) and pattern.fullmatch(item):
            return refusal(field, text, problem, hint)
    problem = f"{quoted(item)} is not one of *, */n, n, n-m, n/n, n-m/n"
    return refusal(field, text, problem)


def _not_ascii(field: FieldRange, text: str) -> CronSyntaxError:
    """Offer the same digits in ASCII, if digits are all there is."""
    digits = "".join(str(unicodedata.decimal(character, character)) for character in text)
    hint = f"write {digits}" if digits.isascii() else None
    return refusal(field, text, "only the ASCII digits 0 to 9 are read", hint)


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


def _hint_for(field: FieldRange, numbers: str) -> str | None:
    """Say how to write the numbers of names, where they may be ranges like Saturday to Monday."""
    if not re.fullmatch("[0-9,*/-]+", numbers):
        return None
    return f"write {re.sub('[0-9]+-[0-9]+', lambda match: _forward(field, match), numbers)}"


def _forward(field: FieldRange, match: re.Match[str]) -> str:
    first, last = (read_number(digits) for digits in match.group().split("-"))
    return match.group() if first <= last else _unrolled(field, first, last, 1)


def _unrolled(field: FieldRange, first: int, last: int, step: int) -> str:
    """Write the range that the author means, going over the end of the field and on from its low.

    Years do not come round again, so theirs is turned about.
    """
    if field.name == "year":
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
