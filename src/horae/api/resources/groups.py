"""`/api/groups/`: read and cancel groups of jobs; `GET /api/jobs/?group_id=` lists the members."""

from fastapi import APIRouter

from horae.api.dependencies import Authenticated, Changer, ServicesHere
from horae.api.models import GroupIdInPath
from horae.api.problems import documented
from horae.api.views.groups import GroupView, group_view

router = APIRouter(prefix="/api/groups", tags=["jobs"])


@router.get("/{group_id}/", responses=documented(404))
async def get_group(services: ServicesHere, actor: Authenticated, group_id: GroupIdInPath) -> GroupView:
    """Read a group, with the progress of its members."""
    return group_view(await services.jobs.get_group(group_id, owner=actor.reading_as))


@router.post("/{group_id}/cancel/", responses=documented(400, 404))
async def cancel_group(services: ServicesHere, actor: Changer, group_id: GroupIdInPath) -> GroupView:
    """Cancel the members that have not ended, and the job after them. Idempotent."""
    async with services.audited(actor, "group.cancel", str(group_id)):
        return group_view(await services.jobs.cancel_group(group_id, owner=actor.changing_as, by=actor.id))
