"""Checks that the values of a call are plain data of a bounded size, before any code consumes them.

Pydantic takes any iterable for a list, so an endless one would fill the memory. What is not
declared more closely than `Any` has to be JSON already, for its worker gets what JSON makes of it.
"""

import math
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from ipaddress import IPv4Network, IPv6Network
from itertools import islice
from typing import Any, Final, NamedTuple, cast

from pydantic import BaseModel

from horae.errors import InvalidParameters, InvalidRequest

DEEPEST: Final = 100
"""Maximum depth of nested lists and mappings: far below where any reader of JSON gives up."""
MOST_VALUES: Final = 500_000
"""Maximum number of values in all lists and mappings of one call together."""
MOST_PARAMETERS: Final = 10_000
"""Maximum number of entries of a mapping of a custom class, which may have no end."""
_SHOWN: Final = 5
"""Number of keys at either end of a long path that an error shows."""

_NEVER_CONTAINERS: Final = (str, bytes, bytearray, memoryview, Enum, type, IPv4Network, IPv6Network)
_SEQUENCES: Final = (list, tuple, set, frozenset, deque)
_OF_THE_LIBRARY: Final = frozenset({OrderedDict, defaultdict, Counter})
_VIEWS: Final = frozenset({type({}.keys()), type({}.values()), type({}.items()), range})
JSON_SCALARS: Final[frozenset[type]] = frozenset({str, int, bool, type(None)})
SCALARS: Final[frozenset[type]] = JSON_SCALARS | {bytes}

Path = tuple[Any, Any] | None
"""The path to a value: the path to its container, and its key there."""
Children = Callable[[Any, Path], Iterator[tuple[Any, Any]] | None]


class ValueProblem(NamedTuple):
    """Where something cannot be accepted, and why."""

    where: str
    what: str


class _NotPlain(Exception):  # an exception keeps the walk short: it ends at the first problem
    """A value that may have no end, or that cannot be stored."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(what)
        keys: list[str] = []
        while path is not None and len(keys) < DEEPEST:
            path, key = path
            keys.append(str(key)[:50] if type(key) in SCALARS else _kind(key))
        if len(keys) > 2 * _SHOWN:
            keys[_SHOWN:-_SHOWN] = ["…"]
        self.problem = ValueProblem(".".join(reversed(keys)), what)


def problem_of(value: Any) -> ValueProblem | None:
    """Return why a value is no plain data: an iterator, a number that JSON lacks, too deep, too
    many values.
    """
    return _problem(value, _children, SCALARS)


def problem_of_result(value: Any) -> ValueProblem | None:
    """Return why a value is no plain data, or cannot be read again as a result; None if it can."""
    return _problem(value, _result_children, SCALARS)


def json_problem_of(value: Any) -> ValueProblem | None:
    """Return the part of a value that would change on its way through JSON, or None."""
    return _problem(value, _json_children, JSON_SCALARS)


def plain_values(job_type: str, values: Any) -> dict[str, Any]:
    """Return the parameters of a call as a dictionary.

    Raises `InvalidParameters` if they are no plain data.
    """
    if not isinstance(values, Mapping):
        raise InvalidRequest(
            f"the parameters of {job_type!r} are a {_kind(values)}, expected a mapping"
        )
    plain = mapping_of(cast("Mapping[str, Any]", values))
    if SCALARS.issuperset(map(type, plain.values())):
        return plain
    if (problem := problem_of(plain)) is not None:
        raise InvalidParameters(job_type, [problem])
    return plain


def mapping_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping as a dictionary, with a bound on the number of entries that a custom class
    may yield.
    """
    if type(values) is dict or _iterates_like(values, dict):
        return dict(values)
    plain = dict(islice(values.items(), MOST_PARAMETERS + 1))
    if len(plain) > MOST_PARAMETERS:
        raise InvalidRequest(
            f"a {_kind(values)} has more than {MOST_PARAMETERS:,} entries; pass a dictionary"
        )
    return plain


def parts_of_value(value: Any) -> dict[str, Any]:
    """Return the values of the fields of a model or a dataclass by name."""
    if isinstance(value, BaseModel):
        return {**vars(value), **(value.model_extra or {})}
    return {each.name: getattr(value, each.name, None) for each in fields(value)}


