"""`/api/queues/`: list, pause, resume and limit queues, and let owners take turns."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BeforeValidator, Field

from horae.api.dependencies import Reader, ServicesHere, Staff
from horae.api.models import Name, RequestModel, Storable, View
from horae.api.resources.operations.limits import LimitChange
from horae.api.security.actor import Actor
from horae.api.services import Services
from horae.domain.jobs import OWN_BACKEND
from horae.domain.limits import Limit
from horae.domain.names import LONGEST_NAME
from horae.domain.storable import LARGEST_NUMBER
from horae.storage.queues import QueueView, queues
from horae.types import LONGEST_NOTE
from horae.types.options import QUEUE_OPTIONS

router = APIRouter(prefix="/api/queues", tags=["operations"])

QueueName = Annotated[Name, Path(description="The name of a queue.")]


class QueuePause(RequestModel):
    """Why a queue is paused."""

    note: Storable | None = Field(
        None, max_length=LONGEST_NOTE, description="Why; shown in the list."
    )


class QueueLimit(RequestModel):
    """How many jobs of a queue may run at a time."""

    concurrency_limit: int | None = Field(
        ge=1,
        le=LARGEST_NUMBER,
        description=QUEUE_OPTIONS["concurrency_limit"].description,
    )


class QueueLimitByKey(LimitChange):
    """A limit by key of a queue."""

    key: Storable | None = Field(
        None,
        max_length=LONGEST_NAME,
        description="A format over the parameters, such as `{customer_id}`.",
    )


class QueueItem(View):
    """A queue, with what waits and runs in it."""

    name: str
    paused: Annotated[bool, BeforeValidator(lambda moment: moment is not None)] = Field(
        validation_alias="paused_at"
    )
    paused_on: datetime | None
    note: str | None = Field(description="Why it is paused.")
    concurrency_limit: int | None = Field(
        description=QUEUE_OPTIONS["concurrency_limit"].description
    )
    fair_by: str | None = Field(description=QUEUE_OPTIONS["fair_by"].description)
    limits: dict[str, Any] | None = Field(description=QUEUE_OPTIONS["limits"].description)
    declared: dict[str, Any] | None = Field(
        description=(
            "What the code of a deployed module declares for these; changes at run time stay until"
            " it changes."
        )
    )
    backend: Annotated[str, BeforeValidator(lambda stored: stored or OWN_BACKEND)] = Field(
        description=(
            "What runs its jobs unless their type names something else: `horae`, `celery` or"
            " `celery:QUEUE`."
        )
    )
    pending: int = Field(description="Pending jobs, including those that are due later.")
    due: int = Field(description="Pending jobs that are due.")
    started: int
    oldest_seconds: Annotated[
        float | None, BeforeValidator(lambda seconds: seconds if seconds and seconds > 0 else None)
    ] = Field(
        validation_alias="oldest_due",
        description="How long its longest waiting job has been due; null for none.",
    )


class QueueList(View):
    """Every queue that has work, is paused, has a limit or is run by another system, by name."""

    queues: list[QueueItem]


@router.get("/")
async def list_queues(services: ServicesHere, _actor: Reader) -> QueueList:
    """List every queue that has work, is paused, has a limit or is run by another system."""
    found = await services.on_thread(services.reads.autocommit, queues.view)
    return QueueList(queues=[QueueItem.model_validate(view) for view in found])


@router.post("/{queue:path}/pause/")
async def pause_queue(
    services: ServicesHere, actor: Staff, queue: QueueName, pause: QueuePause
) -> QueueItem:
    """Pause a queue; running jobs continue. Pausing again changes the note."""
    call = partial(services.queues.pause, queue, pause.note)
    return await _change(services, actor, "pause", queue, call, pause.note)


@router.post("/{queue:path}/resume/")
async def resume_queue(services: ServicesHere, actor: Staff, queue: QueueName) -> QueueItem:
    """Resume a paused queue; one that is not paused stays as it is."""
    return await _change(services, actor, "resume", queue, partial(services.queues.resume, queue))


@router.post("/{queue:path}/limit/")
async def limit_queue(
    services: ServicesHere, actor: Staff, queue: QueueName, limit: QueueLimit
) -> QueueItem:
    """Limit how many jobs of this queue run at a time; running jobs continue."""
    call = partial(services.queues.limit, queue, limit.concurrency_limit)
    note = str(limit.concurrency_limit or "none")
    return await _change(services, actor, "limit", queue, call, note)


@router.post("/{queue:path}/limit-by-key/")
async def limit_queue_by_key(
    services: ServicesHere, actor: Staff, queue: QueueName, change: QueueLimitByKey
) -> QueueItem:
    """Limit the jobs of this queue, in total or by key; without numbers, remove its limits by
    key.
    """
    given = change.model_dump(exclude_none=True)
    limit = Limit(**given) if given else None
    call = partial(services.queues.limit_by_key, queue, limit)
    note = "none" if limit is None else limit.numbers.text
    return await _change(services, actor, "limit_by_key", queue, call, note)


class Fairness(RequestModel):
    """Who takes turns in a queue."""

    by: Storable | None = Field(
        max_length=LONGEST_NAME,
        description="`owner`, or the name of a parameter; null: jobs start as they are due.",
    )


@router.post("/{queue:path}/fair/")
async def make_queue_fair(
    services: ServicesHere, actor: Staff, queue: QueueName, fairness: Fairness
) -> QueueItem:
    """Let owners, or the values of a parameter, take turns in this queue."""
    call = partial(services.queues.fair, queue, fairness.by)
    return await _change(services, actor, "fair", queue, call, fairness.by or "none")


@router.post("/{queue:path}/reset/")
async def reset_queue(services: ServicesHere, actor: Staff, queue: QueueName) -> QueueItem:
    """Give a queue the limits and the turns that the code of a deployed module declares."""
    return await _change(services, actor, "reset", queue, partial(services.queues.reset, queue))


async def _change(
    services: Services,
    actor: Actor,
    action: str,
    queue: str,
    call: Callable[[], object],
    note: str | None = None,
) -> QueueItem:
    """Change a queue and return it; one that is unknown has no jobs, and nothing limits it."""
    await services.change(actor, f"queue.{action}", queue, call, note)
    found = await services.on_thread(services.queues.list)
    changed = next((view for view in found if view.name == queue), QueueView(name=queue))
    return QueueItem.model_validate(changed)
