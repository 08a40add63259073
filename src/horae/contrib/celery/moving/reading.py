"""Reads a Celery application: its tasks, its routes and its `beat_schedule`."""

import builtins
import inspect
import sys
import weakref
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Any, Final

from horae.app import Horae
from horae.cli.loading import import_problem
from horae.contrib.celery.library import celery_module
from horae.contrib.celery.moving.described import ApplicationCode, EntryCode, TaskCode
from horae.contrib.celery.moving.options import add_options
from horae.contrib.celery.moving.source import duration, identifier, is_name, literal, text
from horae.contrib.celery.moving.trial import keep_possible, keep_possible_entry
from horae.domain.times import Interval
from horae.errors import ConfigurationError, InvalidRequest
from horae.types.options import START_OPTIONS

RESERVED: Final = frozenset({"horae", "date", "Any", "Horae", "Backoff", "Limit", *dir(builtins)})
"""Names that the written module uses itself, some of them in annotations."""
OF_SCHEDULES: Final = (
    "queue",
    "priority",
    "soft_time_limit",
    "grace",
    "max_attempts",
    "retry_on",
    "give_up_on",
)
"""The options of a task that are also those of a schedule that calls it."""
SIGNALS: Final = {
    "task_prerun": "@horae.around runs code around each body",
    "task_postrun": "@horae.around runs code around each body",
    "task_failure": "write it as a hook: @NAME.on_error",
    "task_revoked": "write it as a hook: @NAME.on_cancelled",
    "worker_process_init": "@horae.on_child_start",
}
"""What stands for a signal; the others have no counterpart."""


def read_application(app: Any, reference: str) -> ApplicationCode:
    """Read what is to be written of an application. Raises `ConfigurationError`."""
    if not isinstance(app, celery_module("celery").Celery):
        raise ConfigurationError(
            f"{reference!r} is of type {type(app).__name__}, not a Celery application"
        )
    try:
        app.loader.import_default_modules()  # modules of tasks, as a worker imports them
    except Exception as error:  # they may raise anything
        problem = import_problem(f"a module that {reference} includes", error)
        raise ConfigurationError(problem) from error
    app.finalize()
    schedule = app.conf.beat_schedule or {}
    notes: list[str] = []
    if "django_celery_beat" in str(app.conf.beat_scheduler):
        notes.append("Schedules of django_celery_beat are in its tables, and are not read here.")
    if app.conf.task_acks_late:
        notes.append("task_acks_late=True: max_attempts=2 or more runs a job again after a crash.")
    if app.conf.task_ignore_result:
        notes.append("task_ignore_result=True: results are kept with the job; keep= says how long.")
    for name, signal in vars(celery_module("celery.signals")).items():
        for _key, held in getattr(signal, "receivers", None) or ():
            receiver = held() if isinstance(held, weakref.ref) else held
            module = getattr(receiver, "__module__", None) or "celery"
            if module.partition(".")[0] not in {"celery", "kombu"}:
                called = f"{module}.{getattr(receiver, '__qualname__', type(receiver).__name__)}"
                instead = f" Instead: {SIGNALS[name]}." if name in SIGNALS else ""
                notes.append(f"No counterpart: {called} at the signal {name}.{instead}")
    taken = {*RESERVED, *(name.partition(".")[0] for name in app.tasks)}
    trial = Horae("sqlite:///unused.db", module="trial")
    tasks: dict[str, TaskCode] = {}
    for name in sorted(name for name in app.tasks if not name.startswith("celery.")):
        tasks[name] = _task(app, name, taken)
        keep_possible(trial, tasks[name], "horae.job(")
    zone = str(app.conf.timezone or "UTC")
    if not app.conf.timezone and not app.conf.enable_utc:
        notes.append("enable_utc=False: Celery used the time zone of the machine. Name it here.")
    entries = [
        _entry(str(key), schedule[key], tasks, taken, zone) for key in sorted(schedule, key=str)
    ]
    for entry in entries:
        keep_possible_entry(trial, entry)
    return ApplicationCode(reference, list(tasks.values()), entries, notes)


def _task(app: Any, name: str, taken: set[str]) -> TaskCode:
    task = app.tasks[name]
    own_name = str(getattr(task, "__qualname__", "") or type(task).__name__).rpartition(".")[2]
    code = TaskCode(function=identifier(own_name, name, taken), name=name)
    taken.add(code.function)
    code.options["name"] = text(name)
    run: Callable[..., Any] = getattr(task, "_orig_run", task.run)
    documentation = inspect.cleandoc(run.__doc__ or "")  # its own, not that of Celery's class
    code.documentation = documentation.partition("\n")[0].strip()
    passed = _parameters(run, code)
    found = getattr(sys.modules.get(task.__module__), own_name, None)
    if task.__module__ == "__main__" or getattr(found, "name", None) != task.name:
        code.notes.append(f"Its function is no name of {task.__module__}: move its body here.")
    else:
        made = "()" if isinstance(found, type) else ""
        code.imports.add(f"import {task.__module__}")
        code.call = f"{task.__module__}.{own_name}{made}.run({', '.join(passed)})"
    if inspect.ismethod(run):  # of the task, which is its `self`
        code.notes.append("bind=True: take `job: JobContext` in place of self. job.attempt and")
        code.notes.append("job.progress stand for self.request.retries and self.update_state.")
    add_options(app, task, code)
    return code


