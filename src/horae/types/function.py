"""The short form of a job type: a function whose annotated arguments are the parameters."""

import inspect
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import update_wrapper
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import PydanticUndefined
from typing_extensions import Unpack, override

from horae.domain.jobs import Job
from horae.errors import InvalidJobType, InvalidRequest
from horae.quoting import quoted
from horae.types.context import JobContext
from horae.types.keywords import JobKeywords, OptionsJobType
from horae.types.options import START_OPTIONS
from horae.types.parameters import refuse_class
from horae.types.previous import TakenResults, is_taken, taken_results
from horae.types.startable import Startable

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
ErrorHook = TypeVar("ErrorHook", bound=Callable[[Job, BaseException], object])
CancelHook = TypeVar("CancelHook", bound=Callable[[Job], object])


_WITHOUT_NAME: Final = frozenset(
    {
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
        inspect.Parameter.POSITIONAL_ONLY,
    }
)
_DEPENDS_ON_SURROUNDINGS: Final = re.compile(
    "assertion_error|value_error|path_.*|parent_does_not_exist|.*_(past|future)"
)
"""Pydantic's types of errors about a default that may fit at another time or on another machine,
among them those of a program's own validators.
"""
STARTS_ELSEWHERE: Final = ("delay", "apply_async", "send", "defer", "enqueue", "schedule")
"""Methods of the tasks of other libraries, which start a job."""


