"""Runs one body in the thread that asks for it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context

from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.bodies.run import Run
from horae.runtime.bodies.runner import RunEnvironment, perform, perform_async
from horae.runtime.bodies.running_loop import in_event_loop


class CallingThread:
    """An executor that runs a body in the calling thread."""

    def __init__(self, environment: RunEnvironment) -> None:
        self._environment = environment
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[FinishedRun] | None = None

    def perform(self, run: Run) -> FinishedRun:
        """Run the body, and return what is to be written about it."""
        if not run.job_type.is_async:
            return copy_context().run(perform, run.job_type, run.context, self._environment)
        if not in_event_loop():
            return asyncio.run(self._perform_async(run))
        with ThreadPoolExecutor(
            1, "horae-inline-body"
        ) as elsewhere:  # the caller blocks this thread's loop
            return elsewhere.submit(
                copy_context().run, asyncio.run, self._perform_async(run)
            ).result()

    async def _perform_async(self, run: Run) -> FinishedRun:
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        try:
            return await perform_async(run.job_type, run.context, self._environment)
        finally:
            await self._environment.database.close_async()

    def stop(self, run: Run, order: BaseException) -> None:
        """Pass the order on: to a function for its next progress call, to a coroutine at once."""
        run.context.stop(order, told=run.job_type.is_async)
        if self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(self._task.cancel)

    def kill(self, run: Run) -> bool:
        """Return False: a thread cannot be stopped by force."""
        del run
        return False

    def start(self, run: Run, done: object) -> None:
        """Raise TypeError: the caller runs the body itself."""
        del done
        raise TypeError(f"job {run.claim.id} runs in the calling thread; call perform")

    def close(self) -> None:
        """Do nothing: no thread or process is idle here."""
