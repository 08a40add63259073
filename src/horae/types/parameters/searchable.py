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

    A path into a value with secrets counts as secret unless the schema shows that it leads to none
    of them: it is better to hide too much than too little.
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
