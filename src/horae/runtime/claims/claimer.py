"""How a node claims: with one statement as a rule, with three where queues that it serves have limits.

It learns of limits with the look ahead that an idle node makes anyway, and a busy one every few seconds. Until then
it takes nothing of such a queue, so a new limit holds from the first moment.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from horae.domain.jobs.job import Claim
from horae.runtime.claims.claim_cursor import ClaimCursor
from horae.runtime.timing import ClaimerTiming
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.jobs import claims, limited_claims
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limited_claims import LimitedClaims


class Claimer:
    """The claims of one node, and what it knows of limits."""

    def __init__(self, database: Database, scope: ClaimScope, timing: ClaimerTiming, rng: Random) -> None:
        self.limited = frozenset[str]()
        """The queues that have limits, of those that the node serves."""
        self.exhausted = False
        """Whether the last claim took all that there was."""
        self.pause = math.inf
        """Seconds after which another claim may take what the last one had to pass over."""
        self._database, self._scope, self._timing, self._rng = database, scope, timing, rng
        self._cursor = self._new_cursor()
        self._looked_at = -math.inf
        self._next_pause = self._timing.contended.shortest
        self.avoided: dict[str, tuple[float, float]] = {}
        """Types whose bodies cannot begin here: until when they are left to others, and how long that is."""

    def avoid(self, name: str) -> None:
        """Take nothing of this type for a moment, which grows from one time to the next until `trust`."""
        now = time.monotonic()
        until, pause = self.avoided.get(name, (0.0, self._timing.avoided_for.shortest / 2))
        if now >= until:  # else it was tried together with others
            pause = min(pause * 2, self._timing.avoided_for.longest)
            self.avoided[name] = now + pause * self._rng.uniform(0.5, 1.0), pause

    def trust(self, name: str) -> None:
        """A body of this type has begun."""
        self.avoided.pop(name, None)

    def _asked(self) -> ClaimScope:
        """What the next claim may take; where that is not all, another one follows after `pause`."""
        now = time.monotonic()
        waits = {name: until - now for name, (until, _) in self.avoided.items() if until > now}
        if not waits:
            return self._scope
        self.pause = min(waits.values())
        return replace(self._scope, types=tuple(name for name in self._scope.types if name not in waits))

    def serve(self, types: tuple[str, ...]) -> None:
        """Take jobs of these types from now on, also those that lie before the last one that was claimed."""
        self._scope = replace(self._scope, types=types)
        self._cursor = self._new_cursor()

    def _new_cursor(self) -> ClaimCursor:
        timing = self._timing
        rest = timing.scan_rest if self._database.dialect == POSTGRESQL else 0.0
        return ClaimCursor(slow=timing.slow_scan, rest=rest, gain=timing.cursor_gain)

    @property
    def is_stale(self) -> bool:
        """Whether limits may have come or gone since the last look."""
        return time.monotonic() - self._looked_at > self._timing.limits_fresh

    async def claim(self, room: int) -> Sequence[Claim]:
        """Take up to `room` due jobs; raises what the database raises."""
        self.pause = math.inf
        scope = self._asked() if self.avoided else self._scope
        names = await self._within_reach(scope, room) if self.limited else ()
        if not names:
            return await self._claim_unlimited(scope, room)
        result = await self._database.transact_async(limited_claims.claim, scope, room, names)
        self._take_note(result)
        return result.claims

    async def _claim_unlimited(self, scope: ClaimScope, room: int) -> Sequence[Claim]:
        began = time.monotonic()
        beyond = self._cursor.beyond(began)
        taken = await self._database.autocommit_async(claims.claim, scope, room, beyond)
        ended = time.monotonic()
        self._cursor.move(taken, beyond=beyond, began=began, ended=ended)
        self.exhausted = len(taken) < room
        return taken

    async def look_ahead(self) -> float | None:
        """Learn of limits; seconds until the next job is due, as `claims.look_ahead` says."""
        if not self.is_stale and self._cursor.rest(time.monotonic()):
            return None  # it would read all that a claim has just passed by
        ahead = await self._database.autocommit_async(claims.next_work)
        self._looked_at = time.monotonic()
        scope = self._scope.queues
        self.limited = ahead.limited if scope is None else ahead.limited.intersection(scope)
        return ahead.due_in

    async def _within_reach(self, scope: ClaimScope, room: int) -> Sequence[str]:
        return await self._database.autocommit_async(limited_claims.limited_queues_with_room, scope, room)

    def _take_note(self, taken: LimitedClaims) -> None:
        self.exhausted = taken.contended  # else there may be more behind what did not fit, so the next claim comes soon
        if taken.contended:
            self.pause = min(self.pause, self._next_pause * self._rng.uniform(0.5, 1.0))
            self._next_pause = min(self._next_pause * 2, self._timing.contended.longest)
        else:
            self._next_pause = self._timing.contended.shortest
