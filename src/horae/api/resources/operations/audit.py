"""`/api/audit/`: who changed what."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import Field

from horae.api.dependencies import Reader, ServicesHere, shown_to
from horae.api.models import (
    AnyOfValues,
    FromQuery,
    Instant,
    RequestModel,
    Storable,
    StoredSentence,
    View,
    attributes,
)
from horae.client.operations import recorded_names, shown_names
from horae.storage.operations import ChangeFilter

router = APIRouter(prefix="/api/audit", tags=["operations"])


class AuditQuery(RequestModel):
    """Which entries to list."""

    actor: Storable | None = Field(None, min_length=1, description="The user who made the change.")
    target: Storable | None = Field(
        None,
        min_length=1,
        max_length=300,
        description=(
            "The changed job, job type, queue or schedule. With `kind=schedule`, changes are found"
            " by the id of the schedule and by its name."
        ),
    )
    kind: Storable | None = Field(
        None,
        pattern="^[a-z]{1,50}$",
        description="The first part of the action, such as `schedule` or `queue`.",
    )
    action: Storable | None = Field(
        None,
        min_length=1,
        max_length=1_000,
        description="One or more actions, separated by commas.",
        examples=["queue.pause,queue.resume"],
    )
    channel: Storable | None = Field(
        None, description="`python`, `cli`, `http` or `dashboard`.", pattern="^[a-z]{1,16}$"
    )
    since: Instant | None = Field(None, description="Only changes from this moment on.")
    until: Instant | None = Field(None, description="Only changes before this moment.")
    limit: int = Field(100, ge=1, le=500)
    cursor: str | None = Field(
        None, pattern="^[0-9]{1,18}$", description="`next` of the previous page."
    )


class AuditItem(View):
    """A changing call."""

    id: int
    at: datetime
    actor: str
    action: str = Field(description="The requested action.", examples=["job.cancel"])
    target: str = Field(description="The job, job type, queue, schedule or deployment.")
    target_name: str | None = Field(
        None, description="The name of a schedule whose id is the target, if it still exists."
    )
    outcome: str = Field(description="`done`, or the error code of the response.")
    note: str | None
    note_sentence: StoredSentence = None
    channel: str | None = Field(
        description="The channel of the request: `dashboard`, `http`, `cli` or `python`."
    )
    before: AnyOfValues = Field(
        None, description="The changed values before; null for something new."
    )
    after: AnyOfValues = Field(
        None, description="The changed values after; null for something deleted."
    )


class AuditList(View):
    """A page of entries, the newest first."""

    entries: list[AuditItem]
    next: str | None


@router.get("/")
async def list_audit(
    services: ServicesHere, actor: Reader, query: FromQuery[AuditQuery]
) -> AuditList:
    """List changes with their actor and time, including refused ones."""
    database = services.components.database
    before = None if query.cursor is None else int(query.cursor)
    which = ChangeFilter(
        targets=await services.on_thread(recorded_names, database, query.kind, query.target),
        actions=None if query.action is None else query.action.split(","),
        **query.model_dump(include={"kind", "actor", "channel", "since", "until"}),
    )
    page = await services.on_thread(services.audit.page, which, before=before, limit=query.limit)
    names = await services.on_thread(shown_names, database, page.entries)
    entries = [{**attributes(entry), "target_name": names.get(entry.id)} for entry in page.entries]
    next_page = None if page.next is None else str(page.next)
    found = AuditList.model_validate({"entries": entries, "next": next_page})
    return shown_to(actor, found)
