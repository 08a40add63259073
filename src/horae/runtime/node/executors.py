"""The executors of one node, and which of them runs a job."""

import asyncio
from typing import Any

from horae.runtime.bodies.run import Executor
from horae.runtime.bodies.runner import RunEnvironment
from horae.runtime.executors.loop import LoopExecutor
from horae.runtime.executors.process import ProcessExecutor
from horae.runtime.executors.thread import ThreadExecutor
from horae.types.job_type import JobType


class Executors:
    """The event loop, the threads and the child processes of a node."""

    def __init__(self, loop: asyncio.AbstractEventLoop, environment: RunEnvironment) -> None:
        self.threads = ThreadExecutor(loop, environment)
        self._loop = LoopExecutor(loop, environment)
        self._processes = ProcessExecutor(loop, environment)

    def choose(self, job_type: JobType[Any]) -> Executor:
        """Return the executor for jobs of this type."""
        if job_type.isolation == "process":
            return self._processes
        return self._loop if job_type.is_async else self.threads

    def close(self) -> None:
        """Release idle threads and processes; bodies that ignore every order are left to the end of the process."""
        for executor in (self._loop, self.threads, self._processes):
            executor.close()
