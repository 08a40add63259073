"""The seven fields of a cron expression with their ranges, and a parsed field as a bit mask."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class FieldRange:
    """The name of a field, its lowest and highest number, and how many values these stand for."""

    name: str
    low: int
    high: int
    size: int

    @property
    def allowed(self) -> str:
        """The numbers in words, as an error shows them."""
        sunday = " (0 and 7 are Sunday)" if self is WEEKDAY else ""
        return f"{self.low}-{self.high}{sunday}"


SECOND: Final = FieldRange("second", 0, 59, 60)
MINUTE: Final = FieldRange("minute", 0, 59, 60)
HOUR: Final = FieldRange("hour", 0, 23, 24)
DAY_OF_MONTH: Final = FieldRange("day of month", 1, 31, 31)
MONTH: Final = FieldRange("month", 1, 12, 12)
WEEKDAY: Final = FieldRange("day of week", 0, 7, 7)
YEAR: Final = FieldRange("year", 1970, 2099, 130)
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
FIELD_RANGES: Final = (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, WEEKDAY, YEAR)


@dataclass(frozen=True, slots=True)
class CronField:
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
        """Whether the field names no fixed values: the expression then follows the wall clock."""
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


def read_number(digits: str) -> int:
    """Read ASCII digits of any length; five significant ones already are past every range."""
    return int(digits.lstrip("0")[:5] or "0")
