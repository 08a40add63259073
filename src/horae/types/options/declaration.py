"""Checks the declaration of a job type when it is registered, before a job of it could fail."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from pydantic import BaseModel

from horae.domain.backoff import Backoff
from horae.domain.jobs import (
    BackendAddress,
    KeepLogs,
    Retention,
    check_level,
    parse_tags,
    problem_of_rule,
)
from horae.domain.names import queue_name, type_name
from horae.domain.times import LONGEST_DURATION, parse_duration
from horae.errors import InvalidJobType, InvalidRequest
from horae.quoting import quoted
from horae.types.arguments import LARGEST_NUMBER
from horae.types.options.start_options import START_OPTIONS

Check = tuple[bool, str]
NAME_IN_PATH: Final = re.compile(r"[\w.~-]+", re.ASCII)
"""Names that need no escapes in a path, such as that of the endpoint of a public type."""


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


def check_declaration(job_type: Any) -> None:
    """Raise `InvalidJobType` for the first attribute that cannot work."""
    try:
        name = type_name(getattr(job_type, "type", None))
    except InvalidRequest as error:
        raise InvalidJobType(f"{type(job_type).__qualname__}: {error}") from None
    try:
        queue_name(job_type.queue)
        job_type.tags = parse_tags(job_type.tags)
    except InvalidRequest as error:
        raise InvalidJobType(f"job type {name!r}: {error}") from None
    for fine, problem in _checks(job_type):
        if not fine:
            raise InvalidJobType(f"job type {name!r}: {problem}")


def time_limits(job_type: Any) -> TimeLimits:
    """Return the durations that a job type declares. Raises `InvalidJobType`."""
    try:
        return TimeLimits(
            soft=_limit("soft_time_limit", job_type.soft_time_limit),
            grace=_grace(job_type.grace),
            pending=_limit("pending_timeout", job_type.pending_timeout),
            expires=_limit("expires", job_type.expires),
        )
    except InvalidRequest as error:
        raise InvalidJobType(f"job type {job_type.type!r}: {error}") from None


def retention_of(job_type: Any) -> Retention:
    """Return how long the ended jobs of a type are kept. Raises `InvalidJobType`."""
    try:
        return Retention.of(job_type.keep)
    except InvalidRequest as error:
        raise InvalidJobType(f"job type {job_type.type!r}: {error}") from None


def _limit(name: str, given: object) -> timedelta | None:
    limit = None if given is None else parse_duration(name, given)
    if limit is not None and not timedelta(0) < limit <= LONGEST_DURATION:
        raise InvalidRequest(f"{name} is {given!r}, expected a duration of more than zero, or None")
    return limit


def _grace(given: object) -> timedelta:
    grace = parse_duration("grace", given)
    if not timedelta(0) <= grace <= LONGEST_DURATION:
        raise InvalidRequest(f"grace is {given!r}, expected a duration of zero or more")
    return grace


def kept_logs(job_type: Any) -> KeepLogs | bool:
    """Return which log lines a job type keeps: True for what the settings say.

    Raises `InvalidJobType`.
    """
    given = job_type.keep_logs
    if given is None or isinstance(given, bool | KeepLogs):
        return True if given is None else given
    try:
        return KeepLogs(level=check_level(given))
    except InvalidRequest as error:
        raise InvalidJobType(
            f"job type {job_type.type!r}: keep_logs: {error}; or a KeepLogs, or False"
        ) from None


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


def _checks(job_type: Any) -> Iterator[Check]:
    yield _whole("priority", job_type.priority, -LARGEST_NUMBER)
    for name in ("max_attempts", "max_params_bytes", "max_result_bytes"):
        yield _whole(name, getattr(job_type, name), 1)
    if job_type.max_count is not None:
        yield _whole("max_count", job_type.max_count, 1, " or None")
    yield (
        isinstance(job_type.backoff, Backoff),
        (
            f"backoff is {job_type.backoff!r}, expected a Backoff such as Backoff(base='5s',"
            " cap='10m')"
        ),
    )
    yield (
        job_type.isolation in (None, "process"),
        f"isolation is {job_type.isolation!r}, expected 'process' or None",
    )
    yield (
        job_type.on_shutdown in (None, "requeue", "fail"),
        f"on_shutdown is {quoted(job_type.on_shutdown)}, expected 'requeue', 'fail' or None",
    )
    yield from _backend(job_type)
    in_path = not job_type.public or NAME_IN_PATH.fullmatch(job_type.type) is not None
    yield in_path, "it is public, so its name may have only letters, digits and any of _ . ~ -"
    for name in ("retry_on", "give_up_on"):
        problem = problem_of_rule(rule := getattr(job_type, name))
        yield problem is None, f"{name} is {quoted(rule)}: {problem}"
    yield from _exceptions("exceptions_map", job_type.exceptions_map)
    yield from _exceptions("api_exceptions_map", job_type.api_exceptions_map)
    yield from _texts(job_type.exceptions_map)
    yield from _codes(job_type.api_exceptions_map)
    for name in ("on_error", "on_cancelled", "before_delete"):
        is_coroutine = inspect.iscoroutinefunction(getattr(job_type, name))
        yield (
            not is_coroutine,
            f"{name} is a coroutine function, which would never run; hooks are called on threads",
        )
    for name in ("request_model", "response_model"):
        yield (
            _is_model(getattr(job_type, name)),
            f"{name} is {getattr(job_type, name)!r}, expected a Pydantic model",
        )


def _backend(job_type: Any) -> Iterator[Check]:
    if job_type.backend is None:
        return
    try:
        BackendAddress.parse(job_type.backend)
    except InvalidRequest as error:
        yield False, str(error)
    yield (
        job_type.isolation is None,
        "isolation='process' is not for a type with a backend; its workers have processes",
    )
    yield (
        not job_type.limits,
        "limits are not for a type with a backend; limit the concurrency of its queue",
    )


def _whole(name: str, value: Any, least: int, besides: str = "") -> Check:
    fine = (
        isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST_NUMBER
    )
    return (
        fine,
        f"{name} is {value!r}, expected a whole number from {least} to {LARGEST_NUMBER}{besides}",
    )


def _is_model(model: Any) -> bool:
    return model is None or (isinstance(model, type) and issubclass(model, BaseModel))


def _exceptions(name: str, entries: Any) -> Iterator[Check]:
    yield (
        isinstance(entries, Mapping),
        f"{name} is {entries!r}, expected a mapping from exception classes",
    )
    for key in entries:
        fine = isinstance(key, type) and issubclass(key, BaseException)
        yield fine, f"{name} has the key {key!r}, expected an exception class"


def _texts(entries: Mapping[Any, Any]) -> Iterator[Check]:
    for key, value in entries.items():
        fine = isinstance(value, str) or callable(value)
        yield (
            fine,
            (
                f"exceptions_map maps {key.__name__} to {value!r}, expected text or a function that"
                " returns it"
            ),
        )


def _codes(entries: Mapping[Any, Any]) -> Iterator[Check]:
    for key, value in entries.items():
        match value:
            case str() | (str(), int(), str()):
                fine = True
            case _:
                fine = False
        expected = "expected a code or (code, status, detail)"
        yield fine, f"api_exceptions_map maps {key.__name__} to {value!r}, {expected}"
