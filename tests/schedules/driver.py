"""Schedules without nodes: a test moves the clock, fires, runs and ends, each by the function that a node calls."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from horae import Horae
from horae.client.schedules.views import ScheduleView
from horae.domain.backoff import Backoff
from horae.domain.cluster.ring import PARTITIONS
from horae.domain.cron.expression import CronExpression
from horae.domain.jobs.job import Claim, Crashed, Failed, NodeId, Outcome, Succeeded, decide
from horae.domain.schedules.statistics import Statistics
from horae.storage.jobs import claims
from horae.storage.jobs.claims import ClaimScope
from horae.storage.outcomes import settling
from horae.storage.outcomes.settling import Settled
from horae.storage.schedules import firing, reading
from horae.storage.schedules.plan_writing import AppliedPlan
from horae.storage.schedules.rows import statistics_of
from horae.storage.schedules.ticks import StoredTicks
from tests.harness.applications import rows
from tests.schedules.clock import Clock

HERE: Final = NodeId("here")
THERE: Final = NodeId("there")
ENDED_BADLY: Final = Failed("ValueError: no", "It did not work.")
CRASHED: Final = Crashed("the node stopped")


class Driver:
    """An application, its database, and a clock."""

    def __init__(self, horae: Horae, clock: Clock) -> None:
        self.horae, self.clock = horae, clock
        self.database = horae.components.database

    def fire(self, *ids: int, node: NodeId = HERE) -> list[AppliedPlan]:
        """Try to fire these schedules."""
        return self.database.transact(firing.fire, ids, node)

    def fire_due(self, node: NodeId = HERE) -> list[int]:
        """Fire all that is due, as a node that owns everything; the jobs."""
        due = self.database.autocommit(firing.due, range(PARTITIONS), 0.000001)
        decided = self.fire(*(item.id for item in due), node=node) if due else []
        return [result.fired for result in decided if result.fired is not None]

    def claim(self, node: NodeId = HERE, types: Sequence[str] | None = None) -> list[Claim]:
        """Take every job that may begin, in the order in which they do."""
        scope = ClaimScope(
            node=node, types=types or tuple(self.horae.registry.by_name), queues=None
        )
        return self.database.autocommit(claims.claim, scope, 100)

    def end(
        self,
        claim: Claim,
        outcome: Outcome | None = None,
        *,
        node: NodeId = HERE,
        age: timedelta | None = None,
    ) -> Settled:
        """End a body; `age` of the scheduler that finds a crash."""
        settlement = decide(
            claim, Succeeded() if outcome is None else outcome, Backoff(), Random(1)
        )
        return self.database.transact(settling.settle, node, [settlement], age)

    def run(
        self, outcome: Outcome | None = None, *, seconds: float = 1, age: timedelta | None = None
    ) -> list[int]:
        """Fire what is due, claim it, let it take some seconds, end it; the jobs."""
        fired = self.fire_due()
        claimed = self.claim()
        self.clock.advance(seconds=seconds)
        for claim in claimed:
            self.end(claim, outcome, age=age)
        return fired

    def until_due(self, name: str) -> datetime:
        """Put the clock where the schedule comes due."""
        due = self.get(name).next_start
        assert due is not None
        return self.clock.set(max(due, self.clock.now))

    def get(self, name: str) -> ScheduleView:
        """The schedule, after a look whether its statistics add up."""
        view = self.horae.schedules.get(name)
        check_sum(view.statistics)
        return view

    def ledger(self, name: str) -> list[tuple[str, int, str]]:
        """Decision, count and reason of each entry, the oldest first."""
        return [(entry.decision, entry.count, entry.reason) for entry in self.entries(name)]

    def entries(self, name: str) -> Sequence[StoredTicks]:
        """The entries of the ledger, the oldest first."""
        return self.horae.schedules.ticks(name, limit=10_000)[::-1]

    def stored_statistics(self, name: str) -> Statistics:
        """The statistics as they are stored: a run that goes on is a crash there."""
        row = self.horae.components.database.autocommit(reading.get, name)
        assert row is not None
        return statistics_of(row)

    def jobs(self, name: str) -> list[tuple[int, str]]:
        """Id and state of each job of a schedule."""
        schedule_id = self.horae.schedules.get(name).id
        found = rows(
            self.horae,
            "SELECT id, state FROM horae_jobs WHERE schedule_id = :id ORDER BY id",
            id=schedule_id,
        )
        return [(row.id, row.state) for row in found]


def check_sum(statistics: Statistics) -> None:
    """All runs are accounted for, at every instant."""
    parts = statistics.total_successes + statistics.total_failures + statistics.total_crashes
    assert statistics.total_runs == parts


def check_ledger(entries: Sequence[StoredTicks], fires: Sequence[datetime]) -> None:
    """Each of these times has exactly one decision, and there are no other entries but what fired beside them."""
    decided: dict[datetime, int] = dict.fromkeys(fires, 0)
    for entry in entries:
        covered = [moment for moment in fires if entry.nominal_time <= moment <= entry.until]
        if entry.reason in {"retry", "manual"}:
            assert not covered
            continue
        assert len(covered) == entry.count, entry
        for moment in covered:
            decided[moment] += 1
    assert set(decided.values()) <= {1}, [moment for moment, count in decided.items() if count != 1]


def fires(expression: str, after: datetime, until: datetime) -> list[datetime]:
    """Every time that an expression names, found one by one."""
    parsed, found = CronExpression.parse(expression), list[datetime]()
    moment = parsed.next_after(after)
    while moment is not None and moment <= until:
        found.append(moment)
        moment = parsed.next_after(moment)
    return found


def started(decided: Collection[AppliedPlan]) -> list[Any]:
    """The jobs that were made."""
    return [result.fired for result in decided if result.fired is not None]
