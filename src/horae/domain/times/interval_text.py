"""The text of an interval: `1h30m`, `2 days`, `1 month`, or ISO 8601 such as `PT90M`."""

import re
from datetime import timedelta
from fractions import Fraction
from typing import Final, NamedTuple

from horae.errors import InvalidInterval
from horae.quoting import quoted
from horae.sentences import SentenceCode

_SECOND: Final = 1_000_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE

_LONGEST_TEXT: Final = 100
"""Maximum number of characters, so that no number in a text is expensive to read."""
_EXAMPLES: Final = "such as 30s, 10m, 1h30m, 2 days, 1 month or PT90M"


class Amounts(NamedTuple):
    """The parts of an interval as they add up, possibly zero or mixed."""

    months: int
    days: int
    microseconds: int

    @property
    def nominal(self) -> timedelta:
        """A length to compare with: months of 30 days, as in PostgreSQL, and days of 24 hours."""
        return timedelta(days=30 * self.months + self.days, microseconds=self.microseconds)


# The amounts of one of each unit. Single letters are lower case only: M could be minutes or months.
_UNITS: Final = {
    name: amounts
    for names, amounts in {
        "us µs usec microsecond microseconds": Amounts(0, 0, 1),
        "ms msec millisecond milliseconds": Amounts(0, 0, 1_000),
        "s sec secs second seconds": Amounts(0, 0, _SECOND),
        "m min mins minute minutes": Amounts(0, 0, _MINUTE),
        "h hr hrs hour hours": Amounts(0, 0, _HOUR),
        "d day days": Amounts(0, 1, 0),
        "w week weeks": Amounts(0, 7, 0),
        "mo mon mons month months": Amounts(1, 0, 0),
        "y yr yrs year years": Amounts(12, 0, 0),
    }.items()
    for name in names.split()
}
_WRITTEN: Final = (("h", _HOUR), ("m", _MINUTE), ("s", _SECOND), ("ms", 1_000), ("us", 1))

_NUMBER: Final = "[0-9]+(?:[.,][0-9]+)?"
_PART: Final = re.compile(rf"({_NUMBER})[ \t]*([A-Za-zµ]+)", re.ASCII)
_PARTS: Final = re.compile(rf"{_PART.pattern}(?:[ \t]*{_PART.pattern})*", re.ASCII)
_ISO: Final = re.compile(
    "P"
    + "".join(f"(?:({_NUMBER}){unit})?" for unit in "YMWD")
    + "(?:T"
    + "".join(f"(?:({_NUMBER}){unit})?" for unit in "HMS")
    + ")?"
)
_ISO_UNITS: Final = ("y", "mo", "w", "d", "h", "m", "s")


def read_interval(text: str) -> Amounts:
    """Return the sum of the parts of a text. Raises `InvalidInterval`."""
    stripped = text.strip()
    if len(stripped) > _LONGEST_TEXT:
        raise _refusal(stripped, "it is too long")
    if iso := _ISO.fullmatch(stripped):
        parts = [
            (number, unit) for number, unit in zip(iso.groups(), _ISO_UNITS, strict=True) if number
        ]
    elif _PARTS.fullmatch(stripped):
        parts = []
        for number, word in _PART.findall(stripped):
            unit = word if len(word) == 1 else word.lower()
            if unit not in _UNITS:
                hint = ": m is minutes, mo is months" if word == "M" else ""
                raise _refusal(text, f"{word!r} is not a unit{hint}")
            parts.append((number, unit))
    else:
        problem = "it cannot be read"
        if "-" in stripped:
            problem = "it must be positive"
        elif len(stripped.splitlines()) > 1:
            problem = "it has more than one line"
        elif re.fullmatch(_NUMBER, stripped):
            problem = f"it has no unit: for seconds write {stripped}s"
        raise _refusal(text, problem)
    units = [unit for _, unit in parts]
    if len({_UNITS[unit] for unit in units}) < len(units):
        raise _refusal(text, "a unit comes twice")
    sums = [Fraction(0)] * 3
    for number, unit in parts:
        factor = Fraction(number.replace(",", "."))
        sums = [total + factor * size for total, size in zip(sums, _UNITS[unit], strict=True)]
    if any(total.denominator != 1 for total in sums):
        problem = "months and days are whole, and nothing is finer than a microsecond"
        raise _refusal(text, problem)
    return Amounts(*map(int, sums))


def write_interval(amounts: Amounts) -> str:
    """Write an interval so that it reads back as the same."""
    months, days, rest = amounts
    if months or days:
        number, unit = (months, "month") if months else (days, "day")
        return f"{number} {unit}{'' if number == 1 else 's'}"
    written = ""
    for unit, size in _WRITTEN:
        number, rest = divmod(rest, size)
        written += f"{number}{unit}" if number else ""
    return written


def _refusal(text: str, problem: str) -> InvalidInterval:
    return InvalidInterval(
        f"interval {quoted(text)}: {problem}; expected one {_EXAMPLES}",
        SentenceCode.VALUE_INTERVAL,
        text=text,
    )
