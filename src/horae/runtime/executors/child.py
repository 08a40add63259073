"""A child process: runs one body at a time in its main thread, and ends at once when the node is gone.

Its other threads are the ear, which hears orders while a body runs, and the voice, which sends reports. Only they and
the main thread between bodies use the pipe: a soft time limit is raised by a signal anywhere in a body, and must not
tear a message apart.
"""

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Final, NamedTuple, cast

from horae.domain.jobs.job import Failed, NodeId
from horae.errors import InvalidJobType
from horae.redaction import error_text, traceback_text
from horae.runtime.bodies.runner import BodyResult, RunEnvironment, outcome_of, perform, perform_async
from horae.runtime.executors import messages
from horae.runtime.executors.address import Address, job_type_at
from horae.runtime.executors.alarm import Alarm
from horae.runtime.executors.messages import Message
from horae.runtime.executors.reports import Reports
from horae.runtime.journal.journal import ChildJournal
from horae.storage.engine.database import Database
from horae.types.context import JobContext
from horae.types.job_type import JobType, failed_text
from horae.types.log_lines import lines_on_stderr
from horae.types.logging import JobLogFilter

PULSE: Final = 1.0
"""Seconds between two looks at whether the parent lives; its end is usually heard at once, on the pipe."""
RING_AGAIN: Final = 0.02
"""Seconds between two signals to a body that has not heard its soft time limit."""
PIPE_LOST: Final = 80
"""Exit code of a child that cannot speak to the node any more."""

log = logging.getLogger("horae.runtime")


class Job(NamedTuple):
    """A body to run."""

    address: Address
    context: JobContext[Any]
    log_level: int
    log_json: bool


class LazyRunEnvironment:
    """Where bodies run in this process; the database is opened by the first body that needs it."""

    def __init__(self, url: str, busy_timeout: float, pooler: bool | None, node: NodeId) -> None:  # noqa: FBT001 - as of a `Database`
        self.node = node
        self.journal = ChildJournal()
        self._url, self._busy_timeout, self._pooler = url, busy_timeout, pooler

    @cached_property
    def database(self) -> Database:
        """The child's own connections."""
        return Database(self._url, busy_timeout=self._busy_timeout, pooler=self._pooler)

    def close(self) -> None:
        """Close the database if it was opened."""
        if "database" in vars(self):
            self.database.close()