def _parameters(run: Callable[..., Any], code: TaskCode) -> list[str]:
    """Set the parameters of the function, and return what it passes on to the task."""
    required, optional, passed = list[str](), list[str](), list[str]()
    for name, parameter in inspect.signature(run).parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            code.notes.append(f"No counterpart: {stars}{name}. Name each parameter.")
            continue
        own = (
            f"{name.strip('_')}_"
            if name in {*START_OPTIONS, "job", "self", "cls"} or name[0] == "_"
            else name
        )
        if own != name:
            code.notes.append(f"{name} is a name of Horae's, so the parameter is {own}.")
        passed.append(own if parameter.kind is parameter.POSITIONAL_ONLY else f"{name}={own}")
        annotation = parameter.annotation
        is_built_in = (
            isinstance(annotation, type)
            and annotation.__module__ == "builtins"
            and not hasattr(annotation, "__args__")
        )
        typed = f"{own}: {annotation.__name__ if is_built_in else 'Any'}"
        default = literal(parameter.default)
        if parameter.default is parameter.empty:
            required.append(typed)
        elif default is None:
            code.notes.append(f"The default of {name} is not JSON, so the parameter is required.")
            required.append(typed)
        else:
            optional.append(f"{typed} = {default}")
    code.parameters = (*required, *optional)
    return passed


def _entry(
    key: str, entry: Mapping[str, Any], tasks: Mapping[str, TaskCode], taken: set[str], zone: str
) -> EntryCode:
    task = tasks.get(entry.get("task", ""))
    code = EntryCode(function=identifier(key, f"scheduled_{key}", taken), key=key)
    taken.add(code.function)
    name = key if key not in tasks else f"{key} (schedule)"
    if name != key:
        code.notes.append("A schedule cannot have the name of a job type.")
    if task is None:
        code.notes.append(f"The application has no task {entry.get('task')!r}.")
    else:
        code.options = {
            option: task.options[option] for option in OF_SCHEDULES if option in task.options
        }
        if "limits" in task.options:
            code.notes.append(f"It does not count under the limits of {task.function}.")
        code.imports |= {line for line in task.imports if line.startswith("import ")}
        positional = [literal(value) for value in entry.get("args") or ()]
        named = {
            str(key): literal(value) if is_name(str(key)) else None
            for key, value in (entry.get("kwargs") or {}).items()
        }
        if None in {*positional, *named.values()}:
            code.notes.append("Its arguments are not JSON: write the call of the task.")
        else:
            given = [*map(str, positional), *(f"{name}={value}" for name, value in named.items())]
            code.call = f"{task.function}({', '.join(given)})"
    code.options = {"name": text(name), **code.options}
    _set_trigger(code, entry.get("schedule"), zone)
    for option, value in (entry.get("options") or {}).items():
        if option in {"queue", "priority"} and (source := literal(value)) is not None:
            code.options[option] = source
        else:
            code.notes.append(f"No counterpart: {option}={value!r} in its options.")
    if entry.get("relative"):
        code.notes.append("No counterpart: relative=True. A fixed grid is fixed=True.")
    return code


def _set_trigger(code: EntryCode, schedule: Any, zone: str) -> None:
    schedules = celery_module("celery.schedules")
    if isinstance(schedule, schedules.crontab):
        days = set(schedule.day_of_month), set(schedule.day_of_week)
        month_day, weekday = field_of(days[0], range(1, 32)), field_of(days[1], range(7))
        if "*" not in {month_day[0], weekday[0]}:
            # Celery wants both to match; a cron expression fires where either does.
            code.weekdays, weekday = tuple(sorted(days[1])), "*"
        fields = (
            field_of(schedule.minute, range(60)),
            field_of(schedule.hour, range(24)),
            month_day,
            field_of(schedule.month_of_year, range(1, 13)),
            weekday,
        )
        code.decorator = f'@horae.cron("{" ".join(fields)}"'
        code.options["timezone"] = text(zone)
    elif (length := _length_of(getattr(schedule, "run_every", schedule))) is not None:
        code.decorator = f"@horae.every({length}"
    else:
        kind = type(schedule).__name__
        code.notes.append(f"No counterpart: its schedule is of type {kind}. Choose cron or every.")


def field_of(values: Collection[int], allowed: range) -> str:
    """Return a field of a cron expression that means these values: `*`, `*/15`, `1-5` or a list."""
    chosen = sorted(values)
    if len(chosen) == len(allowed):
        return "*"
    for step in range(2, len(allowed)):
        if len(chosen) > 1 and chosen == list(allowed[::step]):
            return f"*/{step}"
    runs: list[list[int]] = []
    for value in chosen:
        if runs and runs[-1][-1] + 1 == value:
            runs[-1].append(value)
        else:
            runs.append([value])
    texts: list[str] = []
    for run in runs:
        texts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(value) for value in run]  # noqa: PLR2004 - "1,2" is as short as a range
    return ",".join(texts)


def _length_of(given: Any) -> str | None:
    """Return an interval as source, or None if it is none that a schedule can have."""
    if isinstance(given, timedelta | int | float) and (length := duration(given)) is not None:
        try:
            Interval.parse(length.strip('"'))
        except InvalidRequest:
            return None
        return length
    return None
