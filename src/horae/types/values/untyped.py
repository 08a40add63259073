"""Parameters that are declared as `Any` or similar: JSON decides which values their body gets.

A datetime would come back as a text, a tuple as a list, and nobody would say so. Such values are refused at the call.
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
"""What Pydantic writes for such a number."""

Look = Callable[[Any], Problem | None]


def lost_number_of(value: BaseModel, text: str) -> Problem | None:
    """A number that JSON does not have and that the caller gave as a text; `text` is what would be stored."""
    if not any(sign in text for sign in _SIGNS):
        return None
    for name in value.model_fields_set:
        if (problem := problem_of(getattr(value, name, None))) is not None:
            return within(name, problem)
    return None


def untyped_problem_of(value: BaseModel) -> Problem | None:
    """Return the untyped value of a checked model that JSON would not restore unchanged, or None."""
    for name, look in _looks(type(value)):
        if name in value.model_fields_set and (problem := look(getattr(value, name))) is not None:
            return within(name, problem)
    for name, extra in (value.model_extra or {}).items():
        if (problem := json_problem_of(extra)) is not None:
            return within(name, problem)
    return None


def within(name: object, problem: Problem) -> Problem:
    """The same problem, seen from what holds its place."""
    return Problem(".".join(part for part in (str(name)[:50], problem.where) if part), problem.what)


@lru_cache(maxsize=4096)
def _looks(model: type[BaseModel]) -> tuple[tuple[str, Look], ...]:
    """The fields that have to be looked at; most models have none."""
    looks = ((name, _look_at(field.annotation)) for name, field in model.model_fields.items())
    return tuple((name, look) for name, look in looks if look is not None)


def _look_at(annotation: Any) -> Look | None:
    """How to look at a value of this annotation; None if it says all that there is to say."""
    if annotation in _ANYTHING or isinstance(annotation, TypeVar):
        return json_problem_of
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _look_at_model
    return _look_into(get_origin(annotation) or annotation, get_args(annotation))


def _look_into(kind: Any, inner: tuple[Any, ...]) -> Look | None:
    """How to look at a value of an annotation with parts."""
    look: Look | None = None
    if kind is Annotated:
        look = _look_at(inner[0])
    elif kind in (Union, UnionType):
        look = _of_any([_look_at(part) for part in inner])
    elif kind in (dict, Mapping):
        look = _of_mapping(*(inner or (Any, Any)))
    elif kind is tuple and inner and inner[-1] is not Ellipsis:
        look = _of_places([_look_at(part) for part in inner])
    elif kind in _HOLD_ITEMS:
        look = _of_items(_look_at(inner[0] if inner else Any))
    return look


def _look_at_model(value: Any) -> Problem | None:
    return untyped_problem_of(value) if isinstance(value, BaseModel) else None


def _of_any(looks: list[Look | None]) -> Look | None:
    """A value of a union is JSON already or of a kind that the union names, so only what is neither is a problem."""
    if json_problem_of in looks:
        return json_problem_of
    known = [look for look in looks if look is not None]
    if not known:
        return None
    return lambda value: next((problem for look in known if (problem := look(value)) is not None), None)


def _of_items(look: Look | None) -> Look | None:
    return None if look is None else lambda value: _first(look, enumerate(value) if _is_container(value) else ())


def _of_places(looks: list[Look | None]) -> Look | None:
    """Of a tuple whose places have annotations of their own."""

    def look_at_places(value: Any) -> Problem | None:
        places = enumerate(zip(looks, value, strict=False)) if isinstance(value, tuple) else ()
        for place, (look, item) in places:
            if look is not None and (problem := look(item)) is not None:
                return within(place, problem)
        return None

    return look_at_places if any(looks) else None


def _of_mapping(key: Any, inner: Any) -> Look | None:
    look = _look_at(inner)
    if look is None and key not in _ANYTHING:
        return None

    def look_at_mapping(value: Any) -> Problem | None:
        if not isinstance(value, dict):
            return None
        keys = json_problem_of(dict.fromkeys(value)) if key in _ANYTHING else None
        return keys or (None if look is None else _first(look, value.items()))

    return look_at_mapping


def _first(look: Look, items: Iterable[tuple[Any, Any]]) -> Problem | None:
    for key, value in items:
        if (problem := look(value)) is not None:
            return within(key, problem)
    return None


def _is_container(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset)
