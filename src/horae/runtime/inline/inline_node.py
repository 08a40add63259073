"""Runs single jobs in the calling thread under a node's rules: lease, heartbeat, cancels, limits.

The first such run registers this process as a node that claims nothing. The result is committed
before `run` returns; a retry is left to other nodes.
"""

import threading
from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy import Connection
from typing_extensions import override

from horae.domain.cluster import INLINE, Isolation
from horae.domain.jobs import Claim, JobId, JobState, NodeId
from horae.errors import JobDoesNotExist, LeaseLost
from horae.forking import BuiltAnewInChild
from horae.guarded_log import guarded_log
from horae.runtime.bodies import (
    FinishedRun,
    KeptLogs,
    OutOfContact,
    Reporter,
    RunEnvironment,
    RunMonitor,
    stop_attempts,
    stopped_by,
    with_report,
    writer_to,
)
from horae.runtime.components import Components, NodeOptions
from horae.runtime.inline.calling_thread import CallingThread
from horae.runtime.inline.claims import InlineClaims
from horae.runtime.inline.ends import InlineEnds
from horae.runtime.liveness import Membership, Watcher, membership_of, record_of
from horae.runtime.settling import state_after
from horae.runtime.timing import Timing
from horae.storage.jobs import OWED_BY, claims
from horae.storage.outcomes import Settled
from horae.types import Attempt
from horae.types.group_cancelling import GroupCanceller
from horae.types.hooks import Hooks
from horae.wakeup import Hint, HintKind, work

LOGS_WITHIN: Final = 1.0
"""Seconds that the caller waits for the log lines of a job to be written."""
T = TypeVar("T")

log = guarded_log("horae.runtime")


