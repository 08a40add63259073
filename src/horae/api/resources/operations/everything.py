"""`/api/everything/`: pause all queues and the firing of schedules, and resume them."""

from datetime import datetime
from functools import partial

from fastapi import APIRouter
from pydantic import Field

from horae.api.dependencies import Reader, ServicesHere, Staff
from horae.api.models import View
from horae.api.resources.operations.queues import QueuePause
from horae.api.services import Services

router = APIRouter(prefix="/api/everything", tags=["operations"])


class EverythingItem(View):
    """Whether all queues and the firing of schedules are paused."""

    paused: bool
    paused_on: datetime | None
    note: str | None = Field(description="Why.")
    by: str | None = Field(description="Who; null if the audit log no longer says it.")


@router.get("/")
async def read_pause(services: ServicesHere, _actor: Reader) -> EverythingItem:
    """Read whether everything is paused, since when, by whom and why."""
    return await _item(services)


@router.post("/pause/")
async def pause_everything(
    services: ServicesHere, actor: Staff, pause: QueuePause
) -> EverythingItem:
    """Pause all queues and the firing of schedules; running jobs continue.

    Pausing again changes the note.
    """
    call = partial(services.queues.pause_everything, pause.note)
    await services.change(actor, "everything.pause", "everything", call, pause.note)
    return await _item(services)


@router.post("/resume/")
async def resume_everything(services: ServicesHere, actor: Staff) -> EverythingItem:
    """Resume all queues and schedules that are not paused by themselves."""
    call = services.queues.resume_everything
    await services.change(actor, "everything.resume", "everything", call)
    return await _item(services)


async def _item(services: Services) -> EverythingItem:
    pause = await services.on_thread(services.queues.everything_paused)
    if pause is None:
        return EverythingItem(paused=False, paused_on=None, note=None, by=None)
    return EverythingItem(paused=True, paused_on=pause.since, note=pause.note, by=pause.by)
