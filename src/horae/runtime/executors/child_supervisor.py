"""The node's side of one child process: a thread that starts it, hands it a job, and learns what came of it.

Each public method is called on the node's loop; none of them waits.
"""

import logging
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import Pipe, resource_tracker
from multiprocessing.connection import wait
from typing import Final, TypeAlias

from horae.domain.jobs.job import Failed, Outcome
from horae.errors import JobStopped, SoftTimeLimitExceeded
from horae.runtime.bodies.run import Run
from horae.runtime.bodies.runner import BodyResult, RunEnvironment, outcome_of
from horae.runtime.executors import messages
from horae.runtime.executors.address import Address
from horae.runtime.executors.child_process import ChildProcess, start_child
from horae.runtime.executors.messages import Message
from horae.types.log_lines import logs_json

PULSE: Final = 1.0
"""Seconds between two looks at whether the child lives; its death is usually seen at once, on the pipe."""
LINGER: Final = 1.0
"""Seconds that a child without a pipe has to end by itself."""
FAREWELL: Final = 5.0
"""Seconds that an idle child has to end after it was told to: programs may tidy up at their exit."""
DIED_TEXT: Final = "The process that ran this job stopped unexpectedly."

log = logging.getLogger("horae.runtime")

Call: TypeAlias = tuple[Run, Address | BaseException] | None
"""A body to begin, an order to pass on; None to end."""


