"""The short form of a job type: a function whose annotated arguments are the parameters."""

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Final, Generic, Literal, ParamSpec, TypedDict, TypeVar, cast, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model
from typing_extensions import Unpack, override

from horae.domain.backoff import Backoff
from horae.domain.jobs.decisions import ErrorRule
from horae.domain.jobs.job import Job
from horae.domain.jobs.log_lines import KeepLogs
from horae.domain.jobs.retention import Keep
from horae.domain.jobs.uniqueness import Debounce, Unique
from horae.domain.limits.limit import Limit
from horae.domain.times.duration import Duration
from horae.errors import InvalidJobType, quoted
from horae.types.context import JobContext
from horae.types.job_type import ISOLATIONS, ApiError, HumanReadable, Isolation, JobType, OnShutdown, Transaction
from horae.types.rules.declaration import problem_of_hook
from horae.types.rules.start_options import START_OPTIONS

P = ParamSpec("P")
R = TypeVar("R")
ErrorHook = TypeVar("ErrorHook", bound=Callable[[Job, BaseException], object])
CancelHook = TypeVar("CancelHook", bound=Callable[[Job], object])


class BodyKeywords(TypedDict, total=False):
    """The options of any body: `name` is the name of the type, the others are those of `JobType`."""

    name: str
    queue: str
    priority: int
    soft_time_limit: Duration | None
    grace: Duration
    isolation: Literal["process"] | None
    backend: str | None
    retry_on: ErrorRule | None
    give_up_on: ErrorRule | None
    on_shutdown: OnShutdown | None
    transaction: Isolation | Callable[[JobContext[Any]], Transaction] | None
    exceptions_map: Mapping[type[BaseException], HumanReadable]
    max_result_bytes: int
    keep_logs: KeepLogs | str | bool | None
    keep: Keep
    limits: Sequence[Limit]
    tags: Sequence[str]
    on_error: Callable[[Job, BaseException], object] | None
    on_cancelled: Callable[[Job], object] | None


class JobKeywords(BodyKeywords, total=False):
    """The options of `@horae.job(...)`."""

    max_count: int | None
    max_attempts: int
    backoff: Backoff
    pending_timeout: Duration | None
    api_exceptions_map: Mapping[type[BaseException], ApiError]
    max_params_bytes: int
    public: bool
    unique: Unique | None
    debounce: Duration | Debounce | None
    expires: Duration | None


_HOOKS: Final[Mapping[str, tuple[str, ...]]] = {"on_error": ("job", "error"), "on_cancelled": ("job",)}
"""The hooks that a function may have, with their arguments."""


