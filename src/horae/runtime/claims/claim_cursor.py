"""How far a node has claimed, so that it need not read the same index entries again.

PostgreSQL keeps the index entries of claimed rows while an older transaction is open, and each claim from the front of
the queue reads them all. While that is slow, most claims start where the last one ended. A few start at the front: they
find what became due there, by a higher priority or an earlier time (ADR 0008).
"""

import math
from collections.abc import Sequence
from typing import Final

from horae.domain.jobs.job import Claim, JobId

LONGEST_REST: Final = 30.0
"""Seconds after which a claim starts at the front in any case: one that waited for a lock was not slow because of the
index, and jobs that were handed back meanwhile are before the last one that was claimed."""


class ClaimCursor:
    """The last job that was claimed, and when to claim from the front again. Times are in seconds."""

    def __init__(self, *, slow: float, rest: float, gain: float) -> None:
        """`slow`, `rest`, `gain`: see `ClaimerTiming`."""
        self._slow, self._rest, self._gain = slow, rest, gain
        self._last: JobId | None = None
        self._scan_took = 0.0
        self._rests_until = -math.inf

    def beyond(self, now: float) -> JobId | None:
        """Return the job after which the next claim starts, or None to start at the front."""
        return self._last if now < self._rests_until else None

    def rest(self, now: float) -> float:
        """Return the seconds until the next claim from the front."""
        return max(0.0, self._rests_until - now)

    def move(self, taken: Sequence[Claim], *, beyond: JobId | None, began: float, ended: float) -> None:
        """Record a claim: after which job it started, and when it began and ended."""
        took = ended - began
        if taken:
            self._last = taken[-1].id
        if beyond is None:
            self._scan_took = took
            rest = min(self._rest * took, LONGEST_REST)
            self._rests_until = ended + rest if took > self._slow else -math.inf
        elif took * self._gain > self._scan_took:
            self._rests_until = -math.inf
