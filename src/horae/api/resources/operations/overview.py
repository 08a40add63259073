"""`/api/overview/`: the state of the whole system."""

from fastapi import APIRouter

from horae.api.dependencies import Reader, ServicesHere
from horae.api.views import OverviewItem, overview_item

router = APIRouter(prefix="/api/overview", tags=["operations"])


@router.get("/")
async def get_overview(services: ServicesHere, _actor: Reader) -> OverviewItem:
    """Read how many jobs wait and run, what ended in the last hour, the delays, and current
    problems.
    """
    return overview_item(await services.on_thread(services.overview.get))
