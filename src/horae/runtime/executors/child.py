"""A child process: runs one body at a time in its main thread, and ends with its node.

One other thread reads messages while a body runs, and another one sends reports. Only these and the
main thread between bodies use the pipe: a soft time limit interrupts a body anywhere by a signal,
which must not cut off a message.
"""

import asyncio
import faulthandler
import inspect
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import asdict
from functools import cached_property
from multiprocessing import parent_process
from multiprocessing.connection import wait
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any, Final, NamedTuple, cast

from horae.domain.jobs import (
    NOT_SET_UP_TEXT,
    Failed,
    NodeId,
    failed_text,
)
from horae.errors import InvalidJobType
from horae.guarded_log import guarded_log
from horae.redaction import error_text, traceback_text
from horae.resource_shortage import lacks_resource
from horae.runtime.bodies import (
    FinishedRun,
    KeptLogs,
    LogWriter,
    RunEnvironment,
    ended_by,
    perform,
    perform_async,
)
from horae.runtime.executors import messages
from horae.runtime.executors.address import job_type_at
from horae.runtime.executors.application import ChildSetup, import_application
from horae.runtime.executors.child_signals import BodyInterrupt
from horae.runtime.executors.messages import Message
from horae.runtime.executors.progress_reports import ProgressReports
from horae.runtime.journal import ChildJournal, JournalUnavailable
from horae.storage.engine import Database
from horae.types import Address, Attempt, Hook, JobType
from horae.types.logs import JobLogFilter, lines_on_stderr
from horae.types.parameters import Sealer
from horae.types.parameters.large_values import LargeValues

PARENT_CHECK: Final = 1.0
"""Seconds between two checks whether the parent is alive.

Usually the end of the pipe shows its death at once.
"""
INTERRUPT_AGAIN: Final = 0.02
"""Seconds between two signals to a body that has not noticed its soft time limit."""
LOGS_WITHIN: Final = 5.0
"""Seconds in which the last log lines of a body are sent to the node."""
EXIT_WITHIN: Final = 5.0
"""Seconds that the process may take to exit after it was asked to: programs may clean up then."""
PIPE_LOST: Final = 80
"""Exit code of a child that has lost its pipe to the node."""
CHUNK: Final = 1 << 16
"""Number of bytes that are read from the pipe at once."""

log = guarded_log("horae.runtime")


class Assigned(NamedTuple):
    """A job whose body is to run."""

    address: Address
    attempt: Attempt
    log_level: int
    log_json: bool


class LazyRunEnvironment:
    """The `RunEnvironment` of this process; the first body that needs the database opens it."""

    def __init__(self, database: dict[str, Any], node: NodeId) -> None:
        """`database`: the arguments of the node's `Database`."""
        self.node = node
        self.journal = ChildJournal()
        self.rng = Random()
        self.around: list[Hook[Any]] = []
        self.log_book: KeptLogs | None = None
        self.interrupt = BodyInterrupt()
        self.call = self.interrupt.call
        self.recursion_limit = sys.getrecursionlimit()
        self._arguments = database

    @cached_property
    def database(self) -> Database:
        """The database, with connections of this process."""
        return Database(**self._arguments)

    def close(self) -> None:
        """Close the database if it was opened."""
        if "database" in vars(self):
            self.database.close()


