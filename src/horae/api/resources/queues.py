"""`/api/queues/`: see what waits, hold a queue, open it again, limit what runs of it."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from horae.api.dependencies import Reader, ServicesHere, Staff
from horae.api.fields import STORABLE, Storable
from horae.api.problems import documented
from horae.api.services import Services
from horae.api.views.operations import QueueItem, QueueList, idle_queue_item, queue_item
from horae.client.operations.queues import LARGEST_LIMIT
from horae.domain.names import LONGEST_NAME

router = APIRouter(prefix="/api/queues", tags=["operations"])

QueueName = Annotated[
    Storable, Path(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE, description="The name of a queue.")
]


class Pause(BaseModel):
    """Why a queue is held."""

    model_config = ConfigDict(extra="forbid")

    note: Storable | None = Field(None, max_length=2000, pattern=STORABLE, description="Why; shown in the list.")


class Limit(BaseModel):
    """How much of a queue runs at a time."""

    model_config = ConfigDict(extra="forbid")

    concurrency_limit: int | None = Field(
        ge=1, le=LARGEST_LIMIT, description="Jobs that may run at a time, over all nodes; null for no limit."
    )


@router.get("/", responses=documented())
async def list_queues(services: ServicesHere, _actor: Reader) -> QueueList:
    """List every queue that has work, is paused or has a limit."""
    found = await services.on_thread(services.queues.list)
    return QueueList(queues=[queue_item(view) for view in found])


@router.post("/{queue:path}/pause/", responses=documented(400, 404, 413))
async def pause_queue(services: ServicesHere, actor: Staff, queue: QueueName, pause: Pause) -> QueueItem:
    """Let no node begin a job of this queue; what has started goes on. Pausing again changes the note."""
    async with services.audited(actor, "queue.pause", queue, pause.note):
        await services.change(partial(services.queues.pause, queue, pause.note))
    return await _item(services, queue)


@router.post("/{queue:path}/resume/", responses=documented(404))
async def resume_queue(services: ServicesHere, actor: Staff, queue: QueueName) -> QueueItem:
    """Open a paused queue again."""
    async with services.audited(actor, "queue.resume", queue):
        await services.change(partial(services.queues.resume, queue))
    return await _item(services, queue)


@router.post("/{queue:path}/limit/", responses=documented(400, 404, 413))
async def limit_queue(services: ServicesHere, actor: Staff, queue: QueueName, limit: Limit) -> QueueItem:
    """Let no more jobs of this queue run at a time; what has started goes on."""
    most = limit.concurrency_limit
    async with services.audited(actor, "queue.limit", queue, "none" if most is None else str(most)):
        await services.change(partial(services.queues.limit, queue, most))
    return await _item(services, queue)


async def _item(services: Services, queue: str) -> QueueItem:
    found = await services.on_thread(services.queues.list)
    return next((queue_item(view) for view in found if view.name == queue), idle_queue_item(queue))
