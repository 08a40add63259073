"""The executors of one node, and which of them runs a job."""

import asyncio
from collections.abc import Iterable
from typing import Any

from horae.runtime.bodies import Executor, RunEnvironment
from horae.runtime.components import NodeOptions
from horae.runtime.executors import LoopExecutor, ProcessExecutor, ProcessLimits, ThreadExecutor
from horae.types import ApplicationHooks, JobType, Registry


class Executors:
    """The event loop, the threads and the child processes of a node."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        environment: RunEnvironment,
        options: NodeOptions,
        hooks: ApplicationHooks,
        registry: Registry,
    ) -> None:
        """`hooks`: the hooks of child processes; `registry`: has what they need beside them."""
        limits = ProcessLimits(
            most=options.concurrency if options.processes is None else options.processes,
            spare=options.spare_children,
            max_jobs=options.max_jobs_per_child,
            max_memory=options.child_memory,
        )
        self.threads = ThreadExecutor(loop, environment)
        self._loop = LoopExecutor(loop, environment)
        self._processes = ProcessExecutor(loop, environment, limits, hooks, registry)

    def warm(self, job_types: Iterable[JobType[Any]]) -> None:
        """Start a child process ahead of the first job, if a type runs in child processes."""
        if any(job_type.isolation == "process" for job_type in job_types):
            self._processes.warm()

    def choose(self, job_type: JobType[Any]) -> Executor:
        """Return the executor for jobs of this type."""
        if job_type.isolation == "process":
            return self._processes
        return self._loop if job_type.is_async else self.threads

    def close_processes(self) -> None:
        """End idle child processes now, and busy ones after their bodies; start none ahead."""
        self._processes.close()

    def close(self) -> None:
        """Release idle threads; bodies that ignore orders end with the process."""
        self._loop.close()
        self.threads.close()
