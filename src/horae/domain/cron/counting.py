"""How many times an expression fires in a stretch of time: by arithmetic, not by listing them.

A day on the wall has as many fires as its seconds, minutes and hours multiply to, so that a
second-by-second expression is counted over a year as quickly as a daily one.
"""

from datetime import datetime
from functools import lru_cache
from typing import Final

from horae.domain.cron.calendar import Calendar
from horae.domain.cron.clock import TimesOfDay
from horae.domain.cron.expression import CronExpression
from horae.domain.cron.search import EARLIEST, WallPattern
from horae.domain.cron.wall_clock import BLOCK_BITS, Stretch, WallClock, stretches_of_block
from horae.domain.times.zone import DAY, EPOCH

_EPOCH_ORDINAL: Final = EPOCH.toordinal()
_HOUR: Final = 3600
_MINUTE: Final = 60


def count_fires(expression: CronExpression, after: datetime, until: datetime) -> int:
    """Count the fires with `after < fire <= until`, exactly; both are aware moments."""
    first = max(_second(after) + 1, EARLIEST)
    end = _second(until) + 1
    pattern, clock = _pattern_of(expression)
    total = 0
    while first < end:
        for stretch in stretches_of_block(clock, first >> BLOCK_BITS):
            if stretch.end > first and stretch.start < end:
                total += _in_stretch(pattern, stretch, first, end)
        first = (first >> BLOCK_BITS) + 1 << BLOCK_BITS
    return total


def _in_stretch(pattern: WallPattern, stretch: Stretch, first: int, end: int) -> int:
    """Count the fires of one stretch at instants `first <= fire < end`."""
    start, closes = stretch.start + stretch.offset, min(stretch.closes, end + stretch.offset)
    opens = max(first + stretch.offset, stretch.opens)
    if first <= stretch.start and stretch.opens < start and pattern.next_from(stretch.opens) <= start:
        # Whatever a gap holds fires once, as the stretch begins, and together with what is due then.
        return 1 + _on_wall(pattern, start + 1, closes)
    return _on_wall(pattern, max(opens, start), closes)


def _on_wall(pattern: WallPattern, opens: int, closes: int) -> int:
    """Count the matching wall times with `opens <= wall < closes`."""
    if opens >= closes:
        return 0
    first_day, first_second = divmod(opens, DAY)
    last_day, last_second = divmod(closes, DAY)
    full = _times_before(pattern.times, DAY)
    total = 0
    day = pattern.calendar.next_from(first_day + _EPOCH_ORDINAL)
    while day is not None and day - _EPOCH_ORDINAL <= last_day:
        number = day - _EPOCH_ORDINAL
        total += full if number < last_day else _times_before(pattern.times, last_second)
        if number == first_day:
            total -= _times_before(pattern.times, first_second)
        day = pattern.calendar.next_from(day + 1)
    return total


def _times_before(times: TimesOfDay, second_of_day: int) -> int:
    """Count the matching times of day before a second (0 to 86,400)."""
    hour, rest = divmod(second_of_day, _HOUR)
    minute, second = divmod(rest, _MINUTE)
    a_minute = times.seconds.bit_count()
    an_hour = times.minutes.bit_count() * a_minute
    total = _below(times.hours, hour) * an_hour
    if times.hours >> hour & 1:
        total += _below(times.minutes, minute) * a_minute
        if times.minutes >> minute & 1:
            total += _below(times.seconds, second)
    return total


def _below(mask: int, bit: int) -> int:
    return (mask & (1 << bit) - 1).bit_count()


def _second(moment: datetime) -> int:
    """Whole seconds since 1970, rounded down."""
    since = moment - EPOCH
    return since.days * DAY + since.seconds


@lru_cache(maxsize=1024)
def _pattern_of(expression: CronExpression) -> tuple[WallPattern, WallClock]:
    fields = expression.fields
    pattern = WallPattern(TimesOfDay.of(*fields[:3]), Calendar.of(*fields[3:]))
    if expression.follows_wall_clock:
        return pattern, WallClock(expression.timezone, "skip", "both")
    return pattern, WallClock(expression.timezone, expression.dst_gap, expression.dst_fold)
