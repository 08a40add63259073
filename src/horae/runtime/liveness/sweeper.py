"""Looks after what nobody else does: jobs of dead nodes, and jobs past their limits.

Every node sweeps; the statements take only rows that no other sweeper has locked, and compare state and lease.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

from sqlalchemy import Connection

from horae.domain.cluster.liveness import Death
from horae.domain.elapsed import Elapsed
from horae.domain.jobs import limits
from horae.domain.jobs.job import Job, JobId, NodeId
from horae.domain.jobs.limits import Limit
from horae.live.store import LiveReport, LiveStore
from horae.runtime.bodies.run import START_UP
from horae.runtime.journal.files import Journals
from horae.runtime.liveness.membership import Membership
from horae.runtime.liveness.rescue import Rescued, Rescuer
from horae.runtime.timing import SweeperTiming
from horae.storage.engine.database import Database
from horae.storage.engine.failures import is_transient
from horae.storage.jobs import reading
from horae.storage.operations import doctor, nodes
from horae.storage.outcomes import run_ending, time_limits
from horae.storage.outcomes.time_limits import OverdueJob
from horae.storage.schedules.plan_writing import AppliedPlan
from horae.types.job_type import JobType
from horae.types.registry import Registry

log = logging.getLogger("horae.runtime")
Look = Callable[[Connection, Mapping[str, float]], list[OverdueJob]]


class Sweeper:
    """One node's share of looking after."""

    def __init__(  # noqa: PLR0913 - the one place where these meet
        self, *, database: Database, membership: Membership, registry: Registry, live: LiveStore,
        journals: Journals, keep_seconds: float, timing: SweeperTiming, rng: Random,
        on_rescue: Callable[[Sequence[Rescued]], None], on_expiry: Callable[[Job], None],
        on_runs: Callable[[Sequence[AppliedPlan]], None],
    ) -> None:  # fmt: skip
        self._database, self._membership, self._registry = database, membership, registry
        self._live, self._timing, self._rng = live, timing, rng
        self._on_rescue, self._on_expiry, self._on_runs = on_rescue, on_expiry, on_runs
        self._journals = journals
        self._born = time.monotonic()
        self._elapsed = Elapsed()
        self._clean_every = min(timing.clean_every, keep_seconds * timing.clean_share)
        self._clean_at = self._born + self._clean_every
        self._suspicion = asyncio.Event()
        self._suspected = self._again = False
        self._announced = frozenset[NodeId]()
        self._fates: dict[NodeId, Counter[str]] = {}
        self._rounds = self._unburied = self._locked_looks = 0

    def suspect(self) -> None:
        """Look at the others soon. Called on the node's loop."""
        self._suspicion.set()

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            self._suspicion.clear()  # before the look, not after it: what arises meanwhile is for the next one
            try:
                await self._round()
            except Exception as error:
                log.warning("a sweep failed and is repeated: %s", error, exc_info=not is_transient(error))
            await self._pause()

    async def _pause(self) -> None:
        """Until the next round: shorter after a suspicion, which the first look may have been too early for."""
        self._locked_looks = self._locked_looks + 1 if self._unburied else 0
        locked = (
            0 < self._locked_looks <= self._timing.locked_rounds
        )  # mostly by a statement that the server is just ending
        soon = locked or (self._suspected and not self._again)
        pause = self._timing.suspicious_round if soon else self._timing.round * self._rng.uniform(0.9, 1.1)
        self._again = self._suspected and not self._again
        end = time.monotonic() + pause
        while not self._suspicion.is_set() and (left := end - time.monotonic()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, self._timing.glance)):
                    await self._suspicion.wait()
            if self._membership.is_anybody_missing:
                self._suspicion.set()
        self._suspected = self._suspicion.is_set() or self._again or self._unburied > 0

    async def _round(self) -> None:
        routine = self._rounds % self._timing.look_every == 0
        look = routine or self._suspected
        dead = await self._database.in_service(self._membership.find_dead) if look else {}
        if look:
            self._announce(dead)
        if dead or routine:
            await self.rescue(dead)
        if self._rounds % self._timing.limits_every == 0:
            await self.enforce_limits()
            await self.end_lost_runs()
        if time.monotonic() >= self._clean_at:
            self._clean_at = time.monotonic() + self._clean_every
            await self._database.in_service(self._forget_ended)
            await self._database.in_service(self._journals.sweep)
        self._rounds += 1

    def _announce(self, dead: Mapping[NodeId, Death]) -> None:
        """Say it once, however long a node stays listed because its jobs are locked."""
        for node in dead.keys() - self._announced:
            log.warning("node %s is dead: %s", node, dead[node].cause)
        self._announced = frozenset(dead)

    async def rescue(self, dead: Mapping[NodeId, Death]) -> None:
        """Deal with everything that dead or unlisted nodes hold, then strike them off.

        A node that may live on, out of contact, keeps its jobs' last attempts for longer: nobody may run these again.
        """
        certain = {node for node, death in dead.items() if death.certain}
        begun = {
            node: await self._database.in_service(partial(self._journals.begun_by, node, self._timing.journal_wait))
            for node in dead
        }
        while True:
            rescuer = Rescuer(
                self._registry,
                self._rng,
                lambda node: begun.get(node) or self._journals.begun_by(node),
                self._reports,
                timedelta(seconds=time.monotonic() - self._born),
                self._timing.rescue_batch,
            )
            batch, ended, buried = await self._database.transact_async(
                self._clear, rescuer, certain, dead.keys() - certain
            )
            self._fates = {node: fates for node, fates in self._told(batch).items() if node in dead}
            if batch:
                self._on_rescue(batch)
            if ended:
                self._on_runs(ended)
            if len(batch) < self._timing.rescue_batch:
                break
        for node in buried:
            self._membership.bury(node)
            self._journals.remove(node)
        self._unburied = len(certain - buried)  # something of theirs is still locked

    def _clear(
        self, connection: Connection, rescuer: Rescuer, certain: Collection[NodeId], silent: Collection[NodeId]
    ) -> tuple[list[Rescued], list[AppliedPlan], set[NodeId]]:
        """Rescue a batch, and strike off with the last one: so whoever has rescued says what became of the jobs."""
        batch, ended = rescuer.rescue(connection, certain, silent)
        dead = {*certain, *silent}
        last = len(batch) < self._timing.rescue_batch
        buried = nodes.remove_dead(connection, dead, self._told(batch)) if dead and last else set[NodeId]()
        return batch, ended, buried

    def _told(self, batch: Sequence[Rescued]) -> dict[NodeId, Counter[str]]:
        """What has become of the jobs of nodes that are still listed, and of these."""
        fates = {node: Counter(counts) for node, counts in self._fates.items()}
        for rescued in batch:
            fates.setdefault(rescued.node, Counter())[rescued.state.value] += 1
        return fates

    def _reports(self, job_ids: Sequence[JobId]) -> Mapping[JobId, LiveReport]:
        """How far bodies were, so that the bar does not fall back when somebody else ends their jobs."""
        try:
            return self._live.read(job_ids)
        except Exception as error:  # noqa: BLE001 - what is shown of a job must not hold up its rescue
            log.warning("the progress of %d jobs is lost: %s", len(job_ids), error)
            return {}

    def _seen(self, job_ids: Sequence[JobId]) -> Mapping[tuple[JobId, int], int]:
        reports = self._reports(job_ids).values()
        return {(report.job_id, report.lease): report.progress_percentage for report in reports}

    async def enforce_limits(self) -> None:
        """Fail what its own node cannot stop, and owned jobs that nobody took."""
        self._elapsed.observe(await self._database.autocommit_async(doctor.clock), time.monotonic())
        hard = {kind.type: kind.limits.hard for kind in self._registry}
        extra = {kind.type: self._timing.latitude + _start_up(kind) for kind in self._registry}
        graces = {kind.type: kind.limits.grace.total_seconds() + extra[kind.type] for kind in self._registry}
        overdue = {name: limit.total_seconds() + extra[name] for name, limit in hard.items() if limit is not None}
        pending = {kind.type: kind.limits.pending for kind in self._registry}
        waiting = {name: limit.total_seconds() for name, limit in pending.items() if limit is not None}
        for job in [
            *await self._expire(time_limits.overdue, overdue, limits.HARD),
            *await self._expire(time_limits.overdue_runs, graces, limits.OF_SCHEDULE),
        ]:
            log.error("job %d (%s) ran past its hard time limit and was failed", job.id, job.type)
            self._on_expiry(job)
        for job in await self._expire(time_limits.overdue_pending, waiting, limits.PENDING):
            log.error("job %d (%s) was not taken in time and was failed", job.id, job.type)
            self._on_expiry(job)

    async def _expire(self, look: Look, seconds: Mapping[str, float], limit: Limit) -> Sequence[Job]:
        found = await self._database.autocommit_async(look, seconds)
        if not found:
            return ()
        living = await self._database.in_service(self._living)
        passed = [(item.id, item.lease) for item in found if self._age(item, living) >= item.seconds]
        if not passed:
            return ()
        seen = await self._database.in_service(partial(self._seen, [job_id for job_id, _ in passed]))
        return await self._database.transact_async(time_limits.expire, passed, limit, seen)

    def _age(self, item: OverdueJob, living: Collection[NodeId]) -> float:
        """How long ago it began, whatever the database's clock was set to since.

        What was done to that clock before this process watched it nobody here knows. But a node that lives knows, and
        keeps its bodies' limits itself, so it has the whole limit before others do.
        """
        now = time.monotonic()
        age = self._elapsed.age(item.since, now)
        return min(age, now - self._born) if item.node in living else age

    def _living(self) -> Collection[NodeId]:
        listed = {view.id for view in self._database.autocommit(nodes.view)}
        return listed.difference(self._membership.find_dead())

    def _forget_ended(self) -> None:
        """Remove what the live store still has of jobs that are over, as of a node that was killed meanwhile."""
        after = JobId(0)
        while reported := self._live.reported(after, self._timing.reports_batch):
            occupied = self._database.autocommit(reading.occupied, reported)
            self._live.forget([job_id for job_id in reported if job_id not in occupied])
            after = reported[-1]

    async def end_lost_runs(self) -> None:
        """End runs of schedules whose jobs are over, or gone, without the schedule having been told."""
        ended = await self._database.transact_async(run_ending.end_unreported, self._timing.ends_batch)
        for decision in ended:
            log.warning("a run of schedule %r was over without its knowing", decision.schedule.name)
        if ended:
            self._on_runs(ended)


def _start_up(kind: JobType[Any]) -> float:
    """How many seconds its child process has to start, which count against no limit."""
    return START_UP.total_seconds() if kind.isolation == "process" else 0.0
