"""Horae as the backend of Django's tasks: `django.tasks` of Django 6, or `django-tasks`.

Each task is a job type, named by its module path and registered when the task is made: a name from
the database is looked up there and never imported.
"""

import inspect
import re
from collections.abc import Awaitable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from django.utils import timezone
from pydantic import BaseModel
from typing_extensions import override

from horae.contrib.django.application import horae
from horae.contrib.django.task_library import task_library
from horae.domain.jobs import Job, JobState
from horae.errors import ConfigurationError, JobDoesNotExist
from horae.runtime.bodies.values import result_text
from horae.storage.jobs import PastAttempt
from horae.types import JobContext, OptionsJobType
from horae.types.options import StartOptions

if TYPE_CHECKING:
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django_tasks.exceptions import TaskException, TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started
else:
    _FOUND = task_library()
    BaseTaskBackend = import_module(f"{_FOUND}.backends.base").BaseTaskBackend
    _base, _signals = import_module(f"{_FOUND}.base"), import_module(f"{_FOUND}.signals")
    _exceptions = import_module(f"{_FOUND}.exceptions")
    TaskException = _exceptions.TaskException
    TaskResultDoesNotExist = _exceptions.TaskResultDoesNotExist
    Task, TaskContext, TaskError = _base.Task, _base.TaskContext, _base.TaskError
    TaskResult, TaskResultStatus = _base.TaskResult, _base.TaskResultStatus
    task_enqueued, task_finished = _signals.task_enqueued, _signals.task_finished
    task_started = _signals.task_started

STATUS: Final = {
    JobState.PENDING: TaskResultStatus.READY,
    JobState.STARTED: TaskResultStatus.RUNNING,
    JobState.FINISHED: TaskResultStatus.SUCCESSFUL,
    JobState.FAILED: TaskResultStatus.FAILED,
    JobState.CANCELLED: TaskResultStatus.FAILED,
}
UNKNOWN_ERROR: Final = "builtins.Exception"
"""The class of an error that Horae itself has noted, such as that of a killed process."""
MOST_DIGITS: Final = 18


class Arguments(BaseModel):
    """The parameters of a task's job."""

    args: list[Any] = []
    kwargs: dict[str, Any] = {}


class DjangoTaskType(OptionsJobType):
    """The job type of one task."""

    params = Arguments

    def __init__(self, task: "Task[..., Any]", options: Mapping[str, Any]) -> None:
        self.task = task
        super().__init__(f"task {task.module_path}", task.module_path, options)  # type: ignore[arg-type]
        # Horae sees by it that a module was loaded again.
        self.function = task.func
        self.is_async = inspect.iscoroutinefunction(task.func)

    @override
    def run(self, job: JobContext[Arguments]) -> Any | Awaitable[Any]:
        """Call the task, and send Django's signals before and after."""
        return self._run_async(job) if self.is_async else self._run(job)

    def _run(self, job: JobContext[Arguments]) -> Any:
        result = self._running(job, horae.jobs.get(job.id))
        task_started.send(sender=HoraeBackend, task_result=result)
        with self._announced(job, result):
            returned = self.task.func(*self._given(job, result), **job.params.kwargs)
            result_text(returned, self.max_result_bytes)
        return returned

    async def _run_async(self, job: JobContext[Arguments]) -> Any:
        result = self._running(job, await horae.aio.jobs.get(job.id))
        await task_started.asend(sender=HoraeBackend, task_result=result)
        with self._announced(job, result):
            returned = await self.task.func(*self._given(job, result), **job.params.kwargs)
            result_text(returned, self.max_result_bytes)
        return returned

    def _running(self, job: JobContext[Arguments], found: Job) -> "TaskResult[Any]":
        workers = [str(found.node_id)] * job.attempt
        result = result_of(self.task, found, job.params.args, job.params.kwargs, workers)
        return replace(result, status=TaskResultStatus.RUNNING)

    def _given(self, job: JobContext[Arguments], result: "TaskResult[Any]") -> Sequence[Any]:
        if self.task.takes_context:
            return [TaskContext(task_result=result), *job.params.args]
        return job.params.args

    @contextmanager
    def _announced(self, job: JobContext[Arguments], result: "TaskResult[Any]") -> Generator[None]:
        """Send the signal of the end, unless the job may be tried again.

        What cannot be stored is found in the block, before a signal says that all went well.
        """

        def send(status: TaskResultStatus) -> None:
            ended = replace(result, status=status, finished_at=timezone.now())
            task_finished.send(sender=HoraeBackend, task_result=ended)

        try:
            yield
        except (Exception, SystemExit):
            if job.attempt >= job.claim.max_attempts:
                send(TaskResultStatus.FAILED)
            raise
        send(TaskResultStatus.SUCCESSFUL)


