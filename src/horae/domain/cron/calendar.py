"""The days of an expression: which date comes next, by day of month, weekday, month and year."""

from dataclasses import dataclass
from datetime import date
from typing import Final, Self

from horae.domain.cron.fields import Field
from horae.domain.cron.ranges import YEAR

FIRST_DAY: Final = date(YEAR.low, 1, 1).toordinal()
LAST_DAY: Final = date(YEAR.high, 12, 31).toordinal()

_WEEK: Final = 7
_FEBRUARY: Final = 2
_MONTHS: Final = 12
_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EVERY_DAY: Final = (1 << 31) - 1
# Every n-th bit of a month's mask that is one weekday, if that weekday is the month's first day.
_SAME_WEEKDAY: Final = sum(1 << day for day in range(0, 31, _WEEK))


@dataclass(frozen=True, slots=True)
class Calendar:
    """The matching days of a month for each weekday that it may begin on, its months and years.

    Days are ordinals, as `date.toordinal` counts them: the ordinal modulo 7 is 0 on a Sunday,
    which is cron's number for it. Bit 0 of a month's days is the first of the month.
    """

    days: tuple[int, ...]
    months: int
    years: int
    every_day: bool

    @classmethod
    def of(cls, day: Field, month: Field, weekday: Field, year: Field) -> Self:
        """Combine four parsed fields by the rule of crontab(5).

        Either day field suffices if both are restricted, that is, start with something else than
        a star; otherwise both must match. The month always must.
        """
        either = not (day.starts_with_star or weekday.starts_with_star)
        weekdays = [_days_on(weekday.mask, first) for first in range(_WEEK)]
        days = tuple(day.mask | mask if either else day.mask & mask for mask in weekdays)
        every_day = day.is_full and month.is_full and weekday.is_full and year.is_full
        return cls(days, month.mask, year.mask, every_day)

    def next_from(self, ordinal: int) -> int | None:
        """Find the first matching day at or after the given one; None past the last year."""
        if ordinal > LAST_DAY:
            return None
        if self.every_day:
            return max(ordinal, FIRST_DAY)
        today = date.fromordinal(max(ordinal, FIRST_DAY))
        year, month, day = today.year, today.month, today.day
        if self.years >> year - YEAR.low & 1 and self.months >> month - 1 & 1:
            first = today.toordinal() - day + 1
            if days := self._days_of(year, month, first) >> day - 1:
                return first + day + (days & -days).bit_length() - 2
        return self._in_later_month(year, month)

    def _in_later_month(self, year: int, month: int) -> int | None:
        """Find the first matching day after the given month (1 to 12)."""
        while years := self.years >> year - YEAR.low:
            if not years & 1:
                year += (years & -years).bit_length() - 1
                month = 0
            while months := self.months >> month:
                month += (months & -months).bit_length()
                first = date(year, month, 1).toordinal()
                if days := self._days_of(year, month, first):
                    return first + (days & -days).bit_length() - 1
            year, month = year + 1, 0
        return None

    def _days_of(self, year: int, month: int, first: int) -> int:
        """Mask the matching days of one month, whose first day has the ordinal `first`."""
        length = _LENGTHS[month - 1]
        if month == _FEBRUARY and year % 4 == 0:  # 2000 was a leap year; 2100 is out of range
            length += 1
        return self.days[first % _WEEK] & (1 << length) - 1


def _days_on(weekdays: int, first: int) -> int:
    """Days of a month of 31 that fall on one of the weekdays, if day 1 falls on `first`."""
    days = 0
    for weekday in range(_WEEK):
        if weekdays >> weekday & 1:
            days |= _SAME_WEEKDAY << (weekday - first) % _WEEK
    return days & _EVERY_DAY
