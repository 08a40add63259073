"""Checks parameters that are declared as `Any` or similar: their body gets what JSON makes of them.

A datetime would silently come back as a text, and a tuple as a list. Such values are refused at the
call.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel

from horae.types.values.plain_data import Problem, json_problem_of, problem_of

_ANYTHING: Final = (Any, object)
_HOLD_ITEMS: Final = frozenset({list, tuple, set, frozenset, Sequence})

_SIGNS: Final = ("null", '"NaN"', 'Infinity"')
"""What Pydantic writes for a number that JSON lacks."""

Check = Callable[[Any], Problem | None]


def lost_number_of(value: BaseModel, text: str) -> Problem | None:
    """Return a number that JSON lacks, such as infinity, and that the caller gave as a text; `text`
    is the JSON.
    """
    if not any(sign in text for sign in _SIGNS):
        return None
    for name in value.model_fields_set:
        if (problem := problem_of(getattr(value, name, None))) is not None:
            return within(name, problem)
    return None


def untyped_problem_of(value: BaseModel) -> Problem | None:
    """Return the untyped value of a checked model that JSON would not restore unchanged, or
    None.
    """
    for name, check in _checks(type(value)):
        if name in value.model_fields_set and (problem := check(getattr(value, name))) is not None:
            return within(name, problem)
    for name, extra in (value.model_extra or {}).items():
        if (problem := json_problem_of(extra)) is not None:
            return within(name, problem)
    return None


def within(name: object, problem: Problem) -> Problem:
    """Return the problem with `name` put before its path."""
    return Problem(".".join(part for part in (str(name)[:50], problem.where) if part), problem.what)


@lru_cache(maxsize=4096)
def _checks(model: type[BaseModel]) -> tuple[tuple[str, Check], ...]:
    """Return the fields that need a check; most models have none."""
    checks = ((name, _check_for(field.annotation)) for name, field in model.model_fields.items())
    return tuple((name, check) for name, check in checks if check is not None)


def _check_for(annotation: Any) -> Check | None:
    """Return the check for values of this annotation; None if they need none, because it names
    their type.
    """
    if annotation in _ANYTHING or isinstance(annotation, TypeVar):
        return json_problem_of
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _check_model
    return _check_for_parts(get_origin(annotation) or annotation, get_args(annotation))


def _check_for_parts(kind: Any, inner: tuple[Any, ...]) -> Check | None:
    """Return the check for values of an annotation with parts."""
    check: Check | None = None
    if kind is Annotated:
        check = _check_for(inner[0])
    elif kind in (Union, UnionType):
        check = _of_any([_check_for(part) for part in inner])
    elif kind in (dict, Mapping):
        check = _of_mapping(*(inner or (Any, Any)))
    elif kind is tuple and inner and inner[-1] is not Ellipsis:
        check = _of_places([_check_for(part) for part in inner])
    elif kind in _HOLD_ITEMS:
        check = _of_items(_check_for(inner[0] if inner else Any))
    return check


def _check_model(value: Any) -> Problem | None:
    return untyped_problem_of(value) if isinstance(value, BaseModel) else None


def _of_any(checks: list[Check | None]) -> Check | None:
    """Return the check for a union: a value that is neither JSON nor of a type that the union names
    is a problem.
    """
    if json_problem_of in checks:
        return json_problem_of
    known = [check for check in checks if check is not None]
    if not known:
        return None
    return lambda value: next(
        (problem for check in known if (problem := check(value)) is not None), None
    )


def _of_items(check: Check | None) -> Check | None:
    return (
        None
        if check is None
        else lambda value: _first(check, enumerate(value) if _is_container(value) else ())
    )


def _of_places(checks: list[Check | None]) -> Check | None:
    """Return the check for a tuple whose items have annotations of their own."""

    def check_items(value: Any) -> Problem | None:
        places = enumerate(zip(checks, value, strict=False)) if isinstance(value, tuple) else ()
        for place, (check, item) in places:
            if check is not None and (problem := check(item)) is not None:
                return within(place, problem)
        return None

    return check_items if any(checks) else None


def _of_mapping(key: Any, inner: Any) -> Check | None:
    check = _check_for(inner)
    if check is None and key not in _ANYTHING:
        return None

    def check_mapping(value: Any) -> Problem | None:
        if not isinstance(value, dict):
            return None
        keys = json_problem_of(dict.fromkeys(value)) if key in _ANYTHING else None
        return keys or (None if check is None else _first(check, value.items()))

    return check_mapping


def _first(check: Check, items: Iterable[tuple[Any, Any]]) -> Problem | None:
    for key, value in items:
        if (problem := check(value)) is not None:
            return within(key, problem)
    return None


def _is_container(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset)
