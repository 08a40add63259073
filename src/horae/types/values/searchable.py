"""Decides whether jobs may be searched by a parameter: not if it is secret, or may contain what is."""

from collections.abc import Sequence
from enum import Enum, auto

from pydantic import BaseModel

from horae.types.values.secret import is_secret, models_in


class Searchability(Enum):
    """Whether jobs may be searched by a parameter of their type."""

    OPEN = auto()
    SECRET = auto()
    MISSING = auto()


def searchability(model: type[BaseModel], path: Sequence[str]) -> Searchability:
    """Return whether jobs may be searched by the parameter at `path`.

    Where a model may be the value of a mapping, a name of the path may be a key as well as a field, so each is
    considered as both: to call too much secret is better than too little.
    """
    known = any(path[0] in _names(model, field) for field in model.model_fields)
    if not known and model.model_config.get("extra") != "allow":
        return Searchability.MISSING
    reachable = {model}
    for name in path:
        fields = [
            described
            for each in reachable
            for field, described in each.model_fields.items()
            if name in _names(each, field)
        ]
        if any(is_secret(described) for described in fields):
            return Searchability.SECRET
        reachable |= {inner for described in fields for inner in models_in(described)}
    return Searchability.OPEN


def _names(model: type[BaseModel], field: str) -> set[str | None]:
    described = model.model_fields[field]
    return {field, described.alias, described.serialization_alias}
