"""The child processes of a node: starts them, keeps them for the next body, and replaces them.

One child is started ahead of the next job, so that a job need not wait until a process has imported
the application. After a start that was slow or failed, or after a child that was killed, one child
is started at a time: the machine may have no room for more, and simultaneous starts would make all
of them late.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from horae.guarded_log import guarded_log
from horae.runtime.bodies import START_UP
from horae.runtime.executors.child_process import ChildProcess

MEGABYTE: Final = 1_000_000

log = guarded_log("horae.runtime")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessLimits:
    """How long a node waits for child processes, in seconds, and how many it keeps."""

    stop_within: float = 5.0
    """How long a body may go on after an order to end, before its process is terminated."""
    kill_after: float = 1.0
    """How long a process may go on after SIGTERM, before SIGKILL."""
    exit_after_pipe: float = 1.0
    """How long a process without a pipe may go on: its exit code tells why the job failed."""
    exit_after_end: float = 5.0
    """How long an idle process may go on after it was asked to end: programs may clean up."""
    start_within: float = START_UP.total_seconds()
    """How long a job waits for a process that imports the application; then it is handed back."""
    slow_start: float = 15.0
    """The longest that a start may take if others may begin meanwhile."""
    give_up_after: float = 600.0
    """How long a start may take before the process is killed."""
    idle_for: float = 60.0
    """How long an idle process is kept for the next body."""
    most_idle: int = 4
    """Maximum number of idle processes that are kept."""
    most: int = 10
    """Maximum number of processes at a time; those that are ending do not count."""
    spare: int = 0
    """Number of processes that are kept ready for jobs to come, even if none has come yet."""
    max_jobs: int | None = None
    """Number of bodies after which a process is replaced; None is no limit."""
    max_memory: int | None = None
    """Bytes of memory above which a process is replaced after a body; None is no limit."""


class ChildNotReadyError(Exception):
    """No child process is ready for a job that has not begun and can run later or elsewhere."""


class ChildPool:
    """The children of one node that run no body now, and those that are starting."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        start: Callable[[], ChildProcess],
        limits: ProcessLimits,
    ) -> None:
        """`start` starts a process; it may raise."""
        self._loop, self._start, self._limits = loop, start, limits
        self._idle: dict[ChildProcess, asyncio.TimerHandle] = {}
        self._ahead: list[ChildProcess] = []
        self._starting: set[ChildProcess] = set()
        self._turns: deque[asyncio.Future[ChildProcess]] = deque()
        self._lent = 0
        self._failing = self._one_at_a_time = False
        self._tasks = set[asyncio.Task[object]]()
        self.closed = False

    def take(self) -> "asyncio.Future[ChildProcess]":
        """Return an idle child, one that is starting, or a new one, as soon as there is one.

        The future raises what its start raises, and `ChildNotReadyError` where it is no use to
        wait. A caller that does not wait for it any more cancels it.
        """
        turn: asyncio.Future[ChildProcess] = self._loop.create_future()
        self._lent += 1
        self._turns.append(turn)
        self._serve_turns()
        return turn

    def give_up_turn(self) -> None:
        """Note that a caller of `take` has got no child."""
        self._lent -= 1

    def give_back(self, child: ChildProcess, *, safe: bool) -> None:
        """Keep a child for the next body, or end it; `safe`: whether another body may run in it."""
        self._lent -= 1
        if child.ended:  # it was killed, as by the system when memory runs out
            self._one_at_a_time = True
        elif child in self._starting and not child.terminated and not self.closed:
            self._ahead.append(child)
        elif (
            self.closed
            or not safe
            or len(self._idle) >= self._limits.most_idle
            or self._is_worn_out(child)
        ):
            self._end(child)
        else:
            self._keep(child)
        self._serve_turns()

    def _serve_turns(self) -> None:
        """Give children to the callers that wait for one, in the order of their calls."""
        while self._turns:
            if not self._turns[0].done():
                try:
                    child = self._next()
                except Exception as error:  # noqa: BLE001 - raised where it is awaited
                    self._turns[0].set_exception(error)
                else:
                    if child is None:
                        return
                    self._turns[0].set_result(child)
            self._turns.popleft()
        self.fill()

    def _next(self) -> ChildProcess | None:
        """Return an idle child, a starting one, or a new one; None if one may be ready soon."""
        if self._idle:
            child, retirement = self._idle.popitem()
            retirement.cancel()
            return child
        if (late := next((child for child in self._starting if child.is_late), None)) is not None:
            raise ChildNotReadyError(
                f"{late} has not been ready for {self._limits.start_within:g} s"
            )
        if self._ahead:
            return self._ahead.pop(0)
        return None if self._one_at_a_time and self._starting else self._new()

    def fill(self) -> None:
        """Start a child ahead of the next job, unless one is ready or the last start has failed."""
        ready = len(self._idle) + len(self._ahead)
        if (
            self.closed
            or self._failing
            or ready >= self._limits.spare
            or ready + self._lent >= self._limits.most
        ):
            return
        if self._one_at_a_time and self._starting:
            return
        # The next job tries again.
        with log.guard("no child process can be started ahead of the next job: %s"):
            self._ahead.append(self._new())

    def close(self) -> None:
        """End idle children; the end of the loop ends the others."""
        self.closed = True
        for child in (*self._idle, *self._ahead):
            self._drop(child)

    def run_task(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Run a task, and keep it from being collected as garbage."""
        task = asyncio.Task(coroutine, loop=self._loop)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _new(self) -> ChildProcess:
        before = self._failing, self._one_at_a_time
        self._failing = self._one_at_a_time = True  # so they stay if the start raises
        child = self._start()
        self._failing, self._one_at_a_time = before
        child.started = self._loop.create_future()
        self._starting.add(child)
        self.run_task(self._await_start(child))
        return child

    async def _await_start(self, child: ChildProcess) -> None:
        limits = self._limits
        too_late = f"it was not ready within {limits.give_up_after:g} s"
        watches = [
            self._loop.call_later(limits.slow_start, self._note_slow),
            self._loop.call_later(limits.start_within, self._note_late, child),
            self._loop.call_later(limits.give_up_after, child.give_up, too_late),
        ]
        slow_at = self._loop.time() + limits.slow_start
        try:
            while (message := await child.receive()) is not None and message["kind"] == "starting":
                child.step = message["step"]
        except (asyncio.CancelledError, GeneratorExit):  # the loop is ending
            child.close()
            raise
        finally:
            for watch in watches:
                watch.cancel()
        child.ready = message is not None and message["kind"] == "ready"
        self._failing = not child.ready
        self._one_at_a_time = self._failing or self._loop.time() >= slow_at
        self._starting.discard(child)
        child.started.set_result(message)
        if child in self._ahead:
            self._ahead.remove(child)
            if child.ready:
                self._keep(child)
            else:
                how = await child.wait(limits.exit_after_end)
                if child.had_sigterm:
                    log.info("child process %s has received SIGTERM before it was used", child.pid)
                else:
                    log.error(
                        "a child process that was started ahead of the next job failed: %s",
                        how if message is None else message["error"],
                    )
        self._serve_turns()

    def _note_slow(self) -> None:
        self._one_at_a_time = True

    def _note_late(self, child: ChildProcess) -> None:
        """Let jobs that wait be handed back: they may run elsewhere before the child is ready."""
        child.is_late = True
        self._serve_turns()

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
        if child.spoilt:
            log.info("child process %s cannot begin a job any more and is replaced", child.pid)
            return True
        if limits.max_jobs is not None and child.jobs >= limits.max_jobs:
            log.info("child process %s has run %d jobs and is replaced", child.pid, child.jobs)
            return True
        if limits.max_memory is not None and child.memory > limits.max_memory:
            log.info(
                "child process %s uses %.0f MB after %d jobs, more than %.0f MB, and is replaced",
                child.pid,
                child.memory / MEGABYTE,
                child.jobs,
                limits.max_memory / MEGABYTE,
            )
            return True
        return False

    def _end(self, child: ChildProcess) -> None:
        child.end()
        self.run_task(child.wait(self._limits.exit_after_end))
