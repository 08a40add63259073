"""Base classes of request and response models, and types of their fields."""

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict

from horae.domain.storable import is_storable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LARGEST_ID: Final = 2**63 - 1
LONGEST_NOTE: Final = 2000
"""Maximum number of characters of the note on why a queue or schedule is paused."""


def _check_storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("contains a character that cannot be stored")
    return text


Storable = Annotated[str, AfterValidator(_check_storable)]
"""A text that both databases can store."""
GroupIdInPath = Annotated[int, Path(ge=1, le=LARGEST_ID, description="ID of the group.")]
JobIdInPath = Annotated[int, Path(ge=1, le=LARGEST_ID, description="ID of the job.")]


class RequestModel(BaseModel):
    """A body, or the query parameters, of a request. An unknown name is an error."""

    model_config = ConfigDict(extra="forbid")


class View(BaseModel):
    """A part of a response, made from the attributes of a value; an alias names a different
    attribute.
    """

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


def attributes(value: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of a dataclass by name; unlike `asdict`, leave their values as they are."""
    return {field.name: getattr(value, field.name) for field in fields(value)}
