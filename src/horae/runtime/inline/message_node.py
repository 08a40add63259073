"""Runs jobs in a worker of another system, such as Celery, each in the thread that has received its message."""

from contextlib import suppress
from typing import Final

from typing_extensions import override

from horae.domain.jobs.job import Claim, JobId
from horae.errors import EndNotWritten
from horae.guarded_log import guarded_log
from horae.runtime.bodies.finished_run import FinishedRun, with_report
from horae.runtime.components import Components
from horae.runtime.executors.signals import BodyInterrupt
from horae.runtime.inline.calling_thread import CallingThread
from horae.runtime.inline.inline_node import InlineNode
from horae.runtime.inline.own_process import INTERRUPT, OwnProcess
from horae.runtime.timing import Timing
from horae.storage.jobs import dispatching

MAIN_THREAD: Final = "main thread"
"""Bodies run in the main thread of a process that must go on: a soft time limit interrupts them."""
OWN_PROCESS: Final = "own process"
"""The same in a process that may be ended to stop a body."""

log = guarded_log("horae.runtime")


class MessageNode(InlineNode):
    """Claims jobs by id, and runs them. The process is a node: if it is killed, other nodes rescue its jobs."""

    def __init__(
        self, components: Components, role: str, place: str | None = None, timing: Timing | None = None
    ) -> None:
        """`place`: `MAIN_THREAD`, `OWN_PROCESS`, or None where bodies run on several threads."""
        self._place, self._interrupt = place, BodyInterrupt(INTERRUPT)
        super().__init__(components, timing, role)

    def run_job(self, job_id: JobId) -> bool:
        """Claim a job and run it; return False if it is not to be run now, as after a message that came twice."""
        self.join()
        claim = self.claimed(lambda: self._claim_sent(job_id), lambda found: found)
        if claim is None:
            log.info("job %d needs no run: it has ended, runs already, or is not due", job_id)
            return False
        with suppress(EndNotWritten):  # a thread of this process writes it when the database is back
            self.run(claim)
        return True

    def _claim_sent(self, job_id: JobId) -> Claim | None:
        database, node = self._components.database, self._environment.node
        types = self._components.registry.runnable
        claim = database.autocommit(dispatching.claim_sent, job_id, node, types)
        return claim or database.transact(dispatching.claim_limited, job_id, node, types)

    @override
    def _new_executor(self) -> CallingThread:
        if self._place is None:
            return super()._new_executor()
        return OwnProcess(
            self._environment, self._interrupt, self._end_with_process if self._place == OWN_PROCESS else None
        )

    def _end_with_process(self, finished: FinishedRun) -> None:
        """Write the end of a job and unregister this node, in a process that is killed next."""
        self._ends.write(with_report(finished, self._reporter.latest(finished.claim.id)))
        if self._membership is not None:
            self._membership.leave()
