"""Limits by key in responses."""

from datetime import datetime
from typing import Any

from pydantic import Field

from horae.api.models import View
from horae.storage.operations import LimitView


class LimitItem(View):
    """A limit by key."""

    name: str
    allows: str | None = Field(description="The numbers in force, in words.")
    declared: dict[str, Any] | None = Field(
        description=(
            "The numbers in the code: `concurrency`; or `amount`, `period` (microseconds), `burst`,"
            " `window`."
        )
    )
    changed: dict[str, Any] | None = Field(
        description="The numbers that replace them, set at run time."
    )
    held_back: int = Field(
        description="Due jobs that wait only because of this limit, as far as nodes have looked."
    )
    held_back_since: datetime | None = Field(
        description="Since when the one is due that has waited longest."
    )
    keys: int = Field(description="How many keys hold jobs back.")

    @classmethod
    def of(cls, view: LimitView) -> "LimitItem":
        """Return the view of a limit."""
        return cls(
            name=view.name,
            allows=None if view.numbers is None else view.numbers.text,
            declared=None if view.declared is None else view.declared.to_json(),
            changed=None if view.changed is None else view.changed.to_json(),
            held_back=view.held_back,
            held_back_since=view.held_back_since,
            keys=view.keys,
        )


class LimitList(View):
    """All limits by key, by name."""

    limits: list[LimitItem]
