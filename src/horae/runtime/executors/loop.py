"""Coroutine bodies, as tasks on the node's own loop."""

import asyncio
from typing import TYPE_CHECKING

from horae.runtime.bodies.run import Done, Executor, Run
from horae.runtime.bodies.runner import RunEnvironment, perform_async


class LoopExecutor:
    """Runs each body as a task, which an order to stop also cancels.

    It keeps the tasks itself, because a task group would wait for a body that suppresses its
    cancellation.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, environment: RunEnvironment) -> None:
        self._loop = loop
        self._environment = environment
        self._runs: set[Run] = set()

    def start(self, run: Run, done: Done) -> None:
        """Start the body in a task."""
        run.handle = asyncio.Task(self._perform(run, done), loop=self._loop)
        self._runs.add(run)

    def stop(self, run: Run, order: BaseException) -> None:
        """Cancel the task; the context holds the reason.

        A body that has not begun reads it from there.
        """
        run.context.stop(order, told=run.context.has_begun)
        _cancel(run)

    def kill(self, run: Run) -> bool:
        """Cancel again: a coroutine cannot be stopped by force."""
        _cancel(run)
        return False

    def close(self) -> None:
        """Cancel the remaining bodies again."""
        for run in self._runs:
            _cancel(run)

    async def _perform(self, run: Run, done: Done) -> None:
        result = await perform_async(run.job_type, run.context, self._environment)
        self._runs.discard(
            run
        )  # not in a callback of the task, which took a third of the whole cost
        done(run, result)


def _cancel(run: Run) -> None:
    """Cancel the task of a body that has begun: one that is cancelled before its first step reports
    no end.
    """
    if run.context.has_begun:
        run.handle.cancel()


if TYPE_CHECKING:
    _conforms: type[Executor] = LoopExecutor
