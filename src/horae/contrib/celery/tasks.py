"""Existing Celery tasks as job types, by their names: jobs like any other."""

import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, create_model
from typing_extensions import Unpack, override

from horae.contrib.celery.broker import CeleryBackend
from horae.contrib.celery.library import celery_module
from horae.domain.jobs import CELERY
from horae.errors import (
    ConfigurationError,
    InvalidJobType,
    InvalidLabel,
    JobTypeAlreadyRegistered,
    SoftTimeLimitExceeded,
)
from horae.quoting import quoted
from horae.types import JobContext, JobKeywords, JobType, OptionsJobType

if TYPE_CHECKING:
    from horae.app import Horae

_job: Final[ContextVar[JobContext[Any] | None]] = ContextVar("horae_celery_job", default=None)
"""The job of the Celery task that runs in this thread."""
PLAIN_STATES: Final = frozenset(
    {"PENDING", "RECEIVED", "STARTED", "PROGRESS", "SUCCESS", "FAILURE", "RETRY", "REVOKED"}
)
"""States of Celery that say nothing about what a task is doing."""
AMOUNTS: Final = (
    ("percent", None),
    ("percentage", None),
    ("progress", None),
    ("current", "total"),
    ("done", "total"),
)
"""The keys under which tasks report their progress: a percentage, or a number of a total."""
MOST: Final = sys.float_info.max


def task_type(
    horae: "Horae",
    task: str,
    *,
    params: type[BaseModel] | None = None,
    **options: Unpack[JobKeywords],
) -> JobType[Any]:
    """Make an existing Celery task a job type, and return it.

    `task`: the name of the task, which is also that of the type unless `name` is given; only
    Celery's workers need its code. `params`: a model of its arguments; without one, any named
    arguments are accepted. `options`: those of `@horae.job`. What the task passes to `update_state`
    becomes the progress of the job, and there it learns that the job is cancelled. Raises
    `ConfigurationError` before `setup`, `InvalidJobType`, and `JobTypeAlreadyRegistered` for a
    second declaration of the same name.
    """
    backend = horae.registry.backends.get(CELERY)
    if not isinstance(backend, CeleryBackend):
        raise ConfigurationError(
            "call horae.contrib.celery.setup(celery_app, horae) before task_type"
        )
    made = TaskJobType(backend.app, task, params, options, sys._getframe(1))  # noqa: SLF001
    present = horae.registry.find(made.type)
    # A module that is loaded again declares the same task again.
    if isinstance(present, TaskJobType) and (
        present.task != made.task
        or (made.loaded_as is not None and present.loaded_as is made.loaded_as)
    ):
        raise JobTypeAlreadyRegistered(
            f"job type {made.type!r} is declared twice: for the Celery task {present.task!r} at"
            f" {present.place}, and for {made.task!r} at {made.place}; remove one of them, or give"
            " it a name= of its own"
        )
    horae.add_type(made)
    return made


class TaskJobType(OptionsJobType):
    """The job type of a Celery task."""

    def __init__(
        self,
        app: Any,
        task: str,
        params: type[BaseModel] | None,
        options: JobKeywords,
        declared_in: FrameType,
    ) -> None:
        """`declared_in`: the frame that declares it."""
        if not isinstance(task, str) or not task:
            raise InvalidJobType(f"{quoted(task)} is not the name of a Celery task")
        self._app, self.task = app, task
        self.place = f"{declared_in.f_code.co_filename}:{declared_in.f_lineno}"
        self.loaded_as = declared_in.f_globals.get("__spec__")
        """An object that the declaring module keeps until it is loaded again; None for a script."""
        self.params = params or create_model("arguments", __config__=ConfigDict(extra="allow"))
        super().__init__(f"task {task}", task, {"backend": CELERY, **options})
        self.soft_limit_error = soft_limit_error()

    @override
    def run(self, job: JobContext[Any]) -> Any:
        task = self._app.tasks.get(self.task)
        if task is None:
            raise InvalidJobType(
                f"this worker has no Celery task {self.task!r}; import its module in the"
                " application"
            )
        _let_report(task)
        names = (*type(job.params).model_fields, *(job.params.model_extra or {}))
        values = {name: getattr(job.params, name) for name in names}
        token = _job.set(job)
        try:
            return _call(task, job, values)
        finally:
            _job.reset(token)


def _call(task: Any, job: JobContext[Any], values: dict[str, Any]) -> Any:
    """Call the task as Celery's workers do; `retry` in it raises its error and the job type
    decides.
    """
    state, exceptions = celery_module("celery._state"), celery_module("celery.exceptions")
    base = celery_module("celery").Task
    call = task.run if type(task).__call__ is base.__call__ else task
    stack = state._task_stack  # noqa: SLF001 - as Celery's tracer, for `current_task`
    stack.push(task)
    task.push_request(
        id=f"horae-{job.id}-{job.claim.lease}",
        args=(),
        kwargs=values,
        retries=job.attempt - 1,
        called_directly=True,
    )
    try:
        return call(**values)
    except exceptions.Ignore:
        return None
    finally:
        task.pop_request()
        stack.pop()


def _let_report(task: Any) -> None:
    """Pass what the task reports by `update_state` to the job, if it runs as one."""
    if "update_state" in vars(task):
        return
    celerys_own: Callable[..., Any] = task.update_state

    def update_state(
        task_id: str | None = None, state: str | None = None, meta: Any = None, **more: Any
    ) -> None:
        job = _job.get()
        if job is None or task_id not in {None, task.request.id}:
            celerys_own(task_id, state, meta, **more)
        else:
            report(job, state, meta)

    task.update_state = update_state


def report(job: JobContext[Any], state: str | None, meta: Any) -> None:
    """Set the progress of a job to what its task reports; raises an order to stop, if any."""
    percentage = percentage_in(meta)
    amount = job.progress.percentage if percentage is None else percentage
    label = state if isinstance(state, str) and state not in PLAIN_STATES else None
    try:
        job.progress.set(amount, None if label is None else label.lower())
    except InvalidLabel:
        job.progress.set(amount)


def percentage_in(meta: Any) -> float | None:
    """Return the progress in percent from a task's `meta` (`percent`, or `current` of `total`), or
    None.
    """
    if not isinstance(meta, Mapping):
        return None
    for key, total_key in AMOUNTS:
        amount = _number(meta.get(key))
        total = 100.0 if total_key is None else _number(meta.get(total_key))
        if amount is not None and total:
            return min(max(100 * amount / total, 0.0), 100.0)
    return None


def _number(value: Any) -> float | None:
    """Return a number that is not negative; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
        return None
    return float(value)


def soft_limit_error() -> Callable[[str], SoftTimeLimitExceeded]:
    """Return the error of a soft time limit that tasks catch as Celery's own as well."""
    celerys_own = celery_module("celery.exceptions").SoftTimeLimitExceeded
    return type("SoftTimeLimitExceeded", (SoftTimeLimitExceeded, celerys_own), {})
