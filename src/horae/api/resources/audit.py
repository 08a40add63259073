"""`/api/audit/`: who changed what."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from horae.api.dependencies import Onlooker, ServicesHere
from horae.api.fields import STORABLE, Storable
from horae.api.problems import documented

router = APIRouter(prefix="/api/audit", tags=["operations"])


class AuditQuery(BaseModel):
    """Which entries to list."""

    model_config = ConfigDict(extra="forbid")

    actor: Storable | None = Field(None, min_length=1, pattern=STORABLE, description="By whom.")
    limit: int = Field(100, ge=1, le=500)
    cursor: str | None = Field(None, pattern="^[0-9]{1,18}$", description="`next` of the page before.")


class AuditItem(BaseModel):
    """A changing call."""

    id: int
    at: datetime
    actor: str
    action: str = Field(description="What was asked for.", examples=["job.cancel"])
    target: str = Field(description="Of which job, job type or queue.")
    outcome: str = Field(description="`done`, or the code of the error that it was answered with.")
    note: str | None
    channel: str | None = Field(description="How it was asked for: `http`, `cli` or `python`.")
    before: Any = Field(None, description="What was changed, as it was before; null if nothing was there.")
    after: Any = Field(None, description="What was changed, as it is since; null if nothing is left.")


class AuditList(BaseModel):
    """A page of entries, the newest first."""

    entries: list[AuditItem]
    next: str | None


@router.get("/", responses=documented(400))
async def list_audit(services: ServicesHere, _actor: Onlooker, query: Annotated[AuditQuery, Query()]) -> AuditList:
    """List who changed what, and when; calls that were refused for what they asked too."""
    before = None if query.cursor is None else int(query.cursor)
    page = await services.on_thread(partial(services.audit.page, before=before, actor=query.actor, limit=query.limit))
    entries = [
        AuditItem(
            id=each.id,
            at=each.at,
            actor=each.actor,
            action=each.action,
            target=each.target,
            outcome=each.outcome,
            note=each.note,
            channel=each.channel,
            before=each.before,
            after=each.after,
        )
        for each in page.entries
    ]
    return AuditList(entries=entries, next=None if page.next is None else str(page.next))
