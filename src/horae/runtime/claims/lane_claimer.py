"""Claims jobs that have limits by key, or that wait in fair queues, for one node."""

import math
import time
from collections.abc import Collection
from random import Random
from typing import Final

from horae.runtime.timing import ClaimerTiming
from horae.storage.engine.database import Database
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits import filing, lane_claims
from horae.storage.jobs.limits.lane_claims import LaneClaims, LanesAhead

MOST_RATED: Final = 10_000
"""Lanes under rates only that a node keeps in mind."""


class LaneClaimer:
    """Puts new jobs into lanes, and claims from lanes what their limits allow."""

    def __init__(self, database: Database, timing: ClaimerTiming, rng: Random) -> None:
        self._database, self._timing, self._rng = database, timing, rng
        self.in_use = False
        """Whether jobs wait in lanes, or did a few seconds ago; otherwise a claim makes no
        statement about lanes.
        """
        self.due_in = math.inf
        """Seconds after which a lane may be claimed, by the latest claim."""
        self._pause = timing.contended.shortest
        self._idle_until = self._ask_at = -math.inf
        self._due_at = math.inf
        self._lacked_slots = False
        self._rated: set[int] = set()

    def wake(self) -> None:
        """Claim from lanes at once, even if the last claim found nothing there."""
        self._idle_until = self._ask_at = -math.inf
        self._pause = self._timing.contended.shortest

    def gain_room(self, lanes: Collection[int]) -> bool:
        """Return whether the end of jobs of these lanes may allow another claim: not where only
        rates limit them.
        """
        return self._lacked_slots or not self._rated.issuperset(lanes)

    async def claim(self, scope: ClaimScope, room: int, most: int) -> LaneClaims:
        """Claim up to `most` jobs from lanes; the result has the room that is left for plain
        jobs.
        """
        nothing = LaneClaims([], room)
        now = time.monotonic()
        self.due_in = max(0.0, self._idle_until - now)
        if self.due_in > 0:
            return nothing
        if now < self._ask_at:
            self.due_in = self._due_at - now
            return nothing
        ahead = await self._look_ahead()
        if ahead.due_in > 0:
            return nothing
        if (
            most <= 0
        ):  # every slot is taken, and jobs that were claimed before wait for the next one
            self.due_in, self._lacked_slots = self._timing.contended.shortest, True
            return nothing
        began = time.monotonic()
        result = await self._database.transact_async(lane_claims.claim, scope, room, most)
        self._lacked_slots = len(result.claims) >= most
        self._note_rated(result)
        if result.skipped:
            self._rest(ahead.next_in)
        else:
            self.wake()
            self._idle_until = began + min(result.rest, self._timing.lane_rest)
            self.due_in = max(0.0, self._idle_until - time.monotonic())
        return result

    async def _look_ahead(self) -> LanesAhead:
        """Put new jobs into lanes; return when a lane may be claimed."""
        asked_at = time.monotonic()
        ahead = await self._database.autocommit_async(lane_claims.ahead)
        if ahead.unfiled:
            await self._database.transact_async(filing.file)
            asked_at = time.monotonic()
            ahead = await self._database.autocommit_async(lane_claims.ahead)
        self.due_in = 0.0 if ahead.unfiled else ahead.due_in
        if self.due_in > 0:
            self._note_nothing_due(asked_at, self.due_in)
        return ahead

    def _note_rated(self, result: LaneClaims) -> None:
        if len(self._rated) > MOST_RATED:
            # The ends of their jobs cause a claim each that finds nothing, until the next one
            self._rated.clear()
        self._rated.difference_update(
            claim.lane_id for claim in result.claims if claim.lane_id is not None
        )
        self._rated |= result.rated

    def _note_nothing_due(self, asked_at: float, due_in: float) -> None:
        """Do not ask again with each claim of plain jobs: only when a lane is due, after a wake-up,
        or after a rest.

        So jobs that are held back cost the claims of others a small share, however many they are.
        """
        now = time.monotonic()
        self._due_at = now + due_in
        self._ask_at = min(self._due_at, now + self._timing.ahead_rest * (now - asked_at))

    def _rest(self, most: float) -> None:
        """Leave the lanes alone for a moment, at most until further ones become due.

        Other nodes have locked what is due, or only they can run it, or it waits until jobs end,
        which wakes this node.
        """
        self.due_in = min(self._pause * self._rng.uniform(0.5, 1.0), most)
        self._idle_until = time.monotonic() + self.due_in
        self._pause = self._timing.contended.after(self._pause)
