"""`/api/overview/`: the state of the whole."""

from fastapi import APIRouter

from horae.api.dependencies import Reader, ServicesHere
from horae.api.problems import documented
from horae.api.views.operations import OverviewItem, overview_item

router = APIRouter(prefix="/api/overview", tags=["operations"])


@router.get("/", responses=documented())
async def get_overview(services: ServicesHere, _actor: Reader) -> OverviewItem:
    """Read how much waits and runs, what the last hour brought, how prompt it was, and what is wrong."""
    return overview_item(await services.on_thread(services.overview.get))
