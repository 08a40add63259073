"""The times of day of an expression: which second comes next on a wall clock."""

from dataclasses import dataclass
from typing import Self

from horae.domain.cron.fields import Field

_HOUR = 3600
_MINUTE = 60


@dataclass(frozen=True, slots=True)
class TimesOfDay:
    """Seconds, minutes and hours as bit masks, and the first time of a day (seconds)."""

    seconds: int
    minutes: int
    hours: int
    first: int

    @classmethod
    def of(cls, second: Field, minute: Field, hour: Field) -> Self:
        """Combine three parsed fields."""
        first = hour.values[0] * _HOUR + minute.values[0] * _MINUTE + second.values[0]
        return cls(second.mask, minute.mask, hour.mask, first)

    def next_from(self, second_of_day: int) -> int | None:
        """Find the first matching second of the day at or after the given one.

        `(mask & -mask).bit_length() - 1` is the lowest bit that is set.
        """
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
