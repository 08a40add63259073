"""Runs jobs in a worker of another system, such as Celery, each in the thread that has received its
message.
"""

from collections.abc import Sequence
from contextlib import nullcontext
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
from horae.runtime.inline.joined_ends import JoinedEnds
from horae.runtime.inline.own_process import INTERRUPT, EndingSignals, OwnProcess, ProcessEnds
from horae.runtime.timing import Timing
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.engine.failures import is_of_data
from horae.storage.jobs import dispatching
from horae.storage.outcomes.ending_claim import end_and_claim
from horae.storage.outcomes.settling import Settled

MAIN_THREAD: Final = "main thread"
"""Bodies run in the main thread of a process that must go on: a soft time limit interrupts them."""
OWN_PROCESS: Final = "own process"
"""The same in a process that may be ended to stop a body."""

log = guarded_log("horae.runtime")


class MessageNode(InlineNode):
    """Claims jobs by id, and runs them.

    The process is a node: if it is killed, other nodes rescue its jobs.
    """

    def __init__(
        self,
        components: Components,
        role: str,
        place: str | None = None,
        timing: Timing | None = None,
    ) -> None:
        """`place`: `MAIN_THREAD`, `OWN_PROCESS`, or None where bodies run on several threads."""
        self._place, self._interrupt, self._ending = (
            place,
            BodyInterrupt(INTERRUPT),
            EndingSignals(),
        )
        self._joins = components.database.dialect == POSTGRESQL
        super().__init__(components, timing, role)

    @override
    def reset_after_fork(self) -> None:
        super().reset_after_fork()
        self._joined = JoinedEnds(self._ends.write_without_waiting, self._options.timing.inline)

    def run_job(self, job_id: JobId) -> bool:
        """Claim a job and run it; return False if it is not to be run now, as after a message that
        came twice.
        """
        with self._ending.held() if self._place == OWN_PROCESS else nullcontext():
            self.join()
            claim = self._end_and_claim(job_id) or self.claimed(
                lambda: self._claim_sent(job_id), lambda found: found
            )
            if claim is None:
                log.info("job %d needs no run: it has ended, runs already, or is not due", job_id)
                return False
            try:
                self.run(claim)
            except EndNotWritten:
                pass  # a thread of this process writes it when the database is back
            except (
                SystemExit
            ) as error:  # raised by the body, which fails the job but must not end the process
                if type(error) not in {
                    SystemExit,
                    ProcessEnds,
                }:  # of the other system, which ends the process
                    raise
        return True

    def _end_and_claim(self, job_id: JobId) -> Claim | None:
        """Claim a job together with the ends that wait; None if there are none, or if it is not to
        be run so.
        """
        ended = self._joined.take()
        if not ended:
            return None
        written = False
        try:
            written, claim = self.claimed(
                lambda: self._claim_joined(ended, job_id), lambda found: found[1]
            )
        except Exception as error:
            if not is_of_data(
                error
            ):  # else one of the ends cannot be stored, and nothing was claimed
                raise
            return None
        finally:
            if not written:
                self._joined.give_back(ended)
        if written:
            for finished in ended:
                self._ends.settled(finished, Settled({finished.claim.id}))
        return claim

    def _claim_joined(
        self, ended: Sequence[FinishedRun], job_id: JobId
    ) -> tuple[bool, Claim | None]:
        node, types = self._environment.node, self._components.registry.runnable
        settlements = [finished.settlement for finished in ended if finished.settlement is not None]
        return self._components.database.autocommit(end_and_claim, node, settlements, job_id, types)

    def _claim_sent(self, job_id: JobId) -> Claim | None:
        database, node = self._components.database, self._environment.node
        types = self._components.registry.runnable
        claim = database.autocommit(dispatching.claim_sent, job_id, node, types)
        return claim or database.transact(dispatching.claim_limited, job_id, node, types)

    @override
    def _end(self, finished: FinishedRun, took: float) -> None:
        if not (self._joins and self._joined.put(finished, took)):
            super()._end(finished, took)

    @override
    def close(self) -> None:
        """Write what waits, and unregister the node, if it was registered."""
        self._joined.close()
        super().close()

    @override
    def _new_executor(self) -> CallingThread:
        if self._place is None:
            return super()._new_executor()
        end = self._end_with_process if self._place == OWN_PROCESS else None
        return OwnProcess(self._environment, self._interrupt, self._ending, end)

    def _end_with_process(self, finished: FinishedRun) -> None:
        """Write the end of a job and unregister this node, in a process that is killed next."""
        self._ends.write(with_report(finished, self._reporter.latest(finished.claim.id)))
        if self._membership is not None:
            self._membership.leave()
