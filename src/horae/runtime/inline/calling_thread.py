"""Runs one body in the thread that asks for it."""

import asyncio
from concurrent import futures
from contextlib import suppress
from contextvars import copy_context

from horae.runtime.bodies import FinishedRun, RunEnvironment, in_event_loop, perform, perform_async
from horae.types import Attempt


class CallingThread:
    """An executor that runs a body in the calling thread."""

    def __init__(self, environment: RunEnvironment) -> None:
        self._environment = environment
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[FinishedRun] | None = None
        self._cancelled: FinishedRun | None = None

    def perform(self, attempt: Attempt) -> FinishedRun:
        """Run the body, and return what is to be written about it."""
        if not attempt.job_type.is_async:
            return copy_context().run(perform, attempt, self._environment)
        try:
            if not in_event_loop():
                threads = self._environment.database.caller_threads
                return threads.run_body(self._perform_async(attempt))
            # The caller blocks the loop of this thread.
            with futures.ThreadPoolExecutor(1, "horae-inline-body") as other_thread:
                return other_thread.submit(
                    copy_context().run, asyncio.run, self._perform_async(attempt)
                ).result()
        except (KeyboardInterrupt, asyncio.CancelledError) as error:
            if self._cancelled is None:
                raise
            return self._cancelled._replace(error=error)

    async def _perform_async(self, attempt: Attempt) -> FinishedRun:
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        try:
            finished = await perform_async(attempt, self._environment)
        finally:
            await self._environment.database.close_async()
        if isinstance(finished.error, asyncio.CancelledError) and attempt.order is None:
            # After a Ctrl-C asyncio turns this into a KeyboardInterrupt, for the caller.
            self._cancelled = finished
            raise finished.error
        return finished

    def stop(self, attempt: Attempt, order: BaseException) -> None:
        """Pass the order on: to a function for its next progress call, to a coroutine at once."""
        attempt.take_order(order, told=attempt.job_type.is_async)
        if self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # the loop may just have been closed
                self._loop.call_soon_threadsafe(self._task.cancel)

    def kill(self, attempt: Attempt) -> bool:
        """Return False: a thread cannot be stopped by force."""
        del attempt
        return False
