"""Runs single jobs here and now, under the rules of a node: a lease, a life that others see, cancels, time limits.

The first such run makes this process a node of its own that claims nothing. What the body comes to is settled before
`run` returns; a retry is left to the nodes.
"""

import asyncio
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from random import Random
from typing import Any

from sqlalchemy import Connection

from horae.domain.cluster.liveness import Isolation
from horae.domain.jobs.job import Claim, Job, JobId, JobState
from horae.errors import JobDoesNotExist, LeaseLost
from horae.forking import begins_anew_after_fork
from horae.runtime.bodies.reporter import Reporter
from horae.runtime.bodies.run import Run
from horae.runtime.bodies.run_monitor import RunMonitor
from horae.runtime.bodies.runner import BodyResult, OutOfContact, RunEnvironment, outcome_of, perform, perform_async
from horae.runtime.bodies.verdict import FinishedRun, ended_of, must_stop
from horae.runtime.components import Components, NodeOptions
from horae.runtime.liveness.heartbeat import Watcher
from horae.runtime.liveness.membership import Membership, membership_of
from horae.runtime.liveness.node_record import record_of
from horae.runtime.node.inline_ends import InlineEnds
from horae.runtime.timing import Timing
from horae.storage.jobs import claims
from horae.storage.jobs.owed_hooks import OWED_BY
from horae.storage.outcomes.settling import Settled
from horae.types.context import JobContext
from horae.types.hooks import Hooks
from horae.wakeup.channel import Hint, HintKind

log = logging.getLogger("horae.runtime")


class InlineNode:
    """The node of the jobs that a process runs itself."""

    def __init__(self, components: Components, timing: Timing | None = None) -> None:
        self._components = components
        self._options = NodeOptions(concurrency=1, timing=timing or Timing())
        self._hooks = Hooks(components.database, components.registry)
        self._membership: Membership | None = None
        self.begin_anew()
        begins_anew_after_fork(self)

    def begin_anew(self) -> None:
        """After a fork: a node of its own, that runs nothing yet."""
        components = self._components
        if self._membership is not None:
            self._membership.abandon()
        self._record = record_of(components.registry, self._options, inline=True)
        self._environment = RunEnvironment(components.database, self._record.id)
        self._reporter = Reporter(components.live, self._environment.journal)
        self._running: dict[JobId, Run] = {}
        self._run_monitor = RunMonitor(
            self._running,
            self._reporter,
            components.live,
            components.database,
            self._expired,
            self._options.timing.run_monitor,
        )
        self._ends = InlineEnds(self._environment, self._settled, self._options.timing)
        self._joining = threading.Lock()
        self._membership = None
        self._closed = threading.Event()
        self._busy = threading.Event()

    def claim(self, connection: Connection, job_id: JobId) -> Claim:
        """Take a job in the transaction that creates it, before anybody else can."""
        claim = claims.claim_one(connection, job_id, self._environment.node)
        if claim is None:
            raise JobDoesNotExist(job_id)
        return claim

    def run(self, claim: Claim) -> None:
        """Run its body in this thread and settle it.

        Raises what ends the process (Ctrl-C), and `EndNotWritten` where the database has not taken the end in time.
        """
        executor = _Here(self._environment)
        context = JobContext[Any](claim, None, self._reporter.follow(claim))
        run = Run(claim, self._components.registry.get(claim.type), context, executor)
        self._running[claim.id] = run
        self._busy.set()
        try:
            performed = executor.perform(run)
        except BaseException as error:  # noqa: BLE001 - Ctrl-C between the frames of the body
            performed = BodyResult(outcome_of(run.job_type, context, error), error=error, took=context.took)
        del self._running[claim.id]
        try:
            self._ends.write(ended_of(run, performed, self._reporter.latest(claim.id), Random()))  # noqa: S311 - jitter
        finally:
            if isinstance(performed.error, KeyboardInterrupt | SystemExit):
                raise performed.error

    def close(self) -> None:
        """Leave, if it ever joined."""
        self._closed.set()
        self._busy.set()
        self._ends.close()
        if self._membership is not None:
            self._membership.leave()

    def join(self) -> None:
        """Become a node, the first time."""
        with self._joining:
            if self._membership is None:
                membership = membership_of(
                    self._components.database, self._record, self._options.liveness, self._options.timing
                )
                membership.join(Watcher(died=self._die, isolated=self._isolate))
                self._membership = membership
                threading.Thread(target=self._oversee, name="horae-inline", daemon=True).start()

    def _die(self) -> None:
        for run in list(self._running.values()):
            run.stop(LeaseLost())
        self._membership = None

    def _isolate(self, level: Isolation) -> None:
        for run in list(self._running.values()):
            if must_stop(run.claim, level):
                run.stop(OutOfContact())

    def _oversee(self) -> None:
        rounds, timing = 0, self._options.timing.run_monitor
        while not self._closed.is_set():
            self._busy.wait()
            self._busy.clear()
            while (self._running or self._reporter.has_news) and not self._closed.is_set():
                rounds += 1
                asked = [job_id for job_id, run in list(self._running.items()) if not run.ordered_to_end]
                for job_id, order in self._run_monitor.exchange(
                    asked, reread=rounds % timing.reread_every == 0
                ).items():
                    if (run := self._running.get(job_id)) is not None:
                        run.stop(order)
                if overdue := self._run_monitor.keep_time(time.monotonic()):
                    for job in self._run_monitor.fail(overdue):
                        self._expired(job)
                self._closed.wait(timing.round)

    def _expired(self, job: Job) -> None:
        self._components.wakeup.send(Hint(HintKind.ENDED, (job.id,)))

    def _settled(self, ended: FinishedRun, settled: Settled) -> None:
        claim = ended.claim
        state = settled.released.get(claim.id)
        if claim.id in settled.settled:
            state = JobState.FINISHED if ended.settlement is None else ended.settlement.state
        self._reporter.forget([claim.id], [claim.id] if state is JobState.CANCELLED else [])
        self._reporter.publish()
        if state in OWED_BY:
            if ended.error is not None:
                self._hooks.remember(claim.id, ended.error)
            self._hooks.call_here(claim.id, claim.type)
        self._components.wakeup.send(Hint(HintKind.WORK if state is JobState.PENDING else HintKind.ENDED, (claim.id,)))


class _Here:
    """An executor whose place is the calling thread."""

    def __init__(self, environment: RunEnvironment) -> None:
        self._environment = environment
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[BodyResult] | None = None

    def perform(self, run: Run) -> BodyResult:
        if not run.job_type.is_async:
            return perform(run.job_type, run.context, self._environment)
        if not _in_a_loop():
            return asyncio.run(self._perform_async(run))
        with ThreadPoolExecutor(1, "horae-inline-body") as elsewhere:  # this thread's loop is busy with the caller
            return elsewhere.submit(copy_context().run, asyncio.run, self._perform_async(run)).result()

    async def _perform_async(self, run: Run) -> BodyResult:
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        try:
            return await perform_async(run.job_type, run.context, self._environment)
        finally:
            await self._environment.database.close_async()

    def stop(self, run: Run, order: BaseException) -> None:
        run.context.stop(order, told=run.job_type.is_async)
        if self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(self._task.cancel)

    def kill(self, run: Run) -> bool:
        del run
        return False

    def start(self, run: Run, done: object) -> None:
        del done
        raise TypeError(f"job {run.claim.id} runs in the calling thread; call perform")

    def close(self) -> None:
        """Nothing is idle here."""


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
