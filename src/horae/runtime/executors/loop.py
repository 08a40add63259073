"""Coroutine bodies, as tasks on the node's own loop."""

import asyncio
from typing import TYPE_CHECKING

from horae.domain.jobs.job import Claim
from horae.runtime.bodies.loop_guard import guard_of, hide, show
from horae.runtime.bodies.run import Done, Executor, Run
from horae.runtime.bodies.runner import Exited, RunEnvironment, perform_async


class LoopExecutor:
    """Runs each body as a task; an order to stop is also a cancellation.

    It is the parent of its tasks itself, because a group would wait for a body that swallows its cancellation.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, environment: RunEnvironment) -> None:
        self._loop = loop
        self._environment = environment
        self._runs: set[Run] = set()
        guard_of(loop).tell(self)

    def start(self, run: Run, done: Done) -> None:
        """Begin the body in a task of its own, which others cannot cancel along with all that they find."""
        run.handle = hide(asyncio.Task(self._perform(run, done), loop=self._loop))
        self._runs.add(run)

    def stop(self, run: Run, order: BaseException) -> None:
        """Cancel the task; the context says why."""
        run.context.stop(order, told=True)
        run.handle.cancel()

    def blame(self, claim: Claim, error: BaseException) -> None:
        """Fail a body if it runs here: a task of its own has tried to end the process."""
        for run in list(self._runs):
            if run.claim is claim:
                self.stop(run, Exited(f"a task of the job tried to end the process with {error!r}"))

    def kill(self, run: Run) -> bool:
        """Cancel once more: a coroutine cannot be forced."""
        run.handle.cancel()
        return False

    def close(self) -> None:
        """Cancel what is left, once more."""
        for run in self._runs:
            run.handle.cancel()
            show(run.handle)

    async def _perform(self, run: Run, done: Done) -> None:
        performed = await perform_async(run.job_type, run.context, self._environment)
        self._runs.discard(run)  # here, because a callback of the task took a third of its whole cost
        done(run, performed)


if TYPE_CHECKING:
    _conforms: type[Executor] = LoopExecutor
