"""Lets a Celery worker forget the timers of tasks that have ended.

Celery sets a timer for each task with a time limit, which each job has. It cancels the timer when
the task ends, but keeps it until it would have been due: at 300 jobs a second with a limit of half
an hour these are half a million. Seen with Celery 5.6 and Kombu 5.7, also in applications without
Horae.
"""

import heapq
from typing import Any, Final

FORGET_EVERY: Final = 10.0
"""Seconds between two rounds."""


def forget_ended_timers(hub: Any) -> None:
    """Drop the cancelled timers of an event loop from time to time."""
    hub.call_repeatedly(FORGET_EVERY, _forget, hub.timer)


def _forget(timer: Any) -> None:
    """Drop them now; called by the loop itself, which reads its queue again after each call."""
    queue = timer._queue  # noqa: SLF001 - Kombu has no function for this
    queue[:] = [event for event in queue if not event.entry.canceled]
    heapq.heapify(queue)
