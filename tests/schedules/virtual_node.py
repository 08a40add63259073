"""A node that lives by a test's clock: it fires, claims and ends by the functions that nodes call."""

import heapq
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, func, select

from horae.domain.cluster.ring import PARTITIONS
from horae.domain.jobs.job import Cancelled, Claim, JobId, Succeeded
from horae.domain.schedules.planning_state import Stop
from horae.storage.engine.dialect import Instant
from horae.storage.jobs import claims
from horae.storage.jobs.claims import ClaimScope
from horae.storage.schedules import firing
from horae.storage.schedules.plan_writing import AppliedPlan
from horae.storage.schedules.tables import schedules
from tests.schedules.driver import HERE, Driver

JUST_AFTER: Final = 0.000001
"""Seconds by which a due time may lie ahead to be due now."""
SLOTS: Final = 100
"""More slots than the schedules of a test have runs at a time."""


class VirtualNode:
    """The only node of a database; between two events the clock jumps, and every body succeeds."""

    def __init__(self, driver: Driver, took: Callable[[str], timedelta]) -> None:
        self._driver, self._took = driver, took
        self._running: dict[JobId, Claim] = {}
        self._ends: list[tuple[datetime, JobId]] = []

    def run(self, until: datetime) -> None:
        """Live until a moment."""
        self._act(self._driver.clock.now)
        while (now := min(self._moments(until))) < until:
            self._act(self._driver.clock.set(now))
        self._driver.clock.set(until)

    def _act(self, now: datetime) -> None:
        """Do all that a node does at one moment."""
        while self._ends and self._ends[0][0] == now:
            _, job = heapq.heappop(self._ends)
            if (claim := self._running.pop(job, None)) is not None:
                self._driver.end(claim, Succeeded())
        while self._fire():
            pass
        scope = ClaimScope(node=HERE, types=tuple(self._driver.horae.registry.by_name), queues=None)
        for claim in self._driver.database.autocommit(claims.claim, scope, SLOTS):
            self._running[claim.id] = claim
            heapq.heappush(self._ends, (now + self._took(claim.type), claim.id))

    def _moments(self, until: datetime) -> Iterator[datetime]:
        yield until
        if self._ends:
            yield self._ends[0][0]
        start = self._driver.database.autocommit(_next_start, self._driver.clock.now)
        if start is not None:
            yield start

    def _fire(self) -> bool:
        """Fire what is due, and stop what must make way; whether anything changed."""
        due = self._driver.database.autocommit(firing.due, range(PARTITIONS), JUST_AFTER)
        decided = self._driver.fire(*sorted(item.id for item in due)) if due else []
        for result in decided:
            if result.stop is not None:
                self._stop(result)
        return any(result.fired is not None or result.stop is not None for result in decided)

    def _stop(self, result: AppliedPlan) -> None:
        assert result.stop is Stop.CANCEL
        claim = self._running.pop(JobId(result.schedule.run_token or 0))
        self._driver.end(claim, Cancelled("schedule"))


def _next_start(connection: Connection, now: datetime) -> datetime | None:
    earliest = func.min(schedules.c.next_start, type_=Instant())
    found: datetime | None = connection.execute(
        select(earliest).where(schedules.c.next_start > now)
    ).scalar_one()
    return found
