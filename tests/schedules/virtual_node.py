"""A node that lives by a test's clock: it fires, claims, ends and rescues by the functions that nodes call."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, func, select

from horae.domain.cluster.ring import PARTITIONS
from horae.domain.forecast.scenario import Body, Outage
from horae.domain.forecast.workers import FOUND_AFTER_OUTAGE
from horae.domain.jobs.job import Cancelled, Claim, JobId, Outcome, Succeeded
from horae.domain.schedules.planning_state import Stop
from horae.storage.engine.dialect import EPOCH, MICROSECOND, Instant
from horae.storage.jobs import claims
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limit_tables import buckets
from horae.storage.jobs.limits import filing, lane_claims
from horae.storage.outcomes import cancelling
from horae.storage.schedules import firing
from horae.storage.schedules.plan_writing import AppliedPlan
from horae.storage.schedules.tables import schedules
from tests.schedules.driver import CRASHED, ENDED_BADLY, HERE, Driver

JUST_AFTER: Final = 0.000001
"""Seconds by which a due time may lie ahead to be due now."""
BodyOf = Callable[[str, datetime], Body]


class VirtualNode:
    """The only node of a database, with some slots; between two events the clock jumps."""

    def __init__(self, driver: Driver, body: BodyOf, outages: Sequence[Outage], slots: int) -> None:
        self._driver, self._body, self._outages, self._slots = driver, body, outages, slots
        self.begun: list[tuple[str, datetime | None, datetime]] = []
        """The type, the nominal time and the begin of each body."""
        self._running: dict[JobId, Claim] = {}
        self._ends: list[tuple[datetime, JobId]] = []
        self._lost: list[Claim] = []
        self._found_at: datetime | None = None
        self._back_at: datetime | None = None

    def run(self, until: datetime) -> None:
        """Live until a moment."""
        self._act(self._driver.clock.now)
        while (now := min(self._moments(until))) < until:
            self._act(self._driver.clock.set(now))
        self._driver.clock.set(until)

    def _act(self, now: datetime) -> None:
        """Do all that a node does at one moment."""
        self._die_or_return(now)
        self._end_bodies(now)
        if self._found_at == now:
            self._find_lost(now)
        if self._back_at is None:
            while self._fire():
                pass
            self._claim(now)

    def _moments(self, until: datetime) -> Iterator[datetime]:
        now = self._driver.clock.now
        yield until
        if self._ends:
            yield self._ends[0][0]
        edges = [edge for outage in self._outages for edge in (outage.start, _end(outage))]
        yield from (edge for edge in [*edges, self._found_at or now] if edge > now)
        if (start := self._driver.database.autocommit(_next_start, now)) is not None:
            yield start
        if (
            opens := self._driver.database.autocommit(_next_opening, (now - EPOCH) // MICROSECOND)
        ) is not None:
            yield EPOCH + opens * MICROSECOND

    def _die_or_return(self, now: datetime) -> None:
        if self._back_at == now:
            self._back_at, self._found_at = None, now + FOUND_AFTER_OUTAGE
        for outage in self._outages:
            if outage.start == now:
                self._back_at = _end(outage)
                self._lost += self._running.values()
                self._running, self._ends = {}, []

    def _end_bodies(self, now: datetime) -> None:
        while self._ends and self._ends[0][0] == now:
            _, job = heapq.heappop(self._ends)
            if (claim := self._running.pop(job, None)) is not None:
                self._driver.end(claim, self._outcome(claim))

    def _find_lost(self, now: datetime) -> None:
        for claim in self._lost:
            self._driver.end(claim, CRASHED, age=FOUND_AFTER_OUTAGE)
        self._lost, self._found_at = [], None

    def _fire(self) -> bool:
        """Fire what is due, the highest priority first, and stop what must make way; whether anything changed."""
        due = self._driver.database.autocommit(firing.due, range(PARTITIONS), JUST_AFTER)
        before = {item.id: item for item in due}
        decided = self._driver.fire(*sorted(before)) if due else []
        for result in decided:
            if result.stop is not None:
                self._stop(result)
        return any(result.fired is not None or result.stop is not None for result in decided)

    def _stop(self, result: AppliedPlan) -> None:
        assert result.stop is Stop.CANCEL
        token = JobId(result.schedule.run_token or 0)
        if (claim := self._running.pop(token, None)) is not None:
            self._driver.end(claim, Cancelled("schedule"))
        elif token not in {lost.id for lost in self._lost}:
            self._driver.database.transact(cancelling.cancel, token, "schedule")

    def _claim(self, now: datetime) -> None:
        free = self._slots - len(self._running)
        if free <= 0:
            return
        scope = ClaimScope(node=HERE, types=tuple(self._driver.horae.registry.by_name), queues=None)
        while self._driver.database.transact(filing.file):
            pass
        limited = self._driver.database.transact(lane_claims.claim, scope, free, free)
        plain = self._driver.database.autocommit(claims.claim, scope, limited.plain_room)
        for claim in [*limited.claims, *plain]:
            self.begun.append((claim.type, claim.nominal_time, now))
            self._running[claim.id] = claim
            heapq.heappush(self._ends, (now + self._body_of(claim).took, claim.id))

    def _body_of(self, claim: Claim) -> Body:
        assert claim.nominal_time is not None
        return self._body(claim.type, claim.nominal_time)

    def _outcome(self, claim: Claim) -> Outcome:
        return Succeeded() if self._body_of(claim).succeeds else ENDED_BADLY


def _end(outage: Outage) -> datetime:
    return outage.start + (outage.length or timedelta(0))


def _next_opening(connection: Connection, now: int) -> int | None:
    """Return when a rate that holds jobs back allows another start."""
    waiting = select(func.min(buckets.c.opens_at)).where(
        buckets.c.waiting, buckets.c.opens_at > now
    )
    found: int | None = connection.execute(waiting).scalar_one()
    return found


def _next_start(connection: Connection, now: datetime) -> datetime | None:
    earliest = func.min(schedules.c.next_start, type_=Instant())
    found: datetime | None = connection.execute(
        select(earliest).where(schedules.c.next_start > now)
    ).scalar_one()
    return found
