"""Bodies with `isolation="process"`, each in a child process that can be stopped by force.

A child runs one body at a time and is kept for the next one. If it dies, only its own job fails.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from horae.domain.jobs.job import Failed
from horae.errors import JobStopped, SoftTimeLimitExceeded
from horae.runtime.bodies.finished_run import FinishedRun, finish
from horae.runtime.bodies.loop_guard import hide, show
from horae.runtime.bodies.run import START_UP, Done, Executor, Run
from horae.runtime.bodies.runner import RunEnvironment, ended_by
from horae.runtime.executors import messages
from horae.runtime.executors.address import address_of
from horae.runtime.executors.child_process import ChildProcess, start_child
from horae.runtime.executors.messages import Message
from horae.types.logs.lines import logs_json

DIED_TEXT: Final = "The process that ran this job stopped unexpectedly."
"""What users read where a child process died, whatever the reason."""

log = logging.getLogger("horae.runtime")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessLimits:
    """How long the executor waits for child processes, in seconds, and how many idle ones it keeps."""

    stop_within: float = 5.0
    """How long a body may go on after an order to end, before its process is terminated."""
    kill_after: float = 1.0
    """How long a process may go on after SIGTERM, before SIGKILL."""
    exit_after_pipe: float = 1.0
    """How long a process without a pipe may go on: its exit code tells why the job failed."""
    exit_after_end: float = 5.0
    """How long an idle process may go on after it was asked to end: programs may tidy up at their exit."""
    idle_for: float = 60.0
    """How long an idle process is kept for the next body."""
    most_idle: int = 4
    """How many idle processes are kept."""


@dataclass(slots=True)
class Assignment:
    """A run, the message that hands it to a child, and the child that has it now."""

    job: Message
    child: ChildProcess
    done: Done
    began: bool = False


class ProcessExecutor:
    """Runs each body in a child process.

    A coroutine is cancelled by an order to stop, and a function notices it at its next progress call; a child whose
    body goes on for 5 seconds after an order to end is terminated, and killed a second later. A soft time limit
    interrupts a function wherever it is, and ends nothing by force: the hard limit does (`kill`).
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        environment: RunEnvironment,
        limits: ProcessLimits = ProcessLimits(),
    ) -> None:
        self._loop = loop
        self._environment = environment
        self._limits = limits
        self._assignments: dict[Run, Assignment] = {}
        self._idle: dict[ChildProcess, asyncio.TimerHandle] = {}
        self._tasks = set[asyncio.Task[None]]()
        self._closed = False

    def start(self, run: Run, done: Done) -> None:
        """Run the body in an idle child, or in a new one; fails a job whose type no child can import."""
        try:
            job = self._job_message(run)
            child = self._idle_child() or start_child(self._environment)
        except Exception as error:  # noqa: BLE001 - the slot must become free, whatever went wrong
            self._loop.call_soon(done, run, self._ended_by(error, run))
            return
        run.begin(within=START_UP)
        self._assignments[run] = Assignment(job, child, done)
        if child.ready:  # now, so that no order to stop is sent before the job
            child.send("job", **job)
        self._run_task(self._perform(run))

    def stop(self, run: Run, order: BaseException) -> None:
        """Pass the order on; an order to end for good is enforced after `stop_within`."""
        before = run.context.order
        run.context.stop(order)
        assignment = self._assignments.get(run)
        if assignment is None or run.context.order is before:
            return
        if assignment.child.ready:  # else the order follows the job
            assignment.child.send("order", **messages.order_as_json(order))
        if isinstance(order, JobStopped):
            self._loop.call_later(self._limits.stop_within, self.kill, run)

    def kill(self, run: Run) -> bool:
        """Terminate the child, and kill it `kill_after` later."""
        if (assignment := self._assignments.get(run)) is not None:
            assignment.child.terminate()
            self._loop.call_later(self._limits.kill_after, self._kill, run)
        return True

    def close(self) -> None:
        """Let idle children end, and busy ones when their bodies do. The end of the loop ends what is left."""
        self._closed = True
        for child in list(self._idle):
            self._retire(child)
        for task in self._tasks:
            show(task)

    def _kill(self, run: Run) -> None:
        if (assignment := self._assignments.get(run)) is not None:
            assignment.child.kill()

    def _job_message(self, run: Run) -> Message:
        address, journal = address_of(run.job_type), self._environment.journal
        if journal.file is None:  # then the body counts as begun from now on
            journal.begin(run.claim)
        return {
            "module": address.module,
            "qualname": address.qualname,
            "claim": messages.claim_as_json(run.claim),
            "journal": None if journal.file is None else str(journal.file),
            "slot": 0 if journal.file is None else journal.reserve(run.claim),
            "log_level": log.getEffectiveLevel(),
            "log_json": logs_json(),
        }

    def _idle_child(self) -> ChildProcess | None:
        if not self._idle:
            return None
        child, retirement = self._idle.popitem()
        retirement.cancel()
        return child

    def _run_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a task that a body cannot cancel along with all the tasks that it finds."""
        task = asyncio.Task(coroutine, loop=self._loop)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        (show if self._closed else hide)(task)

    async def _perform(self, run: Run) -> None:
        assignment = self._assignments[run]
        try:
            result = await self._result_of(run, assignment)
        except Exception as error:
            log.exception("the process of job %d cannot be used", run.claim.id)
            result = self._ended_by(error, run)
            assignment.child.kill()
        except BaseException:  # the loop ends
            assignment.child.close()
            raise
        del self._assignments[run]
        self._keep_or_end(assignment.child, run)
        assignment.done(run, result)

    async def _result_of(self, run: Run, assignment: Assignment) -> FinishedRun:
        reused = assignment.child.ready
        while (result := await self._converse(run, assignment)) is None:
            child = assignment.child
            how = await child.wait(self._limits.exit_after_pipe)
            if not reused or assignment.began or child.terminated:
                # The body's own transaction may have finished the job just before. Then this outcome matches no row,
                # because a settlement counts only for a job that is still started under this lease.
                return self._ended_by_death(run, how, terminated=child.terminated)
            assignment.child, reused = start_child(self._environment), False  # the other one died while it was idle
        return result

    async def _converse(self, run: Run, assignment: Assignment) -> FinishedRun | None:
        """Return the result of the body, None if the child died."""
        child = assignment.child
        while (message := await child.receive()) is not None:
            match message["kind"]:
                case "ready":
                    child.ready, order = True, run.context.order
                    if isinstance(order, JobStopped):
                        return self._ended_by(order, run)
                    child.send("job", **assignment.job)
                    if order is not None:
                        child.send("order", **messages.order_as_json(order))
                case "began":
                    assignment.began = True
                    run.begin()
                case "progress":
                    with suppress(JobStopped, SoftTimeLimitExceeded):  # reported before the order arrived
                        run.context.progress.set(message["percentage"], message["label"])
                case "not_loaded":
                    return self._failed(run, Failed(**{name: message[name] for name in Failed.__match_args__}))
                case _:
                    return messages.run_from_json(run.claim, message)
        return None

    def _keep_or_end(self, child: ChildProcess, run: Run) -> None:
        if child.ended:
            return
        # A body that was interrupted anywhere may have left locks and connections in any state.
        unsafe = child.terminated or isinstance(run.context.order, SoftTimeLimitExceeded)
        if self._closed or unsafe or len(self._idle) >= self._limits.most_idle:
            self._end(child)
        else:
            self._idle[child] = self._loop.call_later(self._limits.idle_for, self._retire, child)

    def _retire(self, child: ChildProcess) -> None:
        self._idle.pop(child).cancel()
        self._end(child)

    def _end(self, child: ChildProcess) -> None:
        child.end()
        self._run_task(self._wait_for(child))

    async def _wait_for(self, child: ChildProcess) -> None:
        await child.wait(self._limits.exit_after_end)

    def _ended_by_death(self, run: Run, how: str, *, terminated: bool) -> FinishedRun:
        """Return what the death of its process means for a job: a failure, unless the job was ordered to stop."""
        order = run.context.order
        if isinstance(order, JobStopped):
            return self._ended_by(order, run)
        if terminated:
            how = "the job ran past its hard time limit and its process was ended"
        if terminated or isinstance(order, SoftTimeLimitExceeded):
            return self._ended_by(SoftTimeLimitExceeded(how), run)
        return self._failed(run, Failed(how, DIED_TEXT))

    def _ended_by(self, error: BaseException, run: Run) -> FinishedRun:
        return ended_by(error, run.job_type, run.context, self._environment)

    def _failed(self, run: Run, failure: Failed) -> FinishedRun:
        return finish(run.claim, run.job_type, failure, self._environment.rng)


if TYPE_CHECKING:
    _conforms: type[Executor] = ProcessExecutor
