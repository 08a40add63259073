"""Writes what became of claims, in batches: what ends while one batch is under way makes the next.

So an idle node settles at once and a busy one in large batches, with no timer. A batch is acknowledged after its
commit; where the commit's answer is lost it is written again, which `storage/settling.py` makes harmless.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Final, NamedTuple

from sqlalchemy import Connection

from horae.domain.job import AttemptOutcome, Claim, JobId, JobState, Settlement
from horae.runtime.runner import Stage
from horae.storage import settling
from horae.storage.database import is_disconnect
from horae.storage.settling import Settled

LARGEST_BATCH: Final = 1000
MOST_WAITING: Final = 10_000
PATIENCE: Final = 1.0
"""Ends in one transaction; ends that may wait; seconds for which they let a crowd of starts pass."""
log = logging.getLogger("horae.runtime")


class Ended(NamedTuple):
    """A body that has stopped, and what is to be written of it.

    No settlement: only that it has stopped; or nothing, if its own transaction has `already` finished the job.
    """

    claim: Claim
    settlement: Settlement | None
    error: BaseException | None = None
    already: bool = False


Settlers = Callable[[Sequence[Ended], Settled], None]


class Settler:
    """The one place of a node from which claims are settled."""

    def __init__(self, stage: Stage, on_settled: Settlers, rng: Random) -> None:
        self._stage = stage
        self._on_settled = on_settled
        self._rng = rng
        self._waiting: list[Ended] = []
        self._writing: Sequence[Ended] = ()
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = False
        self._patient = True
        self.on_room: Callable[[], None] = lambda: None
        self.way = asyncio.Event()
        """Not set while a crowd of schedules is due: what starts goes before what ends, for a moment."""
        self.way.set()

    @property
    def crowded(self) -> bool:
        """Whether so much waits to be written that nothing more should be claimed."""
        return len(self._waiting) >= MOST_WAITING

    @property
    def unsettled(self) -> list[JobId]:
        """The jobs whose ends are not known to be committed."""
        return [ended.claim.id for ended in (*self._writing, *self._waiting)]

    def add(self, ended: Ended) -> None:
        """Take over a body that has stopped."""
        self._waiting.append(ended)
        if self.crowded:
            self.way.set()
        self._work.set()
        self._idle.clear()

    async def drained(self) -> None:
        """Wait until everything that was added is committed."""
        await self._idle.wait()

    def close(self) -> None:
        """Let `run` end once nothing waits any more."""
        self._closing = True
        self._work.set()

    async def run(self) -> None:
        """Write batches until closed and empty."""
        while True:
            await self._work.wait()
            await self._let_pass()
            crowded = self.crowded
            batch, self._waiting = self._waiting[:LARGEST_BATCH], self._waiting[LARGEST_BATCH:]
            self._writing = batch
            if batch:
                await self._write(batch)
            self._writing = ()
            if crowded and not self.crowded:
                self.on_room()
            if not self._waiting:
                self._idle.set()
                self._work.clear()
                if self._closing:
                    return

    async def _let_pass(self) -> None:
        """Wait until the way is free: once for each crowd, however long that lasts."""
        if self.way.is_set():
            self._patient = True
        elif self._patient and not self._closing:
            self._patient = False
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self.way.wait()

    async def _write(self, batch: Sequence[Ended]) -> None:
        settled = await self._commit(batch)
        self._on_settled(batch, settled)

    async def _commit(self, batch: Sequence[Ended]) -> Settled:
        """Commit the batch; a database that is away is waited for, a row that cannot be written is set apart."""
        pause = 0.05
        while True:
            try:
                return await self._stage.database.transact_async(settle_batch, self._stage, batch)
            except Exception as error:  # noqa: BLE001 - told apart below
                if not is_disconnect(error):
                    return await self._one_by_one(batch, error)
                log.warning("%d results wait for the database: %s", len(batch), error)
            await asyncio.sleep(pause * self._rng.uniform(0.5, 1.0))
            pause = min(pause * 2, 5.0)

    async def _one_by_one(self, batch: Sequence[Ended], error: Exception) -> Settled:
        if len(batch) == 1:
            return await self._as_failure(batch[0], error)
        whole = Settled()
        for ended in batch:
            whole.add(await self._commit([ended]))
        return whole

    async def _as_failure(self, ended: Ended, error: Exception) -> Settled:
        """Fail a job whose end the database refuses, rather than leave it started for ever."""
        claim = ended.claim
        log.error("the end of job %d cannot be written", claim.id, exc_info=error)
        if ended.settlement is None or ended.settlement.outcome is AttemptOutcome.FAILED:
            return Settled()
        text = "What this job returned cannot be stored."
        refused = Settlement(
            claim.id, claim.lease, JobState.FAILED, AttemptOutcome.FAILED, error=type(error).__name__,
            human_readable_error=text,
        )  # fmt: skip
        return await self._commit([Ended(claim, refused)])


def settle_batch(connection: Connection, stage: Stage, batch: Sequence[Ended]) -> Settled:
    """Write what became of the bodies of one node."""
    settlements = [ended.settlement for ended in batch if ended.settlement is not None]
    settled = settling.settle(connection, stage.node, settlements) if settlements else Settled()
    settled.settled.update(ended.claim.id for ended in batch if ended.already)
    stopped = [(ended.claim.id, ended.claim.lease) for ended in batch if ended.settlement is None and not ended.already]
    settled.add(settling.release(connection, stage.node, stopped))
    return settled
