"""`/api/groups/`: start, read and cancel groups of jobs; `GET /api/jobs/?group_id=` lists the
members.
"""

from contextlib import ExitStack
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path
from pydantic import Field

from horae.api.dependencies import Authenticated, Changer, ServicesHere
from horae.api.models import Id, Name, RequestModel, View
from horae.api.resources.job_types import not_startable, translate_errors
from horae.client.jobs.creating import Member
from horae.types import JobType

router = APIRouter(prefix="/api/groups", tags=["jobs"])

GroupId = Annotated[Id, Path(description="ID of the group.")]
MOST_MEMBERS: Final = 1_000
"""Maximum number of members in one request."""


class NewMember(RequestModel):
    """A job of a group, of a public job type."""

    type: Name
    params: dict[str, Any] = Field(default_factory=dict[str, Any])


class NewGroup(RequestModel):
    """The jobs of a new group, and the one that runs after all of them."""

    members: list[NewMember] = Field(max_length=MOST_MEMBERS)
    then: NewMember | None = None
    on_failure: Literal["continue", "cancel"] = "continue"


class GroupView(View):
    """Jobs that are watched and cancelled together."""

    id: int
    state: str = Field(
        description=(
            "`open` while members may be added, `ended` when all have ended, `cancelled` once it is"
            " cancelled."
        )
    )
    progress_percentage: int = Field(
        ge=0, le=100, description="The mean of the members; 100 when all have ended."
    )
    total: int = Field(description="Members.")
    finished: int
    failed: int
    cancelled: int
    owner: str | None
    on_failure: str = Field(
        description="`continue` or `cancel`: what the group does when a member does not finish."
    )
    then_id: int | None = Field(description="The job that runs when all members have ended.")
    created_on: datetime
    cancelled_on: datetime | None
    cancelled_by: str | None
    ended_on: datetime | None = Field(description="When the last member ended.")


@router.post("/", status_code=202)
async def start_group(services: ServicesHere, actor: Changer, group: NewGroup) -> GroupView:
    """Start jobs of public types as a group, all or none; `max_count` holds for each type as for
    single jobs.
    """
    kinds: dict[str, JobType[Any]] = {}
    for each in (*group.members, *filter(None, [group.then])):
        kind = services.registry.find(each.type)
        if kind is None or not kind.public:
            raise not_startable(services, actor, each.type)
        kinds[each.type] = kind
    members: list[Member] = [(each.type, each.params) for each in group.members]
    then: Member | None = None if group.then is None else (group.then.type, group.then.params)
    async with services.record_change(actor, "group.start", str(len(members))):
        with ExitStack() as stack:
            for kind in kinds.values():
                stack.enter_context(translate_errors(kind))
            started = await services.jobs.start_group(
                members, then=then, on_failure=group.on_failure, owner=actor.id, counted=True
            )
    return GroupView.model_validate(started)


@router.get("/{group_id}/")
async def get_group(services: ServicesHere, actor: Authenticated, group_id: GroupId) -> GroupView:
    """Read a group, with the progress of its members."""
    return GroupView.model_validate(await services.jobs.get_group(group_id, owner=actor.reading_as))


@router.post("/{group_id}/cancel/")
async def cancel_group(services: ServicesHere, actor: Changer, group_id: GroupId) -> GroupView:
    """Cancel the members that have not ended, and the job after them. Idempotent."""
    async with services.record_change(actor, "group.cancel", str(group_id)):
        return GroupView.model_validate(
            await services.jobs.cancel_group(group_id, owner=actor.changing_as, by=actor.id)
        )
