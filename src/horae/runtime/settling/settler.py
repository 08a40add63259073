"""Writes the results of runs in batches: what ends while one batch is written makes up the next.

So an idle node writes each result at once and a busy one writes large batches, without a timer.
Once a batch is committed, its runs are final. If the answer to the commit is lost, the batch is
written again, and `storage/outcomes/settling.py` makes that idempotent.

No result is forgotten while the node lives. A batch that cannot be written goes to the end of the
queue in two halves and is tried again. So one result that the database never accepts delays the
others only for a moment.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from random import Random

from sqlalchemy import Connection

from horae.domain.jobs import UNSTORABLE_TEXT, AttemptOutcome, Claim, JobId, JobState, Settlement
from horae.guarded_log import guarded_log
from horae.runtime.bodies import FinishedRun, RunEnvironment, Settling
from horae.runtime.signals import Signals
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import SettlerTiming
from horae.sentences import counted
from horae.storage.engine import is_of_data
from horae.storage.jobs import ON_ERROR, claims
from horae.storage.outcomes import Settled, settling
from horae.types import Observed

log = guarded_log("horae.runtime")


Beat = Callable[[Connection], Callable[[], None]]


class Repetition:
    """Decides what is written again, and when, after the database has not accepted a batch.

    A result that cannot be stored is replaced by a failure. To find it, the next batch is half as
    large, so that it is soon alone. After any other error everything is written again, after pauses
    that grow.
    """

    def __init__(self, timing: SettlerTiming, rng: Random) -> None:
        self.largest = timing.batch
        """Maximum number of results in the next batch."""
        self._timing, self._rng = timing, rng
        self._pause = timing.retry.shortest
        self._unavailable = ThrottledWarning()

    def settle(self) -> None:
        """Record that a batch was written."""
        self._unavailable.settle()
        self._pause = self._timing.retry.shortest
        self.largest = min(self.largest * 2, self._timing.batch)

    def after(
        self, batch: Sequence[FinishedRun], error: Exception, *, waiting: int = 0
    ) -> tuple[Sequence[FinishedRun], float]:
        """Return what to write again and the pause before; `waiting`: results behind it."""
        of_data = is_of_data(error)
        self.largest = max(len(batch) // 2, 1)
        if of_data and len(batch) > 1:
            return batch, 0.0
        if of_data and (instead := failure_instead(batch[0], error)) is not None:
            return [instead], 0.0
        unwritten = counted(len(batch) + waiting, "result")
        self._unavailable.warn("%s not written yet: %s", unwritten, error)
        pause = self._pause * self._rng.uniform(0.5, 1.0)
        self._pause = self._timing.retry.after(self._pause)
        return batch, pause


class Settler:
    """The only service of a node that settles claims."""

    def __init__(
        self,
        environment: RunEnvironment,
        signals: Signals,
        timing: SettlerTiming,
        rng: Random,
        beat: Beat = lambda _connection: lambda: None,
    ) -> None:
        """`beat`: writes a due heartbeat in each transaction; returns a callback for the commit."""
        self._environment, self._signals, self._timing = environment, signals, timing
        self._beat, self._repetition = beat, Repetition(timing, rng)
        self._waiting: list[FinishedRun] = []
        self._writing: Sequence[FinishedRun] = ()
        self._work = asyncio.Event()
        self._closing = False
        self._patient = True

    @property
    def is_full(self) -> bool:
        """Whether so many results wait that no more jobs should be claimed."""
        return len(self._waiting) >= self._timing.most_waiting

    @property
    def unsettled(self) -> list[Claim]:
        """The claims whose results are not known to be committed."""
        return [finished.claim for finished in (*self._writing, *self._waiting)]

    def add(self, finished: FinishedRun) -> None:
        """Queue the result of a run."""
        waiting = self._waiting
        waiting.append(finished)
        if len(waiting) == 1:  # the first one of a batch wakes `run`
            self._work.set()
        elif len(waiting) >= self._timing.most_waiting:
            self._signals.burst_over.set()

    def drop(self, claims: Iterable[Claim]) -> None:
        """Forget the results of claims that are void."""
        void = {(claim.id, claim.lease) for claim in claims}
        waiting, self._waiting = self._waiting, []
        for finished in waiting:
            if (finished.claim.id, finished.claim.lease) in void:
                self._environment.journal.end([finished.claim])
            else:
                self._waiting.append(finished)

    def close(self) -> None:
        """Let `run` end once nothing waits."""
        self._closing = True
        self._work.set()

    async def run(self) -> None:
        """Write batches until closed and empty."""
        while True:
            await self._work.wait()
            # Wait until a burst of schedules is over, once per burst and only for a moment.
            if self._signals.burst_over.is_set():
                self._patient = True
            elif self._patient and not self._closing:
                self._patient = False
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._timing.burst_wait):
                        await self._signals.burst_over.wait()
            was_full, largest = self.is_full, self._repetition.largest
            batch, self._waiting = self._waiting[:largest], self._waiting[largest:]
            self._writing = batch
            if batch:
                await self._write(batch)
            self._writing = ()
            if was_full and not self.is_full:
                self._signals.room.send()
            if not self._waiting:
                self._work.clear()
                if self._closing:
                    return

    async def _write(self, batch: Sequence[FinishedRun]) -> None:
        try:
            with Observed(self._environment.settlements, Settling(batch)) as observed:
                settled = await self._environment.database.in_service(partial(self._commit, batch))
                observed.settled = settled.settled
        except Exception as error:  # noqa: BLE001 - `Repetition` distinguishes them
            again, pause = self._repetition.after(batch, error, waiting=len(self._waiting))
            self._waiting.extend(again)
            self._writing = ()  # `unsettled` must not have them twice during the pause
            await asyncio.sleep(pause)
            return
        self._repetition.settle()
        self._environment.journal.end([finished.claim for finished in batch])
        self._signals.settled.send(batch, settled)

    def _commit(self, batch: Sequence[FinishedRun]) -> Settled:
        def write(connection: Connection) -> tuple[Settled, Callable[[], None]]:
            return settle_batch(connection, self._environment, batch), self._beat(connection)

        settled, committed = self._environment.database.transact(write)
        committed()
        return settled


def failure_instead(finished: FinishedRun, error: Exception) -> FinishedRun | None:
    """Return a write failure in place of a rejected result; None if the result is already one."""
    claim, settlement = finished.claim, finished.settlement
    if settlement is None or settlement.human_readable_error == UNSTORABLE_TEXT:
        return None
    log.error(
        "the result of job %d cannot be stored, so the job is failed", claim.id, exc_info=error
    )
    failure = Settlement(
        claim.id,
        claim.lease,
        JobState.FAILED,
        AttemptOutcome.FAILED,
        error=type(error).__name__,
        human_readable_error=UNSTORABLE_TEXT,
        hook_owed=ON_ERROR,
    )
    return FinishedRun(claim, failure, finished.error)


def settle_batch(
    connection: Connection, environment: RunEnvironment, batch: Sequence[FinishedRun]
) -> Settled:
    """Write the results of runs of one node."""
    settlements = [finished.settlement for finished in batch if finished.settlement is not None]
    settled = (
        settling.settle(connection, environment.node, settlements) if settlements else Settled()
    )
    settled.settled.update(finished.claim.id for finished in batch if finished.already)
    unbegun = {finished.claim.id: finished.claim for finished in batch if finished.unbegun}
    returned = (
        claims.hand_back(connection, environment.node, list(unbegun.values()))
        if unbegun
        else set[JobId]()
    )
    # A job that could not be handed back was cancelled meanwhile and still has to be released by
    # its node.
    stopped = [
        (finished.claim.id, finished.claim.lease)
        for finished in batch
        if finished.settlement is None
        and not finished.already
        and finished.claim.id not in returned
    ]
    settled.add(settling.release(connection, environment.node, stopped, unbegun))
    settled.returned.update(returned)
    return settled


def state_after(finished: FinishedRun, settled: Settled) -> JobState | None:
    """Return the state of a job after the result of its run was written; None if it was not."""
    claim = finished.claim
    if claim.id not in settled.settled:
        return settled.released.get(claim.id)
    return JobState.FINISHED if finished.settlement is None else finished.settlement.state
