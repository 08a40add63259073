"""What a job type may declare: refused when it is registered rather than when a job of it fails."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from pydantic import BaseModel

from horae.domain.backoff import Backoff
from horae.domain.storable import has_control, is_storable
from horae.errors import InvalidJobType

LONGEST_NAME: Final = 200
LARGEST_NUMBER: Final = 2**31 - 1
START_OPTIONS: Final = frozenset(
    {
        "job_type",
        "session",
        "owner",
        "run_at",
        "delay",
        "priority",
        "queue",
        "unique_key",
        "on_duplicate",
        "max_attempts",
        "backoff",
        "meta",
        "sync",
    }
)

Check = tuple[bool, str]


def check_declaration(job_type: Any) -> None:
    """Raise `InvalidJobType` for the first attribute that cannot work."""
    name = getattr(job_type, "type", None)
    if not _is_name(name):
        raise InvalidJobType(
            f"{type(job_type).__qualname__}: `type` is {name!r}, expected 1 to {LONGEST_NAME} characters"
        )
    for fine, problem in _checks(job_type):
        if not fine:
            raise InvalidJobType(f"job type {name!r}: {problem}")


def check_parameters(job_type: str, model: type[BaseModel]) -> None:
    """Raise `InvalidJobType` for a parameter that no call could give, because `start` takes it for an option."""
    for name, field in model.model_fields.items():
        if (field.alias or name) in START_OPTIONS:
            raise InvalidJobType(f"job type {job_type!r}: parameter {name!r} is an option of start; rename it")


def _checks(job_type: Any) -> Iterator[Check]:
    yield _is_name(job_type.queue), f"queue is {job_type.queue!r}, expected 1 to {LONGEST_NAME} characters"
    yield _whole("priority", job_type.priority, -LARGEST_NUMBER)
    for name in ("max_attempts", "max_params_bytes", "max_result_bytes"):
        yield _whole(name, getattr(job_type, name), 1)
    if job_type.max_count is not None:
        yield _whole("max_count", job_type.max_count, 1, " or None")
    yield isinstance(job_type.backoff, Backoff), f"backoff is {job_type.backoff!r}, expected a Backoff"
    for name in ("soft_time_limit", "pending_timeout"):
        limit = getattr(job_type, name)
        fine = limit is None or (isinstance(limit, timedelta) and limit > timedelta(0))
        yield fine, f"{name} is {limit!r}, expected a timedelta of more than zero, or None"
    fine = isinstance(job_type.grace, timedelta) and job_type.grace >= timedelta(0)
    yield fine, f"grace is {job_type.grace!r}, expected a timedelta of zero or more"
    yield job_type.isolation in (None, "process"), f"isolation is {job_type.isolation!r}, expected 'process' or None"
    yield from _exceptions("exceptions_map", job_type.exceptions_map)
    yield from _exceptions("api_exceptions_map", job_type.api_exceptions_map)
    yield from _texts(job_type.exceptions_map)
    yield from _codes(job_type.api_exceptions_map)
    for name in ("request_model", "response_model"):
        yield _is_model(getattr(job_type, name)), f"{name} is {getattr(job_type, name)!r}, expected a Pydantic model"


def _whole(name: str, value: Any, least: int, besides: str = "") -> Check:
    fine = isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST_NUMBER
    return fine, f"{name} is {value!r}, expected a whole number from {least} to {LARGEST_NUMBER}{besides}"


def _is_name(name: Any) -> bool:
    return (
        isinstance(name, str)
        and bool(name.strip())
        and len(name) <= LONGEST_NAME
        and is_storable(name)
        and not has_control(name)
    )


def _is_model(model: Any) -> bool:
    return model is None or (isinstance(model, type) and issubclass(model, BaseModel))


def _exceptions(name: str, entries: Any) -> Iterator[Check]:
    yield isinstance(entries, Mapping), f"{name} is {entries!r}, expected a mapping from exception classes"
    for key in entries:
        fine = isinstance(key, type) and issubclass(key, BaseException)
        yield fine, f"{name} has the key {key!r}, expected an exception class"


def _texts(entries: Mapping[Any, Any]) -> Iterator[Check]:
    for key, value in entries.items():
        fine = isinstance(value, str) or callable(value)
        yield fine, f"exceptions_map maps {key.__name__} to {value!r}, expected text or a function that returns it"


def _codes(entries: Mapping[Any, Any]) -> Iterator[Check]:
    for key, value in entries.items():
        match value:
            case str() | (str(), int(), str()):
                fine = True
            case _:
                fine = False
        expected = "expected a code or (code, status, detail)"
        yield fine, f"api_exceptions_map maps {key.__name__} to {value!r}, {expected}"
