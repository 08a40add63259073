"""Jobs that the database has assigned to this node without its knowledge.

If the answer to a claim is lost, the claim may have taken effect, or may still do so. Such jobs are
searched for and handed back: repeatedly for a while, because the lost statement may still be
running, and then once a minute. A job that has begun here and is not settled, or that waits to be
handed back, is never among them.
"""

import asyncio
import math
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager

from horae.domain.jobs import Claim, JobId
from horae.errors import LeaseLost
from horae.runtime.bodies import RunEnvironment
from horae.runtime.settling import Settler
from horae.runtime.timing import WorkerTiming
from horae.storage.jobs import claims
from horae.types import Attempt


class HeldJobs:
    """The jobs that the workers of one node know to hold."""

    def __init__(self, settler: Settler) -> None:
        self.claiming = asyncio.Lock()
        """Held by a worker that claims or searches: jobs of a claim in progress seem unknown."""
        self._settler = settler
        self._running: list[Mapping[JobId, Attempt]] = []
        self._waiting: list[Iterable[Attempt]] = []

    def add(self, running: Mapping[JobId, Attempt], *waiting: Iterable[Attempt]) -> None:
        """Add where a worker keeps what it runs, and what it has claimed and not begun."""
        self._running.append(running)
        self._waiting.extend(waiting)

    def ids(self) -> list[JobId]:
        """Return the jobs that the node knows to hold."""
        running = [job_id for of_worker in self._running for job_id in of_worker]
        ahead = [attempt.claim.id for of_worker in self._waiting for attempt in of_worker]
        return [*running, *ahead, *(claim.id for claim in self._settler.unsettled)]

    def void(self, claimed: Sequence[Claim]) -> Sequence[Claim]:
        """Return those of these new claims that the node holds already, and end what it holds.

        The database has lost a claim, as a standby may that was promoted. The new claim is of the
        same job, or of another one that has got the id of a lost job.
        """
        if {claim.id for claim in claimed}.isdisjoint(self.ids()):  # nearly all claims are new
            return ()
        ahead = {attempt.claim.id for of_worker in self._waiting for attempt in of_worker}
        unsettled = {(claim.id, claim.lease) for claim in self._settler.unsettled}
        again: list[Claim] = []
        for claim in claimed:
            running = [held[claim.id] for held in self._running if claim.id in held]
            for attempt in running:
                if not attempt.ordered_to_end:
                    attempt.stop(LeaseLost())
            if running or claim.id in ahead or (claim.id, claim.lease) in unsettled:
                again.append(claim)
        if again:
            self._settler.drop(again)
        return again


class LostReplies:
    """Finds the jobs that one worker has claimed without an answer."""

    def __init__(self, environment: RunEnvironment, held: HeldJobs, timing: WorkerTiming) -> None:
        self._environment, self._held, self._timing = environment, held, timing
        self._until = 0.0
        self._search_at = time.monotonic() + timing.orphaned_every

    @property
    def are_possible(self) -> bool:
        """Whether a claim without an answer may still take effect."""
        return time.monotonic() < self._until

    @property
    def is_search_due(self) -> bool:
        """Whether to search now."""
        return self.are_possible or time.monotonic() >= self._search_at

    @contextmanager
    def expect(self) -> Generator[None]:
        """Note that an answer may be lost while the block runs; search for a while if it is, by an
        error or because the block is cancelled.
        """
        before, self._until = self._until, math.inf
        answered = False
        try:
            yield
            answered = True
        finally:
            window = time.monotonic() + self._timing.lost_reply_window
            self._until = before if answered else window

    async def search(self) -> Sequence[Claim]:
        """Return jobs that the node does not know; raises what the database raises.

        They must be handed back before the caller waits for anything.
        """
        async with self._held.claiming:
            known = [*self._environment.journal.listed, *self._held.ids()]
            with self.expect():
                unknown = await self._environment.database.autocommit_async(
                    claims.find_orphaned, self._environment.node, known
                )
            self._search_at = time.monotonic() + self._timing.orphaned_every
            return unknown