class Child:
    """The child's side of the pipe."""

    def __init__(self, environment: LazyRunEnvironment, pipe: Connection) -> None:
        self._pipe = pipe
        self._environment = environment
        self.alarm = Alarm()
        self._reports = Reports(lambda percentage, label: self._say("progress", percentage=percentage, label=label))
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._job_types: dict[Address, JobType[Any]] = {}
        self._current: JobContext[Any] | None = None
        self._cancel: Callable[[], object] | None = None
        self._runner = asyncio.Runner()  # one loop for all: pooled connections belong to it
        self._speaking = threading.Lock()
        self._stray = False

    def serve(self) -> None:
        """Run bodies until told to end."""
        os.register_at_fork(after_in_child=self._on_fork)
        for name, target in (("ear", self._listen), ("voice", self._reports.serve)):
            threading.Thread(target=target, name=f"horae-{name}", daemon=True).start()
        self._say("ready")
        while (job := self._jobs.get()) is not None:
            self.alarm.settle_signals()  # again: the last body may have changed them
            performed = self._perform(job)
            if self._stray:
                os._exit(0)  # a process that the body forked came back from it
            self._reports.end()
            self._say("performed", **messages.performed_as_json(performed))
        self._runner.close()
        self._environment.close()

    def _perform(self, job: Job) -> BodyResult:
        try:
            job_type = self._job_type(job)
        except BaseException as error:  # noqa: BLE001 - an import runs code of the application, which may even exit
            return BodyResult(_not_found(job, error))
        self._say("began")
        try:
            if job_type.is_async:
                return self._runner.run(self._perform_async(job_type, job.context))
            return perform(job_type, job.context, cast("RunEnvironment", self._environment))
        except BaseException as error:  # noqa: BLE001 - a task that cancelled itself, at the worst
            return BodyResult(outcome_of(job_type, job.context, error))

    async def _perform_async(self, job_type: JobType[Any], context: JobContext[Any]) -> BodyResult:
        task = asyncio.current_task()
        if task is not None:
            loop = asyncio.get_running_loop()
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            return await perform_async(job_type, context, cast("RunEnvironment", self._environment))
        finally:
            self._cancel = None
            await _end_tasks(asyncio.all_tasks() - {task})

    def _job_type(self, job: Job) -> JobType[Any]:
        if job.address not in self._job_types:
            job_type = job_type_at(job.address)
            log_to_stderr(
                self._environment.node, job
            )  # after the import, which may set up the application's own logging
            if not job_type.is_async:
                vars(job_type)["run"] = self._armed(job_type.run)
            self._job_types[job.address] = job_type
        job_type = self._job_types[job.address]
        if job_type.type != job.context.type:
            raise InvalidJobType(f"there is {job_type.type!r} instead")
        return job_type

    def _armed(self, run: Callable[[JobContext[Any]], Any]) -> Callable[[JobContext[Any]], Any]:
        """The body alone: its transaction's commit must not be interrupted."""

        def run_armed(job: JobContext[Any]) -> Any:
            with self.alarm.armed(job):
                return run(job)

        return run_armed

    def _listen(self) -> None:
        """Hear the node; without it nothing here has a meaning, so the process ends whatever the body does."""
        parent = parent_process()
        try:
            # Somebody whom the parent forked may hold its end of the pipe open after its death.
            while parent is None or os.getppid() == parent.pid:
                if self._pipe.poll(RING_AGAIN if self.alarm.due else PULSE):
                    self._hear(messages.receive(self._pipe))
                if self.alarm.due:
                    self.alarm.ring()
        except (EOFError, OSError):
            pass
        except Exception:
            log.exception("a message of the node cannot be understood")
        os._exit(PIPE_LOST)

    def _hear(self, message: Message) -> None:
        match message["kind"]:
            case "job":
                self._jobs.put(self._job(message))
            case "order":
                self._obey(messages.order_from_json(message))
            case _:
                self._jobs.put(None)

    def _job(self, message: Message) -> Job:
        claim = messages.claim_from_json(message["claim"])
        self._current = context = JobContext[Any](claim, None, self._reports.begin())
        self._environment.journal.expect(message["journal"], message["slot"])
        address = Address(message["module"], message["qualname"])
        return Job(address, context, message["log_level"], message["log_json"])

    def _obey(self, order: BaseException) -> None:
        context = self._current
        if context is None or type(context.order) is type(order):
            return
        context.stop(order)
        # Read after the order was left: a coroutine that begins now finds the one or the other.
        cancel = self._cancel
        if cancel is not None:
            with suppress(RuntimeError):  # its loop has just been closed
                cancel()

    def _say(self, kind: str, **fields: Any) -> None:
        if self._stray:
            return
        try:
            with self._speaking:
                messages.send(self._pipe, kind, **fields)
        except OSError:  # the parent is gone, or the body closed what was not its own
            os._exit(PIPE_LOST)

    def _on_fork(self) -> None:
        """In a process that a body forked: it must neither speak for us nor hold our pipe open."""
        self._stray = True
        self._speaking = threading.Lock()
        with suppress(OSError):
            self._pipe.close()


def main(url: str, busy_timeout: float, pooler: bool | None, node: str, pipe: Connection) -> None:  # noqa: FBT001 - as above
    """The child's life, with what it needs to open the database, the node that holds the leases, and the pipe to it."""
    os.set_inheritable(pipe.fileno(), False)  # noqa: FBT003 - "spawn" lets a body's own programs keep it open
    child = Child(LazyRunEnvironment(url, busy_timeout, pooler, NodeId(node)), pipe)
    child.alarm.settle_signals()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked by the parent, for the time of the start
    if sys.stderr is not None:
        faulthandler.enable()
    child.serve()


async def _end_tasks(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancel what a body left behind, as the end of its loop would."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def log_to_stderr(node: NodeId, job: Job) -> None:
    """Log as the node does, unless the application has set up its own; either way with the fields of the job."""
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(lines_on_stderr(as_json=job.log_json))
        root.setLevel(job.log_level)
    for handler in root.handlers:
        if not any(isinstance(present, JobLogFilter) for present in handler.filters):
            handler.addFilter(JobLogFilter(node))


def _not_found(job: Job, error: BaseException) -> Failed:
    where = f"{job.address.module}.{job.address.qualname}"
    return Failed(
        f"InvalidJobType: job type {job.context.type!r} cannot be loaded in a child process as {where}: "
        f"{error_text(error)}",
        failed_text(error),
        traceback_text(error),
    )
