"""The first fire at or after an instant: a walk over the spans of a zone.

In one span the wall clock runs evenly, and the next matching wall time is the answer if the span
reaches so far. Policies for daylight saving only move where a span opens and closes on the wall:

- A gap lies before a span that opens later on the wall than the last one closed. With "shift" the
  span opens at that earlier wall time, and what matches inside the gap fires as the span starts.
- A fold is a stretch of wall that two spans share. With "first" the later span opens where the
  earlier one closed; with "second" the earlier one closes where the later one opens; with "both"
  each keeps all of its own.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from horae.domain.cron.calendar import FIRST_DAY, LAST_DAY, Calendar
from horae.domain.cron.clock import TimesOfDay
from horae.domain.zone import DAY, EPOCH, Span, span_at

DstGap: TypeAlias = Literal["shift", "skip"]
DstFold: TypeAlias = Literal["first", "second", "both"]

_EPOCH_ORDINAL: Final = EPOCH.toordinal()

# Every fire lies between these instants, in any zone: an offset is less than a day.
EARLIEST: Final = (FIRST_DAY - _EPOCH_ORDINAL - 1) * DAY
LATEST: Final = (LAST_DAY - _EPOCH_ORDINAL + 2) * DAY

# A wall time after the end of every span, so that it needs no case of its own.
_NEVER: Final = 1 << 50


@dataclass(frozen=True, slots=True)
class WallPattern:
    """What an expression matches on a wall clock, whatever the zone."""

    times: TimesOfDay
    calendar: Calendar

    def next_from(self, wall: int) -> int:
        """Find the first matching wall time at or after the given one; `_NEVER` if none is left."""
        day, second = divmod(wall, DAY)
        ordinal = day + _EPOCH_ORDINAL
        found = self.calendar.next_from(ordinal)
        if found == ordinal:
            time = self.times.next_from(second)
            if time is not None:
                return wall - second + time
            found = self.calendar.next_from(ordinal + 1)
        if found is None:
            return _NEVER
        return (found - _EPOCH_ORDINAL) * DAY + self.times.first


@dataclass(frozen=True, slots=True)
class WallPolicy:
    """What happens to wall times that daylight saving leaves out or repeats."""

    gap: DstGap
    fold: DstFold


# Nothing in a gap, both passes of a fold: what a clock on the wall shows.
FOLLOW_THE_WALL: Final = WallPolicy("skip", "both")


def first_fire(pattern: WallPattern, zone: str, policy: WallPolicy, earliest: int) -> int | None:
    """Find the first instant at or after `earliest` at which the pattern fires, if there is one."""
    earliest = max(earliest, EARLIEST)
    while earliest < LATEST:
        span = span_at(zone, earliest)
        wall = _wall_at(earliest, span, policy)
        match = pattern.next_from(wall)
        if match < _closing(span, policy):
            return max(match - span.offset, span.start)
        earliest = _resume(span, earliest, match)
    return None


def _wall_at(earliest: int, span: Span, policy: WallPolicy) -> int:
    """Wall time from which to look for matches in this span."""
    wall = earliest + span.offset
    if span.previous_offset == span.offset:
        return wall
    closed = span.start + span.previous_offset
    if span.previous_offset > span.offset:
        return max(wall, closed) if policy.fold == "first" else wall
    return closed if policy.gap == "shift" and earliest == span.start else wall


def _closing(span: Span, policy: WallPolicy) -> int:
    """Wall time before which a match belongs to this span."""
    if policy.fold == "second":
        return span.end + min(span.offset, span.next_offset)
    return span.end + span.offset


def _resume(span: Span, earliest: int, match: int) -> int:
    """Instant at which to look on, when the next match is past this span.

    Usually the next span. Where no fold can come back to wall times already searched, all spans
    that end two days before the match are passed over, for the sake of 29 February.
    """
    shortly_before = match - 2 * DAY
    if span.end - earliest < DAY or shortly_before <= span.end:
        return span.end
    return shortly_before