class JobFunction(Startable[P, R_co]):
    """A function that is also a job type: it can be called as before, or started as a job."""

    def __init__(self, function: Callable[P, R_co], **options: Unpack[JobKeywords]) -> None:
        if isinstance(function, JobFunction):  # it is declared again, under another name
            function = function.function
        made = FunctionJobType if options.get("batch") is None else BatchFunctionJobType
        update_wrapper(self, function)
        self.function: Callable[P, R_co] = function
        self.job_type = made(function, options)
        super().__init__(self.job_type)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function directly, without a job."""
        return self.function(*args, **kwargs)

    @override
    def __repr__(self) -> str:
        """Return what `print` shows."""
        return f"<job type {self.job_type.type!r}>"

    if not TYPE_CHECKING:  # type checkers report other names without help

        def __getattr__(self, name: str) -> Any:
            """Say how a job is started to those who know it from another library."""
            function = vars(self).get("__name__", "")  # not set yet while it is copied
            text = f"job type {function!r} has no attribute {name!r}"
            if name in STARTS_ELSEWHERE:
                text += f"; start a job of it with horae.jobs.start({function}, …)"
            raise AttributeError(text, name=name, obj=self)

    def on_error(self, hook: ErrorHook, /) -> ErrorHook:
        """Call a function after the final failure of a job, once, with the job and the error:
        `@import_csv.on_error`.

        It is called as `JobType.on_error` is. Raises `InvalidJobType`, also if there is one
        already.
        """
        self.job_type.set_hook("on_error", hook)
        return hook

    def on_cancelled(self, hook: CancelHook, /) -> CancelHook:
        """Call a function after the cancel of a job, once its body has stopped; see `on_error`."""
        self.job_type.set_hook("on_cancelled", hook)
        return hook


class FunctionJobType(OptionsJobType):
    """The job type of one function."""

    def __init__(self, function: Callable[..., Any], options: JobKeywords) -> None:
        if (
            isinstance(function, type)
            or not callable(function)
            or not hasattr(function, "__qualname__")
        ):
            raise InvalidJobType(
                f"{function!r} is no function; decorate a function that calls it, or write a"
                " subclass of JobType"
            )
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise InvalidJobType(
                f"job type {function.__name__!r}: it is a generator, whose body nobody would run;"
                " return a list in place of yield, or report progress with job.progress.track"
            )
        self.function = function
        self._read_signature(function, options.get("name", function.__name__))
        super().__init__(function.__qualname__, function.__name__, options)
        self.is_async = inspect.iscoroutinefunction(function)

    def _read_signature(self, function: Callable[..., Any], name: str) -> None:
        """Set what follows from the arguments and from the annotation of the result."""
        self._context, self._previous, self.params, self.returns = _signature(function, name)
        if self._previous is not None:
            self.previous = self._previous.annotation
        self._names = tuple(self.params.model_fields)

    @override
    def named(self, given: Sequence[Any], values: Mapping[str, Any], /) -> Mapping[str, Any]:
        arguments = inspect.signature(self.function).parameters.values()
        names = [
            argument.name
            for argument in arguments
            if argument.kind is argument.POSITIONAL_OR_KEYWORD and argument.name in self._names
        ]
        if len(given) > len(names):
            taken = f"{len(names)} ({', '.join(names)})" if names else "none"
            raise InvalidRequest(
                f"job type {self.type!r}: {len(given)} parameters came by position, and it takes"
                f" {taken}"
            )
        by_position = dict(zip(names, given, strict=False))
        if twice := by_position.keys() & values.keys():
            raise InvalidRequest(
                f"job type {self.type!r}: parameter {min(twice)!r} came by position and by name"
            )
        return {**by_position, **values}

    @override
    def _taken_results(self) -> TakenResults:
        found = self._previous
        if found is None:  # a subclass says so itself
            return super()._taken_results()
        return taken_results(
            self.type,
            found.annotation,
            optional=found.default is not found.empty,
            default=found.default,
        )

    @override
    def run(self, job: JobContext[Any]) -> Any:
        values = {name: getattr(job.params, name) for name in self._names}
        if self._context is not None:
            values[self._context] = job
        if self._previous is not None:
            values[self._previous.name] = job.previous
        return self.function(**values)


class BatchFunctionJobType(FunctionJobType):
    """The job type of a function that takes a list of contexts: `jobs: list[JobContext[Page]]`.

    Its parameters are the fields of the model that the annotation names, here `Page`.
    """

    @override
    def _read_signature(self, function: Callable[..., Any], name: str) -> None:
        hints = _hints_of(function, name)
        arguments = list(inspect.signature(function).parameters.values())
        hint = hints.get(arguments[0].name) if len(arguments) == 1 else None
        is_list = get_origin(hint) in {list, Sequence} and get_args(hint)
        context = get_args(hint)[0] if is_list else None
        if context is not JobContext and get_origin(context) is not JobContext:
            raise InvalidJobType(
                f"job type {name!r}: a function with batch= takes one argument, the contexts of its"
                " jobs: def f(jobs: list[JobContext[Page]]), where the fields of the model Page are"
                " the parameters of each job; list[JobContext] if there are none"
            )
        model = (get_args(context) or (None,))[0]
        if model is None or model is Any:
            model = _model(name, {})
        elif not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise InvalidJobType(
                f"job type {name!r}: the parameters of its jobs are {model!r}, expected a Pydantic"
                " model"
            )
        self.params, self.returns = model, _result_in(hints.get("return", Any))
        self._names = ()

    @override
    def run_batch(self, jobs: Sequence[JobContext[Any]]) -> Any:
        return self.function(list(jobs))


def _result_in(returned: Any) -> Any:
    """Return the type of a result in the list or mapping that a body returns, without errors."""
    container = get_origin(returned)
    if not get_args(returned) or container not in {list, Sequence, dict, Mapping}:
        return Any
    outcome = get_args(returned)[-1]
    kinds = get_args(outcome) if get_origin(outcome) in {Union, UnionType} else (outcome,)
    results = [
        kind for kind in kinds if not (isinstance(kind, type) and issubclass(kind, BaseException))
    ]
    if container in {dict, Mapping}:  # jobs that are left out have none
        results.append(None)
    return Union[tuple(results)] if results else Any  # noqa: UP007 - made of a list


def _hints_of(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidJobType(
            f"job type {name!r}: an annotation cannot be resolved: {error}; import it outside of"
            " `if TYPE_CHECKING`, at the top level of the module"
        ) from error


def _signature(
    function: Callable[..., Any], name: str
) -> tuple[str | None, inspect.Parameter | None, type[BaseModel], Any]:
    """Return the context argument, the one that takes results of other jobs, the model of the
    others, and the return annotation.
    """
    hints = _hints_of(function, name)
    context, previous, given = None, None, dict[str, Any]()
    for argument in inspect.signature(function).parameters.values():
        hint = hints.get(argument.name, Any)
        if argument.kind in _WITHOUT_NAME:
            raise InvalidJobType(
                f"job type {name!r}: argument `{argument}` has no name by which a job could give"
                " it; use named, annotated arguments, and functools.wraps if it is that of another"
                " decorator"
            )
        if hint is JobContext or get_origin(hint) is JobContext:
            if context is not None:
                raise InvalidJobType(
                    f"job type {name!r}: {context!r} and {argument.name!r} both take the JobContext"
                )
            context = argument.name
            continue
        if any(JobContext in (part, get_origin(part)) for part in get_args(hint)):
            raise InvalidJobType(
                f"job type {name!r}: argument {argument.name!r}: write JobContext alone, because a"
                " body always gets one; it gets a list of them if the type has batch="
            )
        _check_name(name, argument.name)
        if is_taken(hint):
            if previous is not None:
                raise InvalidJobType(
                    f"job type {name!r}: {previous.name!r} and {argument.name!r} both take results"
                    " of other jobs"
                )
            previous = argument.replace(annotation=hint)
            continue
        if argument.name == "job" and argument.annotation is argument.empty:
            raise InvalidJobType(
                f"job type {name!r}: argument 'job' has no annotation; write job: JobContext for"
                " the context of the job, or annotate it with the type of the parameter that it is"
            )
        refuse_class(hint, name, argument.name)
        given[argument.name] = (
            hint,
            ... if argument.default is argument.empty else argument.default,
        )
    model = _model(name, given)
    _check_defaults(name, model)
    return context, previous, model, hints.get("return", Any)


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
        # Pydantic warns of `copy`, `json` and `schema`, which are old names of its own methods.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Field name .* shadows an attribute", UserWarning)
            return create_model(f"{name}_parameters", __config__=config, **given)
    except Exception as error:  # Pydantic raises many kinds for what has no JSON form
        said, *_ = str(error).split(". Set `arbitrary_types_allowed", 1)
        raise InvalidJobType(
            f"job type {name!r}: its arguments cannot be parameters: {said}; take plain data, such"
            " as the id of an object that the body reads"
        ) from error


def _check_defaults(name: str, model: type[BaseModel]) -> None:
    """Raise `InvalidJobType` for a default that the annotation of its parameter does not allow.

    Pydantic does not validate defaults. A worker does, because they are stored with the job: each
    job that relies on such a default would fail there.
    """
    for parameter, field in model.model_fields.items():
        misfit = None
        # A validator of the program's own may need what is not there yet.
        with suppress(Exception):
            misfit = _misfit(model, parameter, field.default)
        if misfit is not None:
            raise InvalidJobType(
                f"job type {name!r}: the default of parameter {parameter!r} does not fit its"
                f" annotation: {quoted(field.default)}: {misfit}"
                + ("; if it may be None, add `| None` to it" if field.default is None else "")
            )


def _misfit(model: type[BaseModel], parameter: str, default: Any) -> str | None:
    """Return why a default does not fit; None if it does, or may do so elsewhere."""
    if default is PydanticUndefined:
        return None
    try:
        model.__pydantic_validator__.validate_assignment(
            model.model_construct(), parameter, default
        )
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)[0]
        if not _DEPENDS_ON_SURROUNDINGS.fullmatch(found["type"]):
            return found["msg"]
    return None


def _check_name(name: str, argument: str) -> None:
    if argument in {"self", "cls"}:
        raise InvalidJobType(
            f"job type {name!r}: it is a method; decorate a function, or write a subclass of"
            " JobType"
        )
    if argument in START_OPTIONS:
        raise InvalidJobType(
            f"job type {name!r}: argument {argument!r} is an option of start; rename it"
        )
    if argument.startswith("model_") and hasattr(BaseModel, argument):
        raise InvalidJobType(
            f"job type {name!r}: argument {argument!r} is a name of Pydantic's; rename it"
        )
    if argument.startswith("_"):
        raise InvalidJobType(
            f"job type {name!r}: argument {argument!r} begins with an underscore; rename it"
        )
