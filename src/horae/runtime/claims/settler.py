"""Writes what became of claims, in batches: what ends while one batch is under way makes the next.

So an idle node settles at once and a busy one in large batches, with no timer. A batch is acknowledged after its
commit; where the commit's answer is lost it is written again, which `storage/outcomes/settling.py` makes harmless.

Nothing is forgotten while the node lives. What cannot be written goes to the end of the line, in halves of the batch,
and is tried again: so one end that the database never takes costs the others a moment, and not their own commit.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from typing import Final

from sqlalchemy import Connection

from horae.domain.jobs.job import AttemptOutcome, JobId, JobState, Settlement
from horae.runtime.bodies.runner import RunEnvironment
from horae.runtime.bodies.verdict import FinishedRun
from horae.runtime.signals import Signals
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import SettlerTiming
from horae.storage.engine.failures import is_of_data
from horae.storage.jobs import claims
from horae.storage.jobs.owed_hooks import ON_ERROR
from horae.storage.outcomes import settling
from horae.storage.outcomes.settling import Settled

UNSTORABLE: Final = "What this job returned cannot be stored."
log = logging.getLogger("horae.runtime")


Beat = Callable[[Connection], Callable[[], None]]


def _no_beat(_connection: Connection) -> Callable[[], None]:
    return lambda: None


class Settler:
    """The one place of a node from which claims are settled."""

    def __init__(
        self, environment: RunEnvironment, signals: Signals, timing: SettlerTiming, rng: Random, beat: Beat = _no_beat
    ) -> None:
        """`beat`: a sign of life in each transaction, where one is due; the answer is called after the commit."""
        self._environment, self._signals, self._timing = environment, signals, timing
        self._rng, self._beat = rng, beat
        self._waiting: list[FinishedRun] = []
        self._writing: Sequence[FinishedRun] = ()
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = False
        self._patient = True
        self._largest, self._pause = self._timing.batch, self._timing.retry.shortest
        self._away = ThrottledWarning()

    @property
    def crowded(self) -> bool:
        """Whether so much waits to be written that nothing more should be claimed."""
        return len(self._waiting) >= self._timing.most_waiting

    @property
    def unsettled(self) -> list[JobId]:
        """The jobs whose ends are not known to be committed."""
        return [ended.claim.id for ended in (*self._writing, *self._waiting)]

    def add(self, ended: FinishedRun) -> None:
        """Take over a body that has stopped."""
        waiting = self._waiting
        waiting.append(ended)
        if len(waiting) == 1:  # else the first has said so
            self._work.set()
            self._idle.clear()
        elif len(waiting) >= self._timing.most_waiting:
            self._signals.burst_over.set()

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
            await self._let_burst_pass()
            crowded = self.crowded
            batch, self._waiting = self._waiting[: self._largest], self._waiting[self._largest :]
            self._writing = batch
            if batch:
                await self._write(batch)
            self._writing = ()
            if crowded and not self.crowded:
                self._signals.room.send()
            if not self._waiting:
                self._idle.set()
                self._work.clear()
                if self._closing:
                    return

    async def _let_burst_pass(self) -> None:
        """Wait until a burst of schedules is over: once for each burst, and no longer than a moment."""
        if self._signals.burst_over.is_set():
            self._patient = True
        elif self._patient and not self._closing:
            self._patient = False
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timing.burst_wait):
                    await self._signals.burst_over.wait()

    async def _write(self, batch: Sequence[FinishedRun]) -> None:
        try:
            settled = await self._environment.database.in_service(partial(self._commit, batch))
        except Exception as error:  # noqa: BLE001 - told apart there
            await self._repeat(batch, error)
            return
        self._away.settle()
        self._pause = self._timing.retry.shortest
        self._largest = min(self._largest * 2, self._timing.batch)
        self._environment.journal.end([ended.claim for ended in batch])
        self._signals.settled.send(batch, settled)

    def _commit(self, batch: Sequence[FinishedRun]) -> Settled:
        def write(connection: Connection) -> tuple[Settled, Callable[[], None]]:
            return settle_batch(connection, self._environment, batch), self._beat(connection)

        settled, lives = self._environment.database.transact(write)
        lives()
        return settled

    async def _repeat(self, batch: Sequence[FinishedRun], error: Exception) -> None:
        """Put back a batch that could not be written, or in the place of a single end that cannot be stored a failure.

        The next batch is half as large, so that what is at fault is soon alone.
        """
        of_data = is_of_data(error)
        instead = refused(batch[0], error) if of_data and len(batch) == 1 else None
        self._waiting.extend(batch if instead is None else [instead])
        self._largest = max(len(batch) // 2, 1)
        if of_data and (instead is not None or len(batch) > 1):
            return
        self._away.warn("%d results wait for the database: %s", len(self._waiting), error)
        await asyncio.sleep(self._pause * self._rng.uniform(0.5, 1.0))
        self._pause = min(self._pause * 2, self._timing.retry.longest)


def refused(ended: FinishedRun, error: Exception) -> FinishedRun | None:
    """What can be written instead of an end whose values the database refuses; None if nothing else can."""
    claim, settlement = ended.claim, ended.settlement
    if settlement is None or settlement.human_readable_error == UNSTORABLE:
        return None
    log.error("the end of job %d cannot be written, so it is failed", claim.id, exc_info=error)
    failure = Settlement(
        claim.id, claim.lease, JobState.FAILED, AttemptOutcome.FAILED, error=type(error).__name__,
        human_readable_error=UNSTORABLE, hook_owed=ON_ERROR,
    )  # fmt: skip
    return FinishedRun(claim, failure, ended.error)


def settle_batch(connection: Connection, environment: RunEnvironment, batch: Sequence[FinishedRun]) -> Settled:
    """Write what became of the bodies of one node."""
    settlements = [ended.settlement for ended in batch if ended.settlement is not None]
    settled = settling.settle(connection, environment.node, settlements) if settlements else Settled()
    settled.settled.update(ended.claim.id for ended in batch if ended.already)
    unbegun = {ended.claim.id: ended.claim for ended in batch if ended.unbegun}
    returned = claims.hand_back(connection, list(unbegun.values())) if unbegun else set[JobId]()
    # A job that could not be returned was cancelled meanwhile, and waits for its node to let go of it.
    stopped = [
        (ended.claim.id, ended.claim.lease)
        for ended in batch
        if ended.settlement is None and not ended.already and ended.claim.id not in returned
    ]
    settled.add(settling.release(connection, environment.node, stopped, unbegun))
    settled.returned.update(returned)
    return settled