class ChildSupervisor:
    """One thread and its child, which is started when it is needed, and anew after it died."""

    def __init__(
        self, environment: RunEnvironment, deliver: Callable[["ChildSupervisor", Run, BodyResult], None]
    ) -> None:
        """`deliver` is called on the guardian's thread; raises OSError or RuntimeError past the system's limits."""
        self._environment = environment
        self._deliver = deliver
        self._child: ChildProcess | None = None
        self._forced = False
        self._calls: deque[Call] = deque()
        self._bell, self._rope = Pipe(duplex=False)
        threading.Thread(target=self._serve, name="horae-guardian", daemon=True).start()

    def begin(self, run: Run, address: Address) -> None:
        """Run this body in the child."""
        self._forced = False
        self._call((run, address))

    def order(self, run: Run, order: BaseException) -> None:
        """Pass an order on to the body."""
        self._call((run, order))

    def terminate(self) -> None:
        """End the child with SIGTERM."""
        self._forced = True
        if (child := self._child) is not None:
            child.process.terminate()

    def kill(self) -> None:
        """End the child with SIGKILL."""
        self._forced = True
        if (child := self._child) is not None:
            child.process.kill()

    def end(self) -> None:
        """Let the child and the thread end."""
        self._call(None)

    def _call(self, call: Call) -> None:
        self._calls.append(call)
        self._rope.send_bytes(b"!")

    def _answer_bell(self) -> Call:
        self._bell.recv_bytes()
        return self._calls.popleft()

    def _serve(self) -> None:
        resource_tracker.ensure_running()  # now, because its start unblocks the signal
        # Inherited by the child until it ignores it: a Ctrl-C must not break its start. The main thread still gets it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        with suppress(RuntimeError):  # the loop is closed: the node is gone, and somebody else rescues the job
            while (call := self._answer_bell()) is not None:
                run, content = call
                if isinstance(content, Address):  # an order comes too late here: its body has stopped
                    self._deliver(self, run, self._perform(run, content))
        self._dismiss()
        self._bell.close()
        self._rope.close()

    def _perform(self, run: Run, address: Address) -> BodyResult:
        """Never raises: the slot must come back whatever happens."""
        try:
            return self._attend(run, address)
        except Exception as error:
            log.exception("the process of job %d cannot be used", run.claim.id)
            if self._child is not None:
                self._child.process.kill()
                self._bury(0.0)
            return BodyResult(outcome_of(run.job_type, run.context, error), error=error)

    def _attend(self, run: Run, address: Address) -> BodyResult:
        reused = self._child is not None
        child = self._child or self._start()
        job = {
            "module": address.module,
            "qualname": address.qualname,
            "claim": messages.claim_as_json(run.claim),
            **self._place(run),
            "log_level": log.getEffectiveLevel(),
            "log_json": logs_json(),
        }
        performed, began = self._converse(child, run, job)
        if performed is not None:
            return performed
        how = self._bury(LINGER)
        if reused and not began and not self._forced:
            return self._attend(run, address)  # it died while it was idle
        # The body's own transaction may have finished the job just before. Then what is said here matches no row,
        # because a settlement counts only for a job that is still started under this lease.
        return BodyResult(_after_death(run, how, forced=self._forced))

    def _place(self, run: Run) -> dict[str, str | int | None]:
        """Where the child enters that the body has begun; without a file it counts as begun now."""
        journal = self._environment.journal
        if journal.file is None:
            journal.begin(run.claim)
            return {"journal": None, "slot": 0}
        return {"journal": str(journal.file), "slot": journal.reserve(run.claim)}

    def _converse(self, child: ChildProcess, run: Run, job: Message) -> tuple[BodyResult | None, bool]:
        """What came of the body, None if the child died; and whether it had begun."""
        began = False
        if child.ready:
            child.send("job", **job)
        for message in self._heard(child, run):
            match message["kind"]:
                case "ready":
                    child.ready, order = True, run.context.order
                    if isinstance(order, JobStopped):
                        return BodyResult(outcome_of(run.job_type, run.context, order)), False
                    child.send("job", **job)
                    if order is not None:
                        child.send("order", **messages.order_as_json(order))
                case "began":
                    began = True
                    run.has_begun()
                case "progress":
                    _report(run, message["percentage"], message["label"])
                case _:
                    return messages.performed_from_json(message), True
        return None, began

    def _heard(self, child: ChildProcess, run: Run) -> Iterator[Message]:
        """What the child says, until it dies or cannot be understood; meanwhile orders are passed on."""
        with suppress(EOFError, OSError, ValueError):
            while True:
                ready = wait([child.pipe, self._bell], PULSE)
                if self._bell in ready:
                    self._pass_on(child, run)
                if child.pipe in ready:
                    yield messages.receive(child.pipe)
                elif not ready and child.process.exitcode is not None:
                    return  # somebody whom it forked without our knowledge holds its end of the pipe open

    def _pass_on(self, child: ChildProcess, run: Run) -> None:
        call = self._answer_bell()
        # Before the child is ready there is no body to hear it: the order follows the job.
        if call is not None and call[0] is run and isinstance(call[1], BaseException) and child.ready:
            child.send("order", **messages.order_as_json(call[1]))

    def _start(self) -> ChildProcess:
        child = self._child = start_child(self._environment)
        if self._forced:  # said while there was nothing yet to be ended
            child.process.kill()
        return child

    def _dismiss(self) -> None:
        if self._child is not None:
            self._child.ending = True
            self._child.send("end")
            self._bury(FAREWELL)

    def _bury(self, patience: float) -> str:
        child, self._child = self._child, None
        return "" if child is None else child.bury(patience)


def _report(run: Run, percentage: int, label: str | None) -> None:
    with suppress(JobStopped, SoftTimeLimitExceeded):  # reported before the order was heard
        run.context.progress.set(percentage, label)


def _after_death(run: Run, how: str, *, forced: bool) -> Outcome | None:
    """What the death of its process means for a job: a failure of this attempt, unless it was told to stop."""
    order = run.context.order
    if isinstance(order, JobStopped):
        return outcome_of(run.job_type, run.context, order)
    if forced:
        how = "the job ran past its hard time limit and its process was ended"
    if forced or isinstance(order, SoftTimeLimitExceeded):
        return outcome_of(run.job_type, run.context, SoftTimeLimitExceeded(how))
    return Failed(how, DIED_TEXT)
