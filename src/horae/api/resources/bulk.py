"""`/api/jobs/bulk/`: change all jobs that meet a filter, by one job, or count them."""

from typing import Any, Final

from fastapi import APIRouter
from pydantic import Field

from horae.api.dependencies import Changer, ServicesHere
from horae.api.models import Id, Instant, RequestModel, Storable, View
from horae.api.problems import PermissionDenied
from horae.api.resources.jobs import detail_of
from horae.api.security.actor import Actor
from horae.api.services import Services
from horae.api.views.jobs import JobDetail, JobView
from horae.domain.jobs import MOST_CHARACTERS, MOST_IDS, BulkAction
from horae.errors import InvalidRequest
from horae.sentences import SentenceCode

MOST_NAMES: Final = 1_000
"""Maximum number of types or queues in one filter."""
NO_FILTERS: Final = frozenset({"all", "run_at", "delay", "without_hooks", "timezone"})
"""What a change may name without saying which jobs it means."""

router = APIRouter(prefix="/api/jobs/bulk", tags=["jobs"])


class BulkChange(RequestModel):
    """Which jobs to change: those that meet every filter. Owners change only their own jobs."""

    states: list[Storable] | None = Field(
        None, max_length=20, description="States; `!` in front excludes one."
    )
    types: list[Storable] | None = Field(None, max_length=MOST_NAMES)
    queues: list[Storable] | None = Field(None, max_length=MOST_NAMES)
    owner: Storable | None = Field(
        None, min_length=1, description="Owner of the jobs; only for staff."
    )
    schedule_id: Id | None = Field(None, description="Only the runs of this schedule.")
    ids: list[Id] | None = Field(None, max_length=MOST_IDS, description="Only these jobs.")
    query: Storable | None = Field(
        None,
        min_length=1,
        max_length=MOST_CHARACTERS,
        description="Terms that the jobs must all meet, as in `query` of the list of jobs.",
        examples=["error:timeout since:2026-11-01"],
    )
    timezone: Storable | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="The IANA name of the time zone of the days in `query`; UTC by default.",
    )
    all: bool = Field(default=False, description="Needed if no filter is given.")
    run_at: Instant | None = Field(None, description="The new time; only for `reschedule`.")
    delay: Storable | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="The new time, from now; only for `reschedule`.",
        examples=["10m"],
    )
    without_hooks: bool | None = Field(
        None, description="Call no `before_delete`; only for `delete`."
    )


class BulkCount(View):
    """What a change would change now."""

    count: int
    complete: bool = Field(
        description="False if there was not enough time to count all of the jobs."
    )
    newest: list[JobView] = Field(description="The first of the jobs.")


@router.post("/{action}/", status_code=202)
async def change_jobs(
    services: ServicesHere, actor: Changer, action: BulkAction, body: BulkChange
) -> JobDetail:
    """Start a job that cancels, retries, deletes or reschedules all jobs that meet the filter.

    It shows its progress, can be cancelled, and has the counts in its result. Only staff may delete
    jobs; owners retry only jobs of public types.
    """
    which = _filter(services, actor, action, body)
    async with services.record_change(actor, f"jobs.{action}_many", "jobs"):
        job = await getattr(services.jobs, f"{action}_many")(**which, by=actor.id)
    return await detail_of(services, actor, job)


@router.post("/{action}/preview/")
async def preview_change(
    services: ServicesHere, actor: Changer, action: BulkAction, body: BulkChange
) -> BulkCount:
    """Count the jobs that a change would change now, and show the newest of them."""
    which = _filter(services, actor, action, body)
    preview = await getattr(services.jobs, f"{action}_many")(**which, preview=True)
    newest = await services.on_thread(services.views.views, preview.newest)
    return BulkCount(count=preview.count, complete=preview.complete, newest=newest)


def _filter(
    services: Services, actor: Actor, action: BulkAction, body: BulkChange
) -> dict[str, Any]:
    """Return the filter, limited to what the actor may change.

    Raises `PermissionDenied`, `InvalidRequest`.
    """
    which = body.model_dump(exclude_none=True)
    if not which.keys() - NO_FILTERS and not body.all:
        raise InvalidRequest(
            f"without a filter this would {action} every job; name a filter, or set all",
            SentenceCode.VALUE_FILTER_MISSING,
        )
    which["technical"] = actor.sees_values
    if actor.changes_all:
        return which
    if action is BulkAction.DELETE:
        raise PermissionDenied(
            "only staff may delete jobs", SentenceCode.REFUSED_TO_OTHERS_THAN_STAFF
        )
    if body.owner not in (None, actor.id):
        raise PermissionDenied(
            "jobs of other owners may be changed only by staff",
            SentenceCode.REFUSED_TO_OTHERS_THAN_STAFF,
        )
    which["owner"] = actor.id
    if action is BulkAction.RETRY:
        public = [kind.type for kind in services.registry if kind.public]
        which["types"] = (
            public if body.types is None else [name for name in body.types if name in public]
        )
    return which