class HoraeBackend(BaseTaskBackend):
    """Runs tasks as jobs, if it is the `BACKEND` of an alias in `TASKS`.

    `OPTIONS` are those of `@horae.job`, for all tasks of the backend, such as `max_attempts`. A
    task that is enqueued in a transaction exists exactly if that commits.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        """Raises `ConfigurationError` for an option that tasks cannot have."""
        super().__init__(alias, params)
        if self.options.get("isolation") is not None:
            raise ConfigurationError(
                f"TASKS[{alias!r}]['OPTIONS']['isolation']: tasks run in the processes of nodes;"
                " declare a function with @horae.job(isolation='process') instead"
            )

    @override
    def validate_task(self, task: "Task[..., Any]") -> None:
        """Check a task, and make it a job type; Django calls this for each task that is made."""
        super().validate_task(task)
        known = horae.registry.find(task.module_path)
        if not isinstance(known, DjangoTaskType) or known.task.func is not task.func:
            horae.add_type(DjangoTaskType(task, self.options))

    @override
    def enqueue(self, task: "Task[..., Any]", args: Any, kwargs: Any) -> "TaskResult[Any]":
        """Start a job of the task, in the transaction that is open, if any."""
        self.validate_task(task)
        # The class of results refuses arguments that are not JSON.
        given = result_of(task, None, args, kwargs, [])
        options = StartOptions(
            priority=task.priority, queue=task.queue_name, run_at=aware(task.run_after)
        )
        values = {"args": given.args, "kwargs": given.kwargs}
        job = horae.jobs.create(task.module_path, values, options)
        result = replace(given, id=str(job.id), enqueued_at=job.created_at)
        task_enqueued.send(type(self), task_result=result)
        return result

    @override
    def get_result(self, result_id: str) -> "TaskResult[Any]":
        """Return how a task stands; raises `TaskResultDoesNotExist`."""
        text = str(result_id)
        if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
            raise TaskResultDoesNotExist(text)
        try:
            job = horae.jobs.get(int(text))
            attempts = horae.jobs.attempts(job.id)
        except JobDoesNotExist:
            raise TaskResultDoesNotExist(text) from None
        kind = horae.registry.find(job.type)
        if not isinstance(kind, DjangoTaskType):
            raise TaskResultDoesNotExist(text)
        task = kind.task
        # A job may have what its task may no longer have, such as a queue that is gone from QUEUES.
        with suppress(TaskException):
            task = task.using(
                priority=job.priority,
                queue_name=job.queue,
                run_after=None if job.run_at <= job.created_at else job.run_at,
                backend=self.alias,
            )
        workers = [str(each.node_id) for each in attempts]
        if job.state is JobState.STARTED:
            workers.append(str(job.node_id))
        result = replace(
            result_of(task, job, job.params["args"], job.params["kwargs"], workers),
            started_at=attempts[0].started_at if attempts else job.started_at,
            errors=[error_of(each) for each in attempts if each.error is not None],
        )
        object.__setattr__(result, "_return_value", job.result)
        return result


def result_of(
    task: "Task[..., Any]", job: Job | None, args: Any, kwargs: Any, workers: list[str]
) -> "TaskResult[Any]":
    """Return the result of a task as its job stands, or of one that has no job yet.

    Raises what Django raises for arguments that are not JSON.
    """
    return TaskResult(
        task=task,
        id="" if job is None else str(job.id),
        status=TaskResultStatus.READY if job is None else STATUS[job.state],
        enqueued_at=None if job is None else job.created_at,
        started_at=None if job is None else job.started_at,
        last_attempted_at=None if job is None else job.started_at,
        finished_at=None if job is None else job.finished_at,
        args=list(args),
        kwargs=dict(kwargs),
        backend=task.backend,
        errors=[],
        worker_ids=workers,
    )


def error_of(attempt: PastAttempt) -> "TaskError":
    """Return the error of an attempt, with the path of its class."""
    return TaskError(
        exception_class_path=class_path(attempt.error or "", attempt.traceback or ""),
        traceback=attempt.traceback or attempt.error or "",
    )


def class_path(error: str, traceback: str) -> str:
    """Return the path of the class of an error.

    A traceback ends with the path, a colon and the whole text of the error. So the path is what
    stands before the text that was stored, whatever lines that text itself consists of.
    """
    before = traceback.rstrip().removesuffix(error.rstrip())
    if before == traceback.rstrip():
        return UNKNOWN_ERROR
    name = error.partition(":")[0]
    module = before.rpartition("\n")[2]
    if not re.fullmatch(r"([A-Za-z_]\w*\.)*", module) or not name.isidentifier():
        return UNKNOWN_ERROR
    return f"{module or 'builtins.'}{name}"


def aware(moment: datetime | None) -> datetime | None:
    """Return a moment with a time zone: that of the project, if it has none."""
    return moment if moment is None or timezone.is_aware(moment) else timezone.make_aware(moment)
