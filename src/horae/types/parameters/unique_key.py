"""Computes the unique key of a job from its parameters.

The key is a hash, because a parameter may be longer than the column. No secret is in it: all who
start jobs compute such keys and can read those of other jobs, so they could try which secret gives
a key. Equal parameters have the same key in every process, whatever the order of their sets and
mappings, and also if one caller passes 1 and another 1.0.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.types.parameters.plain_data import has_parts, parts_of_value
from horae.types.parameters.searchable import Searchability, searchability

PREFIX: Final = "unique:"
"""Begins each computed key, so that it is told apart from a key that a caller chose."""


def key_of(owner: str | None, value: BaseModel, by: Sequence[str] | None) -> str:
    """Return the key of a job with these checked parameters; `by` as in `Unique`."""
    names = list(type(value).model_fields) + list(value.model_extra or ()) if by is None else by
    parts = {name: _canonical(_part(value, name)) for name in names}
    text = json.dumps([owner, parts], sort_keys=True, separators=(",", ":"))
    return PREFIX + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_computed(key: str) -> bool:
    """Return whether `key_of` made this key."""
    return key.startswith(PREFIX)


def check_names(by: Sequence[str] | None, model: type[BaseModel]) -> None:
    """Raise `InvalidRequest` for a name that is no parameter of the model, and for a secret that
    would be compared.
    """
    for name in model.model_fields if by is None else by:
        if searchability(model, name.split(".")) is Searchability.SECRET:
            named = "by names" if by is not None else "all parameters are compared, and of them"
            raise InvalidRequest(
                f"{named} {quoted(name)}, which is secret or contains a secret; a secret could be"
                " guessed from the hash that is stored; compare others, as in"
                ' Unique(by=["account"])'
            )
    if model.model_config.get("extra") == "allow":
        return
    for name in by or ():
        first = name.partition(".")[0]
        if first not in model.model_fields:
            known = ", ".join(model.model_fields) or "none"
            raise InvalidRequest(
                f"by names {quoted(name)}, which is no parameter (the parameters are: {known})"
            )


def _part(value: Any, path: str) -> Any:
    """Return the value at a path; None where it ends early."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return value


def _canonical(value: Any) -> Any:
    """Return the canonical form: equal values give equal JSON."""
    if has_parts(value):
        return {name: _canonical(each) for name, each in parts_of_value(value).items()}
    if isinstance(value, Mapping):
        return {
            "mapping": _sort([_canonical(key), _canonical(each)] for key, each in value.items())
        }
    if isinstance(value, AbstractSet):
        return {"set": _sort(_canonical(each) for each in value)}
    if isinstance(value, Collection) and not isinstance(value, str | bytes | bytearray):
        return [_canonical(each) for each in value]
    return _scalar(value)


def _sort(items: Any) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def _scalar(value: Any) -> Any:
    if isinstance(value, Enum):
        return _scalar(value.value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Decimal) and value.is_finite():
        return {"decimal": str(value.normalize())}
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat()
    return to_jsonable_python(value, bytes_mode="base64", inf_nan_mode="strings", fallback=repr)
