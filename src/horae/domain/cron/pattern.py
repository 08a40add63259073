"""The wall times that an expression matches: its times of day, and its days by day of month,
weekday, month and year.

The lowest bit that is set in a mask is `(mask & -mask).bit_length() - 1`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple, Self

from horae.domain.cron.fields import YEAR, CronField
from horae.domain.times import DAY, EPOCH_ORDINAL

FIRST_DAY: Final = date(YEAR.low, 1, 1).toordinal()
LAST_DAY: Final = date(YEAR.high, 12, 31).toordinal()

_WEEK: Final = 7
_FEBRUARY: Final = 2
_MONTHS: Final = 12
_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EVERY_DAY: Final = (1 << 31) - 1
# The days of a month that fall on the same weekday as its first day, as bits.
_SAME_WEEKDAY: Final = sum(1 << day for day in range(0, 31, _WEEK))
_HOUR: Final = 3600
_MINUTE: Final = 60

# Later than the end of every stretch, so that "never" needs no case of its own.
_NEVER: Final = 1 << 50


@dataclass(frozen=True, slots=True)
class TimesOfDay:
    """Seconds, minutes and hours as bit masks, and the first time of a day (seconds)."""

    seconds: int
    minutes: int
    hours: int
    first: int

    @classmethod
    def of(cls, second: CronField, minute: CronField, hour: CronField) -> Self:
        """Combine three parsed fields."""
        first = hour.values[0] * _HOUR + minute.values[0] * _MINUTE + second.values[0]
        return cls(second.mask, minute.mask, hour.mask, first)

    def next_from(self, second_of_day: int) -> int | None:
        """Find the first matching second of the day at or after the given one."""
        hour, rest = divmod(second_of_day, _HOUR)
        if self.hours >> hour & 1:
            minute, second = divmod(rest, _MINUTE)
            if self.minutes >> minute & 1 and (seconds := self.seconds >> second):
                return second_of_day + (seconds & -seconds).bit_length() - 1
            if minutes := self.minutes >> minute + 1:
                minute += (minutes & -minutes).bit_length()
                return hour * _HOUR + minute * _MINUTE + self.first % _MINUTE
        if hours := self.hours >> hour + 1:
            hour += (hours & -hours).bit_length()
            return hour * _HOUR + self.first % _HOUR
        return None

    def before(self, second_of_day: int) -> int:
        """Count the matching times of day before a second (0 to 86,400)."""
        hour, rest = divmod(second_of_day, _HOUR)
        minute, second = divmod(rest, _MINUTE)
        a_minute = self.seconds.bit_count()
        total = _below(self.hours, hour) * self.minutes.bit_count() * a_minute
        if self.hours >> hour & 1:
            total += _below(self.minutes, minute) * a_minute
            if self.minutes >> minute & 1:
                total += _below(self.seconds, second)
        return total


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
    def of(cls, day: CronField, month: CronField, weekday: CronField, year: CronField) -> Self:
        """Combine four parsed fields by the rule of crontab(5).

        Either day field suffices if both are restricted, that is, start with something else than
        a star; otherwise both must match. The month always must.
        """
        either = not (day.starts_with_star or weekday.starts_with_star)
        days: list[int] = []
        for first in range(_WEEK):  # the weekday on which a month begins
            on_weekdays = 0
            for each in range(_WEEK):
                if weekday.mask >> each & 1:
                    on_weekdays |= _SAME_WEEKDAY << (each - first) % _WEEK
            on_weekdays &= _EVERY_DAY
            days.append(day.mask | on_weekdays if either else day.mask & on_weekdays)
        every_day = day.is_full and month.is_full and weekday.is_full and year.is_full
        return cls(tuple(days), month.mask, year.mask, every_day)

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
        # Otherwise it is the first matching day after this month.
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


class WallPattern(NamedTuple):
    """The wall times that an expression matches, independent of a zone."""

    times: TimesOfDay
    calendar: Calendar

    @classmethod
    def of(cls, fields: Sequence[CronField]) -> Self:
        """Combine seven parsed fields."""
        return cls(TimesOfDay.of(*fields[:3]), Calendar.of(*fields[3:]))

    def next_from(self, wall: int) -> int:
        """Find the first matching wall time at or after the given one; `_NEVER` if none is left."""
        day, second = divmod(wall, DAY)
        ordinal = day + EPOCH_ORDINAL
        time = self.times.next_from(second)
        if time is None:
            ordinal, time = ordinal + 1, self.times.first
        found = self.calendar.next_from(ordinal)
        if found is None:
            return _NEVER
        if found > ordinal:
            time = self.times.first
        return (found - EPOCH_ORDINAL) * DAY + time

    def count_between(self, opens: int, closes: int) -> int:
        """Count the matching wall times with `opens <= wall < closes`."""
        if opens >= closes:
            return 0
        first_day, first_second = divmod(opens, DAY)
        last_day, last_second = divmod(closes, DAY)
        full = self.times.before(DAY)
        total = 0
        day = self.calendar.next_from(first_day + EPOCH_ORDINAL)
        while day is not None and day - EPOCH_ORDINAL <= last_day:
            number = day - EPOCH_ORDINAL
            total += full if number < last_day else self.times.before(last_second)
            if number == first_day:
                total -= self.times.before(first_second)
            day = self.calendar.next_from(day + 1)
        return total


def _below(mask: int, bit: int) -> int:
    return (mask & (1 << bit) - 1).bit_count()