def has_parts(value: Any) -> bool:
    """Return whether a value is a model or an instance of a dataclass."""
    return isinstance(value, BaseModel) or (is_dataclass(value) and not isinstance(value, type))


def _problem(value: Any, children: Children, scalars: frozenset[type]) -> ValueProblem | None:
    """Return the first problem in a value and in what it contains."""
    room = MOST_VALUES
    waiting: list[tuple[Any, Path, int]] = [(value, None, 0)]
    try:
        while waiting:
            value, path, depth = waiting.pop()
            found = children(value, path)
            if found is None:
                continue
            if depth >= DEEPEST:
                return _NotPlain(
                    path, f"lists and mappings are more than {DEEPEST} levels deep"
                ).problem
            if type(value) is list and len(value) <= room and scalars.issuperset(map(type, value)):
                room -= len(value)  # most lists hold plain values only
                continue
            for key, child in found:
                room -= 1
                if room < 0:
                    what = f"there are more than {MOST_VALUES:,} values"
                    return ValueProblem("", f"{what}; store them and pass their id")
                kind = type(child)
                if kind not in scalars and not (kind is float and math.isfinite(child)):
                    waiting.append((child, (path, key), depth + 1))
    except _NotPlain as unfit:
        return unfit.problem
    return None


def _children(value: Any, path: Path) -> Iterator[tuple[Any, Any]] | None:
    """Return the items of a container by key; None for a value that is no container."""
    if isinstance(value, float) and not math.isfinite(value):
        raise _NotPlain(path, f"{float(value)} is no number that JSON has")
    found: Iterator[tuple[Any, Any]] | None = None
    if (common := _COMMON.get(type(value))) is not None:
        found = common(value)
    elif has_parts(value):
        found = iter(parts_of_value(value).items())
    elif _iterates_like(value, dict):
        found = _of_mapping(cast("dict[Any, Any]", value))
    elif type(value) in _VIEWS or any(_iterates_like(value, kind) for kind in _SEQUENCES):
        found = enumerate(cast("Iterable[Any]", value))
    elif not isinstance(value, _NEVER_CONTAINERS) and any(
        hasattr(type(value), name) for name in ("__iter__", "__next__", "__getitem__")
    ):
        raise _NotPlain(path, f"a {_kind(value)} is no plain data; pass a list or a dictionary")
    return found


def _result_children(value: Any, path: Path) -> Iterator[tuple[Any, Any]] | None:
    """Return the items of a container by key; raise for a key that JSON would join to a text."""
    if isinstance(value, dict) and any(
        isinstance(key, tuple) for key in cast("Mapping[Any, Any]", value)
    ):
        raise _NotPlain(path, "a key is a tuple, and JSON has only texts; return a list of pairs")
    return _children(value, path)


def _json_children(value: Any, path: Path) -> Iterator[tuple[Any, Any]] | None:
    """Return the items of a container of JSON; raise for a value that JSON would change."""
    if isinstance(value, Enum) or not isinstance(value, str | int | float | list | dict | None):
        raise _NotPlain(path, _UNTYPED.format(_kind(value)))
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or isinstance(key, Enum):
                raise _NotPlain(path, _UNTYPED.format(f"key of type {_kind(key)}"))
    return _children(value, path)


_UNTYPED: Final = (
    "a {} cannot be stored as it is, only as other JSON; annotate it with its type alone,"
    " or pass JSON"
)


def _of_mapping(value: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    for key, child in dict.items(value):
        if type(key) not in SCALARS:
            yield "a key", key
        yield key, child


_COMMON: Final[Mapping[type, Callable[[Any], Iterator[tuple[Any, Any]]]]] = {
    dict: _of_mapping,
    list: enumerate,
}


def _iterates_like(value: Any, kind: type) -> bool:
    """Return whether a value is such a container, and no subclass that iterates over its items in
    its own way.
    """
    of = type(value)
    if of is kind or of in _OF_THE_LIBRARY:
        return isinstance(value, kind)
    if not issubclass(of, kind):
        return False
    return all(
        getattr(of, name) is getattr(kind, name, None) for name in _ITERATION if hasattr(of, name)
    )


_ITERATION: Final = ("__iter__", "__next__", "__len__", "keys", "values", "items")


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__qualname__
