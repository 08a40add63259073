"""How far a node has claimed, so that it need not read the same index entries again.

PostgreSQL keeps the index entries of claimed rows while an older transaction is open, and each
claim from the front of the queue reads them all. While that is slow, most claims leave out the jobs
that have the priority of the last one that was claimed and come before it. A few start at the
front: they find what became due there by an earlier time (ADR 0008). Jobs of higher priorities are
looked for by each claim, unless that is slow as well.
"""

import math
from collections.abc import Sequence
from typing import Final

from horae.domain.jobs import Claim, JobId

LONGEST_REST: Final = 30.0
"""Seconds after which a claim starts at the front in any case.

A claim that waited for a lock was not slow because of the index, and jobs that were handed back
meanwhile come before the last one that was claimed.
"""


class ClaimCursor:
    """The last job that was claimed, and when to claim from the front again.

    Times are in seconds.
    """

    def __init__(self, *, slow: float, rest: float, gain: float) -> None:
        """`slow`, `rest`, `gain`: see `ClaimerTiming`."""
        self._slow, self._rest, self._gain = slow, rest, gain
        self._last: JobId | None = None
        self._scan_took = 0.0
        self._rests_until = self._higher_rests_until = -math.inf

    def beyond(self, now: float) -> JobId | None:
        """Return the job after which the next claim starts, or None to start at the front."""
        return self._last if now < self._rests_until else None

    def looks_higher(self, now: float) -> bool:
        """Return whether a claim that does not start at the front looks for jobs of higher
        priority.
        """
        return now >= self._higher_rests_until

    def note_higher(self, *, began: float, ended: float) -> None:
        """Record how long the search for jobs of higher priorities took."""
        took = ended - began
        self._higher_rests_until = ended + self._rest_after(took)

    def return_to_front(self) -> None:
        """Claim from the front next: the last claimed job was deleted, so its place is unknown."""
        self._rests_until = -math.inf

    def rest(self, now: float) -> float:
        """Return the seconds until the next claim from the front."""
        return max(0.0, self._rests_until - now)

    def move(
        self, taken: Sequence[Claim], *, beyond: JobId | None, began: float, ended: float
    ) -> None:
        """Record a claim: after which job it started, and when it began and ended."""
        took = ended - began
        self.follow(taken)
        if beyond is None:
            self._scan_took = took
            self._rests_until = ended + self._rest_after(took)
        elif took * self._gain > self._scan_took:
            self._rests_until = -math.inf

    def follow(self, taken: Sequence[Claim]) -> None:
        """Let claims that do not start at the front start behind these jobs; an empty list changes
        nothing.
        """
        if taken:
            self._last = taken[-1].id

    def _rest_after(self, took: float) -> float:
        return min(self._rest * took, LONGEST_REST) if took > self._slow else -math.inf
