"""One field of a cron expression: its text, and the values that it stands for as a bit mask."""

import re
from dataclasses import dataclass
from typing import Final

from horae.domain.cron.ranges import WEEKDAY, FieldRange, read_number
from horae.domain.cron.refusals import bad_step, out_of_range, reversed_range, unreadable

_ITEM: Final = re.compile(r"(?:\*|([0-9]+)(?:-([0-9]+))?)(/[0-9]+)?")
_LEADING_ZEROS: Final = re.compile(r"(?<![0-9])0+(?=[0-9])")
_SUNDAY_AS_7: Final = 1 << 7


@dataclass(frozen=True, slots=True)
class Field:
    """A parsed field. Bit n of the mask stands for the number `range.low + n`."""

    range: FieldRange
    text: str
    mask: int

    @property
    def starts_with_star(self) -> bool:
        """Whether the field counts as unrestricted in the rule for days (crontab(5))."""
        return self.text.startswith("*")

    @property
    def has_star(self) -> bool:
        """Whether the field names no fixed values, so that the expression follows the wall clock."""
        return "*" in self.text

    @property
    def is_full(self) -> bool:
        """Whether every value matches."""
        return self.mask == (1 << self.range.size) - 1

    @property
    def values(self) -> tuple[int, ...]:
        """All values, ascending; Sunday is 0."""
        low = self.range.low
        return tuple(low + bit for bit in range(self.mask.bit_length()) if self.mask >> bit & 1)


def parse_field(field_range: FieldRange, text: str) -> Field:
    """Read one field; `CronSyntaxError` names it, its text, what is allowed and a better text."""
    mask = 0
    for item in text.split(","):
        mask |= _mask_of(field_range, text, item)
    # Folded only now: a range may end in 7, and a step may land on it.
    if field_range is WEEKDAY and mask & _SUNDAY_AS_7:
        mask = mask & ~_SUNDAY_AS_7 | 1
    return Field(field_range, _LEADING_ZEROS.sub("", text), mask)


def _mask_of(field_range: FieldRange, text: str, item: str) -> int:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise unreadable(field_range, text, item)
    first, last, step = _bounds(field_range, match)
    for number in (first, last):
        if not field_range.low <= number <= field_range.high:
            raise out_of_range(field_range, text, number)
    if not 1 <= step <= field_range.size:
        raise bad_step(field_range, text, step)
    if first > last:
        raise reversed_range(field_range, text, first, last, step)
    low = field_range.low
    return sum(1 << (number - low) for number in range(first, last + 1, step))


def _bounds(field_range: FieldRange, match: re.Match[str]) -> tuple[int, int, int]:
    """First and last number and step of an item; `x/y` runs to the end of the field."""
    first, last, slashed_step = match.groups()
    step = read_number(slashed_step[1:]) if slashed_step else 1
    if first is None:
        return field_range.low, field_range.high, step
    if last is None:
        last = str(field_range.high) if slashed_step else first
    return read_number(first), read_number(last), step
