"""Whose jobs a call concerns: one owner's, or everybody's, which must be named explicitly."""

from enum import Enum
from typing import Final, Literal, TypeAlias


class Everybody(Enum):
    """A type with one value, so that no empty or missing id can be mistaken for it."""

    EVERYBODY = "everybody"


EVERYBODY: Final = Everybody.EVERYBODY
"""In place of an owner: the jobs of all owners and those without one."""

Whose: TypeAlias = str | Literal[Everybody.EVERYBODY]
