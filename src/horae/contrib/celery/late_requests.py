"""Lets a Celery worker that is stopped at once interrupt the jobs of which it learns late.

Such a worker (SIGQUIT) ends the tasks that its child processes have reported as accepted, and waits
for the others. A child that has just taken a task would run its job to the end, with the worker
waiting for it, however long that takes. Seen with Celery 5.6.
"""

import os
from typing import Any

from horae.contrib.celery.library import celery_module


def late_request(worker: Any) -> Any:
    """Return a class of requests that are cancelled if a child of this worker accepts them after
    that.
    """
    state = celery_module("celery.worker.state")
    usual = celery_module("celery.worker.request").Request

    def on_accepted(self: Any, pid: int, time_accepted: float) -> None:
        usual.on_accepted(self, pid, time_accepted)
        stopped = state.should_terminate is not None and state.should_terminate is not False
        if stopped and pid != os.getpid():  # pools without child processes cannot end a task
            self.cancel(worker.pool)

    return type("LateRequest", (usual,), {"on_accepted": on_accepted})
