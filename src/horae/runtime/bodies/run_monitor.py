"""Tells running bodies to stop: they were cancelled, exceeded a time limit, or have a new owner.

While anything runs there is a round every 100 ms, and at once after a hint: it publishes reports,
reads cancel requests (one query for all bodies), and compares times. So a progress call only has to
check a flag. Every two seconds the rows themselves are read, so that a body learns of its end even
if the live store has lost the request.
"""

import asyncio
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from horae.domain.jobs import Job, JobId, JobState, NodeId
from horae.errors import JobCancelled, LeaseLost
from horae.guarded_log import guarded_log
from horae.live import LiveStore
from horae.runtime.bodies.orders import OutOfTime
from horae.runtime.bodies.reporter import Reporter
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import RunMonitorTiming
from horae.storage.engine import Database
from horae.storage.jobs import reading
from horae.storage.outcomes import time_limits
from horae.storage.schedules import writing
from horae.types import Attempt
from horae.wakeup import Hint, HintKind

log = guarded_log("horae.runtime")


class RunMonitor:
    """Watches the running bodies of one node."""

    def __init__(
        self,
        node: NodeId,
        running: Mapping[JobId, Attempt],
        reporter: Reporter,
        live: LiveStore,
        database: Database,
        on_expiry: Callable[[Job], None],
        timing: RunMonitorTiming,
    ) -> None:
        self._node, self._running = node, running
        self._reporter = reporter
        self._live = live
        self._database = database
        self._on_expiry = on_expiry
        self._timing = timing
        self._hinted = asyncio.Event()
        self._rounds = 0
        self._unavailable, self._unwritten = ThrottledWarning(), ThrottledWarning()
        self._ordered: list[Attempt] = []
        self._regained_at = -math.inf

    def on_hint(self, hint: Hint) -> None:
        """Start a round at once if a running body may have been cancelled.

        Called on the node's loop.
        """
        if hint.kind is HintKind.CANCEL and (
            not hint.job_ids or any(job_id in self._running for job_id in hint.job_ids)
        ):
            self._hinted.set()

    def on_regained(self) -> None:
        """Read the rows of all bodies at once: other nodes may have taken the jobs.

        Called on the node's loop when the contact with the database is regained.
        """
        self._regained_at = time.monotonic()
        self._rounds = self._timing.reread_every - 1
        self._hinted.set()

    async def run(self) -> None:
        """Watch until cancelled.

        Time limits have a task of their own, because the other may wait for the database.
        """
        async with asyncio.TaskGroup() as services:
            services.create_task(self._exchange_rounds())
            services.create_task(self._limit_rounds(services))

    async def _exchange_rounds(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timing.round):
                    await self._hinted.wait()
            self._hinted.clear()
            if self._running or self._reporter.has_news:
                asked, reread = self._next_request()
                exchange = partial(self._exchange, asked, reread=reread)
                self._give(await self._database.in_service(exchange))

    async def _limit_rounds(self, services: asyncio.TaskGroup) -> None:
        while True:
            await asyncio.sleep(self._timing.round)
            now = time.monotonic()
            self._hang_up_commits(now)
            if overdue := self._enforce_limits(now):
                services.create_task(self._fail_async(overdue))
            if self._ordered:
                ordered, self._ordered = self._ordered, []
                services.create_task(self.record_orders(ordered))

    def watch_once(self) -> None:
        """Do one round in the calling thread, for jobs that run without an event loop."""
        asked, reread = self._next_request()
        self._give(self._exchange(asked, reread=reread))
        for job in self._fail(self._enforce_limits(time.monotonic())):
            self._on_expiry(job)
        ordered, self._ordered = self._ordered, []
        self._record(ordered)

    def _next_request(self) -> tuple[list[JobId], bool]:
        """Return the jobs to ask about, and whether to read their rows as well."""
        self._rounds += 1
        asked = [
            job_id for job_id, attempt in list(self._running.items()) if attempt.may_be_cancelled
        ]
        return asked, self._rounds % self._timing.reread_every == 0

    def _give(self, orders: Mapping[JobId, BaseException]) -> None:
        for job_id, order in orders.items():
            if (attempt := self._running.get(job_id)) is not None:
                if not attempt.ordered_to_end:
                    # Cancelled in each round, a coroutine could never clean up.
                    attempt.stop(order)
                if isinstance(order, JobCancelled) and order.forced and not attempt.forced:
                    attempt.force()

    def _exchange(self, asked: Collection[JobId], *, reread: bool) -> Mapping[JobId, BaseException]:
        """Write reports; return which of these bodies must stop, and why."""
        if self._reporter.has_news:
            self._reporter.publish()
        if not asked:
            return {}
        orders: dict[JobId, BaseException] = {}
        # The row decides in the end, whatever the body learns.
        with self._unavailable.guard("cancel requests cannot be read: %s"):
            if reread:
                # Stop the bodies whose jobs have ended or have another owner.
                rows = self._database.autocommit(reading.leases, asked)
                for job_id in asked:
                    attempt = self._running.get(job_id)
                    state, *holder = rows.get(job_id, (None, None, None))
                    if attempt is not None and (
                        state is not JobState.STARTED or holder != [attempt.claim.lease, self._node]
                    ):
                        is_cancelled = state is JobState.CANCELLED
                        orders[job_id] = JobCancelled() if is_cancelled else LeaseLost()
            for job_id, request in self._live.cancel_requests(asked, thorough=reread).items():
                orders[job_id] = JobCancelled(request.by, forced=request.forced)
            self._unavailable.settle()
        return orders

    def _enforce_limits(self, now: float) -> Sequence[Attempt]:
        """Stop bodies that exceed a time limit; return those whose jobs must be failed, because
        nothing stops them.
        """
        overdue: list[Attempt] = []
        for attempt in list(self._running.values()):
            if now >= attempt.hard_at:
                if not attempt.forced:
                    attempt.force()
                    if attempt.killed:
                        log.warning(
                            "job %d was stopped by force at its hard time limit", attempt.claim.id
                        )
                    else:
                        attempt.stop(OutOfTime(attempt.passed))
                elif not attempt.killed and not attempt.failed:
                    attempt.failed = True
                    overdue.append(attempt)
            elif now >= attempt.soft_at and not attempt.warned:
                attempt.warned = True
                attempt.stop(
                    attempt.job_type.soft_limit_error("the soft time limit of this job is over")
                )
                self._ordered.append(attempt)
        return overdue

    def _hang_up_commits(self, now: float) -> None:
        """Hang up on commits that take too long, whose bodies would otherwise keep their slots.

        A primary that has lost its synchronous standby to a promotion never answers a commit.
        Whether the transaction took effect is seen when the end of the attempt is written.
        """
        for attempt in list(self._running.values()):
            began, connection = attempt.commit_began, attempt.any_connection
            if began is None or connection is None:
                continue
            until = began + self._timing.commit_within
            if began < self._regained_at:
                until = min(until, self._regained_at + self._timing.commit_after_loss)
            if now >= until:
                attempt.commit_began = None
                log.warning(
                    "the transaction of job %d (%s) has not been committed within %.1f s; its"
                    " connection is shut down",
                    attempt.claim.id,
                    attempt.claim.type,
                    now - began,
                )
                self._database.hang_up_body(connection)

    async def record_orders(self, ordered: Iterable[Attempt]) -> None:
        """Record for schedules that their runs were ordered to stop."""
        runs = [attempt for attempt in ordered if attempt.claim.schedule_id is not None]
        if runs:
            await self._database.in_service(lambda: self._record(runs))

    def _record(self, ordered: Iterable[Attempt]) -> None:
        if scheduled := [
            attempt.claim.id for attempt in ordered if attempt.claim.schedule_id is not None
        ]:
            # The bodies have their orders, even if schedules do not show it.
            with log.guard(
                "cannot record for %d schedules that their runs were ordered to stop: %s",
                len(scheduled),
            ):
                self._database.transact(writing.mark_stopping, scheduled)

    async def _fail_async(self, overdue: Sequence[Attempt]) -> None:
        for job in await self._database.in_service(lambda: self._fail(overdue)):
            self._on_expiry(job)

    def _fail(self, overdue: Sequence[Attempt]) -> Sequence[Job]:
        """Fail the jobs of bodies that may never end; what cannot be written is tried again."""
        failed: list[Job] = []
        for attempt in overdue:
            claim = attempt.claim
            report = self._reporter.latest(claim.id)
            seen = (
                {}
                if report is None
                else {(report.job_id, report.lease): report.progress_percentage}
            )
            with self._unwritten.guard(
                "job %d cannot be failed at its hard time limit yet: %s", claim.id
            ):
                failed += self._database.transact(
                    time_limits.expire, [(claim.id, claim.lease)], attempt.passed, seen
                )
                self._unwritten.settle()
                log.error(
                    "job %d (%s) ignores its hard time limit and cannot be forced on a thread or"
                    " the loop; its slot stays occupied. Use isolation='process' for bodies that"
                    " may hang, or in Celery the pool prefork.",
                    claim.id,
                    claim.type,
                )
                continue
            attempt.failed = False  # it is tried again in the next round
        return failed
