"""Compares a value that was read again with the one that was written, more exactly than `==`
does.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import BaseModel

_COMMON: Final = frozenset({int, str, bool, type(None)})
_TEXTS: Final = (str, bytes, bytearray)


def is_same(one: Any, other: Any) -> bool:
    """Return whether both are equal, of the same kind and with equal parts; a list may replace a
    tuple.
    """
    if type(one) in _COMMON and type(one) is type(other):
        return bool(one == other)
    if isinstance(one, BaseModel):
        return type(one) is type(other) and is_same(_parts_of(one), _parts_of(other))
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        return type(one) is type(other) and is_same(_fields_of(one), _fields_of(other))
    if isinstance(one, Mapping):
        return isinstance(other, Mapping) and _are_same_mappings(one, other)
    if isinstance(one, Sequence) and not isinstance(one, _TEXTS):
        return _are_same_sequences(one, other)
    return _are_same_scalars(one, other)


def _are_same_scalars(one: Any, other: Any) -> bool:
    if isinstance(one, datetime) and one.tzinfo is not None:
        # Not by `==`, for which a moment that a clock shows twice is equal to none of another zone.
        return isinstance(other, datetime) and _moment(one) == _moment(other)
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return _are_of_one_kind(one, other) and _are_equal(one, other)


def _moment(value: datetime) -> tuple[datetime, timedelta | None]:
    offset = value.utcoffset()
    return value.replace(tzinfo=None, fold=0), offset


def _parts_of(one: BaseModel) -> list[Any]:
    return [vars(one), one.model_extra, one.__pydantic_private__]


def _fields_of(one: Any) -> dict[str, Any]:
    return {field.name: getattr(one, field.name, None) for field in dataclasses.fields(one)}


def _are_same_mappings(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    return len(one) == len(other) and all(
        key in other and is_same(one[key], other[key]) for key in one
    )


def _are_same_sequences(one: Sequence[Any], other: Any) -> bool:
    if not isinstance(other, Sequence) or isinstance(other, _TEXTS) or len(one) != len(other):
        return False
    pairs: zip[tuple[Any, Any]] = zip(one, other, strict=True)
    return all(is_same(left, right) for left, right in pairs)


def _are_of_one_kind(one: Any, other: Any) -> bool:
    """The same type; or a subclass of a plain one, such as an IntEnum in a field that is declared
    as an int.
    """
    if isinstance(one, AbstractSet):
        return isinstance(other, AbstractSet)
    subclass = (
        type(other) in (int, float, str, bytes)
        and isinstance(one, type(other))
        and not isinstance(one, bool)
    )
    return type(one) is type(other) or subclass


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - a comparison of the application's own
        return False