class InlineNode(BuiltAnewInChild):
    """Runs the inline jobs of a process as a node of its own."""

    def __init__(
        self,
        components: Components,
        timing: Timing | None = None,
        role: str = INLINE,
        new_executor: Callable[[RunEnvironment], CallingThread] = CallingThread,
    ) -> None:
        """`role`: the node's role in lists; `new_executor`: makes the executor of one body."""
        self._components, self._role, self._new_executor = components, role, new_executor
        self._options = NodeOptions(concurrency=1, timing=timing or Timing())
        self._hooks = Hooks(components.database, components.registry)
        self._log_writer = writer_to(components.database)
        self._groups = GroupCanceller(components.database, components.live, components.wakeup)
        self._record = record_of(components.registry, self._options, role=self._role)
        self._environment = RunEnvironment(
            components.database,
            self._record.id,
            around=components.hooks.around,
            settlements=components.hooks.settlements,
            log_book=KeptLogs(self._log_writer, components.keep_logs),
        )
        self._reporter = Reporter(components.live, self._environment.journal)
        self._running: dict[JobId, Attempt] = {}
        self._run_monitor = RunMonitor(
            self._environment.node,
            self._running,
            self._reporter,
            components.live,
            components.database,
            lambda job: components.wakeup.send(Hint(HintKind.ENDED, (job.id,))),
            self._options.timing.run_monitor,
        )
        self._ends = InlineEnds(self._environment, self._follow_up, self._options.timing)
        self._claims = InlineClaims(self._environment, self._send_work, self._options.timing.worker)
        self._joining = threading.Lock()
        self._membership: Membership | None = None
        self._closed = threading.Event()
        self._busy = threading.Event()
        self._watching: threading.Thread | None = None

    @property
    def id(self) -> NodeId:
        """The id of the node; a forked process is another one."""
        return self._environment.node

    @override
    def begin_in_child(self) -> None:
        """Become another node without running jobs."""
        if self._membership is not None:
            self._membership.abandon()
        super().begin_in_child()

    def claim(self, connection: Connection, job_id: JobId) -> Claim:
        """Claim a job in the transaction that creates it, before any other node can."""
        claim = claims.claim_one(connection, job_id, self._environment.node)
        if claim is None:
            raise JobDoesNotExist(job_id)
        return claim

    def claim_by(self, transaction: Callable[[], T], claim_of: Callable[[T], Claim | None]) -> T:
        """Run a transaction that claims a job; if its answer is lost, the job is handed back."""
        return self._claims.make(transaction, claim_of)

    def run(self, claim: Claim) -> None:
        """Run the body in this thread and settle the job.

        Raises exceptions that end the process (Ctrl-C), and `EndNotWritten` if the result cannot be
        written in time.
        """
        executor = self._new_executor(self._environment)
        job_type = self._components.registry.get(claim.type)
        attempt = Attempt(claim, job_type, self._reporter.follow(claim), executor)
        if not self._is_unseen():
            self._running[claim.id] = attempt
            self._busy.set()
        try:
            finished = executor.perform(attempt)
        except BaseException as error:  # noqa: BLE001 - Ctrl-C between the frames of the body
            finished = stopped_by(error, attempt, self._environment)
        self._running.pop(claim.id, None)
        self._log_writer.flush(LOGS_WITHIN)
        try:
            self.end(finished)
        finally:
            if isinstance(finished.error, KeyboardInterrupt | SystemExit):
                raise finished.error

    def end(self, finished: FinishedRun) -> None:
        """Settle a job whose body has ended; raises `EndNotWritten` as `run` does."""
        self._ends.write(with_report(finished, self._reporter.latest(finished.claim.id)))

    def close(self) -> None:
        """Write the remaining results, and unregister the node if it was registered."""
        self._closed.set()
        self._busy.set()
        if self._watching is not None and self._watching.is_alive():
            self._watching.join()  # else it would find the database closed
        self._ends.close()
        self._claims.close()
        self._log_writer.close(LOGS_WITHIN)
        self.leave()

    def leave(self) -> None:
        """Unregister the node if it was registered."""
        if self._membership is not None:
            self._membership.leave()

    def join(self) -> None:
        """Register the node at the first call."""
        if self._is_unseen():
            return

        def isolate(level: Isolation) -> None:
            stop_attempts(list(self._running.values()), OutOfContact, level)

        with self._joining:
            if self._membership is None:
                membership = membership_of(
                    self._components.database,
                    self._record,
                    self._options.liveness,
                    self._options.timing,
                )
                if self._watching is None or not self._watching.is_alive():
                    self._watching = threading.Thread(
                        target=self._watch, name="horae-inline", daemon=True
                    )
                    self._watching.start()  # a node without it must not be registered
                membership.join(Watcher(died=self._give_up_jobs, isolated=isolate))
                self._membership = membership

    def _is_unseen(self) -> bool:
        """Return whether the jobs of this thread are in a transaction of another library.

        Nobody else sees them before it commits, so nobody could cancel or rescue them; the threads
        that watch over jobs would take them for lost.
        """
        return self._components.database.joined() is not None

    def _give_up_jobs(self) -> None:
        stop_attempts(list(self._running.values()), LeaseLost)
        self._membership = None

    def _watch(self) -> None:
        while not self._closed.is_set():
            self._busy.wait()
            self._busy.clear()
            while (self._running or self._reporter.has_news) and not self._closed.is_set():
                self._run_monitor.watch_once()
                self._closed.wait(self._options.timing.run_monitor.round)

    def _send_work(self) -> None:
        self._components.wakeup.send(work(None))

    def _follow_up(self, finished: FinishedRun, settled: Settled) -> None:
        claim = finished.claim
        self._claims.release(claim.id)
        state = state_after(finished, settled)
        self._reporter.forget([claim.id], [claim.id] if state is JobState.CANCELLED else [])
        self._reporter.publish()
        self._groups.act_on(settled.follow_ups)
        # The nodes that own these schedules do not know that the next start comes sooner.
        if sooner := tuple(JobId(plan.schedule.id) for plan in settled.runs if plan.moved_earlier):
            self._components.wakeup.send(Hint(HintKind.SCHEDULES, sooner))
        if finished.releases or any(plan.fired is not None for plan in settled.runs):
            self._send_work()
        if state in OWED_BY:
            self._hooks.call_here(claim.id, claim.type, finished.error)
        self._components.wakeup.send(
            work() if state is JobState.PENDING else Hint(HintKind.ENDED, (claim.id,))
        )
