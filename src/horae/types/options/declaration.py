"""How the options of a job type are parsed, when it is registered and before a job could fail.

An option is declared once, as an attribute of `JobType` with a `TypeOption` that says how it is
parsed and shown. The keywords of `@horae.job` repeat its name and type for type checkers, which is
checked at import.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from pydantic import BaseModel

from horae.domain.arguments import of_kind
from horae.domain.backoff import Backoff
from horae.domain.jobs import BackendAddress, KeepLogs, check_level, problem_of_rule
from horae.domain.storable import LARGEST_NUMBER, bounded_number
from horae.domain.times import bounded_duration, parse_duration
from horae.errors import InvalidJobType, InvalidRequest
from horae.quoting import quoted
from horae.types.options.start_options import START_OPTIONS

NAME_IN_PATH: Final = re.compile(r"[\w.~-]+", re.ASCII)
"""Names that need no escapes in a path, such as that of the endpoint of a public type."""

MOST_IN_BATCH: Final = 1000
"""The most jobs that a body takes at once: their ends are written in one transaction."""
LONGEST_GATHERING: Final = timedelta(minutes=1)
"""The longest time for which the jobs of a batch gather; no other node can take them meanwhile."""


@dataclass(frozen=True, slots=True)
class TypeOption:
    """An option of a job type.

    `parse` is called with its name and value: it returns the value that is used, or raises
    `InvalidRequest`; None if it is parsed with the parameters. `show` returns its value for people
    and for `--json`; None if it is not shown.
    """

    parse: Callable[[str, Any], Any] | None = None
    show: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimits:
    """The durations of a job type, parsed. `soft`, `pending`, `expires`: None is no limit."""

    soft: timedelta | None
    grace: timedelta
    pending: timedelta | None
    expires: timedelta | None = None

    @property
    def hard(self) -> timedelta | None:
        """When a body is stopped by force, counted from its start: the soft limit and the grace."""
        return None if self.soft is None else self.soft + self.grace


def parse_options(job_type: Any, options: Mapping[str, TypeOption]) -> dict[str, Any]:
    """Return the parsed options of a type by name.

    Raises `InvalidJobType` for the first one that cannot work.
    """
    parsed = dict[str, Any]()
    try:
        for name, option in options.items():
            value = getattr(job_type, name)
            parsed[name] = value if option.parse is None else option.parse(name, value)
        _check_together(job_type)
    except InvalidRequest as error:
        raise InvalidJobType(f"job type {job_type.type!r}: {error}") from None
    return parsed


def _check_together(job_type: Any) -> None:
    """Check what one option forbids another, and what is no option. Raises `InvalidRequest`."""
    if job_type.backend is not None and job_type.isolation is not None:
        raise InvalidRequest(
            "isolation='process' is not for a type with a backend; its workers have processes"
        )
    if job_type.backend is not None and job_type.limits:
        raise InvalidRequest(
            "limits are not for a type with a backend; limit the concurrency of its queue"
        )
    if job_type.batch is None:
        if parse_duration("within", job_type.within):
            raise InvalidRequest("within is for a type with batch=, the number of jobs to wait for")
    elif job_type.isolation is not None or job_type.backend is not None:
        raise InvalidRequest(
            "batch is not for a type with isolation='process' or a backend, whose processes get one"
            " job at a time"
        )
    if job_type.public and NAME_IN_PATH.fullmatch(job_type.type) is None:
        raise InvalidRequest(
            "it is public, so its name may have only letters, digits and any of _ . ~ -"
        )
    for name in ("on_error", "on_cancelled", "before_delete"):
        if inspect.iscoroutinefunction(getattr(job_type, name)):
            raise InvalidRequest(
                f"{name} is a coroutine function, which would never run; hooks are called on"
                " threads"
            )
    for name in ("request_model", "response_model"):
        model = getattr(job_type, name)
        if model is not None and not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise InvalidRequest(f"{name} is {model!r}, expected a Pydantic model")


def number_or_none(name: str, given: Any, most: int = LARGEST_NUMBER) -> int | None:
    """Parse a whole number of 1 or more, or None."""
    return None if given is None else bounded_number(name, given, most=most, besides=" or None")


def one_of(*choices: str) -> Callable[[str, Any], Any]:
    """Return the parser of an option that is one of these texts, or None."""

    def parse(name: str, given: Any) -> Any:
        if given is not None and given not in choices:
            expected = ", ".join(map(repr, choices))
            raise InvalidRequest(f"{name} is {quoted(given)}, expected {expected} or None")
        return given

    return parse


def true_or_false(name: str, given: Any) -> bool:
    """Parse True or False; a text such as "no" would count as true."""
    checked: bool = of_kind(name, given, bool, "True or False")
    return checked


def time_limit(name: str, given: object) -> timedelta | None:
    """Parse a duration of more than zero; None is no limit."""
    expected = "a duration of more than zero, or None"
    return None if given is None else bounded_duration(name, given, expected)


def grace_time(name: str, given: object) -> timedelta:
    """Parse a duration of zero or more."""
    return bounded_duration(name, given, "a duration of zero or more", least=timedelta(0))


def gathering_time(name: str, given: object) -> timedelta:
    """Parse how long jobs wait for others in the memory of their node."""
    expected = f"a duration of 0 to {LONGEST_GATHERING.total_seconds():g} seconds"
    return bounded_duration(name, given, expected, least=timedelta(0), most=LONGEST_GATHERING)


def backoff_between(name: str, given: Any) -> Backoff:
    """Parse the waits between attempts."""
    if not isinstance(given, Backoff):
        raise InvalidRequest(
            f"{name} is {given!r}, expected a Backoff such as Backoff(base='5s', cap='10m')"
        )
    return given


def error_rule(name: str, given: Any) -> Any:
    """Parse a rule that selects errors."""
    if (problem := problem_of_rule(given)) is not None:
        raise InvalidRequest(f"{name} is {quoted(given)}: {problem}")
    return given


def backend_address(_name: str, given: Any) -> BackendAddress | None:
    """Parse the backend that runs the jobs; None for Horae's nodes."""
    return None if given is None else BackendAddress.parse(given)


