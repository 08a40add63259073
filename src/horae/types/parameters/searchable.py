"""Decides whether jobs may be searched by a parameter: never if it may contain a secret."""

from collections.abc import Sequence
from enum import Enum, auto

from pydantic import BaseModel

from horae.types.parameters.secret_places import places_of


class Searchability(Enum):
    """Whether jobs may be searched by a parameter of their type."""

    OPEN = auto()
    SECRET = auto()
    MISSING = auto()


def searchability(model: type[BaseModel], path: Sequence[str]) -> Searchability:
    """Return whether jobs may be searched by the parameter at `path`.

    Where a path leads into a value with secrets, and the schema does not tell that it ends beside
    them, it is secret: to call too much secret is better than too little.
    """
    place = places_of(model).root
    for number, name in enumerate(path):
        within = place.at(name)
        if within is None:
            return Searchability.MISSING if number == 0 else Searchability.SECRET
        if within.is_secret:
            return Searchability.SECRET
        if not within.has_secrets:
            return Searchability.OPEN
        place = within
    return Searchability.SECRET
