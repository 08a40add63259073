"""Whose jobs: those of one owner, or everybody's, which somebody has to say."""

from enum import Enum
from typing import Final, Literal, TypeAlias

from horae.domain.storable import has_control, is_storable

LONGEST_OWNER: Final = 200


class Everybody(Enum):
    """A type of one value, so that no empty or missing id can be taken for it."""

    EVERYBODY = "everybody"


EVERYBODY: Final = Everybody.EVERYBODY
"""In place of an owner: everybody's jobs, also those that nobody owns."""

Whose: TypeAlias = str | Literal[Everybody.EVERYBODY]


def problem_with_owner(given: object) -> str | None:
    """What is wrong with this as the id of an owner; None if nothing is."""
    if not isinstance(given, str):
        return f"expected a text, not {type(given).__name__}"
    if not 0 < len(given) <= LONGEST_OWNER:
        return f"expected 1 to {LONGEST_OWNER} characters, not {len(given)}"
    if not is_storable(given) or has_control(given):
        return "a control character, or one that cannot be stored, is not allowed"
    return None
