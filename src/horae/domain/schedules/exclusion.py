"""The times at which a schedule does not run: the days and ranges of its exclusion calendar.

An entry of a calendar is a text, and reads the wall clock of the schedule's zone:

- `2026-12-24`: this day
- `2026-12-24..2026-12-26`: these days, including the last one
- `2026-12-24T12:00:00+00:00..2026-12-24T18:00:00+00:00`: from the first moment to before the second
- `calendar:shop.holidays`: the days that this function of a module returns; they are stored as the
  function returned them last, so that planning neither calls nor imports anything
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple

from horae.domain.times import load_zone
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.sentences import SentenceCode

CALENDAR: Final = "calendar:"
"""The prefix of an entry that names a calendar function."""
RANGE: Final = ".."
MOST_ENTRIES: Final = 1_000
"""Maximum number of entries of an exclusion calendar; a calendar function can hold more."""

_DAY: Final = timedelta(days=1)
_EXPECTED: Final = (
    "a date such as 2026-12-24, a range such as 2026-12-24..2026-12-26, or two moments with a time"
    " zone and .. between"
)


class Gap(NamedTuple):
    """A stretch of time, `start <= moment < end`, in which no nominal time is run, and why."""

    start: datetime
    end: datetime
    reason: str


class Span(NamedTuple):
    """A stretch of time, `start <= moment < end`, in UTC."""

    start: datetime
    end: datetime


_end_of: Final = attrgetter("end")


def calendars_in(entries: Iterable[str]) -> list[str]:
    """Return the names of the calendar functions among the entries."""
    return [entry.removeprefix(CALENDAR) for entry in entries if entry.startswith(CALENDAR)]


@lru_cache(maxsize=4096)
def excluded_spans(entries: tuple[str, ...], days: tuple[date, ...], zone: str) -> tuple[Span, ...]:
    """Return what the entries and the days of a calendar function exclude: disjoint, in order.

    Raises `InvalidRequest` for an entry that cannot be read.
    """
    if len(entries) > MOST_ENTRIES:
        raise InvalidRequest(
            f"exclude has {len(entries):,} entries, expected at most {MOST_ENTRIES:,}",
            SentenceCode.VALUE_TOO_LONG,
            bound=str(MOST_ENTRIES),
        )
    read = [_span(entry, zone) for entry in entries if not entry.startswith(CALENDAR)]
    merged: list[Span] = []
    for span in sorted([*read, *(_days(day, day, zone) for day in days)]):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


def is_excluded(spans: Sequence[Span], moment: datetime) -> bool:
    """Return whether a moment lies in one of the spans."""
    following = bisect_right(spans, moment, key=_end_of)
    return following < len(spans) and spans[following].start <= moment


def _span(entry: str, zone: str) -> Span:
    first, dots, last = entry.partition(RANGE)
    try:
        if "T" not in entry:
            found = _days(
                date.fromisoformat(first), date.fromisoformat(last if dots else first), zone
            )
        else:
            found = Span(_moment(first), _moment(last))
    except (OverflowError, ValueError):
        raise InvalidRequest(
            f"exclude {quoted(entry)}: expected {_EXPECTED}", SentenceCode.VALUE_EXCLUDE, text=entry
        ) from None
    if found.start >= found.end:
        raise InvalidRequest(
            f"exclude {quoted(entry)}: the range ends before it begins",
            SentenceCode.VALUE_EXCLUDE_REVERSED,
            text=entry,
        )
    return found


def _days(first: date, last: date, zone: str) -> Span:
    return Span(_midnight(first, zone), _midnight(last + _DAY, zone))


def _midnight(day: date, zone: str) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=load_zone(zone)).astimezone(UTC)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.utcoffset() is None:
        raise ValueError(text)
    return moment.astimezone(UTC)
