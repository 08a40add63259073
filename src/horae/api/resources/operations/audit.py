"""`/api/audit/`: who changed what."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from horae.api.dependencies import Reader, ServicesHere
from horae.api.models import RequestModel, Storable, View
from horae.api.problems import document_errors

router = APIRouter(prefix="/api/audit", tags=["operations"])


class AuditQuery(RequestModel):
    """Which entries to list."""

    actor: Storable | None = Field(None, min_length=1, description="The user who made the change.")
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
    outcome: str = Field(description="`done`, or the error code of the response.")
    note: str | None
    channel: str | None = Field(
        description="The channel of the request: `http`, `cli` or `python`."
    )
    before: Any = Field(None, description="The changed values before; null for something new.")
    after: Any = Field(None, description="The changed values after; null for something deleted.")


class AuditList(View):
    """A page of entries, the newest first."""

    entries: list[AuditItem]
    next: str | None


@router.get("/", responses=document_errors(400))
async def list_audit(
    services: ServicesHere, _actor: Reader, query: Annotated[AuditQuery, Query()]
) -> AuditList:
    """List changes with their actor and time, including refused ones."""
    before = None if query.cursor is None else int(query.cursor)
    page = await services.on_thread(
        services.audit.page, before=before, actor=query.actor, limit=query.limit
    )
    next_page = None if page.next is None else str(page.next)
    return AuditList.model_validate({"entries": page.entries, "next": next_page})
