"""Which bucket is written next, which longer ones it completes, and which are kept."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from horae.domain.times import EPOCH


@dataclass(frozen=True, slots=True)
class Length:
    """A length of buckets in seconds, and for how many seconds they are kept."""

    seconds: int
    kept: int


LENGTHS: Final = (
    Length(10, 2 * 3600),
    Length(60, 26 * 3600),
    Length(600, 8 * 86_400),
    Length(3600, 32 * 86_400),
    Length(43_200, 32 * 86_400),
)
"""The lengths of stored buckets, each a multiple of the one before. A bucket is kept somewhat
longer than charts of its length reach back.
"""
SETTLED_AFTER: Final = 3.0
"""Seconds after the end of a bucket until it is counted: an end may be committed late."""
CATCH_UP: Final = 600
"""Seconds for which buckets are written later if nobody could write them: what ended then is still
known. An older time stays a gap.
"""
_SHORTEST: Final = timedelta(seconds=LENGTHS[0].seconds)


def floor(moment: datetime, seconds: int) -> datetime:
    """Return the start of the bucket of this length in which a moment lies."""
    length = timedelta(seconds=seconds)
    return EPOCH + (moment - EPOCH) // length * length


def next_bucket(reached: datetime | None, now: datetime) -> datetime | None:
    """Return the start of the bucket to write next, or None if none is over.

    `reached`: the end of the last one that was written; None: none ever was. If it lies in the
    future, the clock was set back: writing goes on by the clock as it is now, and replaces what was
    written for these times.
    """
    latest = floor(now - timedelta(seconds=SETTLED_AFTER), LENGTHS[0].seconds) - _SHORTEST
    if reached is None or reached > now:
        return latest
    if reached > latest:
        return None
    return max(reached, latest - timedelta(seconds=CATCH_UP))


def seconds_until_next(now: datetime) -> float:
    """Return for how many seconds no further bucket will be over."""
    settled = now - timedelta(seconds=SETTLED_AFTER)
    return (floor(settled, LENGTHS[0].seconds) + _SHORTEST - settled).total_seconds()


def closed_by(reached: datetime | None, bucket: datetime) -> Iterator[tuple[int, Length, datetime]]:
    """Yield the longer buckets that are over once the shortest one at `bucket` is written.

    Each comes with the length of the buckets of which it is made, the shorter ones first. One that
    was left open because nobody wrote its end is closed by the next bucket that is written.
    """
    end = bucket + _SHORTEST
    for part, length in pairwise(LENGTHS):
        whole = timedelta(seconds=length.seconds)
        starts = {floor(bucket, length.seconds)}
        if reached is not None and reached <= bucket:
            starts.add(floor(reached - _SHORTEST, length.seconds))
        for start in sorted(starts):
            if start + whole <= end and (
                reached is None or start + whole > reached or reached > end
            ):
                yield part.seconds, length, start
