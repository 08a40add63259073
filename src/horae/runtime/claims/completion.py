"""What follows once the end of bodies is committed: retries are awaited, hooks called, whoever waits is told."""

import asyncio
import logging
from collections.abc import Container, Iterable, Sequence
from functools import partial
from typing import Final

from horae.domain.jobs.job import Job, JobId, JobState
from horae.domain.schedules.planning_state import Stop
from horae.live.store import CancelRequest
from horae.runtime.bodies.reporter import Reporter
from horae.runtime.bodies.verdict import FinishedRun
from horae.runtime.claims.hook_service import HookService
from horae.runtime.claims.worker import Worker
from horae.runtime.components import Components
from horae.runtime.controller import Controller
from horae.runtime.liveness.rescue import Rescued
from horae.storage.jobs import reading
from horae.storage.outcomes import ending
from horae.storage.outcomes.settling import Settled
from horae.storage.schedules.runs import Decided
from horae.wakeup.channel import Hint, HintKind

LONGEST_BY: Final = 200
"""Characters of who cancelled a job."""

log = logging.getLogger("horae.runtime")


class Completion:
    """Acts on commits of the settler and the sweeper. Hooks are owed by the rows, and called by the hook service."""

    def __init__(
        self, group: asyncio.TaskGroup, components: Components, hooks: HookService, reporter: Reporter
    ) -> None:
        self._group, self._wakeup, self._live, self._database = (
            group,
            components.wakeup,
            components.live,
            components.database,
        )
        self._hooks, self._reporter = hooks, reporter
        self._loop = asyncio.get_running_loop()
        self.worker: Worker | None = None
        self.controller: Controller | None = None

    def settled(self, batch: Sequence[FinishedRun], result: Settled) -> None:
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
            elif claim.id in result.released:
                self._hooks.wake()
            elif ended.settlement is not None:
                log.info("the end of job %d was dropped: its lease %d has passed on", claim.id, claim.lease)
        self._note_hooks(batch, result.settled)
        self._tell_of_room(ended.claim.queue for ended in batch)
        self._reporter.forget([ended.claim.id for ended in batch], cancelled)
        self._tell_of_own_ends([ended for ended in batch if ended.already])
        if over:
            self._wakeup.send(Hint(HintKind.ENDED, tuple(over)))
        if result.returned:
            self._tell_of_work()
        self.runs(result.runs)

    def decided(self, decisions: Sequence[Decided]) -> None:
        """What this node's controller has fired, or found in the way of what is due."""
        if any(decision.fired is not None for decision in decisions):
            self._tell_of_work()
        for decision in decisions:
            if decision.stop is not None and decision.schedule.run_token is not None:
                stop = partial(self._stop_run, decision, JobId(decision.schedule.run_token))
                self._group.create_task(self._database.in_service(stop))

    def _tell_of_work(self) -> None:
        self._wakeup.send(Hint(HintKind.WORK))
        if self.worker is not None:
            self.worker.hint()

    def _tell_of_room(self, queues: Iterable[str]) -> None:
        """Where a queue with a limit has room again, another node may be the one that can use it."""
        if self.worker is not None and self.worker.hint_of_room(queues):
            self._wakeup.send(Hint(HintKind.WORK))

    def _tell_of_own_ends(self, batch: Sequence[FinishedRun]) -> None:
        """Some bodies finished their jobs in their own transactions, and with them the runs of schedules."""
        self._announce(list({ended.claim.schedule_id for ended in batch if ended.claim.schedule_id is not None}))

    def runs(self, ended: Sequence[Decided]) -> None:
        """Runs of schedules have ended; whoever owns them hears of it if they are due sooner than it knows."""
        if not ended:
            return
        if self.controller is not None:
            self.controller.learn(ended)
        sooner = tuple(JobId(decision.schedule.id) for decision in ended if decision.sooner)
        if sooner:
            self._wakeup.send(Hint(HintKind.SCHEDULES, sooner))

    def _announce(self, schedule_ids: Sequence[int]) -> None:
        """Something else than the nodes' own statements has changed these schedules. Called on the node's loop."""
        if not schedule_ids:
            return
        if self.controller is not None:
            self.controller.hint(schedule_ids)
        self._wakeup.send(Hint(HintKind.SCHEDULES, tuple(JobId(schedule_id) for schedule_id in schedule_ids)))

    def _stop_run(self, decision: Decided, job_id: JobId) -> None:
        by = f"schedule {decision.schedule.name}"[:LONGEST_BY]
        try:
            self._live.request_cancel(job_id, CancelRequest(by, forced=decision.stop is Stop.TERMINATE))
            self._wakeup.send(Hint(HintKind.CANCEL, (job_id,)))
            job = self._database.transact(ending.cancel, job_id, by)
            if self._database.autocommit(reading.occupied, [job_id]):
                return  # its body has yet to hear of it, also where somebody else has cancelled the job before
        except Exception as error:  # noqa: BLE001 - its next nominal time asks again
            log.warning("job %d cannot be stopped for the next run of its schedule: %s", job_id, error)
            return
        self._live.forget([job_id])
        if job is not None:  # no node had it, so the run has ended with it
            self._loop.call_soon_threadsafe(self._announce, [decision.schedule.id])
            self._wakeup.send(Hint(HintKind.ENDED, (job_id,)))
            self._loop.call_soon_threadsafe(self._hooks.wake)

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
                if state is not JobState.FINISHED:
                    self._hooks.wake()
        self._tell_of_room(rescued.claim.queue for rescued in batch)
        self._reporter.forget((), (rescued.claim.id for rescued in batch))
        if over:
            self._wakeup.send(Hint(HintKind.ENDED, tuple(over)))

    def expired(self, job: Job) -> None:
        """A job that has passed its limit. While its body goes on its hook waits for the release."""
        if job.node_id is None:
            self._hooks.wake()
        self._wakeup.send(Hint(HintKind.ENDED, (job.id,)))

    def _retry_in(self, seconds: float) -> None:
        if self.worker is not None:
            self.worker.hint_in(seconds)

    def _note_hooks(self, batch: Sequence[FinishedRun], settled: Container[JobId]) -> None:
        for ended in batch:
            if ended.settlement is None or ended.settlement.hook_owed is None or ended.claim.id not in settled:
                continue
            if ended.error is not None:
                self._hooks.remember(ended.claim.id, ended.error)
            self._hooks.wake()
