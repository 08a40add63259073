"""Coroutine bodies, as tasks on the node's own loop."""

import asyncio
from typing import TYPE_CHECKING

from horae.runtime.run import Done, Executor, Run
from horae.runtime.runner import Stage, perform_async


class LoopExecutor:
    """Runs each body as a task; an order to stop is also a cancellation.

    It is the parent of its tasks itself, because a group would wait for a body that swallows its cancellation.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, stage: Stage) -> None:
        self._loop = loop
        self._stage = stage
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, run: Run, done: Done) -> None:
        """Begin the body in a task of its own."""
        task = run.handle = self._loop.create_task(self._perform(run, done))
        self._tasks.add(task)

    def stop(self, run: Run, order: BaseException) -> None:
        """Cancel the task; the context says why."""
        run.context.stop(order, told=True)
        run.handle.cancel()

    def kill(self, run: Run) -> bool:
        """Cancel once more: a coroutine cannot be forced."""
        run.handle.cancel()
        return False

    def close(self) -> None:
        """Cancel what is left, once more."""
        for task in self._tasks:
            task.cancel()

    async def _perform(self, run: Run, done: Done) -> None:
        performed = await perform_async(run.job_type, run.context, self._stage)
        self._tasks.discard(run.handle)  # here, because a callback of the task took a third of its whole cost
        done(run, performed)


if TYPE_CHECKING:
    _conforms: type[Executor] = LoopExecutor
