"""Claims jobs: usually with one statement, with more for limited queues or jobs in lanes.

Limits are read together with the next due time: by an idle node when it has nothing to claim, by a
busy one every few seconds. A claim takes no job of a queue with a limit until the limit is known,
so a new limit holds at once.
"""

import math
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from random import Random
from typing import TypeAlias

from horae.domain.jobs import Claim, JobId
from horae.runtime.claims.claim_cursor import ClaimCursor
from horae.runtime.claims.lane_claimer import LaneClaimer
from horae.runtime.claims.next_look import AT_ONCE, NEVER, NextLook, first_of
from horae.runtime.timing import ClaimerTiming
from horae.storage.engine import Database
from horae.storage.jobs import ClaimScope, NextWork, Part, claims
from horae.storage.jobs.limits import limited_claims

Claimed: TypeAlias = tuple[Sequence[Claim], NextLook]
"""The claimed jobs, and when to claim again for what is known to remain."""


class Claimer:
    """Makes the claims of one worker, and knows which queues have limits."""

    def __init__(
        self, database: Database, scope: ClaimScope, timing: ClaimerTiming, rng: Random
    ) -> None:
        self._database, self._scope, self._timing, self._rng = database, scope, timing, rng
        self._lanes = LaneClaimer(database, timing, rng)
        self._cursor = self._new_cursor()
        self.known = NextWork(None, frozenset())
        """What `look_ahead` has read last."""
        self.stale_at = -math.inf
        """When the limits are to be read again."""
        self._next_pause = self._timing.contended.shortest
        self.avoided: dict[str, tuple[float, float]] = {}
        """Job types that cannot begin here, each with the end of the pause and its length."""

    def avoid(self, name: str) -> None:
        """Claim no jobs of this type for a pause that doubles each time until `trust` is called."""
        now = time.monotonic()
        until, pause = self.avoided.get(name, (0.0, self._timing.avoided_for.shortest / 2))
        if now >= until:  # several jobs of the type may fail together, and count once
            pause = self._timing.avoided_for.after(pause)
            self.avoided[name] = now + pause * self._rng.uniform(0.5, 1.0), pause

    def trust(self, name: str) -> None:
        """Claim jobs of this type again: a body has begun."""
        self.avoided.pop(name, None)

    def serve(self, types: tuple[str, ...]) -> None:
        """Claim jobs of these types from now on, including those passed over earlier."""
        self._scope = replace(self._scope, types=types)
        self._cursor = self._new_cursor()

    def _new_cursor(self) -> ClaimCursor:
        timing = self._timing
        rest = 0.0 if self._database.is_file else timing.scan_rest
        return ClaimCursor(slow=timing.slow_scan, rest=rest, gain=timing.cursor_gain)

    def wake(self) -> None:
        """Leave out nothing at the next claim: there may be work."""
        self._lanes.wake()

    @property
    def limited(self) -> frozenset[str]:
        """The queues with limits among those that the node serves."""
        served = self._scope.queues
        limited = self.known.limited
        return limited if served is None else limited.intersection(served)

    def makes_room(self, queues: Collection[str], lanes: Collection[int]) -> bool:
        """Return whether the end of jobs of these queues and lanes may allow another claim."""
        return not self.limited.isdisjoint(queues) or self._lanes.makes_room(lanes)

    async def claim(self, room: int, slots: int) -> Claimed:
        """Take up to `room` due jobs, up to `slots` of them from lanes; raises database errors.

        Jobs from lanes come first, and are meant to begin at once: the start of a job under a rate
        was counted.
        """
        scope, looks = self._scope, list[NextLook]()
        if self.avoided:
            now = time.monotonic()
            until = {name: until for name, (until, _) in self.avoided.items() if until > now}
            scope = replace(scope, types=tuple(name for name in scope.types if name not in until))
            looks += [NextLook(at, "jobs of a type could not begin") for at in until.values()]
        taken: Sequence[Claim] = ()
        if self.known.lanes:
            taken, room = await self._lanes.claim(scope, room, slots)
            looks.append(self._lanes.next_look)
        if room:
            plain, look = await self._claim_plain(scope, room)
            taken = [*taken, *plain]
            looks.append(look)
        return taken, first_of(looks)

    async def _claim_plain(self, scope: ClaimScope, room: int) -> Claimed:
        """Claim jobs that wait in no lane."""
        names: Sequence[str] = ()
        if self.limited:
            names = await self._database.autocommit_async(
                limited_claims.limited_queues_with_room, scope, room
            )
        if names:
            result = await self._database.transact_async(limited_claims.claim, scope, room, names)
            if not result.contended:
                self._next_pause = self._timing.contended.shortest
                return result.claims, AT_ONCE  # more jobs may follow
            pause = self._next_pause * self._rng.uniform(0.5, 1.0)
            self._next_pause = self._timing.contended.after(self._next_pause)
            return result.claims, NextLook(time.monotonic() + pause, "a limited queue was locked")
        began = time.monotonic()
        last = self._cursor.beyond(began)
        if last is not None:
            return await self._claim_beyond(scope, room, last)
        taken = await self._database.write_one_async(claims.claim, scope, room)
        self._cursor.move(taken, beyond=None, began=began, ended=time.monotonic())
        return taken, NEVER if len(taken) < room else AT_ONCE

    async def _claim_beyond(self, scope: ClaimScope, room: int, last: JobId) -> Claimed:
        """Claim without looking at jobs of the same priority before the last one claimed."""
        claim, began = self._database.write_one_async, time.monotonic()
        higher: Sequence[Claim] = ()
        if self._cursor.looks_higher(began):
            higher = await claim(claims.claim, scope, room, Part.HIGHER, last)
            ended = time.monotonic()
            self._cursor.note_higher(began=began, ended=ended)
            began = ended
        left = room - len(higher)
        if not left:
            return higher, AT_ONCE
        same = await claim(claims.claim, scope, left, Part.AFTER, last)
        self._cursor.move(same, beyond=last, began=began, ended=time.monotonic())
        left -= len(same)
        if not left:
            return [*higher, *same], AT_ONCE
        lower = await claim(claims.claim, scope, left, Part.LOWER, last)
        self._cursor.follow(lower)
        look = NEVER if len(lower) < left else AT_ONCE
        if (
            not same
            and not lower
            and not await self._database.autocommit_async(claims.exists, last)
        ):
            self._cursor.return_to_front()
            look = AT_ONCE
        return [*higher, *same, *lower], look

    def rest(self, now: float) -> float:
        """Return the seconds for which the next due time is not read, because claims are slow."""
        return self._cursor.rest(now)

    async def look_ahead(self) -> NextWork | None:
        """Read the limits and the next due time; return None if that takes too long now."""
        now = time.monotonic()
        read = claims.next_work
        if self.rest(now):
            if now < self.stale_at:
                return None
            read = claims.limits  # the due time is behind the entries that a claim has just skipped
        self.known = await self._database.autocommit_async(read)
        self.stale_at = time.monotonic() + self._timing.limits_fresh
        return self.known
