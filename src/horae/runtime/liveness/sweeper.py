"""Rescues jobs of dead nodes, and fails jobs that are past their time limits.

Every node sweeps. The statements take only rows that no other sweeper has locked, and compare state
and lease.
"""

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from random import Random

from sqlalchemy import Connection

from horae.domain.cluster import Death
from horae.domain.jobs import JobId, NodeId, TimeLimit
from horae.guarded_log import guarded_log
from horae.live import LiveReport
from horae.runtime.bodies import START_UP
from horae.runtime.components import Components, NodeOptions
from horae.runtime.journal import Journals
from horae.runtime.liveness.clock_watch import ClockWatch
from horae.runtime.liveness.group_sweeper import GroupSweeper
from horae.runtime.liveness.membership import Membership
from horae.runtime.liveness.rescue import Rescuer
from horae.runtime.signals import Rescued, Signals
from horae.runtime.throttled_warning import ThrottledWarning
from horae.storage.engine import is_transient
from horae.storage.jobs import logs, reading
from horae.storage.jobs.limits import lane_cleaning
from horae.storage.nodes import nodes
from horae.storage.outcomes import OverdueJob, run_ending, time_limits
from horae.storage.schedules import AppliedPlan

log = guarded_log("horae.runtime")


class Sweeper:
    """Sweeps on behalf of one node."""

    def __init__(
        self,
        components: Components,
        options: NodeOptions,
        membership: Membership,
        journals: Journals,
        signals: Signals,
        rng: Random,
        pace: Callable[[], float],
    ) -> None:
        self._database, self._registry = components.database, components.registry
        self._live, self._timing, self._rng = components.live, options.timing.sweeper, rng
        self._membership, self._journals = membership, journals
        self._signals, self._pace = signals, pace
        self._groups = GroupSweeper(components)
        self._clock = ClockWatch(self._database, signals, self._timing.due_batch)
        self._keep, self._keep_logs_for = options.keep, options.keep_logs_for
        self._born = time.monotonic()
        self._clean_every = self._timing.clean_interval(options.keep.total_seconds())
        self._clean_at = self._born + self._clean_every
        self._suspicion = asyncio.Event()
        self._suspected = self._again = False
        self._announced = frozenset[NodeId]()
        self._states: dict[NodeId, Counter[str]] = {}
        self._unremoved = self._locked_rounds = 0
        self._rounds_without_look = self._rounds_without_limits = math.inf
        self._kept_journals: deque[tuple[float, NodeId]] = deque()
        self._unavailable = ThrottledWarning()

    def suspect(self) -> None:
        """Look for dead nodes soon. Called on the node's loop."""
        self._suspicion.set()

    async def run(self) -> None:
        """Sweep until cancelled.

        Journals that are still kept then are left to others, for a late claim.
        """
        while True:
            # The event is cleared before the round: a suspicion during it belongs to the next one.
            self._suspicion.clear()
            try:
                await self._round()
            except Exception as error:
                if is_transient(error):
                    self._unavailable.warn("a sweep failed and will be repeated: %s", error)
                else:
                    log.exception("a sweep failed and will be repeated")
            else:
                self._unavailable.settle()
            await self._pause()

    async def _pause(self) -> None:
        """Wait for the next round; less after a suspicion, which may need a second look."""
        self._locked_rounds = self._locked_rounds + 1 if self._unremoved else 0
        # Usually the server is just ending a statement that holds the lock.
        locked = 0 < self._locked_rounds <= self._timing.locked_rounds
        self._again = self._suspected and not self._again
        pause = self._timing.suspicious_round
        if not (locked or self._again):
            pause = self._timing.round * self._rng.uniform(0.9, 1.1)
        end = time.monotonic() + pause
        while not self._suspicion.is_set() and (left := end - time.monotonic()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, self._timing.glance)):
                    await self._suspicion.wait()
            if self._membership.may_miss_a_node:
                self._suspicion.set()
        self._suspected = self._suspicion.is_set() or self._again or self._unremoved > 0

    async def _round(self) -> None:
        while self._kept_journals and self._kept_journals[0][0] <= time.monotonic():
            self._journals.remove(self._kept_journals.popleft()[1])
        self._rounds_without_look += 1
        self._rounds_without_limits += 1
        routine = self._rounds_without_look >= self._timing.look_every * self._pace()
        look = routine or self._suspected
        dead = await self._database.in_service(self._membership.find_dead) if look else {}
        limits_due = self._rounds_without_limits >= self._timing.limits_every * self._pace()
        # A forward step of the clock makes other nodes seem silent on PostgreSQL.
        if limits_due or self._suspected or self._database.is_file:
            await self._clock.look()
        if look:
            # Each dead node is logged once, however long it stays because its jobs are locked.
            for node in dead.keys() - self._announced:
                if not dead[node].expected:
                    log.warning("node %s is dead: %s", node, dead[node].cause)
            self._announced = frozenset(dead)
        if dead or routine:
            await self.rescue(dead)
        if routine:
            self._rounds_without_look = 0
        if limits_due:
            await self.enforce_limits()
            await self.end_lost_runs()
            await self._database.in_service(self._groups.sweep)
            self._rounds_without_limits = 0
        if time.monotonic() >= self._clean_at:
            self._clean_at = time.monotonic() + self._clean_every
            await self._clean()

    async def _clean(self) -> None:
        """Remove what is left of ended jobs and groups."""
        database, batch = self._database, self._timing.reports_batch
        await self._clock.look()
        # Nodes that were killed have left reports of ended jobs in the live store.
        after = JobId(0)
        while reported := await database.in_service(partial(self._live.reported, after, batch)):
            occupied = await database.autocommit_async(reading.find_occupied, reported)
            ended = [job_id for job_id in reported if job_id not in occupied]
            await database.in_service(partial(self._live.forget, ended))
            after = reported[-1]
        while await database.transact_async(lane_cleaning.clean):
            pass
        await database.in_service(self._journals.sweep)
        if self._keep_logs_for is not None:
            seconds = self._kept(self._keep_logs_for)
            while await database.transact_async(logs.forget, seconds, batch) == batch:
                pass
        await database.in_service(partial(self._groups.forget_ended, self._kept(self._keep)))

    def _kept(self, keep: timedelta) -> float:
        """Return the age, by the database's clock, of what was surely kept for this time."""
        seconds = keep.total_seconds()
        return seconds + self._clock.elapsed.surplus(seconds, time.monotonic())

    async def rescue(self, dead: Mapping[NodeId, Death]) -> None:
        """Rescue all jobs of dead or unregistered nodes, then unregister these nodes.

        A node that may still live without contact keeps jobs in their last attempt for longer:
        these may not run twice.
        """
        begun = {
            node: await self._database.in_service(
                partial(self._journals.begun_by, node, self._timing.journal_wait)
            )
            for node in dead
        }
        # The rescue may have taken a second, in which a silent node may have come back and claimed
        # other jobs.
        if begun:
            found = await self._database.in_service(self._membership.find_dead)
            dead = {node: death for node, death in found.items() if node in begun}
        while True:
            rescuer = Rescuer(
                self._registry,
                self._rng,
                lambda node: begun.get(node) or self._journals.begun_by(node),
                self._reports,
                timedelta(seconds=time.monotonic() - self._born),
                self._timing.rescue_batch,
            )
            batch, ended, removed = await self._database.transact_async(
                self._rescue_batch, rescuer, dead
            )
            self._states = {
                node: counts for node, counts in self._count_states(batch).items() if node in dead
            }
            if batch:
                self._signals.rescued.send(batch)
            if ended:
                self._signals.runs_ended.send(ended)
            if len(batch) < self._timing.rescue_batch:
                break
        for node in removed:
            self._membership.remove_traces(node)
            self._kept_journals.append((time.monotonic() + self._timing.journal_kept, node))
        # Some of their jobs are still locked.
        self._unremoved = sum(death.certain for node, death in dead.items() if node not in removed)

    def _rescue_batch(
        self,
        connection: Connection,
        rescuer: Rescuer,
        dead: Mapping[NodeId, Death],
    ) -> tuple[list[Rescued], list[AppliedPlan], set[NodeId]]:
        """Rescue a batch; with the last one, also unregister the nodes and record the results."""
        certain = {node for node, death in dead.items() if death.certain}
        batch, ended = rescuer.rescue(connection, certain, dead.keys() - certain)
        last = len(batch) < self._timing.rescue_batch
        removed = set[NodeId]()
        if dead and last:
            removed = nodes.remove_dead(connection, dead, self._count_states(batch))
        return batch, ended, removed

    def _count_states(self, batch: Sequence[Rescued]) -> dict[NodeId, Counter[str]]:
        """Count the new states of rescued jobs per node, including those of earlier batches."""
        counts = {node: Counter(states) for node, states in self._states.items()}
        for rescued in batch:
            counts.setdefault(rescued.node, Counter())[rescued.state.value] += 1
        return counts

    def _reports(self, job_ids: Sequence[JobId]) -> Mapping[JobId, LiveReport]:
        """Read how far bodies were, so that progress does not fall back when jobs are ended."""
        with log.guard("the progress of %d jobs is lost: %s", len(job_ids)):
            return self._live.read(job_ids)
        return {}

    async def enforce_limits(self) -> None:
        """Fail jobs that their nodes cannot stop, and owned jobs not claimed in time."""
        running: dict[str, float] = {}
        graces: dict[str, float] = {}
        pending: dict[str, float] = {}
        for kind in self._registry:
            bounds, extra = kind.time_limits, self._timing.latitude
            if kind.isolation == "process":
                extra += START_UP.total_seconds()  # the start of its process counts towards none
            graces[kind.type] = bounds.grace.total_seconds() + extra
            if bounds.hard is not None:
                running[kind.type] = bounds.hard.total_seconds() + extra
            if bounds.pending is not None:
                pending[kind.type] = bounds.pending.total_seconds()
        for limit, seconds, why in (
            (TimeLimit.HARD, running, "ran past its hard time limit"),
            (TimeLimit.OF_SCHEDULE, graces, "ran past its hard time limit"),
            (TimeLimit.PENDING, pending, "was not claimed in time"),
        ):
            if seconds:  # some types have this limit
                found = await self._database.autocommit_async(time_limits.overdue, limit, seconds)
                await self._fail(found, limit, why)
        found = await self._database.autocommit_async(
            time_limits.expired_jobs, self._timing.expired_batch
        )
        await self._fail(found, TimeLimit.EXPIRED, "had not begun when it expired")

    async def _fail(self, found: Sequence[OverdueJob], limit: TimeLimit, why: str) -> None:
        """Fail those of these jobs that are past the limit, even by this process's own clock.

        Changes of the database's clock before this process observed it are unknown here. But a
        living node enforces the limits of its own bodies, so others count from the start of this
        process at the earliest.
        """
        if not found:
            return
        listed = await self._database.autocommit_async(nodes.view)
        dead = await self._database.in_service(self._membership.find_dead)
        living = {view.id for view in listed}.difference(dead)
        now = time.monotonic()
        passed: list[tuple[JobId, int]] = []
        for item in found:
            age = self._clock.elapsed.age(item.since, now)
            if item.node in living:
                age = min(age, now - self._born)
            if age >= item.seconds:
                passed.append((item.id, item.lease))
        if not passed:
            return
        reports = await self._database.in_service(
            partial(self._reports, [job_id for job_id, _ in passed])
        )
        seen = {(each.job_id, each.lease): each.progress_percentage for each in reports.values()}
        for job in await self._database.transact_async(time_limits.expire, passed, limit, seen):
            log.error("job %d (%s) %s and was failed", job.id, job.type, why)
            self._signals.expired.send(job)

    async def end_lost_runs(self) -> None:
        """End runs of schedules whose jobs have ended or are gone without being reported."""
        ended = await self._database.transact_async(
            run_ending.end_unreported, self._timing.ends_batch
        )
        for decision in ended:
            log.warning(
                "a run of schedule %r had ended without being recorded", decision.schedule.name
            )
        if ended:
            self._signals.runs_ended.send(ended)
