"""Claims jobs that have limits by key, or that wait in fair queues, for one node."""

import math
import time
from collections.abc import Collection
from random import Random
from typing import Final

from horae.domain.jobs import Claim
from horae.runtime.claims.next_look import NEVER, NextLook
from horae.runtime.timing import ClaimerTiming
from horae.storage.engine import Database
from horae.storage.jobs import ClaimScope
from horae.storage.jobs.limits import filing, lane_claims
from horae.storage.outcomes import cancelling

MOST_RATED: Final = 10_000
"""Number of lanes limited only by rates that a node keeps in mind."""


class LaneClaimer:
    """Puts new jobs into lanes, and claims from lanes what their limits allow."""

    def __init__(self, database: Database, timing: ClaimerTiming, rng: Random) -> None:
        self._database, self._timing, self._rng = database, timing, rng
        self.next_look = NEVER
        """The time at which an idle node claims from lanes next."""
        self._ask_at = -math.inf
        self._pause = timing.contended.shortest
        self._rated: set[int] = set()

    def wake(self) -> None:
        """Claim from lanes with the next claim, even if the last one found nothing there."""
        self._ask_at = -math.inf
        self._pause = self._timing.contended.shortest

    def makes_room(self, lanes: Collection[int]) -> bool:
        """Return whether the end of a job of these lanes may allow a claim; under rates alone it
        cannot.
        """
        return not self._rated.issuperset(lanes)

    async def claim(self, scope: ClaimScope, room: int, most: int) -> tuple[list[Claim], int]:
        """Claim up to `most` jobs from lanes; return them and the room left for plain jobs."""
        asked_at = time.monotonic()
        if asked_at < self._ask_at:
            return [], room
        ahead = await self._database.autocommit_async(lane_claims.ahead)
        if ahead.unfiled:
            await self._database.transact_async(filing.file)
            asked_at = time.monotonic()
            ahead = await self._database.autocommit_async(lane_claims.ahead)
        now = time.monotonic()
        if ahead.due_in > 0 and ahead.unfiled:
            self.next_look = NextLook(now, "jobs wait to be put into lanes")
            return [], room
        if ahead.due_in > 0:
            # Plain claims do not ask each time: only when a lane is due, after a wake-up, or after
            # a pause. So held-back jobs, however many, add little to the claims of others.
            self.next_look = NextLook(now + ahead.due_in, "a lane may be claimed")
            self._ask_at = min(self.next_look.at, now + self._timing.ahead_rest * (now - asked_at))
            return [], room
        if most <= 0:
            # Every slot is taken, and jobs that were claimed before wait for the next one.
            self._rated.clear()
            self.next_look = NextLook(now + self._timing.contended.shortest, "a lane is due")
            return [], room
        result = await self._database.transact_async(lane_claims.claim, scope, room, most)
        if result.discarded:
            await self._database.transact_async(cancelling.discard, result.discarded)
        if len(result.claims) >= most or len(self._rated) > MOST_RATED:
            # Where slots were lacking, the end of any job makes room. Where a node would keep too
            # many lanes in mind, it pays for their jobs that end with an empty claim each.
            self._rated.clear()
        self._rated.difference_update(
            claim.lane_id for claim in result.claims if claim.lane_id is not None
        )
        if len(result.claims) < most:
            self._rated |= result.rated
        if result.skipped:
            # What is due is locked by other nodes, can run only there, or waits until jobs end,
            # which wakes this node.
            pause = min(self._pause * self._rng.uniform(0.5, 1.0), ahead.next_in)
            self._pause = self._timing.contended.after(self._pause)
            self._rest_until(time.monotonic() + pause, "a lane could not be claimed")
        else:
            self._pause = self._timing.contended.shortest
            rest = min(result.rest, self._timing.lane_rest)
            self._rest_until(now + rest, "starts under a rate have gathered")
        return result.claims, result.plain_room

    def _rest_until(self, at: float, why: str) -> None:
        self._ask_at, self.next_look = at, NextLook(at, why)
