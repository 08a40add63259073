"""Finds out which job crashed a node, by running the jobs in question one at a time.

A node that crashes takes all of its bodies with it, and all of them are rescued together. So jobs
that ran in two such crashes are run one at a time per node, alongside jobs that did not. If that
node crashes again, the one suspect that ran each time is quarantined.
"""

from collections.abc import Callable, Container, Sequence
from random import Random

from horae.domain.jobs import MAX_CRASHES, Claim, JobId, NodeId
from horae.runtime.timing import Pauses
from horae.storage.engine import Database
from horae.storage.jobs import claims
from horae.storage.outcomes import crashed_nodes


class Suspects:
    """Lets one suspect job run at a time."""

    def __init__(self, database: Database, node: NodeId, pause: Pauses, rng: Random) -> None:
        self._database, self._node, self._pause, self._rng = database, node, pause, rng
        self._running: JobId | None = None

    async def sift(
        self, taken: Sequence[Claim], busy: Callable[[], Container[JobId]]
    ) -> Sequence[Claim]:
        """Return the claims that may begin here; hand the others back for a moment.

        `busy`: returns the jobs that this node runs or will run. Raises what the database raises.
        """
        # Each crash uses up an attempt, so nearly all jobs need no query.
        asked = [claim.id for claim in taken if claim.attempt >= MAX_CRASHES]
        if not asked:
            return taken
        crashes = await self._database.autocommit_async(crashed_nodes.crashes_of, asked)
        suspects = [claim for claim in taken if crashes.get(claim.id, 0) >= MAX_CRASHES - 1]
        if suspects and (self._running is None or self._running not in busy()):
            self._running = suspects.pop(0).id
        return await self.postpone(suspects, taken)

    async def postpone(self, later: Sequence[Claim], taken: Sequence[Claim]) -> Sequence[Claim]:
        """Hand some of the claims back for a moment, and return the others."""
        if not later:
            return taken
        pause = self._rng.uniform(*self._pause)
        await self._database.transact_async(claims.postpone, self._node, later, pause)
        left = {claim.id for claim in later}
        return [claim for claim in taken if claim.id not in left]
