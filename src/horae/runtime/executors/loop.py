"""Coroutine bodies, as tasks on the node's own loop."""

import asyncio
from typing import TYPE_CHECKING

from horae.runtime.bodies import Done, Executor, RunEnvironment, perform_async
from horae.types import Attempt


class LoopExecutor:
    """Runs each body as a task, which an order to stop also cancels.

    It keeps the tasks itself, because a task group would wait for a body that suppresses its
    cancellation.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, environment: RunEnvironment) -> None:
        self._loop = loop
        self._environment = environment
        self._runs: set[Attempt] = set()

    def start(self, attempt: Attempt, done: Done) -> None:
        """Start the body in a task."""
        attempt.handle = asyncio.Task(self._perform(attempt, done), loop=self._loop)
        self._runs.add(attempt)

    def stop(self, attempt: Attempt, order: BaseException) -> None:
        """Cancel the task; the context holds the reason.

        A body that has not begun reads it from there.
        """
        attempt.take_order(order, told=attempt.has_begun)
        _cancel(attempt)

    def kill(self, attempt: Attempt) -> bool:
        """Cancel again: a coroutine cannot be stopped by force."""
        _cancel(attempt)
        return False

    def close(self) -> None:
        """Cancel the remaining bodies again."""
        for attempt in self._runs:
            _cancel(attempt)

    async def _perform(self, attempt: Attempt, done: Done) -> None:
        result = await perform_async(attempt, self._environment)
        # A callback of the task could do this, but took a third of the time of an empty body.
        self._runs.discard(attempt)
        done(attempt, result)


def _cancel(attempt: Attempt) -> None:
    """Cancel a task whose body has begun: a task cancelled before its first step reports no end."""
    if attempt.has_begun:
        attempt.handle.cancel()


if TYPE_CHECKING:
    _conforms: type[Executor] = LoopExecutor
