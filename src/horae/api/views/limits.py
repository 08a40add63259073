"""Limits by key in responses."""

from datetime import datetime
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field

from horae.api.models import View

_Numbers: TypeAlias = Annotated[
    dict[str, Any] | None,
    BeforeValidator(lambda numbers: None if numbers is None else numbers.to_json()),
]


class LimitItem(View):
    """A limit by key."""

    name: str
    allows: Annotated[
        str | None, BeforeValidator(lambda numbers: None if numbers is None else numbers.text)
    ] = Field(validation_alias="numbers", description="The numbers in force, in words.")
    declared: _Numbers = Field(
        description=(
            "The numbers in the code: `concurrency`; or `amount`, `period` (microseconds), `burst`,"
            " `window`."
        )
    )
    changed: _Numbers = Field(description="The numbers that replace them, set at run time.")
    held_back: int = Field(
        description="Due jobs that wait only because of this limit, as far as nodes have looked."
    )
    held_back_since: datetime | None = Field(
        description="Since when the one is due that has waited longest."
    )
    keys: int = Field(description="How many keys hold jobs back.")


class LimitList(View):
    """All limits by key, by name."""

    limits: list[LimitItem]
