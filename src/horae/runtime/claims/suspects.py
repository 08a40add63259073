"""Which of the jobs that a node has claimed may have ended other nodes, and how it is found out which one did.

A node that ends takes all of its bodies with it, and they come back together. So the jobs that were there at two such
ends are run one at a time on a node, beside others that were not: if that ends again, it was the one that was there at
each, and it alone is quarantined.
"""

from collections.abc import Callable, Container, Sequence
from random import Random

from horae.domain.jobs.job import MAX_CRASHES, Claim, JobId
from horae.runtime.timing import Pauses
from horae.storage.engine.database import Database
from horae.storage.jobs import claims
from horae.storage.outcomes import crashed_nodes


class Suspects:
    """Lets one suspect run at a time."""

    def __init__(self, database: Database, pause: Pauses, rng: Random) -> None:
        self._database, self._pause, self._rng = database, pause, rng
        self._running: JobId | None = None

    async def sift(self, taken: Sequence[Claim], busy: Callable[[], Container[JobId]]) -> Sequence[Claim]:
        """Of these claims those that may begin here; the others are handed back for a moment.

        `busy`: the jobs that this node has begun or will begin. Raises what the database raises.
        """
        # A crash uses up an attempt, so nothing is asked about nearly all jobs.
        asked = [claim.id for claim in taken if claim.attempt >= MAX_CRASHES]
        if not asked:
            return taken
        crashes = await self._database.autocommit_async(crashed_nodes.crashes_of, asked)
        suspects = [claim for claim in taken if crashes.get(claim.id, 0) >= MAX_CRASHES - 1]
        if suspects and (self._running is None or self._running not in busy()):
            self._running = suspects.pop(0).id
        if suspects:
            pause = self._rng.uniform(*self._pause)
            await self._database.transact_async(claims.postpone, suspects, pause)
        later = {claim.id for claim in suspects}
        return [claim for claim in taken if claim.id not in later]
