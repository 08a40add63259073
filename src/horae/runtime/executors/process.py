"""Bodies with `isolation="process"`, each in a child process that can be stopped by force.

A child runs one body at a time and is kept for the next one. Whatever becomes of it is a matter of its own job only.
"""

import asyncio
from typing import TYPE_CHECKING, Final

from horae.errors import InvalidJobType, JobStopped, SoftTimeLimitExceeded
from horae.runtime.bodies.run import START_UP, Done, Executor, Run
from horae.runtime.bodies.runner import BodyResult, RunEnvironment, outcome_of
from horae.runtime.executors.address import address_of
from horae.runtime.executors.child_supervisor import ChildSupervisor

PATIENCE: Final = 5.0
"""Seconds that a body has to end after it was told to, before its process is terminated."""
LAST_MOMENT: Final = 1.0
"""Seconds between SIGTERM and SIGKILL."""
MOST_IDLE: Final = 4
IDLE_SECONDS: Final = 60.0
"""How many idle children are kept, and for how long."""


class ProcessExecutor:
    """Runs each body in a child process.

    An order to stop is heard by a coroutine at once and by a function at its next progress call; a child whose body
    goes on for 5 seconds after an order to end is terminated, and killed a second later. A soft time limit interrupts a
    function wherever it is, and ends nothing by force: that is the hard limit's part (`kill`).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, environment: RunEnvironment) -> None:
        self._loop = loop
        self._environment = environment
        self._done: dict[Run, Done] = {}
        self._idle: dict[ChildSupervisor, asyncio.TimerHandle] = {}
        self._closed = False

    def start(self, run: Run, done: Done) -> None:
        """Run the body in an idle child, or in a new one; fails a job whose type no child can import."""
        try:
            address = address_of(run.job_type)
            guardian = self._engage()
        except (InvalidJobType, OSError, RuntimeError) as error:  # the latter two: no more files, no more threads
            performed = BodyResult(outcome_of(run.job_type, run.context, error), error=error)
            self._loop.call_soon(done, run, performed)
            return
        run.begin_within(START_UP)
        run.handle = guardian
        self._done[run] = done
        guardian.begin(run, address)

    def stop(self, run: Run, order: BaseException) -> None:
        """Pass the order on; an order to end for good is enforced after `PATIENCE`."""
        before = run.context.order
        run.context.stop(order)
        if run not in self._done or run.context.order is before:
            return
        run.handle.order(run, order)
        if isinstance(order, JobStopped):
            self._loop.call_later(PATIENCE, self.kill, run)

    def kill(self, run: Run) -> bool:
        """Terminate the child, and kill it `LAST_MOMENT` later."""
        if run in self._done:
            run.handle.terminate()
            self._loop.call_later(LAST_MOMENT, self._kill, run)
        return True

    def close(self) -> None:
        """Let idle children end, and busy ones when their bodies do; what is left is killed when the program exits."""
        self._closed = True
        for guardian in list(self._idle):
            self._retire(guardian)

    def _kill(self, run: Run) -> None:
        if run in self._done:
            run.handle.kill()

    def _engage(self) -> ChildSupervisor:
        if not self._idle:
            return ChildSupervisor(self._environment, self._deliver)
        guardian, retirement = self._idle.popitem()
        retirement.cancel()
        return guardian

    def _deliver(self, guardian: ChildSupervisor, run: Run, performed: BodyResult) -> None:
        self._loop.call_soon_threadsafe(self._collect, guardian, run, performed)

    def _collect(self, guardian: ChildSupervisor, run: Run, performed: BodyResult) -> None:
        # A body that was interrupted just anywhere may have left locks and connections in any state.
        soiled = isinstance(run.context.order, SoftTimeLimitExceeded)
        if self._closed or soiled or len(self._idle) >= MOST_IDLE:
            guardian.end()
        else:
            self._idle[guardian] = self._loop.call_later(IDLE_SECONDS, self._retire, guardian)
        self._done.pop(run)(run, performed)

    def _retire(self, guardian: ChildSupervisor) -> None:
        self._idle.pop(guardian).cancel()
        guardian.end()


if TYPE_CHECKING:
    _conforms: type[Executor] = ProcessExecutor
