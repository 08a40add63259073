"""The fires of a pattern on the wall clock of a zone: the first one from an instant on, and their
number.

Both walk over the stretches of the clock. The next match on the wall is the answer if it lies in
the stretch; otherwise the search continues in the one that follows. All figures are seconds since
1970, on the wall for a wall time.
"""

from typing import Final

from horae.domain.cron.pattern import FIRST_DAY, LAST_DAY, WallPattern
from horae.domain.cron.wall_clock import BLOCK_BITS, WallClock, stretches_of_block
from horae.domain.times import DAY, EPOCH_ORDINAL

# Every fire lies between these instants, in any zone: an offset is less than a day.
EARLIEST: Final = (FIRST_DAY - EPOCH_ORDINAL - 1) * DAY
_LATEST: Final = (LAST_DAY - EPOCH_ORDINAL + 2) * DAY


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
            # Where no fold can come back to wall times already searched, all stretches that end two
            # days before the match are passed over, for the sake of 29 February.
            earliest = max(end, match - 2 * DAY) if end - earliest >= DAY else end
    return None


def count_fires(pattern: WallPattern, clock: WallClock, first: int, end: int) -> int:
    """Count the instants `first <= fire < end` at which the pattern fires.

    A day on the wall has as many fires as its seconds, minutes and hours multiply to, so that a
    second-by-second expression is counted over a year as quickly as a daily one.
    """
    first = max(first, EARLIEST)
    total = 0
    while first < end:
        for stretch in stretches_of_block(clock, first >> BLOCK_BITS):
            if stretch.end <= first or stretch.start >= end:
                continue
            start, closes = (
                stretch.start + stretch.offset,
                min(stretch.closes, end + stretch.offset),
            )
            opens = max(first + stretch.offset, stretch.opens)
            is_whole = first <= stretch.start and stretch.opens < start
            if is_whole and pattern.next_from(stretch.opens) <= start:
                # All times within a gap fire once together, when the gap ends; a time that is due
                # at that moment adds no further fire.
                total += 1 + pattern.count_between(start + 1, closes)
            else:
                total += pattern.count_between(max(opens, start), closes)
        first = (first >> BLOCK_BITS) + 1 << BLOCK_BITS
    return total
