"""A zone's wall clock under a policy for daylight saving, as stretches that open and close on it.

In one stretch the clock runs evenly. The policy only moves where it opens and closes on the wall:

- A gap lies before a stretch that begins later on the wall than the last one ended. With "shift"
  it opens at that earlier wall time, and what matches inside the gap fires as the stretch starts.
- A fold is wall time that two stretches share. With "first" the later one opens where the earlier
  one ends; with "second" the earlier one closes where the later one begins; with "both" each keeps
  all of its own.
"""

from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from horae.domain.times import span_at

DstGap: TypeAlias = Literal["shift", "skip"]
DstFold: TypeAlias = Literal["first", "second", "both"]

# Stretches are cached by blocks of 2^23 seconds, 97 days, so that most blocks hold just one.
BLOCK_BITS: Final = 23


class WallClock(NamedTuple):
    """A zone, and the policy for wall times that daylight saving skips or repeats."""

    zone: str
    gap: DstGap
    fold: DstFold


class Stretch(NamedTuple):
    """Instants `start <= instant < end`, and the wall times `opens <= wall < closes` that count."""

    start: int
    end: int
    offset: int
    opens: int
    closes: int


@lru_cache(maxsize=16_384)
def stretches_of_block(clock: WallClock, block: int) -> tuple[Stretch, ...]:
    """List the stretches of one block, cut off where it begins and ends, by the policy of the
    clock.
    """
    start, block_end = block << BLOCK_BITS, (block + 1) << BLOCK_BITS
    stretches: list[Stretch] = []
    while start < block_end:
        span = span_at(clock.zone, start)
        end = min(span.end, block_end)
        opens, closes = start + span.offset, end + span.offset
        if start == span.start:
            closed = start + span.previous_offset
            shifted = closed < opens and clock.gap == "shift"
            passed = closed > opens and clock.fold == "first"
            opens = closed if shifted or passed else opens
        if end == span.end and clock.fold == "second":
            closes = end + min(span.offset, span.next_offset)
        stretches.append(Stretch(start, end, span.offset, opens, closes))
        start = span.end
    return tuple(stretches)
