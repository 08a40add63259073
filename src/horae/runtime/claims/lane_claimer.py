"""Claims jobs that have limits by key, or that wait in fair queues, for one node."""

import math
import time
from random import Random

from horae.runtime.timing import ClaimerTiming
from horae.storage.engine.database import Database
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits import filing, lane_claims
from horae.storage.jobs.limits.lane_claims import LaneClaims


class LaneClaimer:
    """Puts new jobs into lanes, and claims from lanes what their limits allow."""

    def __init__(self, database: Database, timing: ClaimerTiming, rng: Random) -> None:
        self._database, self._timing, self._rng = database, timing, rng
        self.in_use = False
        """Whether jobs wait in lanes, or did a few seconds ago; otherwise a claim makes no statement about lanes."""
        self.due_in = math.inf
        """Seconds after which a lane may be claimed, by the latest claim."""
        self._pause = timing.contended.shortest
        self._idle_until = self._ask_at = -math.inf
        self._due_at = math.inf

    def wake(self) -> None:
        """Claim from lanes at once, even if the last claim found nothing there."""
        self._idle_until = self._ask_at = -math.inf
        self._pause = self._timing.contended.shortest

    async def claim(self, scope: ClaimScope, room: int, most: int) -> LaneClaims:
        """Claim up to `most` jobs from lanes; the result has the room that is left for plain jobs."""
        nothing = LaneClaims([], room)
        self.due_in = max(0.0, self._idle_until - time.monotonic())
        if self.due_in > 0:
            return nothing
        if time.monotonic() < self._ask_at:
            self.due_in = self._due_at - time.monotonic()
            return nothing
        asked_at = time.monotonic()
        ahead = await self._database.autocommit_async(lane_claims.ahead)
        if ahead.unfiled:
            await self._database.transact_async(filing.file)
            asked_at = time.monotonic()
            ahead = await self._database.autocommit_async(lane_claims.ahead)
        self.due_in = 0.0 if ahead.unfiled else ahead.due_in
        if ahead.due_in > 0:
            if not ahead.unfiled:
                self._note_nothing_due(asked_at, ahead.due_in)
            return nothing
        if most <= 0:  # every slot is taken, and jobs that were claimed before wait for the next one
            self.due_in = self._timing.contended.shortest
            return nothing
        result = await self._database.transact_async(lane_claims.claim, scope, room, most)
        if result.skipped:
            self._rest()
        else:
            self.wake()
            self.due_in = 0.0
        return result

    def _note_nothing_due(self, asked_at: float, due_in: float) -> None:
        """Do not ask again with each claim of plain jobs: only when a lane is due, after a wake-up, or after a rest.

        So jobs that are held back cost the claims of others a small share, however many they are.
        """
        now = time.monotonic()
        self._due_at = now + due_in
        self._ask_at = min(self._due_at, now + self._timing.ahead_rest * (now - asked_at))

    def _rest(self) -> None:
        """Leave the lanes alone for a moment: other nodes have locked what is due, or only they can run it."""
        self.due_in = self._pause * self._rng.uniform(0.5, 1.0)
        self._idle_until = time.monotonic() + self.due_in
        self._pause = self._timing.contended.after(self._pause)
