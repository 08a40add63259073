"""A job type: what to do, under which rules, and the hooks around it."""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar, get_args

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
    Retention,
    RetryRules,
    TimeLimit,
    Unique,
    failed_text,
    parse_tags,
)
from horae.domain.limits import Limit
from horae.domain.names import queue_name, type_name
from horae.domain.storable import LARGEST_NUMBER, bounded_number
from horae.domain.times import Duration
from horae.errors import InvalidJobType, InvalidRequest, SoftTimeLimitExceeded
from horae.guarded_log import guarded_log
from horae.redaction import traceback_text
from horae.types.attempt import Attempt
from horae.types.context import JobContext, ParamsT
from horae.types.group_access import AsyncJobGroup, JobGroup
from horae.types.options import (
    MOST_IN_BATCH,
    StartOptions,
    TimeLimits,
    TypeOption,
    backend_address,
    backoff_between,
    check_parameters,
    codes_of_exceptions,
    declared_limits,
    error_rule,
    gathering_time,
    grace_time,
    kept_logs,
    number_or_none,
    one_of,
    parse_options,
    rule_of,
    seconds_at,
    show_keep,
    show_limits,
    show_tags,
    texts_of_exceptions,
    time_limit,
    true_or_false,
    uniqueness_of,
)
from horae.types.parameters import MappedParameters, ModelParameters, parameters_of
from horae.types.previous import TakenResults, taken_results

Isolation: TypeAlias = Literal["read committed", "repeatable read", "serializable"]
OnShutdown: TypeAlias = Literal["requeue", "fail"]
ISOLATIONS: Final[tuple[str, ...]] = get_args(Isolation)
Transaction: TypeAlias = (
    Isolation | AbstractContextManager[Any] | AbstractAsyncContextManager[Any] | None
)
NAMED_TRANSACTIONS: Final[dict[str, Callable[[JobContext[Any]], Transaction]]] = {}
"""What opens the transactions of other libraries, by the name that declarations give; an
integration adds its own when it is imported, such as `django`.
"""
HumanReadable: TypeAlias = str | Callable[[BaseException], str]
ApiError: TypeAlias = str | tuple[str, int, str]

PUBLIC_DEFAULTS: Final[Mapping[str, Any]] = {
    "max_count": 1,
    "pending_timeout": timedelta(minutes=30),
}
"""Options of a public type that does not set them, to bound what users can start over HTTP."""
Created_co = TypeVar("Created_co", covariant=True)
log = guarded_log("horae.types")


class Creator(Protocol[Created_co]):
    """A client that creates jobs; the type is found by its name."""

    def create(
        self,
        job_type: str,
        values: Mapping[str, Any],
        options: StartOptions,
        *,
        session: Any,
        sync: bool,
    ) -> Created_co:
        """Create a job."""
        ...


class Clients(Protocol):
    """What an application does for its job types: it creates their jobs, and finds the groups of
    jobs for their bodies.
    """

    def for_thread(self) -> Creator[Job]:
        """Return the client for threads."""
        ...

    def for_coroutine(self) -> Creator[Coroutine[Any, Any, Job]]:
        """Return the client for coroutines."""
        ...

    def of_body(self, attempt: Attempt, /) -> JobGroup:
        """Return the group of a job."""
        ...

    def of_coroutine(self, attempt: Attempt, /) -> AsyncJobGroup:
        """Return the group of a job whose body is a coroutine."""
        ...


