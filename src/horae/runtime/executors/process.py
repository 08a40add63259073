"""Bodies with `isolation="process"`, each in a child process that can be stopped by force.

A child runs one body at a time and is kept for the next one. If it dies, only its own job fails,
and only if its body has begun. A job for which no child is ready in time is handed back; it fails
only for what a child reports.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from horae.domain.jobs import (
    DIED_TEXT,
    Failed,
)
from horae.errors import HoraeError, JobStopped, SoftTimeLimitExceeded
from horae.guarded_log import guarded_log
from horae.runtime.bodies import (
    START_UP,
    Done,
    Executor,
    FinishedRun,
    Interrupted,
    RunEnvironment,
    ended_by,
    finish,
    unbegun,
)
from horae.runtime.executors import messages
from horae.runtime.executors.address import address_of
from horae.runtime.executors.application import ChildSetup, setup_of
from horae.runtime.executors.child_pool import ChildNotReadyError, ChildPool, ProcessLimits
from horae.runtime.executors.child_process import ChildProcess, start_child
from horae.runtime.executors.messages import Message
from horae.types import ApplicationHooks, Attempt, Registry
from horae.types.logs import logs_json

USUAL: Final = ProcessLimits()
NOT_READY: Final = (ChildNotReadyError, OSError, MemoryError)
"""Errors after which a body that has not begun may begin later."""

log = guarded_log("horae.runtime")


@dataclass(slots=True)
class Assignment:
    """A run, the message that hands it to a child, and the child that has it now.

    `turn`: brings the child; `stopped`: done once waiting for a child is no use.
    """

    job: Message
    done: Done
    turn: asyncio.Future[ChildProcess]
    stopped: asyncio.Future[None]
    child: ChildProcess | None = None
    began: bool = False

    def stop_waiting(self) -> None:
        """Let the run end without a child."""
        if not self.stopped.done():
            self.stopped.set_result(None)


class ProcessExecutor:
    """Runs each body in a child process.

    A coroutine is cancelled by an order to stop, and a function notices it at its next progress
    call; a child whose body goes on for 5 seconds after an order to end is terminated, and killed a
    second later. A soft time limit interrupts a function wherever it is, and ends nothing by force:
    the hard limit does (`kill`).
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        environment: RunEnvironment,
        limits: ProcessLimits = USUAL,
        hooks: ApplicationHooks | None = None,
        registry: Registry | None = None,
    ) -> None:
        """`hooks`: the application's hooks that children set up; None for none. `registry`: has
        what they need to read parameters.
        """
        self._loop = loop
        self._environment = environment
        self._limits = limits
        self._assignments: dict[Attempt, Assignment] = {}
        self._log_book = environment.log_book
        keep_logs = None if self._log_book is None else self._log_book.usual

        def set_up() -> ChildSetup:
            setup = setup_of(hooks or ApplicationHooks(), keep_logs)
            if registry is None:
                return setup
            return replace(setup, sealer=registry.sealer, files=registry.files)

        self._pool = ChildPool(
            loop,
            lambda: start_child(environment, set_up()),
            limits,
        )

    def start(self, attempt: Attempt, done: Done) -> None:
        """Run the body in an idle or new child; fails a job whose type no child can import."""
        journal = self._environment.journal
        try:
            address = address_of(attempt.job_type)
            if journal.file is None:  # without a file the body counts as begun from now on
                journal.begin(attempt.claim)
            job = {
                "module": address.module,
                "qualname": address.qualname,
                "claim": attempt.claim,
                "journal": None if journal.file is None else str(journal.file),
                "slot": 0 if journal.file is None else journal.reserve(attempt.claim),
                "log_level": logging.getLogger().level,
                "log_json": logs_json(),
            }
        except (HoraeError, OSError) as error:
            self._loop.call_soon(done, attempt, self._ended_by(error, attempt))
            return
        attempt.count_limits(within=START_UP)
        attempt.waiting = True
        self._assignments[attempt] = Assignment(
            job, done, self._pool.take(), self._loop.create_future()
        )
        self._pool.run_task(self._perform(attempt))

    def stop(self, attempt: Attempt, order: BaseException) -> None:
        """Pass the order on; an order to end for good is enforced after `stop_within`."""
        before = attempt.order
        attempt.take_order(order)
        assignment = self._assignments.get(attempt)
        if assignment is None or attempt.order is before:
            return
        # Without a child, the order follows the job.
        if assignment.child is not None and not attempt.waiting:
            assignment.child.send("order", **messages.order_as_json(order))
        if isinstance(order, JobStopped):
            if attempt.waiting:
                assignment.stop_waiting()
            else:
                self._loop.call_later(self._limits.stop_within, self.kill, attempt)

    def kill(self, attempt: Attempt) -> bool:
        """Terminate the child and kill it `kill_after` later; a waiting run gets none."""
        if (assignment := self._assignments.get(attempt)) is not None:
            if assignment.child is None or attempt.waiting:
                assignment.stop_waiting()
            else:
                assignment.child.terminate()
                self._loop.call_later(self._limits.kill_after, assignment.child.kill)
        return True

    def warm(self) -> None:
        """Start a child ahead of the first job."""
        self._pool.fill()

    def close(self) -> None:
        """Let idle children end now, and busy ones after their bodies.

        The end of the loop ends what is left.
        """
        self._pool.close()

    async def _perform(self, attempt: Attempt) -> None:
        assignment = self._assignments[attempt]
        until = self._loop.time() + self._limits.start_within
        try:
            while (result := await self._try(attempt, assignment, until)) is None:
                attempt.waiting, assignment.child, assignment.turn = True, None, self._pool.take()
        except Exception as error:
            log.exception("the process of job %d cannot be used", attempt.claim.id)
            result = self._ended_by(error, attempt)
            if assignment.child is not None:
                assignment.child.kill()
        except (asyncio.CancelledError, GeneratorExit):  # the loop is ending
            if assignment.child is not None:
                assignment.child.close()
            raise
        del self._assignments[attempt]
        child = assignment.child
        if child is None:
            assignment.turn.cancel()
            self._pool.give_up_turn()
        else:
            # An interrupted body may have left locks and connections in any state.
            unsafe = child.terminated or isinstance(attempt.order, SoftTimeLimitExceeded)
            self._pool.give_back(child, safe=child.ready and not unsafe)
        assignment.done(attempt, result)

    async def _try(
        self, attempt: Attempt, assignment: Assignment, until: float
    ) -> FinishedRun | None:
        """Run the body in a child and return its result; None if the child died while idle."""
        try:
            child, reused = await self._child_for(assignment, until)
        except Exception as error:  # noqa: BLE001 - a job fails only for what a child reports
            return self._ended_by(error, attempt)
        message = child.started.result()
        if message is not None and not child.ready:
            return self._finish_unloaded(attempt, message)
        attempt.waiting = False
        child.send("job", **assignment.job)
        if attempt.order is not None:
            child.send("order", **messages.order_as_json(attempt.order))
        if (result := await self._converse(attempt, assignment, child)) is not None:
            return result
        how = await child.wait(self._limits.exit_after_pipe)
        if assignment.began or child.terminated or isinstance(attempt.order, JobStopped):
            # The body's own transaction may have finished the job just before. Then this outcome
            # matches no row, because a settlement counts only for a job that is still started under
            # this lease.
            return self._finish_dead(attempt, how, terminated=child.terminated)
        if not reused:
            return self._ended_by(ChildNotReadyError(how), attempt)
        self._pool.give_back(child, safe=False)
        return None

    async def _child_for(self, assignment: Assignment, until: float) -> tuple[ChildProcess, bool]:
        """Return a started child, and whether it was idle; raises an error of the start."""
        await self._wait_for(assignment.turn, assignment, until)
        if not assignment.turn.done():
            raise ChildNotReadyError("no child process is ready")
        assignment.child = child = assignment.turn.result()
        idle = child.ready
        await self._wait_for(child.started, assignment, until)
        if assignment.stopped.done() or not child.started.done():
            raise ChildNotReadyError(f"{child} is not ready")
        if child.started.result() is None:
            raise ChildNotReadyError(await child.wait(self._limits.exit_after_pipe))
        return child, idle

    async def _wait_for(
        self, future: asyncio.Future[Any], assignment: Assignment, until: float
    ) -> None:
        if not future.done():
            left = until - self._loop.time()
            await asyncio.wait(
                [future, assignment.stopped], timeout=left, return_when=asyncio.FIRST_COMPLETED
            )

    async def _converse(
        self, attempt: Attempt, assignment: Assignment, child: ChildProcess
    ) -> FinishedRun | None:
        """Return the result of the body, None if the child died."""
        while (message := await child.receive()) is not None:
            match message["kind"]:
                case "not_loaded":
                    child.spoilt = message["lacking"]
                    return self._finish_unloaded(attempt, message)
                case "result":
                    child.jobs, child.memory = child.jobs + 1, message["memory"]
                    child.spoilt = message["spoilt"]
                    return messages.run_from_json(attempt.claim, message)
                case "began":
                    assignment.began = True
                    attempt.count_limits()
                case "progress":
                    # The body reported this before the order arrived.
                    with suppress(JobStopped, SoftTimeLimitExceeded):
                        attempt.progress.set(message["percentage"], message["label"])
                case _:
                    if self._log_book is not None:
                        lines = messages.LINES.validate_python(message["lines"])
                        self._log_book.writer.send(lines)
        return None

    def _finish_dead(self, attempt: Attempt, how: str, *, terminated: bool) -> FinishedRun:
        """Return the end of a job whose process died: a failure, unless it was ordered to stop."""
        order = attempt.order
        if isinstance(order, JobStopped):
            return self._ended_by(order, attempt)
        if terminated:
            how = attempt.passed.error_of_process
        if terminated or isinstance(order, SoftTimeLimitExceeded):
            return self._ended_by(SoftTimeLimitExceeded(how), attempt)
        return self._finish(attempt, Failed(how, DIED_TEXT))

    def _ended_by(self, error: BaseException, attempt: Attempt) -> FinishedRun:
        """Return how a run ends with this error; an unbegun job may be handed back instead."""
        assignment, order = self._assignments.get(attempt), attempt.order
        if assignment is None or not assignment.began:
            if isinstance(order, Interrupted):
                return FinishedRun(attempt.claim, None, error, unbegun=True)
            if isinstance(error, NOT_READY):
                if not isinstance(order, JobStopped):
                    return unbegun(attempt.claim, error)
                error = order
        return ended_by(error, attempt, self._environment)

    def _finish_unloaded(self, attempt: Attempt, message: Message) -> FinishedRun:
        """Return the end of a run whose child could not set up the application or the type."""
        if message["lacking"] and attempt.order is None:
            return unbegun(attempt.claim, ChildNotReadyError(message["error"]))
        return self._finish(
            attempt, Failed(**{name: message[name] for name in Failed.__match_args__})
        )

    def _finish(self, attempt: Attempt, failure: Failed) -> FinishedRun:
        return finish(attempt, failure, self._environment.rng)


if TYPE_CHECKING:
    _conforms: type[Executor] = ProcessExecutor
