"""What follows once the end of bodies is committed: retries are awaited, hooks called, whoever waits is told."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from horae.domain.job import JobId, JobState
from horae.runtime.parts import Parts
from horae.runtime.reporter import Reporter
from horae.runtime.settler import Ended
from horae.runtime.sweeper import Rescued
from horae.runtime.worker import Worker
from horae.storage.settling import Settled
from horae.types.hooks import Hooks
from horae.wakeup.channel import Hint, HintKind

log = logging.getLogger("horae.runtime")


class Aftermath:
    """Acts on commits of the settler and the sweeper."""

    def __init__(self, group: asyncio.TaskGroup, parts: Parts, hooks: Hooks, reporter: Reporter) -> None:
        self._group, self._database, self._wakeup = group, parts.database, parts.wakeup
        self._hooks, self._reporter = hooks, reporter
        self.worker: Worker | None = None

    def settled(self, batch: Sequence[Ended], result: Settled) -> None:
        """A batch of bodies that ran here."""
        over: list[JobId] = []
        cancelled = [job_id for job_id, state in result.released.items() if state is JobState.CANCELLED]
        for ended in batch:
            claim = ended.claim
            if claim.id in result.settled:
                state = JobState.FINISHED if ended.settlement is None else ended.settlement.state
                if state is JobState.PENDING:
                    self._retry_in(0.0 if ended.settlement is None else ended.settlement.delay)
                else:
                    over.append(claim.id)
                    cancelled.extend([claim.id] if state is JobState.CANCELLED else [])
                    self._call_hook(ended, state)
            elif claim.id in result.released:
                self._call(partial(self._hooks.released, claim.id, claim.type, result.released[claim.id]))
            elif ended.settlement is not None:
                log.info("the end of job %d was dropped: its lease %d has passed on", claim.id, claim.lease)
        self._reporter.forget((ended.claim.id for ended in batch), cancelled)
        if over:
            self._wakeup.send(Hint(HintKind.ENDED, tuple(over)))

    def rescued(self, batch: Sequence[Rescued]) -> None:
        """A batch of jobs whose node is dead."""
        over: list[JobId] = []
        for rescued in batch:
            settlement = rescued.settlement
            if settlement is None:
                continue
            log.warning("job %d of dead node %s is %s", settlement.id, rescued.node, settlement.state.value)
            if settlement.state is JobState.PENDING:
                self._retry_in(settlement.delay)
            else:
                over.append(settlement.id)
        if over:
            self._wakeup.send(Hint(HintKind.ENDED, tuple(over)))

    def _retry_in(self, seconds: float) -> None:
        if self.worker is not None:
            self.worker.hint_in(seconds)

    def _call_hook(self, ended: Ended, state: JobState) -> None:
        claim = ended.claim
        if state is JobState.CANCELLED and self._hooks.wanted(claim.type, "on_cancelled"):
            self._call(partial(self._hooks.cancelled, claim.id, claim.type))
        elif state is JobState.FAILED and self._hooks.wanted(claim.type, "on_error"):
            self._call(partial(self._hooks.failed, claim.id, claim.type, ended.error))

    def _call(self, hook: Callable[[], None]) -> None:
        self._group.create_task(self._database.in_thread(hook))
