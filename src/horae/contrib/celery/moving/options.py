"""The options of a Celery task as those of a job type."""

import inspect
from collections.abc import Callable
from typing import Any, Final

from horae.contrib.celery.library import celery_module
from horae.contrib.celery.moving.described import TaskCode
from horae.contrib.celery.moving.source import duration, exceptions, text
from horae.domain.limits import Limit
from horae.errors import InvalidRequest

HANDLERS: Final = {
    "before_start": "@horae.around runs code around each body",
    "after_return": "@horae.around runs code around each body",
    "on_success": "write it at the end of the body",
    "on_failure": "write it as a hook: @NAME.on_error",
    "on_retry": "@horae.around sees the outcome of each attempt",
}
"""The methods that a task class may override, with what to write in their place."""


def add_options(app: Any, task: Any, code: TaskCode) -> None:
    """Add the options that differ from Horae's defaults, and notes on those that it has not."""
    for read in (_queue, _retries, _time_limits, _rate_limit, _expiry, _others, _handlers):
        read(app, task, code)


def _queue(app: Any, task: Any, code: TaskCode) -> None:
    try:
        options = dict(task._get_exec_options())  # noqa: SLF001 - the options with those of the settings, as `delay` takes them
        route = app.amqp.router.route(options, task.name, task_type=task)
    except Exception as error:  # noqa: BLE001 - routers are code of the application
        code.notes.append(f"Its route cannot be read ({type(error).__name__}): choose a queue.")
        return
    queue = getattr(route.get("queue"), "name", None) or route.get("queue")
    if isinstance(queue, str) and queue != app.conf.task_default_queue:
        code.options["queue"] = text(queue)
    priority = route.get("priority")
    if isinstance(priority, int) and priority:
        redis = str(app.conf.broker_url or "").startswith("redis")
        code.options["priority"] = str(-priority if redis else priority)
        if redis:
            code.notes.append("On Redis, 0 is Celery's highest priority. Here higher goes first.")


def _retries(_app: Any, task: Any, code: TaskCode) -> None:
    retried: Any = tuple(getattr(task, "autoretry_for", ()))
    by_hand = _calls_retry(task)
    if not (retried or by_hand):
        return
    settings = dict(getattr(task, "retry_kwargs", {}))
    most = settings.get("max_retries", task.max_retries)
    if most is None:
        code.notes.append("Celery retries it without end (max_retries=None).")
        most = 999
    if not most:
        return
    code.options["max_attempts"] = str(most + 1)
    code.imports.add("from horae import Backoff")
    growing = float(getattr(task, "retry_backoff", False))
    if growing:
        base, cap = max(1, int(growing)), int(getattr(task, "retry_backoff_max", 600))
        jitter = "1.0" if getattr(task, "retry_jitter", True) else "0.0"
        backoff = f"Backoff(base={duration(base)}, cap={duration(max(base, cap))}, jitter={jitter})"
    else:
        delay = duration(settings.get("countdown", task.default_retry_delay)) or '"3m"'
        backoff = f'Backoff(base={delay}, cap={delay}, factor="constant")'
    code.options["backoff"] = backoff
    if by_hand:  # outside of a worker it raises Celery's Retry, or any error that it is given
        code.notes.append("It calls self.retry. Any other error is followed by an attempt as well:")
        code.notes.append("name the errors with retry_on=, or raise horae.Retry in the body.")
    elif Exception not in retried:
        code.options["retry_on"] = exceptions(retried, code.imports, code.notes)
    if refused := tuple(getattr(task, "dont_autoretry_for", ())):
        code.options["give_up_on"] = exceptions(refused, code.imports, code.notes)


def _calls_retry(task: Any) -> bool:
    try:
        return ".retry(" in inspect.getsource(getattr(task, "_orig_run", task.run))
    except (OSError, TypeError):
        return False


def _time_limits(app: Any, task: Any, code: TaskCode) -> None:
    soft = task.soft_time_limit or app.conf.task_soft_time_limit
    hard = task.time_limit or app.conf.task_time_limit
    if not soft and not hard:
        code.options["soft_time_limit"] = "None"  # Celery's default; Horae's is 30 minutes
        return
    ends = min(each for each in (soft, hard) if each)
    code.options["soft_time_limit"] = duration(ends) or "None"
    if hard:
        code.options["grace"] = duration(hard - ends) or '"1m"'


def _rate_limit(_app: Any, task: Any, code: TaskCode) -> None:
    limit = task.rate_limit
    if not limit:
        return
    rate = limit if isinstance(limit, str) and "/" in limit else _rate_of(limit)
    try:
        Limit(rate=rate)
    except InvalidRequest:
        code.notes.append(f"No counterpart: rate_limit={limit!r}.")
        return
    code.imports.add("from horae import Limit")
    code.options["limits"] = f"[Limit(rate={text(rate)})]"
    code.notes.append("Celery's rate limit holds for each worker, this one for all nodes together.")


def _rate_of(limit: Any) -> str:
    """Return a number of starts in a second as a rate, whose amount is a whole number."""
    try:
        number = float(limit)
        if number == int(number):
            return f"{int(number)}/s"
        period = duration(1 / number) or ""
        return f"1/{period.strip(chr(34))}"
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return ""


def _expiry(_app: Any, task: Any, code: TaskCode) -> None:
    if task.expires is None:
        return
    if (length := duration(task.expires)) is None:
        code.notes.append("No counterpart: expires= is a moment. Pass it when a job is started.")
    else:
        code.options["expires"] = length


def _others(app: Any, task: Any, code: TaskCode) -> None:
    if (serializer := task.serializer) not in {None, "json"}:
        code.notes.append(f"No counterpart: serializer={serializer!r}. Parameters must be JSON.")
    if task.acks_late and not app.conf.task_acks_late:
        code.notes.append("acks_late=True: max_attempts=2 or more runs it again after a crash.")
    if task.ignore_result and not app.conf.task_ignore_result:
        code.notes.append("ignore_result=True: results are kept with the job; keep= says how long.")
    if getattr(task, "throws", ()):
        code.notes.append("throws=: exceptions_map= gives the texts of expected errors.")


def _handlers(_app: Any, task: Any, code: TaskCode) -> None:
    base = celery_module("celery").Task
    for name, instead in HANDLERS.items():
        own: Callable[..., Any] | None = getattr(type(task), name, None)
        if own is not getattr(base, name, None):
            hint = instead.replace("NAME", code.function)
            code.notes.append(f"No counterpart: {name} of its class. Instead: {hint}.")
