"""`/api/queues/`: list, pause, resume and limit queues, and let owners take turns."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path
from pydantic import Field

from horae.api.dependencies import Reader, ServicesHere, Staff
from horae.api.models import LONGEST_NOTE, RequestModel, Storable
from horae.api.problems import document_errors
from horae.api.resources.operations.limits import LimitChange
from horae.api.services import Services
from horae.api.views import QueueItem, QueueList
from horae.client.operations import LARGEST_LIMIT
from horae.domain.limits import Limit
from horae.domain.names import LONGEST_NAME
from horae.storage.queues import queues

router = APIRouter(prefix="/api/queues", tags=["operations"])

QueueName = Annotated[
    Storable, Path(min_length=1, max_length=LONGEST_NAME, description="The name of a queue.")
]

NO_QUEUE: Final[Mapping[str, Any]] = {
    "paused_at": None,
    "note": None,
    "concurrency_limit": None,
    "fair_by": None,
    "limits": None,
    "declared": None,
    "backend": None,
    "pending": 0,
    "due": 0,
    "started": 0,
    "oldest_due": None,
}
"""The values of a queue that is unknown: it is not paused, has no limit and no jobs."""


class QueuePause(RequestModel):
    """Why a queue is paused."""

    note: Storable | None = Field(
        None, max_length=LONGEST_NOTE, description="Why; shown in the list."
    )


class QueueLimit(RequestModel):
    """How many jobs of a queue may run at a time."""

    concurrency_limit: int | None = Field(
        ge=1,
        le=LARGEST_LIMIT,
        description="Jobs that may run at a time, over all nodes; null for no limit.",
    )


class QueueLimitByKey(LimitChange):
    """A limit by key of a queue."""

    key: Storable | None = Field(
        None,
        max_length=LONGEST_NAME,
        description="A format over the parameters, such as `{customer_id}`.",
    )


@router.get("/", responses=document_errors())
async def list_queues(services: ServicesHere, _actor: Reader) -> QueueList:
    """List every queue that has work, is paused, has a limit or is run by another system."""
    found = await services.on_thread(partial(services.reads.autocommit, queues.view))
    return QueueList(queues=[QueueItem.model_validate(view) for view in found])


@router.post("/{queue:path}/pause/", responses=document_errors(400, 404, 413))
async def pause_queue(
    services: ServicesHere, actor: Staff, queue: QueueName, pause: QueuePause
) -> QueueItem:
    """Pause a queue; running jobs continue. Pausing again changes the note."""
    async with services.record_change(actor, "queue.pause", queue, pause.note):
        await services.change(partial(services.queues.pause, queue, pause.note))
    return await _item(services, queue)


@router.post("/{queue:path}/resume/", responses=document_errors(400, 404))
async def resume_queue(services: ServicesHere, actor: Staff, queue: QueueName) -> QueueItem:
    """Resume a paused queue; one that is not paused stays as it is."""
    async with services.record_change(actor, "queue.resume", queue):
        await services.change(partial(services.queues.resume, queue))
    return await _item(services, queue)


@router.post("/{queue:path}/limit/", responses=document_errors(400, 404, 413))
async def limit_queue(
    services: ServicesHere, actor: Staff, queue: QueueName, limit: QueueLimit
) -> QueueItem:
    """Limit how many jobs of this queue run at a time; running jobs continue."""
    most = limit.concurrency_limit
    async with services.record_change(
        actor, "queue.limit", queue, "none" if most is None else str(most)
    ):
        await services.change(partial(services.queues.limit, queue, most))
    return await _item(services, queue)


@router.post("/{queue:path}/limit-by-key/", responses=document_errors(400, 404, 413))
async def limit_queue_by_key(
    services: ServicesHere, actor: Staff, queue: QueueName, change: QueueLimitByKey
) -> QueueItem:
    """Limit the jobs of this queue, in total or by key; without numbers, remove its limits by
    key.
    """
    given = change.model_dump(exclude_none=True)
    limit = Limit(**given) if given else None
    async with services.record_change(
        actor, "queue.limit_by_key", queue, "none" if limit is None else limit.numbers.text
    ):
        await services.change(partial(services.queues.limit_by_key, queue, limit))
    return await _item(services, queue)


class Fairness(RequestModel):
    """Who takes turns in a queue."""

    by: Storable | None = Field(
        max_length=LONGEST_NAME,
        description="`owner`, or the name of a parameter; null: jobs start as they are due.",
    )


@router.post("/{queue:path}/fair/", responses=document_errors(400, 404, 413))
async def make_queue_fair(
    services: ServicesHere, actor: Staff, queue: QueueName, fairness: Fairness
) -> QueueItem:
    """Let owners, or the values of a parameter, take turns in this queue."""
    async with services.record_change(actor, "queue.fair", queue, fairness.by or "none"):
        await services.change(partial(services.queues.fair, queue, fairness.by))
    return await _item(services, queue)


@router.post("/{queue:path}/reset/", responses=document_errors(400, 404))
async def reset_queue(services: ServicesHere, actor: Staff, queue: QueueName) -> QueueItem:
    """Give a queue the limits and the turns that the code of a deployed module declares."""
    async with services.record_change(actor, "queue.reset", queue):
        await services.change(partial(services.queues.reset, queue))
    return await _item(services, queue)


async def _item(services: Services, queue: str) -> QueueItem:
    found = await services.on_thread(services.queues.list)
    view = next((view for view in found if view.name == queue), None)
    return QueueItem.model_validate(view or {**NO_QUEUE, "name": queue})
