"""Function bodies, each on its own thread, so a body that never stops costs only its own slot."""

import asyncio
import threading
from collections import deque
from contextvars import copy_context
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

from horae.runtime.bodies import Done, Executor, FinishedRun, RunEnvironment, perform, unbegun
from horae.types import Attempt

Finished: TypeAlias = tuple[Attempt, Done, FinishedRun]


class ThreadExecutor:
    """Runs each body on a daemon thread; orders to stop take effect at its next progress call."""

    def __init__(self, loop: asyncio.AbstractEventLoop, environment: RunEnvironment) -> None:
        self._loop = loop
        self._environment = environment
        self._context = copy_context()  # one copied on the body's thread would lack the node's name
        self._queue: SimpleQueue[tuple[Attempt, Done] | None] = SimpleQueue()
        self._finished: deque[Finished] = deque()
        self._announced = False
        self._threads = 0
        self._busy = 0

    def start(self, attempt: Attempt, done: Done) -> None:
        """Hand the body to an idle thread, or to a new one; without a thread, hand the job back."""
        if self._busy == self._threads:
            name = f"horae-body-{self._threads + 1}"
            try:
                threading.Thread(target=self._serve, name=name, daemon=True).start()
            except (RuntimeError, MemoryError) as error:  # the system has no thread left
                self._loop.call_soon(done, attempt, unbegun(attempt.claim, error))
                return
            self._threads += 1
        self._busy += 1
        self._queue.put((attempt, done))

    def stop(self, attempt: Attempt, order: BaseException) -> None:
        """Store the order for the next progress call."""
        attempt.take_order(order)

    def kill(self, attempt: Attempt) -> bool:
        """Return False: a thread cannot be stopped by force."""
        del attempt
        return False

    def close(self) -> None:
        """Let idle threads end."""
        for _ in range(self._threads):
            self._queue.put(None)

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            attempt, done = item
            # Each body has a context of its own: the next one on this thread must not see it.
            self._finished.append(
                (attempt, done, copy_context().run(perform, attempt, self._environment))
            )
            if not self._announced:  # one call of the loop collects all that finish before it
                self._announced = True
                try:
                    self._loop.call_soon_threadsafe(self._collect, context=self._context)
                except RuntimeError:
                    # The loop is closed: the node has ended, and another one rescues the job.
                    self._queue.put(None)

    def _collect(self) -> None:
        self._announced = False
        while self._finished:
            attempt, done, result = self._finished.popleft()
            self._busy -= 1
            done(attempt, result)


if TYPE_CHECKING:
    _conforms: type[Executor] = ThreadExecutor
