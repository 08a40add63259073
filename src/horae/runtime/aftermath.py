"""What follows once the end of bodies is committed: retries are awaited, hooks called, whoever waits is told."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from horae.domain.job import Job, JobId, JobState
from horae.runtime.parts import Parts
from horae.runtime.reporter import Reporter
from horae.runtime.settler import Ended
from horae.runtime.sweeper import Rescued
from horae.runtime.worker import Worker
from horae.storage.settling import Settled
from horae.types.hooks import Hooks
from horae.wakeup.channel import Hint, HintKind

HOOKS_AT_ONCE: Final = 4
log = logging.getLogger("horae.runtime")


class Aftermath:
    """Acts on commits of the settler and the sweeper.

    Hooks have threads of their own: one that waits for somebody must not hold up claims, cancels or rescues.
    """

    def __init__(self, group: asyncio.TaskGroup, parts: Parts, hooks: Hooks, reporter: Reporter) -> None:
        self._group, self._wakeup = group, parts.wakeup
        self._hooks, self._reporter = hooks, reporter
        self._threads = ThreadPoolExecutor(HOOKS_AT_ONCE, thread_name_prefix="horae-hooks")
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
            claim, state = rescued.claim, rescued.state
            log.warning("job %d of dead node %s is %s", claim.id, rescued.node, state.value)
            if state is JobState.PENDING:
                self._retry_in(0.0 if rescued.settlement is None else rescued.settlement.delay)
            else:
                over.append(claim.id)
                self._call(partial(self._hooks.released, claim.id, claim.type, state))
        self._reporter.forget((), (rescued.claim.id for rescued in batch))
        if over:
            self._wakeup.send(Hint(HintKind.ENDED, tuple(over)))

    def expired(self, job: Job) -> None:
        """A job that waited for too long."""
        self._call(partial(self._hooks.failed, job.id, job.type))
        self._wakeup.send(Hint(HintKind.ENDED, (job.id,)))

    def close(self) -> None:
        """Let idle threads end."""
        self._threads.shutdown(wait=False)

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
        self._group.create_task(self._in_thread(hook))

    async def _in_thread(self, hook: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, hook)
