"""Runs jobs about which Celery has delivered a message, each in the thread that received it."""

from contextlib import nullcontext
from functools import partial
from typing import Final

from horae.contrib.celery.own_process import EndingSignals, OwnProcess, ProcessEnds
from horae.domain.jobs import CELERY, Claim, JobId
from horae.errors import EndNotWritten
from horae.guarded_log import guarded_log
from horae.runtime.bodies import FinishedRun
from horae.runtime.components import Components
from horae.runtime.inline import CallingThread, InlineNode
from horae.storage.jobs import dispatching

MAIN_THREAD: Final = "main thread"
"""Bodies run in the main thread of a process that must go on; a soft time limit interrupts them."""
OWN_PROCESS: Final = "own process"
"""Bodies run in the main thread of a process that may be ended to stop a body."""

log = guarded_log("horae.runtime")


class MessageNode:
    """Claims jobs by id, and runs them.

    The process is a node: if it is killed, other nodes rescue its jobs.
    """

    def __init__(self, components: Components, place: str | None = None) -> None:
        """`place`: `MAIN_THREAD`, `OWN_PROCESS`, or None where bodies run on several threads."""
        self._components, self._place = components, place
        self._ending = EndingSignals()
        end = self._end_with_process if place == OWN_PROCESS else None
        self._node = InlineNode(
            components,
            role=CELERY,
            new_executor=CallingThread
            if place is None
            else partial(OwnProcess, ending=self._ending, end=end),
        )

    def run_job(self, job_id: JobId) -> bool:
        """Claim a job and run it; return False if it is not to be run now, as for a duplicate."""
        database, types = self._components.database, self._components.registry.runnable

        def claim_it() -> Claim | None:
            node = self._node.id
            claim = database.autocommit(dispatching.claim_sent, job_id, node, types)
            return claim or database.transact(dispatching.claim_limited, job_id, node, types)

        with self._ending.hold() if self._place == OWN_PROCESS else nullcontext():
            self._node.join()
            claim = self._node.claim_by(claim_it, lambda found: found)
            if claim is None:
                log.info("job %d needs no run: it has ended, runs already, or is not due", job_id)
                return False
            try:
                self._node.run(claim)
            except EndNotWritten:
                pass  # a thread of this process writes the result when the database is back
            except SystemExit as error:
                # An exit that the body raised fails the job, but must not end the process; one of
                # Celery's own, a subclass, ends it.
                if type(error) not in {SystemExit, ProcessEnds}:
                    raise
        return True

    def close(self) -> None:
        """Write the remaining results, and unregister the node if it was registered."""
        self._node.close()

    def _end_with_process(self, finished: FinishedRun) -> None:
        """Write the end of a job and unregister this node, in a process that is killed next."""
        self._node.end(finished)
        self._node.leave()