class JobType(Generic[ParamsT]):
    """The base class of job types: subclasses set `type` and define `run`; everything else has a
    default.

    Durations are a timedelta or a text such as `"5m"`; `time_limits` holds them parsed. An option
    is declared once, with its parser, and its keyword in `JobKeywords`.

    `params`: the class of its parameters; `request_model`: what callers give instead, from which
    `prepare_values` makes the parameters; `returns`: the type that `wait` converts the stored
    result to; `response_model`: the fields that `describe` adds.
    """

    type: str
    queue: Annotated[str, TypeOption(lambda _, given: queue_name(given), attrgetter("queue"))] = (
        "default"
    )
    """The queue in which its jobs wait."""
    priority: Annotated[
        int, TypeOption(partial(bounded_number, least=-LARGEST_NUMBER), attrgetter("priority"))
    ] = 0
    """Higher priorities start first."""
    max_count: Annotated[int | None, TypeOption(number_or_none, attrgetter("max_count"))] = None
    """Pending or running jobs that an owner may have, None is no limit; jobs without an owner do
    not count. A public type that names none has 1, for jobs that are started one by one.
    """
    max_attempts: Annotated[int, TypeOption(bounded_number, attrgetter("max_attempts"))] = 1
    """How often a job is tried."""
    backoff: Annotated[Backoff, TypeOption(backoff_between)] = Backoff()
    """How long it waits between attempts."""
    retry_on: Annotated[ErrorRule | None, TypeOption(error_rule)] = None
    """Exception classes, or a function of the exception: only errors that match are followed by
    other attempts.
    """
    give_up_on: Annotated[ErrorRule | None, TypeOption(error_rule)] = None
    """Exception classes, or a function: errors that match are never followed by other attempts."""
    soft_time_limit: Annotated[
        Duration | None, TypeOption(time_limit, seconds_at("time_limits.soft"))
    ] = timedelta(minutes=30)
    """After it `SoftTimeLimitExceeded` is raised in the body, or a coroutine is cancelled. None is
    no limit.
    """
    grace: Annotated[Duration, TypeOption(grace_time, seconds_at("time_limits.grace"))] = timedelta(
        minutes=1
    )
    """How long after the soft time limit the body is stopped by force."""
    pending_timeout: Annotated[
        Duration | None, TypeOption(time_limit, seconds_at("time_limits.pending"))
    ] = None
    """An owned job that no worker took in this time fails; 30 minutes for a public type that names
    none. None is no limit.
    """
    expires: Annotated[
        Duration | None, TypeOption(time_limit, seconds_at("time_limits.expires"))
    ] = None
    """A job that has not begun by this time after it was due fails. None is no limit."""
    keep: Annotated[Keep, TypeOption(lambda _, given: Retention.of(given), show_keep)] = (
        AS_CONFIGURED
    )
    """How long its ended jobs are kept, or that by state; None deletes them when they end; by
    default the settings decide.
    """
    unique: Annotated[Unique | None, TypeOption(show=rule_of(Unique))] = None
    """Allows one job of its kind at a time."""
    debounce: Annotated[Duration | Debounce | None, TypeOption(show=rule_of(Debounce))] = None
    """Runs one job after calls that follow each other within this time; see `Debounce`."""
    limits: Annotated[Sequence[Limit], TypeOption(show=show_limits)] = ()
    """How many of its jobs may start in a period or run at a time, in total or by key."""
    tags: Annotated[Sequence[str], TypeOption(lambda _, given: parse_tags(given), show_tags)] = ()
    """Tags of each of its jobs."""
    on_shutdown: Annotated[
        OnShutdown | None, TypeOption(one_of(*get_args(OnShutdown)), attrgetter("on_shutdown"))
    ] = None
    """What happens to a job that its node interrupts because it stops: "requeue" runs it again
    without counting the attempt, "fail" fails it; None requeues it if its transaction on Horae's
    database is rolled back or if it has several attempts.
    """
    isolation: Annotated[
        Literal["process"] | None, TypeOption(one_of("process"), attrgetter("isolation"))
    ] = None
    """"process" runs the body in a child process that can be terminated."""
    batch: Annotated[
        int | None, TypeOption(partial(number_or_none, most=MOST_IN_BATCH), attrgetter("batch"))
    ] = None
    """How many jobs its body takes at once, at most; None if it is called for each job. A type with
    it defines `run_batch` in place of `run`.
    """
    within: Annotated[Duration, TypeOption(gathering_time, seconds_at("gathers_for"))] = timedelta(
        0
    )
    """How long the first jobs of a batch wait for others; by default for none."""
    public: Annotated[bool, TypeOption(true_or_false, attrgetter("public"))] = False
    """Whether users may start it over HTTP."""
    backend: Annotated[str | None, TypeOption(backend_address)] = None
    """"celery", or "celery:QUEUE", lets Celery's workers run its jobs instead of Horae's nodes."""
    keep_logs: Annotated[KeepLogs | str | bool | None, TypeOption(kept_logs)] = None
    """Which log lines are kept with a job: a `KeepLogs` or a level such as "warning"; False for
    none, None for what the settings say.
    """
    max_params_bytes: Annotated[int, TypeOption(bounded_number)] = 1024 * 1024
    """How long the JSON text of its parameters may be."""
    max_result_bytes: Annotated[int, TypeOption(bounded_number)] = 1024 * 1024
    """How long the JSON text of its result may be."""
    exceptions_map: Annotated[
        Mapping[ErrorClass, HumanReadable], TypeOption(texts_of_exceptions)
    ] = {}
    """The text for users for an exception; the nearest base class decides, "{e}" is the text of the
    exception.
    """
    api_exceptions_map: Annotated[
        Mapping[ErrorClass, ApiError], TypeOption(codes_of_exceptions)
    ] = {}
    """The error code of an exception of the creation endpoint, or (code, status, detail)."""

    params: Any = None
    previous: Any = None
    """`Previous[…]` or `Results[…]`: what `job.previous` has of the jobs before."""
    request_model: Any = None
    response_model: Any = None
    returns: Any = Any
    soft_limit_error: Callable[[str], SoftTimeLimitExceeded] = SoftTimeLimitExceeded
    """What is raised in a body at its soft time limit; a subclass may be caught under another name
    as well.
    """
    clients: Clients | None = None
    """Those of the application that registers it, which sets them."""
    queue_backends: Mapping[str, str] = {}
    """The backend of each queue that the settings of the application name."""

    def __init__(self) -> None:
        try:
            type_name(getattr(self, "type", None))
        except InvalidRequest as error:
            raise InvalidJobType(f"{type(self).__qualname__}: {error}") from None
        self.declares_max_count = declares(self, "max_count")
        if self.public:
            for option, value in PUBLIC_DEFAULTS.items():
                if not declares(self, option):
                    setattr(self, option, value)
        parsed = parse_options(self, TYPE_OPTIONS)
        self.tags = parsed["tags"]
        self.retry_rules = RetryRules(self.retry_on, self.give_up_on)
        self.time_limits = TimeLimits(
            soft=parsed["soft_time_limit"],
            grace=parsed["grace"],
            pending=parsed["pending_timeout"],
            expires=parsed["expires"],
        )
        self.retention: Retention = parsed["keep"]
        self.kept_logs: KeepLogs | bool = parsed["keep_logs"]
        self.address: BackendAddress | None = parsed["backend"]
        self.gathers_for: timedelta = parsed["within"]
        body = "run" if self.batch is None else "run_batch"
        if not has_hook(self, body):
            raise InvalidJobType(f"job type {self.type!r}: it has no {body} method")
        self.parameters: ModelParameters | MappedParameters = parameters_of(self.params, self.type)
        self.request = (
            parameters_of(self.request_model, self.type) if self.request_model else self.parameters
        )
        self.prepares = has_hook(self, "prepare_values") or self.request is not self.parameters
        check_parameters(self.type, self.request.model)
        self.uniqueness: Unique | Debounce | None = uniqueness_of(self)
        self.named_limits = declared_limits(self.type, self.limits, self.parameters.model)
        self.takes: TakenResults | None = None if self.previous is None else self._taken_results()
        self.needs_others = self.takes is not None and not self.takes.optional
        self.is_async = inspect.iscoroutinefunction(getattr(self, body))
        self._check_batch()

    def _check_batch(self) -> None:
        """Raise `InvalidJobType` for what a body that takes several jobs cannot have."""
        if self.batch is None:
            if has_hook(self, "run_batch"):
                raise InvalidJobType(
                    f"job type {self.type!r}: it has a run_batch method; set batch, the number of"
                    " jobs that it takes at once"
                )
            return
        if self.has_transaction:
            raise InvalidJobType(
                f"job type {self.type!r}: a type with batch has no transaction=, because what was"
                " written for a job that is cancelled meanwhile could not be rolled back alone;"
                " open a transaction in the body"
            )
        if isinstance(self.parameters, MappedParameters):
            raise InvalidJobType(
                f"job type {self.type!r}: the parameters of a type with batch are a Pydantic model"
            )

    def _taken_results(self) -> TakenResults:
        """Return which results of awaited jobs its bodies take. Raises `InvalidJobType`."""
        return taken_results(self.type, self.previous)

    def run(self, job: JobContext[ParamsT]) -> Any | Awaitable[Any]:
        """Do the work; the return value is the job's result, stored as JSON.

        May be a coroutine function.
        """
        raise NotImplementedError(job.type)  # refused at registration

    def run_batch(self, jobs: Sequence[JobContext[ParamsT]]) -> Any | Awaitable[Any]:
        """Do the work of several jobs, where `batch` is set; may be a coroutine function.

        Return the outcome of each job: a list in the order of `jobs`, or a mapping from their ids,
        in which a missing job finishes without a result. None finishes all of them so. An outcome
        is a result, or an exception with which this one job ends. What is raised ends all of them.
        """
        raise NotImplementedError(jobs[0].type)  # refused at registration

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

    @property
    def has_transaction(self) -> bool:
        """Whether its bodies may run in a transaction of their own."""
        return has_hook(self, "transaction")

    def on_error(self, job: Job, error: BaseException) -> None:
        """React to the final failure of the job; called once, after its transaction was rolled
        back.
        """

    def on_cancelled(self, job: Job) -> None:
        """React to the cancel of the job; called once, after its body, if any, has stopped."""

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

    def named(self, given: Sequence[Any], _values: Mapping[str, Any], /) -> Mapping[str, Any]:
        """Return the parameters of a call by their names; functions take some by position.

        Raises `InvalidRequest`.
        """
        names = list(self.request.model.model_fields)[: len(given)]
        call = ", ".join([self.type, *(f"{name}=…" for name in names)])
        raise InvalidRequest(
            f"parameters are passed by name, and {len(given)} came by position; write start({call})"
        )

    def explain(self, error: BaseException) -> str:
        """Return the text for users of `error`; never raises.

        For a time limit only an entry for `SoftTimeLimitExceeded` counts, and for a decision of the
        body, such as `Discard("why")`, one for that class: an entry for `Exception` is meant for
        other errors.
        """
        timed_out = isinstance(error, SoftTimeLimitExceeded)
        for base in type(error).__mro__:
            if timed_out and not issubclass(base, SoftTimeLimitExceeded):
                return TimeLimit.HARD.human_readable_error
            if base is BodyDecision and base not in self.exceptions_map:
                return str(error)
            if base in self.exceptions_map:
                return _text(self.exceptions_map[base], error, self.type)
        return failed_text(self.type)


TYPE_OPTIONS: Final[Mapping[str, TypeOption]] = {
    name: option
    for name, annotation in JobType.__annotations__.items()
    for option in getattr(annotation, "__metadata__", ())
    if isinstance(option, TypeOption)
}
"""All options of a job type by name, in the order in which `horae types show` has them."""


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
