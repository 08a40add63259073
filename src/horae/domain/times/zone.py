"""Time zones as spans: stretches of time through which the offset from UTC does not change.

Within one span a wall clock runs evenly, so the questions that daylight saving makes hard become
comparisons of whole seconds. All seconds here count from 1970-01-01 00:00, in UTC for an instant
and on the wall for a wall time; `wall = instant + offset`.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.sentences import SentenceCode

DAY: Final = 86_400
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_ORDINAL: Final = EPOCH.toordinal()
MICROSECOND: Final = timedelta(microseconds=1)

# Spans are looked up and cached by blocks of 2^25 seconds, 388 days.
_BLOCK_BITS: Final = 25


class OffsetSpan(NamedTuple):
    """A stretch `start <= instant < end` with one offset, and the offsets before and after it."""

    start: int
    end: int
    offset: int
    previous_offset: int
    next_offset: int


# Files in the folders of the time zone database that are not zones.
_NO_ZONES: Final = frozenset({"Factory", "localtime", "posixrules"})

# UTC needs no blocks. Its one span covers every year that a datetime can express.
_FOREVER: Final = OffsetSpan(-(1 << 40), 1 << 40, 0, 0, 0)


@lru_cache(maxsize=1024)
def load_zone(key: str) -> tzinfo:
    """Return the zone of an IANA name. Raises `InvalidRequest`, which suggests the right name.

    Only the names of the time zone database count: zoneinfo opens any file by its path, so
    `localtime`, `right/UTC` or another spelling would be a zone on one machine, and none or another
    one on the next.
    """
    if key == "UTC":
        return UTC
    if key not in _packaged_names() and key not in zone_names():
        raise InvalidRequest(
            f"unknown time zone {quoted(key)}: {_instead_of(key)}",
            SentenceCode.VALUE_ZONE,
            zone=key,
        )
    try:
        return ZoneInfo(key)
    except (LookupError, OSError, TypeError, ValueError) as error:
        raise InvalidRequest(
            f"time zone {key!r} cannot be read on this machine: {error}"
        ) from error


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Return the names of the tzdata package and those that only this machine's database has."""
    return (_packaged_names() | available_timezones()) - _NO_ZONES


@lru_cache(maxsize=1)
def _packaged_names() -> frozenset[str]:
    """The names that the tzdata package lists: one small file, where a look at the machine's is
    hundreds.
    """
    return (
        frozenset(resources.files("tzdata").joinpath("zones").read_text("utf-8").split())
        - _NO_ZONES
    )


def span_at(key: str, instant: int) -> OffsetSpan:
    """Find the span of zone `key` that contains `instant` (seconds since 1970 in UTC).

    Spans also end where a block of the cache ends; both sides then have the same offset.
    """
    if key == "UTC":
        return _FOREVER
    spans = _spans_of_block(key, instant >> _BLOCK_BITS)
    for span in spans:
        if instant < span.end:
            return span
    return spans[-1]


def to_instant(key: str, wall: int) -> int:
    """Map a wall time to an instant: the first pass of a fold, the first moment after a gap."""
    # No offset is a day or more, so the span a day before the wall time begins before its instant.
    span = span_at(key, wall - DAY)
    while wall >= span.end + span.offset:
        span = span_at(key, span.end)
    return max(wall - span.offset, span.start)


@lru_cache(maxsize=4096)
def _spans_of_block(key: str, block: int) -> tuple[OffsetSpan, ...]:
    start, end = block << _BLOCK_BITS, (block + 1) << _BLOCK_BITS
    zone = load_zone(key)
    # Daily samples show where the offset becomes another one: since 1970 no zone changed its offset
    # twice within a week.
    samples = [(instant, _offset(zone, instant)) for instant in [*range(start, end, DAY), end - 1]]
    edges = [start]
    for (earlier, before), (later, after) in pairwise(samples):
        if before == after:
            continue
        low, high = earlier, later
        while high - low > 1:
            middle = (low + high) // 2
            if _offset(zone, middle) == before:
                low = middle
            else:
                high = middle
        edges.append(high)
    edges.append(end)
    return tuple(
        OffsetSpan(
            first,
            last,
            _offset(zone, first),
            previous_offset=_offset(zone, first - 1),
            next_offset=_offset(zone, last),
        )
        for first, last in pairwise(edges)
    )


def _offset(zone: tzinfo, instant: int) -> int:
    offset = (EPOCH + timedelta(seconds=instant)).astimezone(zone).utcoffset()
    return 0 if offset is None else offset.days * DAY + offset.seconds


def _instead_of(key: str) -> str:
    """Suggest the name that is probably meant."""
    # The longest known name has 32 characters.
    text = str(key)[-100:]
    if text == "localtime":
        return "it is what this machine is set to; name the zone, such as Europe/Berlin"
    names = zone_names()
    by_spelling = {name.lower(): name for name in names}
    parts = text.lower().split("/")
    for first in range(len(parts)):  # a path, or the name in another spelling
        if (name := by_spelling.get("/".join(parts[first:]))) is not None:
            return f"write {name}"
    near = get_close_matches(text, sorted(names), n=3)
    return f"did you mean {' or '.join(near)}?" if near else "give an IANA name like Europe/Berlin"
