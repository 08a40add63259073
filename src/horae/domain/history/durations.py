"""How long jobs waited and ran, as counts by length, from which percentiles are estimated.

The bounds grow by the square root of two, so an estimate is off by a fifth at most.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

SHORTEST: Final = 0.001
"""Seconds of the first bound."""
GROWTH: Final = 2**0.5
BOUNDS: Final = tuple(SHORTEST * GROWTH**step for step in range(57))
"""Upper bounds in seconds: from a millisecond to three days. Longer ones are counted after the
last.
"""

Durations = Mapping[int, int]
"""Numbers of jobs by the position of the first bound that their duration does not exceed."""


def added(parts: Iterable[Durations]) -> Durations:
    """Return the counts of all parts together."""
    total = Counter[int]()
    for part in parts:
        total.update(part)
    return total


def percentile(durations: Durations, share: float) -> float | None:
    """Estimate the duration in seconds that this share of the jobs did not exceed; None for no job.

    Between two bounds durations are assumed to be spread evenly on a scale of ratios.
    """
    wanted = share * sum(durations.values())
    seen = 0
    for slot in sorted(durations):
        count = durations[slot]
        if count and seen + count >= wanted:
            upper = BOUNDS[min(slot, len(BOUNDS) - 1)]
            is_open = slot in (0, len(BOUNDS))  # there is no bound below the first, or above
            return upper if is_open else upper / GROWTH * GROWTH ** ((wanted - seen) / count)
        seen += count
    return None
