"""A fixed schedule's points in time: an anchor, and every whole number of intervals after it."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from horae.domain.times.interval import Interval
from horae.domain.times.zone import load_zone
from horae.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Grid:
    """The points `anchor + n x interval`, by the calendar of a zone for days and months.

    Every point is counted from the anchor, so the end of a short month does not stick: 30 October,
    30 November, 30 December, 30 January, 28 February, 30 March. Raises `InvalidRequest` for a naive
    anchor or an unknown zone.
    """

    interval: Interval
    anchor: datetime
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        """Refuse an anchor that is no instant."""
        load_zone(self.timezone)
        if self.anchor.utcoffset() is None:
            raise InvalidRequest(f"anchor {self.anchor!r}: expected a datetime with a time zone")

    def first_after(self, moment: datetime) -> datetime:
        """Find the first point strictly after an aware moment, in UTC; never before the anchor.

        Points that were missed are passed over.
        """
        if moment.utcoffset() is None:
            raise InvalidRequest(f"{moment!r}: expected a datetime with a time zone")
        instant = moment.astimezone(UTC)
        # Days and months are counted by the date alone. The point before this one is never after
        # the moment: a gap moves it to the start of the moment's own day at the latest.
        if self.interval.microseconds:
            index = (instant - self.anchor) // timedelta(microseconds=self.interval.microseconds)
        else:
            zone = load_zone(self.timezone)
            start, end = self.anchor.astimezone(zone), instant.astimezone(zone)
            if self.interval.months:
                index = (_months(end) - _months(start)) // self.interval.months
            else:
                index = (end.toordinal() - start.toordinal()) // self.interval.days
        index = max(index, 0)
        while (point := self.point(index)) <= instant:
            index += 1
        return point

    def point(self, index: int) -> datetime:
        """Compute point number `index`, in UTC; number 0 is the anchor itself."""
        if index == 0:
            return self.anchor.astimezone(UTC)  # not by its wall time: that may come twice
        return self.interval.after(self.anchor, self.timezone, times=index)


def _months(day: date) -> int:
    return day.year * 12 + day.month
