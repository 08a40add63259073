"""Waits for the end of a job: woken by a hint, and polling with growing pauses in case no hint arrives."""

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from horae.domain.jobs.job import ENDED, JobId, JobState
from horae.errors import JobDoesNotExist, WaitTimeout
from horae.storage.engine.database import Database
from horae.storage.jobs import reading
from horae.types.context import JobContext
from horae.types.logs.job_fields import current_context
from horae.wakeup.channel import Hint, HintKind, WakeupChannel

FIRST_POLL: Final = 0.05
"""Seconds before the second look at the row; each further pause doubles."""
LONGEST_POLL: Final = 1.0
"""Seconds between two looks at the row at most."""
CHECK_EVERY: Final = 0.1
"""Seconds between checks whether the body that waits was told to stop itself."""


def until_ended(database: Database, wakeup: WakeupChannel, job_id: JobId, timeout: float | None) -> None:
    """Wait in this thread. Raises `WaitTimeout` or `JobDoesNotExist`.

    Within the body of another job it also raises what stops that body: its cancel or its time limit.
    """
    context = current_context()
    hinted = threading.Event()
    end = wakeup.subscribe(lambda hint: hinted.set() if _concerns(hint, job_id) else None)
    try:
        for pause in _pauses(job_id, timeout):
            if _has_ended(database.autocommit(reading.states, [job_id]), job_id):
                return
            _wait(hinted, pause, context)
            hinted.clear()
    finally:
        end()


def _wait(hinted: threading.Event, seconds: float, context: JobContext[Any] | None) -> None:
    """Wait for the hint; within a body check regularly whether that body is to stop."""
    if context is None:
        hinted.wait(seconds)
        return
    deadline = time.monotonic() + seconds
    context.check()
    while not hinted.wait(max(0.0, min(CHECK_EVERY, deadline - time.monotonic()))) and time.monotonic() < deadline:
        context.check()
    context.check()


async def until_ended_async(database: Database, wakeup: WakeupChannel, job_id: JobId, timeout: float | None) -> None:  # noqa: ASYNC109 - it is the wait of the job, and its error says so
    """Wait in this task."""
    hinted, loop = asyncio.Event(), asyncio.get_running_loop()

    def read_state() -> Mapping[JobId, JobState]:
        return database.autocommit(reading.states, [job_id])

    def listen(hint: Hint) -> None:
        if _concerns(hint, job_id):
            loop.call_soon_threadsafe(hinted.set)

    end = wakeup.subscribe(listen)
    try:
        for pause in _pauses(job_id, timeout):
            if _has_ended(await database.in_thread(read_state), job_id):
                return
            try:
                async with asyncio.timeout(pause):
                    await hinted.wait()
            except TimeoutError:
                pass
            hinted.clear()
    finally:
        end()


def _concerns(hint: Hint, job_id: JobId) -> bool:
    return hint.kind is HintKind.ENDED and (not hint.job_ids or job_id in hint.job_ids)


def _has_ended(states: Mapping[JobId, JobState], job_id: JobId) -> bool:
    if job_id not in states:
        raise JobDoesNotExist(job_id)
    return states[job_id] in ENDED


def _pauses(job_id: JobId, timeout: float | None) -> Iterator[float]:
    """Yield the seconds to wait after each poll. Raises `WaitTimeout` after the last poll before the deadline."""
    deadline = None if timeout is None else time.monotonic() + timeout
    pause = FIRST_POLL
    while True:
        left = LONGEST_POLL if deadline is None else deadline - time.monotonic()
        yield max(0.0, min(pause, left))
        if deadline is not None and time.monotonic() >= deadline and left <= 0:
            raise WaitTimeout(job_id, timeout or 0.0)
        pause = min(pause * 2, LONGEST_POLL)
