"""Base classes of request and response models, and types of their fields."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from fastapi import Query
from pydantic import (
    AfterValidator,
    AliasGenerator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
)

from horae.domain.jobs import stored_text
from horae.domain.names import LONGEST_NAME
from horae.domain.storable import LARGEST_ID, is_storable
from horae.sentences import Sentence, SentenceCode, as_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


T = TypeVar("T")
V = TypeVar("V", bound=BaseModel)


def _check_storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("contains a character that cannot be stored")
    return text


Storable = Annotated[str, AfterValidator(_check_storable)]
"""A text that both databases can store."""


def _refuse_number(value: Any) -> Any:
    """Refuse a number, which Pydantic would take for seconds since 1970."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return value
    raise ValueError("is a number; write a date and time with its zone, as 2026-01-31T12:00:00Z")


Instant = Annotated[AwareDatetime, BeforeValidator(_refuse_number)]
"""A date and time with its zone."""
Moment = Annotated[
    AwareDatetime,
    # The bounds come before the validator; after it they would get into the document of the API.
    Field(ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(2100, 1, 1, tzinfo=UTC)),
    BeforeValidator(_refuse_number),
]
"""A moment with which both databases can calculate."""
Id = Annotated[int, Field(ge=1, le=LARGEST_ID)]
Name = Annotated[Storable, Field(min_length=1, max_length=LONGEST_NAME)]
FromQuery = Annotated[T, Query()]
"""A model of all query parameters of a request."""


class RequestModel(BaseModel):
    """A body, or the query parameters, of a request. An unknown name is an error."""

    model_config = ConfigDict(extra="forbid")


class View(BaseModel):
    """A part of a response, made from the attributes of a value.

    `created_on` is made from `created_at`, `text_sentence` from `text`, and other fields from the
    attribute of their name, unless an alias names a different one.
    """

    model_config = ConfigDict(
        alias_generator=AliasGenerator(
            validation_alias=lambda name: re.sub("_on$", "_at", name.removesuffix("_sentence"))
        ),
        from_attributes=True,
        populate_by_name=True,
    )


class SentenceItem(View):
    """The text beside it as a code and its values, for a page in another language."""

    code: SentenceCode
    values: dict[str, Any] = Field(
        description=(
            "What stands in the text, by name; a value that is a sentence has a code and values of"
            " its own, and its `text`."
        )
    )


def sentence_item(text: object) -> SentenceItem | None:
    """Return the code and the values of a text; None if it has none."""
    return SentenceItem(**as_json(text)) if isinstance(text, Sentence) else None


OptionalSentence = Annotated[SentenceItem | None, BeforeValidator(sentence_item)]
"""The code and values of the text that the field is made from."""


def _stored_sentence(text: object) -> SentenceItem | None:
    return sentence_item(stored_text(text)) if isinstance(text, str) else None


StoredSentence = Annotated[SentenceItem | None, BeforeValidator(_stored_sentence)]
"""The code and values of the stored text that the field is made from, if Horae has written it."""


@dataclass(frozen=True, slots=True)
class OfValues:
    """Marks a field that may show parameters or results of jobs; a viewer gets `blank` instead.

    `technical`: the owner of the job gets that, too.
    """

    blank: Any = None
    technical: bool = False


FOR_STAFF: Final = OfValues(technical=True)
HIDDEN: Final = "not shown to viewers"
"""What a viewer reads in place of a text that may repeat parameters."""
# Fields that a viewer reads as null, or in `HiddenText` as `HIDDEN`.
AnyOfValues = Annotated[Any, OfValues()]
TextOfValues = Annotated[str | None, OfValues()]
HiddenText = Annotated[str | None, OfValues(HIDDEN)]
SentenceOfValues = Annotated[OptionalSentence, OfValues()]
StoredSentenceOfValues = Annotated[StoredSentence, OfValues()]


def without_values(view: V, sees: Callable[[str | None], bool]) -> V:
    """Return a view without what may show parameters and results, and without technical errors.

    `sees`: whether those of jobs of this owner may be shown. What a job type adds goes as well.
    """
    is_seen = "owner" in type(view).model_fields and sees(vars(view)["owner"])
    changes: dict[str, Any] = {}
    for name, field in type(view).model_fields.items():
        value = getattr(view, name)
        mark = next((each for each in field.metadata if isinstance(each, OfValues)), None)
        if mark is not None and value:
            if mark.technical or not is_seen:
                changes[name] = mark.blank
        elif isinstance(value, BaseModel):
            changes[name] = without_values(value, sees)
        elif isinstance(value, list):
            parts: list[Any] = value
            changes[name] = [
                without_values(each, sees) if isinstance(each, BaseModel) else each
                for each in parts
            ]
    shown = view.model_copy(update=changes)
    if shown.__pydantic_extra__ and not is_seen:
        shown.__pydantic_extra__ = {}
    return shown


def without_parts(text: str, parts: Iterable[str]) -> str:
    """Return a sentence without those of its parts that may repeat parameters or results."""
    for part in parts:
        text = text.replace(part, "")
    return text


def attributes(value: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of a dataclass by name; unlike `asdict`, leave their values as they are."""
    return {field.name: getattr(value, field.name) for field in fields(value)}
