"""Claims jobs: with one statement as a rule, with more where queues have limits or jobs wait in
lanes.

Limits are read together with the next due time: by an idle node when it has nothing to claim, by a
busy one every few seconds. A claim takes no job of a queue with a limit until the limit is known,
so a new limit holds at once.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from horae.domain.jobs.job import Claim, JobId
from horae.runtime.claims.claim_cursor import ClaimCursor
from horae.runtime.claims.lane_claimer import LaneClaimer
from horae.runtime.timing import ClaimerTiming
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.jobs import claims
from horae.storage.jobs.claims import ClaimScope, Part
from horae.storage.jobs.limits import limited_claims
from horae.storage.jobs.limits.limited_claims import LimitedClaims


class Claimer:
    """Makes the claims of one node, and knows which queues have limits."""

    def __init__(
        self, database: Database, scope: ClaimScope, timing: ClaimerTiming, rng: Random
    ) -> None:
        self.limited = frozenset[str]()
        """The queues with limits among those that the node serves."""
        self.exhausted = False
        """Whether the last claim left nothing that could be claimed."""
        self.next_due: int | None = None
        """Identifies the time at which the next job is due, as `look_ahead` found it."""
        self.pause = math.inf
        """Seconds after which another claim may take what the last one had to skip."""
        self._database, self._scope, self._timing, self._rng = database, scope, timing, rng
        self.lanes = LaneClaimer(database, timing, rng)
        self._cursor = self._new_cursor()
        self._limits_read_at = -math.inf
        self._next_pause = self._timing.contended.shortest
        self.avoided: dict[str, tuple[float, float]] = {}
        """Job types that cannot begin here: until when they are left to other nodes, and for how
        long each time.
        """

    def avoid(self, name: str) -> None:
        """Claim no jobs of this type for a while, which doubles each time until `trust` is
        called.
        """
        now = time.monotonic()
        until, pause = self.avoided.get(name, (0.0, self._timing.avoided_for.shortest / 2))
        if now >= until:  # otherwise several of its jobs were tried together
            pause = self._timing.avoided_for.after(pause)
            self.avoided[name] = now + pause * self._rng.uniform(0.5, 1.0), pause

    def trust(self, name: str) -> None:
        """Claim jobs of this type again: a body has begun."""
        self.avoided.pop(name, None)

    def _current_scope(self) -> ClaimScope:
        """Return what the next claim may take; if that is not all, another claim follows after
        `pause`.
        """
        now = time.monotonic()
        waits = {name: until - now for name, (until, _) in self.avoided.items() if until > now}
        if not waits:
            return self._scope
        self.pause = min(waits.values())
        return replace(
            self._scope, types=tuple(name for name in self._scope.types if name not in waits)
        )

    def serve(self, types: tuple[str, ...]) -> None:
        """Claim jobs of these types from now on, including those before the last job that was
        claimed.
        """
        self._scope = replace(self._scope, types=types)
        self._cursor = self._new_cursor()

    def _new_cursor(self) -> ClaimCursor:
        timing = self._timing
        rest = timing.scan_rest if self._database.dialect == POSTGRESQL else 0.0
        return ClaimCursor(slow=timing.slow_scan, rest=rest, gain=timing.cursor_gain)

    @property
    def is_stale(self) -> bool:
        """Whether the limits must be read again."""
        return time.monotonic() - self._limits_read_at > self._timing.limits_fresh

    async def claim(self, room: int, slots: int) -> Sequence[Claim]:
        """Take up to `room` due jobs, and up to `slots` of them from lanes; raises what the
        database raises.

        Jobs from lanes come first, and are meant to begin at once: the start of a job under a rate
        was counted.
        """
        self.pause = math.inf
        scope = self._current_scope() if self.avoided else self._scope
        if not self.lanes.in_use:
            return await self._claim_plain(scope, room)
        found = await self.lanes.claim(scope, room, slots)
        self.exhausted = True
        plain = await self._claim_plain(scope, found.plain_room) if found.plain_room else ()
        self.exhausted = self.exhausted and self.lanes.due_in > 0
        self.pause = min(self.pause, self.lanes.due_in)
        return [*found.claims, *plain]

    async def _claim_plain(self, scope: ClaimScope, room: int) -> Sequence[Claim]:
        names: Sequence[str] = ()
        if self.limited:
            names = await self._database.autocommit_async(
                limited_claims.limited_queues_with_room, scope, room
            )
        if not names:
            return await self._claim_unlimited(scope, room)
        result = await self._database.transact_async(limited_claims.claim, scope, room, names)
        self._note_contention(result)
        return result.claims

    async def _claim_unlimited(self, scope: ClaimScope, room: int) -> Sequence[Claim]:
        began = time.monotonic()
        last = self._cursor.beyond(began)
        if last is not None:
            return await self._claim_beyond(scope, room, last)
        taken = await self._database.autocommit_async(claims.claim, scope, room)
        self._cursor.move(taken, beyond=None, began=began, ended=time.monotonic())
        self.exhausted = len(taken) < room
        return taken

    async def _claim_beyond(self, scope: ClaimScope, room: int, last: JobId) -> Sequence[Claim]:
        """Claim without a look at the jobs that have the priority of the last one and come before
        it.
        """
        claim, began = self._database.autocommit_async, time.monotonic()
        higher: Sequence[Claim] = ()
        if self._cursor.looks_higher(began):
            higher = await claim(claims.claim, scope, room, Part.HIGHER, last)
            ended = time.monotonic()
            self._cursor.note_higher(began=began, ended=ended)
            began = ended
        self.exhausted, left = False, room - len(higher)
        if not left:
            return higher
        same = await claim(claims.claim, scope, left, Part.AFTER, last)
        self._cursor.move(same, beyond=last, began=began, ended=time.monotonic())
        left -= len(same)
        if not left:
            return [*higher, *same]
        lower = await claim(claims.claim, scope, left, Part.LOWER, last)
        self.exhausted = len(lower) < left
        self._cursor.follow(lower)
        if not same and not lower and not await claim(claims.exists, last):
            self._cursor.return_to_front()
            self.exhausted = False
        return [*higher, *same, *lower]

    async def look_ahead(self) -> float | None:
        """Read the limits; return the seconds until the next job is due, as `claims.look_ahead`
        does.
        """
        if not self.is_stale and self._cursor.rest(time.monotonic()):
            return None  # it would read all the index entries that a claim has just skipped
        ahead = await self._database.autocommit_async(claims.next_work)
        self._limits_read_at = time.monotonic()
        scope = self._scope.queues
        self.lanes.in_use = ahead.lanes
        self.next_due = ahead.due_at
        self.limited = ahead.limited if scope is None else ahead.limited.intersection(scope)
        return ahead.due_in

    def _note_contention(self, taken: LimitedClaims) -> None:
        self.exhausted = taken.contended  # otherwise more jobs may follow those that did not fit
        if taken.contended:
            self.pause = min(self.pause, self._next_pause * self._rng.uniform(0.5, 1.0))
            self._next_pause = self._timing.contended.after(self._next_pause)
        else:
            self._next_pause = self._timing.contended.shortest
