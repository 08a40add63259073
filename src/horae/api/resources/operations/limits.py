"""`/api/limits/`: list limits by key, change their numbers, take changes back."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Path
from pydantic import BeforeValidator, Field

from horae.api.dependencies import Reader, ServicesHere, Staff
from horae.api.models import Name, RequestModel, Storable, View
from horae.domain.limits import Window
from horae.domain.storable import LARGEST_NUMBER

router = APIRouter(prefix="/api/limits", tags=["operations"])

LimitName = Annotated[Name, Path(description="The name of a limit.")]


class LimitChange(RequestModel):
    """The numbers of a limit: a rate, or a number of jobs at a time."""

    rate: Storable | None = Field(
        None, max_length=100, description="Starts per period, such as `10/s` or `5/30s`."
    )
    burst: int | None = Field(
        None, ge=1, le=LARGEST_NUMBER, description="Starts at once after a pause."
    )
    window: Window | None = Field(None, description="`bucket`, the default, or `sliding`.")
    concurrency: int | None = Field(
        None, ge=1, le=LARGEST_NUMBER, description="Jobs at a time, over all nodes."
    )


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


@router.get("/")
async def list_limits(services: ServicesHere, _actor: Reader) -> LimitList:
    """List every limit by key with its numbers, and the due jobs that it holds back."""
    found = await services.on_thread(services.limits.list)
    return LimitList.model_validate({"limits": found})


@router.post("/{name:path}/set/")
async def set_limit(
    services: ServicesHere, actor: Staff, name: LimitName, change: LimitChange
) -> LimitItem:
    """Replace the numbers of a limit until it is reset; running jobs continue."""
    call = partial(services.limits.set, name, **change.model_dump())
    return LimitItem.model_validate(await services.change(actor, "limit.set", name, call))


@router.post("/{name:path}/reset/")
async def reset_limit(services: ServicesHere, actor: Staff, name: LimitName) -> LimitItem:
    """Let the declared numbers of a limit be in force again."""
    call = partial(services.limits.reset, name)
    return LimitItem.model_validate(await services.change(actor, "limit.reset", name, call))
