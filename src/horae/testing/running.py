"""Runs due jobs in the thread of the test, one after another: the same from run to run.

Claims, bodies and settlements are those of a node. What a node does beside them, such as
heartbeats, time limits of bodies and log lines, is left out.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final

from horae.domain.cluster import PARTITIONS
from horae.domain.jobs import Claim, Job, JobId, JobState, NodeId, TimeLimit
from horae.live import LiveReport
from horae.runtime.bodies import RunEnvironment, stopped_by, with_report
from horae.runtime.components import Components
from horae.runtime.inline import CallingThread
from horae.runtime.liveness import Rescuer
from horae.runtime.settling import settle_batch, state_after
from horae.storage.jobs import OWED_BY, ClaimScope, claims
from horae.storage.jobs.limits import filing, lane_claims, limited_claims
from horae.storage.outcomes import OverdueJob, time_limits
from horae.storage.schedules import firing
from horae.types import Attempt, Batch
from horae.types.group_cancelling import GroupCanceller
from horae.types.hooks import Hooks
from horae.wakeup import Hint, WakeupChannel

NODE: Final = NodeId("node-of-the-test")
KILLED: Final = NodeId("node-that-is-killed")
AT_ONCE: Final = 1000
"""Number of expired jobs that one statement reads."""


class JobRunner:
    """Claims, runs and settles the jobs of one application."""

    def __init__(self, components: Components) -> None:
        self._components, self._database = components, components.database
        self._environment = RunEnvironment(
            components.database, NODE, rng=Random(0), around=components.hooks.around
        )
        self._hooks = Hooks(components.database, components.registry)
        self._groups = GroupCanceller(components.database, components.live, components.wakeup)
        self.failures: dict[JobId, BaseException] = {}
        """What bodies raised that are not tried again."""

    def run_next(self, queues: Collection[str] | None) -> list[JobId]:
        """Run the next due job, or a batch of them; return their ids, none if no job is due."""
        types = tuple(self._components.registry.runnable)
        scope = ClaimScope(node=NODE, types=types, queues=None if queues is None else tuple(queues))
        first = self._claim(scope)
        if first is None:
            return []
        kind = self._components.registry.get(first.type)
        claimed = [first]
        if kind.batch is not None:
            same = replace(scope, types=(first.type,), queues=(first.queue,))
            while len(claimed) < kind.batch and (other := self._claim(same)) is not None:
                claimed.append(other)
        executor = CallingThread(self._environment)
        reports: dict[JobId, LiveReport] = {}

        def note(claim: Claim, percentage: int, label: str | None) -> None:
            reports[claim.id] = LiveReport(claim.id, claim.lease, percentage, label)

        attempts = [Attempt(claim, kind, partial(note, claim), executor) for claim in claimed]
        attempt = attempts[0] if len(attempts) == 1 else Batch(attempts, executor).run
        try:
            finished = executor.perform(attempt)
        except BaseException as error:  # noqa: BLE001 - Ctrl-C; settled before it is raised
            ends = [stopped_by(error, each, self._environment) for each in attempts]
            finished = ends[0]._replace(batch=ends)
        for end in finished.batch or (finished,):
            reported = with_report(end, reports.get(end.claim.id))
            settled = self._database.transact(settle_batch, self._environment, [reported])
            self._groups.act_on(settled.follow_ups)
            state = state_after(reported, settled)
            if end.error is not None and (state is JobState.FAILED or end.unbegun):
                self.failures[end.claim.id] = end.error
            if state in OWED_BY:
                self._hooks.call_here(end.claim.id, end.claim.type, end.error)
        for end in finished.batch or (finished,):
            if isinstance(end.error, KeyboardInterrupt | SystemExit):
                raise end.error
        return [claim.id for claim in claimed]

    def _claim(self, scope: ClaimScope) -> Claim | None:
        database = self._database
        work = database.autocommit(claims.next_work)
        if work.lanes:
            ahead = database.autocommit(lane_claims.ahead)
            if ahead.unfiled:
                database.transact(filing.file)
                ahead = database.autocommit(lane_claims.ahead)
            if ahead.due_in <= 0 and (
                found := database.transact(lane_claims.claim, scope, 1, 1).claims
            ):
                return found[0]
        if work.limited:
            names = database.autocommit(limited_claims.limited_queues_with_room, scope, 1)
            if names:
                found = database.transact(limited_claims.claim, scope, 1, names).claims
                return found[0] if found else None
        found = database.autocommit(claims.claim, scope, 1)
        return found[0] if found else None

    def call_hooks(self) -> None:
        """Call the hooks that jobs owe which ended without a body."""
        for name in self._hooks.due():
            while (owed := self._hooks.take(name)) is not None:
                self._hooks.call(owed)

    def expire(self) -> None:
        """Fail the jobs that no node has taken in time."""
        pending = {
            kind.type: kind.time_limits.pending.total_seconds()
            for kind in self._components.registry
            if kind.time_limits.pending is not None
        }
        if pending:
            found = self._database.autocommit(time_limits.overdue, TimeLimit.PENDING, pending)
            self._fail(found, TimeLimit.PENDING)
        found = self._database.autocommit(time_limits.expired_jobs, AT_ONCE)
        self._fail(found, TimeLimit.EXPIRED)

    def _fail(self, found: Collection[OverdueJob], limit: TimeLimit) -> None:
        if found:
            passed = [(job.id, job.lease) for job in found]
            self._database.transact(time_limits.expire, passed, limit)

    def fire(self) -> bool:
        """Fire the schedules that are due; return whether one of them has moved on."""
        due = self._database.autocommit(firing.due, range(PARTITIONS), 1e-6)
        if not due:
            return False
        fired = self._database.transact(firing.fire, [each.id for each in due], NODE)
        return any(
            each.fired is not None
            or each.schedule.next_start is None
            or each.schedule.next_start > each.schedule.now
            for each in fired
        )

    def next_due_in(self, horizon: float) -> float | None:
        """Return in how many seconds something is due next, up to `horizon`; None if nothing is."""
        database = self._database
        due = [each.due_in for each in database.autocommit(firing.due, range(PARTITIONS), horizon)]
        work = database.autocommit(claims.next_work)
        if work.due_in is not None:
            due.append(work.due_in)
        if work.lanes:
            due.append(database.autocommit(lane_claims.ahead).next_in)
        return min((each for each in due if 0 < each <= horizon), default=None)

    def crash(self, job: Job) -> bool:
        """Let a node claim a job and die while its body runs; return False if it is not due."""
        database = self._database
        if database.autocommit(claims.claim_one, job.id, KILLED) is None:
            return False
        rescuer = Rescuer(self._components.registry, Random(0))
        rescued, _ = database.transact(rescuer.rescue, [KILLED])
        for each in rescued:
            if each.state in OWED_BY:
                self._hooks.call_here(each.claim.id, each.claim.type)
        return True


class RunningChannel:
    """A wake-up channel that runs jobs when somebody waits for their end, or when they start."""

    connected = False
    listens = False

    def __init__(
        self, channel: WakeupChannel, on_wait: Callable[[], None], on_work: Callable[[Hint], None]
    ) -> None:
        self._channel, self._on_wait, self._on_work = channel, on_wait, on_work

    def send(self, hint: Hint, *, piggybacked: bool = False) -> None:
        """Send a hint."""
        self._channel.send(hint, piggybacked=piggybacked)
        self._on_work(hint)

    def piggyback(self, hint: Hint) -> None:
        """Return None: hints go to no other process."""

    def subscribe(self, listener: Callable[[Hint], None]) -> Callable[[], None]:
        """Run what is due: the subscriber waits for it."""
        self._on_wait()
        return self._channel.subscribe(listener)

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()
