"""Workarounds for two gaps of Celery's workers, seen with Celery 5.6, by its public interfaces.

A worker that is stopped at once (SIGQUIT) ends the tasks that its child processes have reported as
accepted, and waits for the others. A child that has just taken a task would run its job to the end,
with the worker waiting for it, however long that takes.

A worker sets a timer for each task with a time limit, which each job has. It cancels the timer when
the task ends, but keeps it until it would have been due: at 300 jobs a second with a limit of half
an hour these are half a million.
"""

import os
from typing import Any

from horae.contrib.celery.library import celery_module


def late_request(worker: Any) -> Any:
    """Return a class of requests that are cancelled if a child accepts them after the order to stop
    at once.
    """
    state = celery_module("celery.worker.state")
    usual = celery_module("celery.worker.request").Request

    def on_accepted(self: Any, pid: int, time_accepted: float) -> None:
        usual.on_accepted(self, pid, time_accepted)
        stopped = state.should_terminate is not None and state.should_terminate is not False
        if stopped and pid != os.getpid():  # pools without child processes cannot end a task
            self.cancel(worker.pool)

    return type("LateRequest", (usual,), {"on_accepted": on_accepted})


def forget_ended_timers(hub: Any) -> None:
    """Drop the cancelled timers of an event loop from time to time."""

    def forget() -> None:
        kept = [event for event in hub.timer.queue if not event.entry.canceled]
        hub.timer.clear()
        for eta, priority, entry in kept:
            hub.timer.enter_at(entry, eta, priority)

    hub.call_repeatedly(10.0, forget)
