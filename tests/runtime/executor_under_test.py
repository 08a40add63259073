"""A process executor under test, with the runs that were started on it."""

import asyncio
import json
import os
from dataclasses import dataclass, field
from typing import Any

from horae.domain.jobs.job import Claim, JobId, NodeId
from horae.runtime.bodies import RunEnvironment
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.executors.child_pool import ProcessLimits
from horae.runtime.executors.process import ProcessExecutor
from horae.storage.engine.database import Database
from horae.types.application_hooks import ApplicationHooks
from horae.types.attempt import Attempt
from horae.types.function import JobFunction
from horae.types.job_type import JobType

Declared = JobFunction[..., Any] | JobType[Any]
NODE = NodeId("node-under-test")


def claim_of(job_type: JobType[Any], params: dict[str, Any]) -> Claim:
    text = json.dumps(params)
    return Claim(JobId(7), job_type.type, "default", 0, "alice", text, 1, 1, 3, None, "{}")


@dataclass(eq=False)
class Started:
    """A run, its reports and its result; `ends` counts the calls that deliver a result."""

    run: Attempt
    reports: list[tuple[int, str | None]] = field(default_factory=list[tuple[int, str | None]])
    reported: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Future[FinishedRun] = field(default_factory=asyncio.Future[FinishedRun])
    ends: int = 0

    async def performed(self) -> FinishedRun:
        async with asyncio.timeout(60):
            return await self.ended

    async def first_label(self) -> str:
        async with asyncio.timeout(60):
            await self.reported.wait()
        return self.reports[0][1] or ""

    def stop(self, order: BaseException) -> None:
        self.run.stop(order)


class ExecutorUnderTest:
    """A process executor that runs job types in child processes."""

    def __init__(
        self,
        database: Database,
        limits: ProcessLimits | None = None,
        hooks: ApplicationHooks | None = None,
    ) -> None:
        self.environment = RunEnvironment(database, NODE)
        self.loop = asyncio.get_running_loop()
        self.executor = ProcessExecutor(
            self.loop, self.environment, limits or ProcessLimits(), hooks
        )
        self.runs: list[Started] = []

    def start(self, declared: Declared, **params: Any) -> Started:
        job_type = declared.job_type if isinstance(declared, JobFunction) else declared
        return self.start_claim(job_type, claim_of(job_type, params))

    def start_claim(self, job_type: JobType[Any], claim: Claim) -> Started:
        def report(percentage: int, label: str | None) -> None:
            self.loop.call_soon_threadsafe(note, (percentage, label))

        def note(news: tuple[int, str | None]) -> None:
            started.reports.append(news)
            started.reported.set()

        def done(_run: Attempt, finished: FinishedRun) -> None:
            started.ends += 1
            if started.ends == 1:
                started.ended.set_result(finished)

        started = Started(Attempt(claim, job_type, report, self.executor))
        self.runs.append(started)
        self.executor.start(started.run, done)
        return started

    async def perform(self, declared: Declared, **params: Any) -> FinishedRun:
        return await self.start(declared, **params).performed()

    async def close(self) -> None:
        """Kill what still runs, and check that no run had two results."""
        for started in self.runs:
            if not started.ended.done():
                self.executor.kill(started.run)
            await started.performed()
        self.executor.close()
        assert {started.ends for started in self.runs} <= {1}


async def is_gone(pid: int) -> None:
    """Wait for the end of a process, which need not be a child of this one."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        async with asyncio.timeout(30):
            await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
