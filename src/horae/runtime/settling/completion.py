"""Acts on committed results: schedules retries, has hooks called, notifies nodes and callers."""

import asyncio
from collections.abc import Sequence
from functools import partial

from horae.domain.jobs import AttemptOutcome, GroupId, Job, JobId, JobState
from horae.domain.schedules import Stop
from horae.guarded_log import guarded_log
from horae.live import CancelRequest
from horae.runtime.bodies import FinishedRun, Reporter, Settling
from horae.runtime.components import Components
from horae.runtime.settling.hook_service import HookService
from horae.runtime.signals import Rescued, Signals
from horae.storage.jobs import reading
from horae.storage.outcomes import FollowUps, Settled, cancelling
from horae.storage.schedules import AppliedPlan
from horae.types import Observed
from horae.types.group_cancelling import GroupCanceller
from horae.wakeup import Hint, HintKind, work

log = guarded_log("horae.runtime")


class Completion:
    """Acts on what the settler, the sweeper and the controller have committed.

    Which hooks are owed is stored in the rows of the jobs; the hook service calls them.
    """

    def __init__(
        self,
        group: asyncio.TaskGroup,
        components: Components,
        signals: Signals,
        hooks: HookService,
        reporter: Reporter,
    ) -> None:
        self._group, self._signals, self._hooks, self._reporter = group, signals, hooks, reporter
        self._wakeup, self._live = components.wakeup, components.live
        self._database = components.database
        self._observers = components.hooks.settlements
        self._groups = GroupCanceller(self._database, self._live, self._wakeup)
        self._loop = asyncio.get_running_loop()
        signals.settled.connect(self._follow_up_runs)
        signals.decided.connect(self._follow_up_firing)
        signals.rescued.connect(self._follow_up_rescue)
        signals.expired.connect(self._follow_up_expiry)
        signals.runs_ended.connect(self._announce_earlier_starts)

    def _follow_up_runs(self, batch: Sequence[FinishedRun], result: Settled) -> None:
        """Act on the committed results of a batch of runs of this node."""
        over: list[JobId] = []
        cancelled = [
            job_id for job_id, state in result.released.items() if state is JobState.CANCELLED
        ]
        for finished in batch:
            claim, settlement = finished.claim, finished.settlement
            if claim.id in result.settled:
                if settlement is not None and settlement.hook_owed is not None:
                    self._hooks.call_soon(claim.id, finished.error)
                state = JobState.FINISHED if settlement is None else settlement.state
                if settlement is not None and state is JobState.PENDING:
                    # A job that was interrupted here is left to other nodes.
                    if settlement.outcome is not AttemptOutcome.INTERRUPTED:
                        self._retry_in(settlement.delay)
                else:
                    over.append(claim.id)
                    cancelled.extend([claim.id] if state is JobState.CANCELLED else [])
            elif claim.id in result.released:
                self._hooks.wake()
            elif settlement is not None:
                log.info(
                    "the result of job %d was dropped: its lease %d is no longer valid",
                    claim.id,
                    claim.lease,
                )
        self._reporter.forget([finished.claim.id for finished in batch], cancelled)
        self._send_jobs_ended(over)
        self._send_consequences(batch, result)

    def _send_consequences(self, batch: Sequence[FinishedRun], result: Settled) -> None:
        """Notify this node and others of what these results make possible."""
        self._send_freed(batch)
        # These runs finished their jobs, and with them the runs of schedules, in their own
        # transactions.
        self._send_schedules_changed(
            list(
                {
                    run.claim.schedule_id
                    for run in batch
                    if run.already and run.claim.schedule_id is not None
                }
            )
        )
        if any(run.releases for run in batch):
            self._send_work(None)
        elif added := len(result.returned) + len(result.follow_ups.released):
            self._send_work(added)
        self.act_on(result.follow_ups)
        if result.runs:
            self._signals.runs_ended.send(result.runs)

    def act_on(self, followed: FollowUps) -> None:
        """Notify those that wait for ended jobs, and cancel the members of cancelled groups."""
        if followed.ended:
            self._send_jobs_ended([job.id for job in followed.ended])
            self._hooks.wake()
        for group_id in followed.cancelled:
            self._group.create_task(self._cancel_members(group_id))

    async def _cancel_members(self, group_id: GroupId) -> None:
        # The sweeper of a node repeats what fails.
        with log.guard("the members of group %d cannot be cancelled yet: %s", group_id):
            await self._database.in_service(partial(self._groups.cancel_members, group_id))
        self._hooks.wake()

    def _follow_up_firing(self, decisions: Sequence[AppliedPlan]) -> None:
        """Start what this node's controller has fired, and stop runs that it replaces."""
        if fired := sum(decision.fired is not None for decision in decisions):
            self._send_work(fired)
        for decision in decisions:
            if decision.stop is not None and decision.schedule.run_token is not None:
                stop = partial(self._stop_run, decision, JobId(decision.schedule.run_token))
                self._group.create_task(self._database.in_service(stop))

    def _announce_earlier_starts(self, ended: Sequence[AppliedPlan]) -> None:
        """Notify the nodes that own these schedules if the next start is sooner than they know."""
        sooner = tuple(JobId(decision.schedule.id) for decision in ended if decision.moved_earlier)
        if sooner:
            self._wakeup.send(Hint(HintKind.SCHEDULES, sooner))

    def _stop_run(self, decision: AppliedPlan, job_id: JobId) -> None:
        """Cancel the job of a run; what fails is repeated at the next nominal time."""
        by = f"schedule {decision.schedule.name}"[:200]  # the length of the column
        with log.guard("job %d cannot be stopped for the next run of its schedule: %s", job_id):
            self._live.request_cancel(
                job_id, CancelRequest(by, forced=decision.stop is Stop.TERMINATE)
            )
            self._wakeup.send(Hint(HintKind.CANCEL, (job_id,)))
            cancelled = self._database.transact(cancelling.cancel, job_id, by)
            if self._database.autocommit(reading.find_occupied, [job_id]):
                # The body has yet to receive the request, even if the job was already cancelled.
                return
            self._live.forget([job_id])
            if cancelled is not None:
                # No node had claimed it, so the run of the schedule has ended with the job.
                post = self._loop.call_soon_threadsafe
                post(self._send_schedules_changed, [decision.schedule.id])
                self._wakeup.send(Hint(HintKind.ENDED, (job_id,)))
                post(self._hooks.wake)

    def _follow_up_rescue(self, batch: Sequence[Rescued]) -> None:
        """Act on the jobs of dead nodes that this node has rescued."""
        crashed = [FinishedRun(each.claim, each.settlement) for each in batch if each.settlement]
        with Observed(self._observers, Settling(crashed, {run.claim.id for run in crashed})):
            pass  # their results are written already
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
        self._send_freed(batch)
        self._reporter.forget((), (rescued.claim.id for rescued in batch))
        self._send_jobs_ended(over)

    def _follow_up_expiry(self, job: Job) -> None:
        """Act on a job that has passed its time limit.

        While its body still runs, its hook waits.
        """
        if job.node_id is None:
            self._hooks.wake()
        self._send_jobs_ended([job.id])
        self._send_work(None)  # jobs that waited for it may be claimed now

    def _send_freed(self, ended: Sequence[FinishedRun | Rescued]) -> None:
        """Notify this node's workers of the queues and lanes of ended jobs."""
        lanes = {each.claim.lane_id for each in ended if each.claim.lane_id is not None}
        self._signals.freed.send({each.claim.queue for each in ended}, lanes)

    def _send_work(self, count: int | None) -> None:
        """Notify this node and others of jobs to claim; None if their number is unknown."""
        self._wakeup.send(work(count))
        self._signals.work.send()

    def _send_jobs_ended(self, job_ids: Sequence[JobId]) -> None:
        if job_ids:
            self._wakeup.send(Hint(HintKind.ENDED, tuple(job_ids)))

    def _send_schedules_changed(self, schedule_ids: Sequence[int]) -> None:
        """Notify this node and others of changes that the nodes' own statements did not make."""
        if schedule_ids:
            self._signals.schedules_changed.send(schedule_ids)
            self._wakeup.send(
                Hint(HintKind.SCHEDULES, tuple(JobId(schedule_id) for schedule_id in schedule_ids))
            )

    def _retry_in(self, seconds: float) -> None:
        self._loop.call_later(seconds, self._signals.work.send)
