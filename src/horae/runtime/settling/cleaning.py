"""Decides when ended jobs are deleted, how far back each search goes, and how fast it deletes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from horae.domain.jobs import KeptFor
from horae.runtime.timing import HookTiming
from horae.storage.jobs import EVER

Part = tuple[str, KeptFor]
EVERYTHING_EVERY: Final = 3600.0
"""Seconds between two full searches, which find ended jobs that short ones left behind."""
OVERLAP: Final = 30.0
"""Seconds by which two searches overlap: an end may be committed late, or a hook still owed."""
MOST_REST: Final = 9.0
"""The longest rest after a batch, as a multiple of the time that the batch took."""
LONGEST_REST: Final = 1.0
"""The longest rest after a batch, in seconds."""


class DeletionPace:
    """Spreads the batches of one clean-up over some time, so that running jobs keep their share of
    the database.

    The rests get shorter, and there are none once that time is over. All times are in seconds, by
    one clock.
    """

    def __init__(self, begun: float, within: float) -> None:
        self._begun, self._within = begun, within
        self._resumed = begun

    def rest(self, now: float) -> float:
        """Return how long to rest after a batch that has just ended."""
        left = max(0.0, 1 - (now - self._begun) / self._within)
        seconds = min((now - self._resumed) * MOST_REST * left, LONGEST_REST)
        self._resumed = now + seconds
        return seconds


@dataclass(slots=True)
class _Search:
    """The last searches of one part, by the clock of this process."""

    begun: float
    everything_begun: float


@dataclass(slots=True)
class CleaningPlan:
    """Decides which parts are to be cleaned now.

    Jobs that are kept for a shorter time than others lie among those others, so a search for them
    reads only the ends since the search before, and all of them once in a while.
    """

    timing: HookTiming
    begun: float
    """When the plan was made, by the clock of this process."""
    searches: dict[Part, _Search] = field(default_factory=dict[Part, _Search])

    def due(self, parts: Sequence[Part], now: float) -> Iterator[tuple[Part, float]]:
        """Yield the parts to clean, each with the age of the oldest end to search."""
        longest = max((kept.seconds for _, kept in parts), default=0.0)
        for part in parts:
            kept = part[1]
            last = self.searches.get(part, _Search(self.begun, everything_begun=-math.inf))
            if now < last.begun + self.pause(kept):
                continue
            everything = kept.seconds >= longest or now >= last.everything_begun + EVERYTHING_EVERY
            oldest = EVER if everything else kept.seconds + now - last.begun + OVERLAP
            self.searches[part] = _Search(now, now if everything else last.everything_begun)
            yield part, oldest

    def pause(self, kept: KeptFor) -> float:
        """Return the seconds between two searches."""
        return max(
            self.timing.clean_interval(kept.seconds), min(self.timing.gone_every, kept.seconds)
        )

    def failed(self, part: Part) -> None:
        """Search everything next time, because the last search was not completed."""
        if (last := self.searches.get(part)) is not None:
            last.everything_begun = -math.inf
