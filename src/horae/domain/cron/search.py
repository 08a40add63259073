"""The first fire at or after an instant: a walk over the stretches of a wall clock.

The next match on the wall is the answer if it lies in the stretch; otherwise the search goes on in
the one that follows. All figures are seconds since 1970, on the wall for a wall time.
"""

from typing import Final, NamedTuple

from horae.domain.cron.calendar import FIRST_DAY, LAST_DAY, Calendar
from horae.domain.cron.clock import TimesOfDay
from horae.domain.cron.wall_clock import BLOCK_BITS, WallClock, stretches_of_block
from horae.domain.times.zone import DAY, EPOCH

_EPOCH_ORDINAL: Final = EPOCH.toordinal()

# Every fire lies between these instants, in any zone: an offset is less than a day.
EARLIEST: Final = (FIRST_DAY - _EPOCH_ORDINAL - 1) * DAY
_LATEST: Final = (LAST_DAY - _EPOCH_ORDINAL + 2) * DAY

# A wall time after the end of every stretch, so that it needs no case of its own.
_NEVER: Final = 1 << 50


class WallPattern(NamedTuple):
    """The wall times that an expression matches, independent of a zone."""

    times: TimesOfDay
    calendar: Calendar

    def next_from(self, wall: int) -> int:
        """Find the first matching wall time at or after the given one; `_NEVER` if none is left."""
        day, second = divmod(wall, DAY)
        ordinal = day + _EPOCH_ORDINAL
        time = self.times.next_from(second)
        if time is None:
            ordinal, time = ordinal + 1, self.times.first
        found = self.calendar.next_from(ordinal)
        if found is None:
            return _NEVER
        if found > ordinal:
            time = self.times.first
        return (found - _EPOCH_ORDINAL) * DAY + time


def first_fire(pattern: WallPattern, clock: WallClock, earliest: int) -> int | None:
    """Find the first instant at or after `earliest` at which the pattern fires, if there is one."""
    earliest = max(earliest, EARLIEST)
    while earliest < _LATEST:
        for start, end, offset, opens, closes in stretches_of_block(clock, earliest >> BLOCK_BITS):
            if earliest >= end:
                continue
            wall = opens if earliest == start else max(earliest + offset, opens)
            match = pattern.next_from(wall)
            if match < closes:
                return max(match - offset, start)
            earliest = _resume(earliest, end, match)
    return None


def _resume(earliest: int, end: int, match: int) -> int:
    """Instant at which to look on, when the next match is past the stretch that ends at `end`.

    Usually there. Where no fold can come back to wall times already searched, all stretches that
    end two days before the match are passed over, for the sake of 29 February.
    """
    return max(end, match - 2 * DAY) if end - earliest >= DAY else end
