"""Jobs that the database has assigned to this node without its knowledge.

If the answer to a claim is lost, the claim may have taken effect, or may still do so. Such jobs are
searched for and handed back: repeatedly for a while, because the lost statement may still be
running, and then once a minute. A job that has begun here and is not settled, or that waits to be
handed back, is never among them.
"""

import asyncio
import math
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from horae.domain.jobs import Claim, JobId
from horae.runtime.bodies import RunEnvironment
from horae.runtime.settling import Settler
from horae.runtime.timing import WorkerTiming
from horae.storage.jobs import claims


class HeldJobs:
    """The jobs that the workers of one node know to hold."""

    def __init__(self, settler: Settler) -> None:
        self.claiming = asyncio.Lock()
        """Held by a worker that claims or searches: jobs of a claim in progress seem unknown."""
        self._settler = settler
        self._of_workers: list[Callable[[], list[JobId]]] = []

    def add(self, of_worker: Callable[[], list[JobId]]) -> None:
        """Add the jobs that a worker runs or has claimed ahead."""
        self._of_workers.append(of_worker)

    def ids(self) -> list[JobId]:
        """Return the jobs that the node knows to hold."""
        held = [job_id for of_worker in self._of_workers for job_id in of_worker()]
        return [*held, *self._settler.unsettled]


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
    def expected(self) -> Generator[None]:
        """Note that an answer may be lost while the block runs, even if the block is cancelled."""
        before, self._until = self._until, math.inf
        try:
            yield
        except Exception:
            self.note()
            raise
        self._until = before

    def note(self) -> None:
        """Search for a while: the answer to a claim was lost."""
        self._until = time.monotonic() + self._timing.lost_reply_window

    def note_cancelled(self) -> None:
        """Search for a while if a claim was cancelled before its answer came."""
        if self._until == math.inf:
            self.note()

    async def search(self, hand_back: Callable[[Sequence[Claim]], None]) -> int:
        """Hand back jobs that the node does not know; raises what the database raises."""
        async with self._held.claiming:
            known = [*self._environment.journal.listed, *self._held.ids()]
            try:
                unknown = await self._environment.database.autocommit_async(
                    claims.orphaned, self._environment.node, known
                )
            except Exception:
                self.note()
                raise
            self._search_at = time.monotonic() + self._timing.orphaned_every
            hand_back(unknown)
            return len(unknown)
