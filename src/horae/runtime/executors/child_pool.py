"""The child processes of a node: started, kept for the next body, replaced when they are worn out, ended.

One child is started ahead of the next job, so that a job need not wait until a process has imported the application.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from horae.guarded_log import guarded_log
from horae.runtime.bodies.loop_guard import hide, show
from horae.runtime.bodies.run import START_UP
from horae.runtime.executors.child_process import ChildProcess
from horae.runtime.executors.messages import Message

MEGABYTE: Final = 1_000_000

log = guarded_log("horae.runtime")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessLimits:
    """How long a node waits for child processes, in seconds, how many it keeps, and when it replaces one."""

    stop_within: float = 5.0
    """How long a body may go on after an order to end, before its process is terminated."""
    kill_after: float = 1.0
    """How long a process may go on after SIGTERM, before SIGKILL."""
    exit_after_pipe: float = 1.0
    """How long a process without a pipe may go on: its exit code tells why the job failed."""
    exit_after_end: float = 5.0
    """How long an idle process may go on after it was asked to end: programs may tidy up at their exit."""
    start_within: float = START_UP.total_seconds()
    """How long a process may import the application and call its hooks, before it is killed."""
    idle_for: float = 60.0
    """How long an idle process is kept for the next body."""
    most_idle: int = 4
    """How many idle processes are kept."""
    most: int = 10
    """How many processes there are at a time; those that end now are not counted."""
    spare: int = 0
    """How many processes are kept ready for jobs to come, whether or not one has come."""
    max_jobs: int | None = None
    """How many bodies a process runs; None is no limit."""
    max_memory: int | None = None
    """Bytes of memory that a process may use after a body to be kept for another; None is no limit."""


class ChildPool:
    """The children of one node that run no body now, and those that are starting."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, start: Callable[[], ChildProcess], limits: ProcessLimits
    ) -> None:
        """`start` starts a process; it may raise."""
        self._loop, self._start, self._limits = loop, start, limits
        self._idle: dict[ChildProcess, asyncio.TimerHandle] = {}
        self._ahead: list[ChildProcess] = []
        self._lent = 0
        self._failing = False
        self._tasks = set[asyncio.Task[None]]()
        self.closed = False

    def take(self) -> ChildProcess:
        """Return an idle child, one that is starting, or a new one; raises what its start raises."""
        if self._idle:
            child, retirement = self._idle.popitem()
            retirement.cancel()
        else:
            child = self._ahead.pop(0) if self._ahead else self._new()
        self._lent += 1
        self.fill()
        return child

    def replace(self) -> ChildProcess:
        """Return a new child in place of one that died while it was idle."""
        return self._new()

    def give_back(self, child: ChildProcess, *, safe: bool) -> None:
        """Keep a child for the next body, or end it; `safe`: whether another body may run in it."""
        self._lent -= 1
        if not child.ended:
            if self.closed or not safe or len(self._idle) >= self._limits.most_idle or self._is_worn_out(child):
                self._end(child)
            else:
                self._keep(child)
        self.fill()

    def fill(self) -> None:
        """Start a child ahead of the next job, unless one is ready or the last start has failed."""
        ready = len(self._idle) + len(self._ahead)
        if self.closed or self._failing or ready >= self._limits.spare or ready + self._lent >= self._limits.most:
            return
        try:
            self._ahead.append(self._new())
        except Exception as error:  # noqa: BLE001 - the next job tries again, and fails with the reason
            self._failing = True
            log.warning("no child process can be started ahead of the next job: %s", error)

    def close(self) -> None:
        """End idle children. The end of the loop ends what is left."""
        self.closed = True
        for child in (*self._idle, *self._ahead):
            self._drop(child)
        for task in self._tasks:
            show(task)

    def run_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a task that a body cannot cancel along with all the tasks that it finds."""
        task = asyncio.Task(coroutine, loop=self._loop)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        (show if self.closed else hide)(task)

    def _new(self) -> ChildProcess:
        child = self._start()
        child.started = self._loop.create_future()
        self.run_task(self._await_start(child))
        return child

    async def _await_start(self, child: ChildProcess) -> None:
        late = self._loop.call_later(self._limits.start_within, self._give_up, child)
        try:
            message = await _start_of(child)
        except BaseException:  # the loop ends
            child.close()
            raise
        finally:
            late.cancel()
        self._failing = not child.ready
        child.started.set_result(message)
        if child in self._ahead:
            await self._end_start_ahead(child, message)

    async def _end_start_ahead(self, child: ChildProcess, message: Message | None) -> None:
        """Keep a child that no job has waited for, or log why there is none."""
        self._ahead.remove(child)
        if child.ready:
            self._keep(child)
            return
        how = await child.wait(self._limits.exit_after_end)
        reason = how if message is None else message["error"]
        log.error("a child process that was started ahead of the next job failed: %s", reason)

    def _give_up(self, child: ChildProcess) -> None:
        child.give_up(f"it was not ready within {self._limits.start_within:g} s")

    def _keep(self, child: ChildProcess) -> None:
        self._idle[child] = self._loop.call_later(self._limits.idle_for, self._retire, child)

    def _retire(self, child: ChildProcess) -> None:
        if len(self._idle) <= self._limits.spare and not self.closed:
            self._keep(child)
        else:
            self._drop(child)

    def _drop(self, child: ChildProcess) -> None:
        if child in self._idle:
            self._idle.pop(child).cancel()
        else:
            self._ahead.remove(child)
        self._end(child)

    def _is_worn_out(self, child: ChildProcess) -> bool:
        limits = self._limits
        if limits.max_jobs is not None and child.jobs >= limits.max_jobs:
            log.info("child process %s has run %d jobs and is replaced", child.pid, child.jobs)
            return True
        if limits.max_memory is not None and child.memory > limits.max_memory:
            log.info(
                "child process %s uses %.0f MB after %d jobs, more than %.0f MB, and is replaced",
                child.pid, child.memory / MEGABYTE, child.jobs, limits.max_memory / MEGABYTE,
            )  # fmt: skip
            return True
        return False

    def _end(self, child: ChildProcess) -> None:
        child.end()
        self.run_task(self._wait_for(child))

    async def _wait_for(self, child: ChildProcess) -> None:
        await child.wait(self._limits.exit_after_end)


async def _start_of(child: ChildProcess) -> Message | None:
    """Return the message with which the start of a child ends; None if the child died."""
    while (message := await child.receive()) is not None:
        if message["kind"] == "starting":
            child.step = message["step"]
            continue
        child.ready = message["kind"] == "ready"
        return message
    return None