def kept_logs(name: str, given: Any) -> KeepLogs | bool:
    """Parse which log lines are kept: True for what the settings say."""
    if given is None or isinstance(given, bool | KeepLogs):
        return True if given is None else given
    try:
        return KeepLogs(level=check_level(given))
    except InvalidRequest as error:
        raise InvalidRequest(f"{name}: {error}; or a KeepLogs, or False") from None


def _exceptions(
    name: str, given: Any, *, fits: Callable[[Any], bool], expected: str
) -> Mapping[Any, Any]:
    """Parse a mapping from exception classes to values that fit."""
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"{name} is {given!r}, expected a mapping from exception classes")
    for key in given:
        if not (isinstance(key, type) and issubclass(key, BaseException)):
            raise InvalidRequest(f"{name} has the key {key!r}, expected an exception class")
    for key, value in given.items():
        if not fits(value):
            raise InvalidRequest(f"{name} maps {key.__name__} to {value!r}, expected {expected}")
    return given


def _is_api_error(value: Any) -> bool:
    match value:
        case str() | (str(), int(), str()):
            return True
        case _:
            return False


texts_of_exceptions: Final = partial(
    _exceptions,
    fits=lambda value: isinstance(value, str) or callable(value),
    expected="text or a function that returns it",
)
codes_of_exceptions: Final = partial(
    _exceptions, fits=_is_api_error, expected="a code or (code, status, detail)"
)


def check_parameters(job_type: str, model: type[BaseModel]) -> None:
    """Raise `InvalidJobType` for a parameter with the name of an option of `start`, which no call
    could pass.
    """
    for name, field in model.model_fields.items():
        if (field.alias or name) in START_OPTIONS:
            raise InvalidJobType(
                f"job type {job_type!r}: parameter {name!r} is an option of start; rename it"
            )


def problem_of_hook(hook: Any, arguments: Sequence[str]) -> str | None:
    """Return why a function cannot be a hook that is called with these arguments; None if it
    can.
    """
    if not callable(hook):
        return "expected a function"
    if inspect.iscoroutinefunction(hook):
        return "hooks are called on threads of their own, so a coroutine function would never run"
    try:
        inspect.signature(hook).bind(*arguments)
    except ValueError:  # some callables of C code have no signature
        return None
    except TypeError as error:
        return f"it is called with ({', '.join(arguments)}): {error}"
    return None
