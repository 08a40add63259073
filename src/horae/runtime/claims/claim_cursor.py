"""How far a node has claimed, so that it need not pass again over all that has gone.

PostgreSQL keeps the index entries of claimed rows for as long as a transaction is open that is older, and each claim
from the front reads them. While that is slow, most claims begin where the last one ended, and one in a while looks at
everything: it finds what is due elsewhere, by another priority or an earlier time (ADR 0008).
"""

import math
from collections.abc import Sequence
from typing import Final

from horae.domain.jobs.job import Claim, JobId

SLOW: Final = 0.02
REST: Final = 30
GAIN: Final = 2
"""Seconds that a look at everything may take; how many times as long as a slower one took the next is put off; how much
faster the claims between them have to be, or it is something else that is slow."""


class ClaimCursor:
    """The last job that was claimed, and whether it is time to look at everything. Moments are seconds."""

    def __init__(self, rest: float = REST) -> None:
        """`rest`: how many times as long as a slow look at everything the next one is put off."""
        self._rest = rest
        self._last: JobId | None = None
        self._whole_took = 0.0
        self._rests_until = -math.inf

    def beyond(self, now: float) -> JobId | None:
        """The job behind which the next claim begins; None: it looks at everything."""
        return self._last if now < self._rests_until else None

    def rest(self, now: float) -> float:
        """Seconds until the next look at everything."""
        return max(0.0, self._rests_until - now)

    def move(self, taken: Sequence[Claim], *, beyond: JobId | None, began: float, ended: float) -> None:
        """Take note of a claim: what it took, behind which job, from when to when."""
        took = ended - began
        if taken:
            self._last = taken[-1].id
        if beyond is None:
            self._whole_took = took
            self._rests_until = ended + self._rest * took if took > SLOW else -math.inf
        elif took * GAIN > self._whole_took:
            self._rests_until = -math.inf