class JobFunction(Generic[P, R]):
    """A function that is also a job type: it can be called as before, or started as a job."""

    def __init__(self, function: Callable[P, R], **options: Unpack[JobKeywords]) -> None:
        self.function: Callable[P, R] = undecorated(function)
        self.job_type = FunctionJobType(self.function, options)
        update_wrapper(self, self.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function directly, without a job."""
        return self.function(*args, **kwargs)

    def on_error(self, hook: ErrorHook, /) -> ErrorHook:
        """Call a function after the final failure of a job, once, with the job and the error: `@import_csv.on_error`.

        It is called as `JobType.on_error` is. Raises `InvalidJobType`, also if there is one already.
        """
        self.job_type.set_hook("on_error", hook)
        return hook

    def on_cancelled(self, hook: CancelHook, /) -> CancelHook:
        """Call a function after the cancel of a job, once its body has stopped; see `on_error`."""
        self.job_type.set_hook("on_cancelled", hook)
        return hook


def undecorated(function: Callable[P, R]) -> Callable[P, R]:
    """Return the plain function if it was decorated before, under another name."""
    return function.function if isinstance(function, JobFunction) else function


class FunctionJobType(JobType[Any]):
    """The job type of one function."""

    def __init__(self, function: Callable[..., Any], options: JobKeywords) -> None:
        if isinstance(function, type) or not hasattr(function, "__qualname__"):
            raise InvalidJobType(f"{function!r} is no function; write a subclass of JobType instead")
        unknown = options.keys() - JobKeywords.__annotations__.keys()
        if unknown:
            allowed = ", ".join(JobKeywords.__annotations__)
            raise InvalidJobType(f"{function.__qualname__}: there is no option {min(unknown)!r}; there are {allowed}")
        self.type = options.get("name", function.__name__)
        declared = self._transaction = options.get("transaction")
        self._transaction_of = cast(
            "Callable[[JobContext[Any]], Transaction]", declared if callable(declared) else lambda _job: declared
        )
        for option, value in options.items():
            if option in _HOOKS:
                self.set_hook(option, value)
            elif option not in ("name", "transaction"):
                setattr(self, option, value)
        if not callable(self._transaction) and self._transaction not in (*ISOLATIONS, None):
            allowed = ", ".join(map(repr, ISOLATIONS))
            raise InvalidJobType(
                f"job type {self.type!r}: transaction is {self._transaction!r}, expected one of {allowed}"
            )
        self.function = function
        self._context, self.params, self.returns = _signature(function, self.type)
        self._names = tuple(self.params.model_fields)
        super().__init__()
        self.is_async = inspect.iscoroutinefunction(function)

    @override
    def run(self, job: JobContext[Any]) -> Any:
        values = {name: getattr(job.params, name) for name in self._names}
        if self._context is not None:
            values[self._context] = job
        return self.function(**values)

    @override
    def transaction(self, job: JobContext[Any]) -> Transaction:
        return self._transaction_of(job)

    def set_hook(self, name: str, hook: Any) -> None:
        """Set a hook of the function, unless it is None. Raises `InvalidJobType`."""
        if hook is None:
            return
        if name in vars(self):
            raise InvalidJobType(f"job type {self.type!r}: it has a hook {name} already")
        if (problem := problem_of_hook(hook, _HOOKS[name])) is not None:
            raise InvalidJobType(f"job type {self.type!r}: {name} is {quoted(hook)}: {problem}")
        vars(self)[name] = hook

    @property
    def has_transaction(self) -> bool:
        """Whether the function may run in a transaction of its own."""
        return self._transaction is not None


def _signature(function: Callable[..., Any], name: str) -> tuple[str | None, type[BaseModel], Any]:
    """Return the argument that takes the context, the model of the others, and the return annotation."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidJobType(f"job type {name!r}: an annotation cannot be resolved: {error}") from error
    context, given = None, dict[str, Any]()
    for argument in inspect.signature(function).parameters.values():
        hint = hints.get(argument.name, Any)
        _check_kind(name, argument)
        if hint is JobContext or get_origin(hint) is JobContext:
            if context is not None:
                raise InvalidJobType(f"job type {name!r}: {context!r} and {argument.name!r} both take the JobContext")
            context = argument.name
            continue
        _check_name(name, argument.name)
        given[argument.name] = (hint, ... if argument.default is argument.empty else argument.default)
    return context, _model(name, given), hints.get("return", Any)


def _model(name: str, given: Mapping[str, Any]) -> type[BaseModel]:
    # Infinity, NaN and bytes, which JSON lacks, are restored as they were.
    config = ConfigDict(
        extra="forbid",
        hide_input_in_errors=True,
        ser_json_inf_nan="strings",
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )
    try:
        with warnings.catch_warnings():  # `copy`, `json` and `schema` are good names, whatever they were to Pydantic
            warnings.filterwarnings("ignore", "Field name .* shadows an attribute", UserWarning)
            return create_model(f"{name}_parameters", __config__=config, **given)
    except Exception as error:  # Pydantic raises many kinds for what has no JSON form
        raise InvalidJobType(f"job type {name!r}: its arguments cannot be parameters: {error}") from error


def _check_kind(name: str, argument: inspect.Parameter) -> None:
    if argument.kind in {argument.VAR_POSITIONAL, argument.VAR_KEYWORD, argument.POSITIONAL_ONLY}:
        raise InvalidJobType(
            f"job type {name!r}: argument {argument} cannot be a parameter; use named, annotated arguments"
        )


def _check_name(name: str, argument: str) -> None:
    if argument in {"self", "cls"}:
        raise InvalidJobType(f"job type {name!r}: it is a method; decorate a function, or write a subclass of JobType")
    if argument in START_OPTIONS:
        raise InvalidJobType(f"job type {name!r}: argument {argument!r} is an option of start; rename it")
    if argument.startswith("model_") and hasattr(BaseModel, argument):
        raise InvalidJobType(f"job type {name!r}: argument {argument!r} is a name of Pydantic's; rename it")
    if argument.startswith("_"):
        raise InvalidJobType(f"job type {name!r}: argument {argument!r} begins with an underscore; rename it")
