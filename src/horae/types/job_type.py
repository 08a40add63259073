"""A job type: what to do, under which rules, and the hooks around it."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import timedelta
from typing import Any, Final, Generic, Literal, TypeAlias, get_args

from sqlalchemy import Connection

from horae.domain.backoff import Backoff
from horae.domain.jobs import (
    AS_CONFIGURED,
    BackendAddress,
    BodyDecision,
    Debounce,
    ErrorClass,
    ErrorRule,
    Job,
    Keep,
    KeepLogs,
    RetryRules,
    Unique,
)
from horae.domain.limits import Limit
from horae.domain.times import Duration
from horae.errors import InvalidJobType, SoftTimeLimitExceeded
from horae.guarded_log import guarded_log
from horae.redaction import traceback_text
from horae.types.context import BodyGroups, JobContext, ParamsT
from horae.types.options import (
    TimeLimits,
    check_declaration,
    check_parameters,
    declared_limits,
    kept_logs,
    retention_of,
    time_limits,
    uniqueness_of,
)
from horae.types.parameters import MappedParameters, ModelParameters, parameters_of

Isolation: TypeAlias = Literal["read committed", "repeatable read", "serializable"]
OnShutdown: TypeAlias = Literal["requeue", "fail"]
ISOLATIONS: Final[tuple[str, ...]] = get_args(Isolation)
Transaction: TypeAlias = (
    Isolation | AbstractContextManager[Any] | AbstractAsyncContextManager[Any] | None
)
HumanReadable: TypeAlias = str | Callable[[BaseException], str]
ApiError: TypeAlias = str | tuple[str, int, str]

PUBLIC_DEFAULTS: Final[Mapping[str, Any]] = {
    "max_count": 1,
    "pending_timeout": timedelta(minutes=30),
}
"""Options of a public type that does not set them, to bound what users can start over HTTP."""
TIMED_OUT_TEXT: Final = "This job ran for longer than it may and was stopped."

log = guarded_log("horae.types")


class JobType(Generic[ParamsT]):
    """The base class of job types: subclasses set `type` and define `run`; everything else has a
    default.

    Durations are a timedelta or a text such as `"5m"`; `time_limits` holds them parsed.

    `max_count`: pending or running jobs that an owner may have, None is no limit; jobs without an
    owner do not count. A public type that names no `max_count` has 1, for jobs that are started one
    by one. `retry_on`, `give_up_on`: exception classes, or a function of the exception; other
    attempts follow only errors that match `retry_on`, and never those that match `give_up_on`.
    `on_shutdown`: what happens to a job that its node interrupts because it stops: "requeue" runs
    it again without counting the attempt, "fail" fails it; None requeues it if its transaction on
    Horae's database is rolled back or if it has several attempts. `soft_time_limit`: after it
    `SoftTimeLimitExceeded` is raised in the body, or a coroutine is cancelled; `grace` later the
    body is stopped by force. `pending_timeout`: an owned job that no worker took in this time
    fails; 30 minutes for a public type that names none. None is no limit, for each. `unique`:
    allows one job of its kind at a time. `debounce`: runs one job after calls that follow each
    other within this time; see `Debounce`. `expires`: a job that has not begun by this time after
    it was due fails; None is no limit. `keep`: how long its ended jobs are kept, or that by state;
    None deletes them when they end; by default the settings decide. `limits`: how many of its jobs
    may start in a period or run at a time, in total or by key; see `Limit`. `isolation`: "process"
    runs the body in a child process that can be terminated. `backend`: "celery", or "celery:QUEUE",
    lets Celery's workers run its jobs instead of Horae's nodes. `keep_logs`: which of its log lines
    are kept with a job, a `KeepLogs` or a level such as "warning"; False for none, None for what
    the settings say. `max_params_bytes`, `max_result_bytes`: how long the JSON text of its
    parameters and of its result may be. `tags`: tags of each of its jobs. `exceptions_map`: the
    text for users for an exception; the nearest base class decides, "{e}" is the exception's text.
    `returns`: the type that `wait` converts the stored result to; `response_model`: the fields that
    `describe` adds. `api_exceptions_map`: the error code of an exception of the creation endpoint,
    or (code, status, detail).
    """

    type: str
    queue: str = "default"
    priority: int = 0
    max_count: int | None = None
    max_attempts: int = 1
    backoff: Backoff = Backoff()
    retry_on: ErrorRule | None = None
    give_up_on: ErrorRule | None = None
    on_shutdown: OnShutdown | None = None
    soft_time_limit: Duration | None = timedelta(minutes=30)
    grace: Duration = timedelta(minutes=1)
    pending_timeout: Duration | None = None
    isolation: Literal["process"] | None = None
    backend: str | None = None
    max_params_bytes: int = 1024 * 1024
    max_result_bytes: int = 1024 * 1024
    limits: Sequence[Limit] = ()
    tags: Sequence[str] = ()
    public: bool = False
    keep_logs: KeepLogs | str | bool | None = None
    unique: Unique | None = None
    debounce: Duration | Debounce | None = None
    expires: Duration | None = None
    keep: Keep = AS_CONFIGURED

    params: Any = None
    request_model: Any = None
    response_model: Any = None
    exceptions_map: Mapping[ErrorClass, HumanReadable] = {}
    api_exceptions_map: Mapping[ErrorClass, ApiError] = {}
    returns: Any = Any
    soft_limit_error: Callable[[str], SoftTimeLimitExceeded] = SoftTimeLimitExceeded
    """What is raised in a body at its soft time limit; a subclass may be caught under another name
    as well.
    """
    groups: BodyGroups | None = None
    """Finds the groups of its jobs; set by the application that registers it."""
    queue_backends: Mapping[str, str] = {}
    """The backend of each queue that the settings of the application name."""

    def __init__(self) -> None:
        check_declaration(self)
        self.declares_max_count = declares(self, "max_count")
        if self.public:
            for option, value in PUBLIC_DEFAULTS.items():
                if not declares(self, option):
                    setattr(self, option, value)
        self.retry_rules = RetryRules(self.retry_on, self.give_up_on)
        self.time_limits: TimeLimits = time_limits(self)
        if not has_hook(self, "run"):
            raise InvalidJobType(f"job type {self.type!r}: it has no run method")
        self.parameters: ModelParameters | MappedParameters = parameters_of(self.params, self.type)
        self.request = (
            parameters_of(self.request_model, self.type) if self.request_model else self.parameters
        )
        self.kept_logs = kept_logs(self)
        self.prepares = has_hook(self, "prepare_values") or self.request is not self.parameters
        check_parameters(self.type, self.request.model)
        self.retention = retention_of(self)
        self.address: BackendAddress | None = (
            None if self.backend is None else BackendAddress.parse(self.backend)
        )
        self.uniqueness: Unique | Debounce | None = uniqueness_of(self)
        self.named_limits = declared_limits(self.type, self.limits, self.parameters.model)
        self.is_async = inspect.iscoroutinefunction(self.run)

    def run(self, job: JobContext[ParamsT]) -> Any | Awaitable[Any]:
        """Do the work; the return value is the job's result, stored as JSON.

        May be a coroutine function.
        """
        raise NotImplementedError(job.type)  # refused at registration

    def prepare_values(self, values: dict[str, Any], owner: str | None) -> Mapping[str, Any]:
        """Turn the requested values into those to store; raise to refuse.

        Runs before the count limit is checked.
        """
        del owner
        return values

    def after_creation(self, job: Job, values: Mapping[str, Any], connection: Connection) -> None:
        """Do more in the transaction that creates the job; if it raises, no job is created."""

    def transaction(self, job: JobContext[ParamsT]) -> Transaction:
        """Return the transaction to run in: an isolation level on Horae's database, a context
        manager, or None.
        """
        del job
        return None

    def on_error(self, job: Job, error: BaseException) -> None:
        """React to the final failure of the job; called once, after its transaction was rolled
        back.
        """

    def on_cancelled(self, job: Job) -> None:
        """React to the cancel of the job; called once, after its body, if it had begun, has
        stopped.
        """

    def check_schedule(self, values: Mapping[str, Any]) -> None:
        """Raise to refuse the config of a schedule before it is stored; called on each addition and
        change.
        """

    def before_delete(self, job: Job) -> None:
        """Remove what the job left outside its transaction, such as files; called before its row is
        deleted.
        """

    def describe(self, job: Job) -> Mapping[str, Any]:
        """Return the fields that HTTP responses about `job` have in addition to the common ones."""
        del job
        return {}

    def explain(self, error: BaseException) -> str:
        """Return the text for users of `error`; never raises.

        For a time limit only an entry for `SoftTimeLimitExceeded` counts, and for a decision of the
        body, such as `Discard("why")`, one for that class: an entry for `Exception` is meant for
        other errors.
        """
        timed_out = isinstance(error, SoftTimeLimitExceeded)
        for base in type(error).__mro__:
            if timed_out and not issubclass(base, SoftTimeLimitExceeded):
                return TIMED_OUT_TEXT
            if base is BodyDecision and base not in self.exceptions_map:
                return str(error)
            if base in self.exceptions_map:
                return _text(self.exceptions_map[base], error, self.type)
        return failed_text(self.type)


def failed_text(job_type: str) -> str:
    """Return the text for users of an error without an entry; what the error says may be
    confidential.
    """
    return f"Something went wrong while this job ({job_type}) was running."


def declares(job_type: JobType[Any], option: str) -> bool:
    """Return whether the type itself sets this option, even to the default."""
    classes = type(job_type).__mro__
    own = classes[: classes.index(JobType)]
    return option in vars(job_type) or any(option in vars(each) for each in own)


def has_hook(job_type: JobType[Any], name: str) -> bool:
    """Return whether the type or its function has this hook; other hooks cost nothing."""
    return getattr(type(job_type), name) is not getattr(JobType, name) or name in vars(job_type)


def _text(entry: HumanReadable, error: BaseException, job_type: str) -> str:
    try:
        if not isinstance(entry, str):
            return str(entry(error))
        return entry.replace("{e}", str(error)) if "{e}" in entry else entry
    except Exception as failure:  # noqa: BLE001 - the text of the application may raise anything
        trace = traceback_text(failure)
        log.error("the entry for %s in exceptions_map raised:\n%s", type(error).__name__, trace)
        return failed_text(job_type)
