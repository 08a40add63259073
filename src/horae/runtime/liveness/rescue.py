"""Rescues the jobs of dead nodes: bodies that had begun have crashed; other jobs are requeued."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from sqlalchemy import Connection

from horae.domain.backoff import Backoff
from horae.domain.jobs import (
    Claim,
    Crashed,
    JobId,
    JobState,
    NodeId,
    Settlement,
    Succeeded,
    crash_text,
    decide,
)
from horae.live import LiveReport
from horae.runtime.bodies import backoff_of, owing
from horae.runtime.journal import Begun
from horae.runtime.signals import Rescued
from horae.storage.jobs import claims
from horae.storage.outcomes import crashed_nodes, settling
from horae.storage.schedules import AppliedPlan
from horae.types import Registry


@dataclass(frozen=True, slots=True)
class Rescuer:
    """Rescues the jobs of dead nodes, one batch at a time.

    `begun_by`: returns what a dead node had begun; `reports`: returns the last progress reports;
    `age`: how long ago this scheduler was started; `batch`: the maximum number of jobs.
    """

    registry: Registry
    rng: Random
    begun_by: Callable[[NodeId], Begun] = lambda _node: Begun(None)
    reports: Callable[[Sequence[JobId]], Mapping[JobId, LiveReport]] = lambda _job_ids: {}
    age: timedelta = timedelta(0)
    batch: int = 500

    def rescue(
        self, connection: Connection, dead: Collection[NodeId], silent: Collection[NodeId] = ()
    ) -> tuple[list[Rescued], list[AppliedPlan]]:
        """Rescue one batch of jobs of these nodes, or of nodes without a row.

        A job that had begun is settled as a crash, or as finished if its body is known to have
        returned. A job that had not begun returns to the queue unchanged, and one that was ended
        while its body ran is only released. Of `silent` nodes, which may still live, only jobs that
        may run again are rescued. Also returns the schedules whose runs have ended.
        """
        result: list[Rescued] = []
        ended: list[AppliedPlan] = []
        unbegun = defaultdict[NodeId, list[Claim]](list)
        settlements = defaultdict[NodeId, list[Settlement]](list)
        released = defaultdict[NodeId, list[tuple[JobId, int]]](list)
        never = list[JobId]()
        lost = crashed_nodes.abandoned_jobs(connection, dead, self.batch, silent)
        reports = self.reports(
            [claim.id for claim, _, state, _ in lost if state is JobState.STARTED]
        )
        for claim, node, stored_state, crashes in lost:
            begun, state, settlement = self.begun_by(node), stored_state, None
            has_begun = begun.may_include(claim)
            if state is not JobState.STARTED:
                released[node].append((claim.id, claim.lease))
                if not has_begun:
                    never.append(claim.id)
            elif not has_begun:
                unbegun[node].append(claim)
                state = JobState.PENDING
            else:
                if begun.has_succeeded(claim):
                    settlement = decide(claim, Succeeded(), Backoff(), self.rng)
                else:
                    settlement = self._crash(claim, node, crashes, reports.get(claim.id))
                settlements[node].append(settlement)
                state = settlement.state
            result.append(Rescued(claim, node, settlement, state))
        for node, leases in released.items():
            ended += settling.release(connection, node, leases, never).runs
        for node, batch in settlements.items():
            ended += settling.settle(connection, node, batch, self.age).runs
        for node, returned in unbegun.items():
            claims.hand_back(connection, node, returned)
        return result, ended

    def _crash(
        self, claim: Claim, node: NodeId, crashes: int, report: LiveReport | None
    ) -> Settlement:
        outcome = Crashed(crash_text(node), crashes + 1)
        job_type = self.registry.find(claim.type)
        settlement = owing(decide(claim, outcome, backoff_of(claim, job_type), self.rng), job_type)
        if report is None or report.lease != claim.lease:
            return settlement
        return settlement._replace(progress=report.progress_percentage, label=report.label)