class Child:
    """Receives jobs and orders from the node, and runs the bodies."""

    def __init__(self, environment: LazyRunEnvironment, pipe: socket.socket) -> None:
        self._pipe = pipe
        self._unread = b""
        self._environment = environment
        self.interrupt = environment.interrupt
        self._reports = ProgressReports(
            lambda percentage, label: self._send("progress", percentage=percentage, label=label)
        )
        self._log_writer = LogWriter(lambda lines: self._send("log", lines=lines))
        self._jobs: SimpleQueue[Assigned | None] = SimpleQueue()
        self._sealer: Sealer | None = None
        self._files: LargeValues | None = None
        self._job_types: dict[Address, JobType[Any]] = {}
        self._current: Attempt | None = None
        self._cancel: Callable[[], object] | None = None
        # All bodies share one loop, because pooled connections belong to it.
        self._runner = asyncio.Runner()
        self._sending = threading.Lock()
        self._is_fork = False

    def serve(self, setup: ChildSetup) -> None:
        """Set up the application, and run bodies until the node asks this process to end."""
        os.register_at_fork(after_in_child=self._on_fork)
        for name, target in (("messages", self._receive), ("reports", self._reports.serve)):
            threading.Thread(target=target, name=f"horae-{name}", daemon=True).start()
        if not self._set_up(setup):
            return
        self._send("ready")
        while (job := self._jobs.get()) is not None:
            self.interrupt.install()  # the last body may have set other handlers
            kind, fields = self._perform(job)
            if self._is_fork:
                os._exit(0)  # the body has forked, and has returned in this process as well
            self._reports.end()
            self._log_writer.flush(LOGS_WITHIN)
            self._send(kind, **fields)
        self._runner.close()
        self._environment.close()

    def _set_up(self, setup: ChildSetup) -> bool:
        """Import the application and call its hooks; report a failure and return False."""
        step = ""
        self._sealer, self._files = setup.sealer, setup.files
        self._environment.log_book = KeptLogs(self._log_writer, setup.keep_logs)
        try:
            if setup.application is not None:
                self._send("starting", step=(step := f"importing {setup.application.module}"))
            self._environment.around, hooks = import_application(setup)
            for hook in hooks:
                self._send("starting", step=(step := f"calling {hook.address}"))
                if inspect.iscoroutinefunction(hook.call):
                    self._runner.run(hook.call())
                else:
                    hook.call()
        except BaseException as error:  # noqa: BLE001 - code of the application may even exit
            text = f"a child process could not be set up, {step}: {error_text(error)}"
            failure = Failed(text, NOT_SET_UP_TEXT, traceback_text(error))
            self._send("not_ready", **asdict(failure), lacking=lacks_resource(error))
            return False
        return True

    def _perform(self, job: Assigned) -> tuple[str, Message]:
        """Run a body; return the kind and the fields of the message about its end."""
        attempt = job.attempt
        environment = cast("RunEnvironment", self._environment)
        try:
            attempt.job_type = job_type = self._load(job)
            self._send("began")
            # Each body has a context of its own: the next one must not see its context variables.
            if job_type.is_async:
                body = self._perform_async(attempt, environment)
                run = self._runner.run(body, context=copy_context())
            else:
                run = copy_context().run(perform, attempt, environment)
        except BaseException as error:  # noqa: BLE001 - an import may exit, a task may cancel itself
            if attempt.job_type is None:
                name, where = attempt.claim.type, str(job.address)
                failure = Failed(
                    f"InvalidJobType: job type {name!r} cannot be loaded in a child process as"
                    f" {where}: {error_text(error)}",
                    failed_text(name),
                    traceback_text(error),
                )
                return "not_loaded", {**asdict(failure), "lacking": lacks_resource(error)}
            run = ended_by(error, attempt, environment)
        cause = run.error if run.unbegun else None
        spoilt = cause is not None and (
            lacks_resource(cause) or isinstance(cause, JournalUnavailable)
        )
        return "result", {
            **messages.run_as_json(run),
            "memory": memory_in_use(),
            "spoilt": spoilt,
        }

    async def _perform_async(self, attempt: Attempt, environment: RunEnvironment) -> FinishedRun:
        task = asyncio.current_task()
        if task is not None:
            loop = asyncio.get_running_loop()
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            return await perform_async(attempt, environment)
        finally:
            self._cancel = None
            # Cancel the tasks that the body left behind, as the end of its loop would.
            left = asyncio.all_tasks() - {task}
            for each in left:
                each.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def _load(self, job: Assigned) -> JobType[Any]:
        """Import the type of a job at the first one of its type."""
        if job.address not in self._job_types:
            job_type = job_type_at(job.address)
            job_type.parameters.use(self._sealer, self._files)
            # The job is imported first, because that may set up the application's own logging.
            log_to_stderr(self._environment.node, job)
            self._job_types[job.address] = job_type
        job_type = self._job_types[job.address]
        if job_type.type != job.attempt.claim.type:
            raise InvalidJobType(f"there is {job_type.type!r} instead")
        return job_type

    def _receive(self) -> None:
        """Handle messages.

        When the node is gone, the process ends, because nothing can come of the body any more.
        """
        parent = parent_process()
        try:
            # A process that the parent forked may hold the node's end of the pipe open after the
            # parent's death.
            while parent is None or os.getppid() == parent.pid:
                if wait([self._pipe], INTERRUPT_AGAIN if self.interrupt.due else PARENT_CHECK):
                    received = self._pipe.recv(CHUNK)
                    if not received:
                        break
                    *lines, self._unread = (self._unread + received).split(b"\n")
                    for line in lines:
                        self._handle(messages.decode(line))
                if self.interrupt.due:
                    self.interrupt.send()
        except OSError:  # the node is gone
            pass
        except Exception:
            log.exception("the child process cannot handle a message of its node")
        os._exit(PIPE_LOST)

    def _handle(self, message: Message) -> None:
        match message["kind"]:
            case "job":
                claim = messages.claim_from_json(message["claim"])
                self._current = attempt = Attempt(claim, None, self._reports.begin())
                self._environment.journal.expect(message["journal"], message["slot"])
                address = Address(message["module"], message["qualname"])
                self._jobs.put(
                    Assigned(address, attempt, message["log_level"], message["log_json"])
                )
            case "order":
                current, order = self._current, messages.order_from_json(message)
                if current is not None and type(current.order) is not type(order):
                    current.take_order(order)
                    # Read after the order was stored: a coroutine that begins now notices one of
                    # the two.
                    cancel = self._cancel
                    if cancel is not None:
                        with suppress(RuntimeError):  # the loop may just have been closed
                            cancel()
            case _:
                self._jobs.put(None)
                time.sleep(EXIT_WITHIN)
                os._exit(0)

    def _send(self, kind: str, **fields: Any) -> None:
        if self._is_fork:
            return
        try:
            with self._sending:
                self._pipe.sendall(messages.encode(kind, **fields))
        except OSError:  # the parent is gone, or the body has closed all file descriptors
            os._exit(PIPE_LOST)

    def _on_fork(self) -> None:
        """Stop using the pipe, in a process that a body has forked."""
        self._is_fork = True
        self._sending = threading.Lock()
        with suppress(OSError):
            self._pipe.close()


def main(database: dict[str, Any], node: str, setup: ChildSetup, pipe: socket.socket) -> None:
    """Run a child process with its database, its node, the application and the pipe."""
    pipe.set_inheritable(False)
    child = Child(LazyRunEnvironment(database, NodeId(node)), pipe)
    child.interrupt.install()
    # The parent blocks the signal while it starts the child.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if sys.stderr is not None:
        faulthandler.enable()
    child.serve(setup)


def log_to_stderr(node: NodeId, job: Assigned) -> None:
    """Log from the level of the node on, as it does unless the application has handlers, and
    with the job's fields.
    """
    root = logging.getLogger()
    root.setLevel(job.log_level)
    if not root.handlers:
        root.addHandler(lines_on_stderr(as_json=job.log_json))
    for handler in root.handlers:
        if not any(isinstance(present, JobLogFilter) for present in handler.filters):
            handler.addFilter(JobLogFilter(node))


def memory_in_use() -> int:
    """Return the memory use of this process in bytes, or the peak where only that is known."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # macOS counts bytes, others kilobytes.
        return most if sys.platform == "darwin" else most * 1024
