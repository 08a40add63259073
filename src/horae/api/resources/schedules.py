"""`/api/schedules/`: list, read and change schedules, and read their runs."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Path, Response
from pydantic import Field

from horae.api.dependencies import Reader, ServicesHere, Staff, shown_to
from horae.api.models import FromQuery, Id, Instant, Name, RequestModel, Storable, View
from horae.api.resources.schedule_bodies import (
    AlteredSchedule,
    BackfillRange,
    NewSchedule,
    SchedulePause,
    SchedulePreview,
    WantedSchedule,
    options_in,
)
from horae.api.security.actor import Actor
from horae.api.services import Services
from horae.api.views.schedules import (
    BackfillRemoved,
    BackfillResult,
    FailedRunList,
    LaneList,
    PreviewItem,
    PutResult,
    ScheduleDetail,
    ScheduleList,
    StatisticsItem,
    TickList,
    WhyItem,
    schedule_detail,
    schedule_item,
    statistics_item,
    why_item,
)
from horae.client.schedules import ScheduleView, page_of
from horae.client.schedules.lanes import LONGEST, MOST_LANES
from horae.domain.schedules import Decision
from horae.storage.engine import Use
from horae.storage.schedules import ScheduleFilter
from horae.types.documentation import description_of, parameters_schema
from horae.types.parameters import ModelParameters

router = APIRouter(prefix="/api/schedules", tags=["schedules"])

_DECISION: Final = f"({'|'.join(Decision)})"
ScheduleId = Annotated[Id, Path(description="The ID of a schedule.")]
ScheduleName = Annotated[Name, Path(description="The name of a schedule.")]


class ScheduleQuery(RequestModel):
    """Which schedules to list. An omitted parameter does not filter."""

    module: Storable | None = Field(
        None, description="The declaring module; blank for schedules without one."
    )
    job_type: Storable | None = Field(None, min_length=1)
    name: Storable | None = Field(
        None, min_length=1, max_length=200, description="Part of the name."
    )
    enabled: bool | None = None
    failing_first: bool = Field(
        default=False,
        description="Begin with schedules whose last run failed, and those that gave up.",
    )
    limit: int = Field(100, ge=1, le=500, description="Schedules on a page, at most.")
    cursor: str | None = Field(
        None, pattern="^[A-Za-z0-9_-]{1,2000}$", description="`next` of the previous page."
    )


class TickQuery(RequestModel):
    """Which part of the ledger to read."""

    limit: int = Field(100, ge=1, le=1000)
    before: Instant | None = Field(
        None, description="Only nominal times before this; `next` of the last part."
    )
    decisions: str | None = Field(
        None,
        pattern=f"^{_DECISION}(,{_DECISION})*$",
        max_length=100,
        description=(
            "Only these, separated by commas; a part may then be empty and still have a `next`."
        ),
        examples=["missed,skipped"],
    )


class LaneQuery(RequestModel):
    """Whose lanes to read, and how far back."""

    ids: str = Field(
        pattern=f"^[0-9]{{1,18}}(,[0-9]{{1,18}}){{0,{MOST_LANES - 1}}}$",
        description=f"IDs, separated by commas; at most {MOST_LANES}.",
        examples=["3,1,2"],
    )
    hours: int = Field(24, ge=1, le=LONGEST)


class WhyQuery(RequestModel):
    """The moment to explain."""

    at: Instant | None = Field(
        None, description="The last time that the schedule had, if not given."
    )


class SchedulableType(View):
    """A job type that a schedule may start."""

    type: str
    queue: str
    description: str | None
    parameters: dict[str, Any] = Field(description="Their JSON schema.")


class SchedulableTypes(View):
    """The job types that a schedule may start, by name; empty if this process knows none."""

    types: list[SchedulableType]


class Started(View):
    """The job of a manual run."""

    id: int


class ErrorQuery(RequestModel):
    """How many failed runs to read."""

    limit: int = Field(100, ge=1, le=1000)


@router.get("/")
async def list_schedules(
    services: ServicesHere, _actor: Reader, query: FromQuery[ScheduleQuery]
) -> ScheduleList:
    """List schedules by module and name; those that this version cannot read are left out."""
    which = ScheduleFilter(**query.model_dump(exclude={"cursor"}))
    found = await services.on_thread(page_of, services.reads, which, query.cursor)
    items = [schedule_item(view) for view in found.schedules]
    return ScheduleList(schedules=items, next=found.next)


@router.post("/", status_code=201)
async def add_schedule(
    services: ServicesHere, actor: Staff, schedule: Annotated[NewSchedule, Body()]
) -> ScheduleDetail:
    """Add a schedule of a job type; for staff."""
    name = schedule.get("name")
    add = partial(
        services.schedules.add,
        schedule["job_type"],
        name=name,
        config=schedule.get("params"),
        enabled=schedule.get("enabled", True),
        **options_in(schedule),
    )
    added = await services.change(actor, "schedule.add", name or schedule["job_type"], add)
    return schedule_detail(services.registry, added)


@router.post("/preview/")
async def preview_schedule(
    services: ServicesHere, _actor: Reader, trigger: Annotated[SchedulePreview, Body()]
) -> PreviewItem:
    """Say what a trigger means, in words and as its next times; nothing is stored.

    Names in a cron expression, such as `@daily` and `MON-FRI`, are translated.
    """
    options: Any = trigger
    preview = await services.on_thread(services.schedules.preview, **options)
    return PreviewItem.model_validate(preview)


@router.get("/types/")
async def list_schedulable_types(services: ServicesHere, _actor: Reader) -> SchedulableTypes:
    """List the job types that a schedule may start, with the schemas of their parameters."""
    found = [
        SchedulableType(
            type=kind.type,
            queue=kind.queue,
            description=description_of(kind),
            parameters=parameters_schema(kind),
        )
        for kind in services.registry
        if isinstance(kind.parameters, ModelParameters)  # a schedule has no row of another table
    ]
    return SchedulableTypes(types=sorted(found, key=attrgetter("type")))


@router.get("/lanes/")
async def list_lanes(
    services: ServicesHere, _actor: Reader, query: FromQuery[LaneQuery]
) -> LaneList:
    """Read what became of the times of some schedules in the last hours, and what comes next."""
    ids = {int(each) for each in query.ids.split(",")}
    lanes = await services.on_thread(services.listed_schedules.lanes, ids, hours=query.hours)
    return LaneList.model_validate(lanes)


@router.put("/by-name/{name:path}/", responses={201: {"model": PutResult}})
async def put_schedule(
    services: ServicesHere,
    actor: Staff,
    name: ScheduleName,
    schedule: Annotated[WantedSchedule, Body()],
    response: Response,
) -> PutResult:
    """Add a schedule, or make the one of this name what the body says; an omitted option has its
    default. For staff.
    """
    put = partial(
        services.schedules.put,
        name,
        schedule["job_type"],
        config=schedule.get("params"),
        enabled=schedule.get("enabled"),
        **options_in(schedule),
    )
    result = await services.change(actor, "schedule.put", name, put)
    response.status_code = 201 if result.outcome == "created" else 200
    return PutResult(
        outcome=result.outcome, schedule=schedule_detail(services.registry, result.schedule)
    )


@router.post("/{schedule_id}/reset/")
async def reset_schedule(
    services: ServicesHere, actor: Staff, schedule_id: ScheduleId
) -> ScheduleDetail:
    """Take back what was changed of a declared schedule at run time.

    A paused schedule stays paused. For staff.
    """
    return await _change(services, actor, schedule_id, "reset", services.schedules.reset)


@router.get("/{schedule_id}/")
async def get_schedule(
    services: ServicesHere, actor: Reader, schedule_id: ScheduleId
) -> ScheduleDetail:
    """Read one schedule, with its policies and its next starts."""
    found = await services.on_thread(services.schedules.get, schedule_id)
    return shown_to(actor, schedule_detail(services.registry, found))


@router.patch("/{schedule_id}/")
async def alter_schedule(
    services: ServicesHere,
    actor: Staff,
    schedule_id: ScheduleId,
    changes: Annotated[AlteredSchedule, Body()],
) -> ScheduleDetail:
    """Change the given options and no others; the next start changes only if the times do.

    For staff.
    """
    alter = partial(
        services.schedules.alter,
        config=changes.get("params"),
        revision=changes.get("revision"),
        **options_in(changes),
    )
    note = ", ".join(sorted(changes.keys() - {"revision"})) or None
    return await _change(services, actor, schedule_id, "alter", alter, note)


@router.delete("/{schedule_id}/", status_code=204)
async def delete_schedule(services: ServicesHere, actor: Staff, schedule_id: ScheduleId) -> None:
    """Delete a schedule that no module declares, with its ledger; its running job continues.

    For staff.
    """
    delete = partial(services.schedules.delete, schedule_id)
    await services.change(actor, "schedule.delete", str(schedule_id), delete)


@router.post("/{schedule_id}/skip/")
async def skip_next_time(
    services: ServicesHere, actor: Staff, schedule_id: ScheduleId
) -> ScheduleDetail:
    """Skip the next nominal time, once; repeating the request before that time changes nothing.

    For staff.
    """
    return await _change(services, actor, schedule_id, "skip", services.schedules.skip_next)


@router.delete("/{schedule_id}/skip/")
async def undo_skip(
    services: ServicesHere, actor: Staff, schedule_id: ScheduleId
) -> ScheduleDetail:
    """Take back the skipping of the next nominal time, or a next start that was moved.

    For staff.
    """
    return await _change(services, actor, schedule_id, "undo_skip", services.schedules.undo_skip)


@router.post("/{schedule_id}/backfill/")
async def backfill_schedule(
    services: ServicesHere, actor: Staff, schedule_id: ScheduleId, wanted: BackfillRange
) -> BackfillResult:
    """Run the schedule for its past nominal times in a range, each at most once. For staff."""
    backfill = partial(services.schedules.backfill, schedule_id, **wanted.model_dump())
    if wanted.dry_run:
        database = services.components.database
        return BackfillResult.model_validate(await database.in_thread(backfill, Use.CHANGE))
    found = await services.change(
        actor, "schedule.backfill", str(schedule_id), backfill, f"{wanted.start} to {wanted.end}"
    )
    return BackfillResult.model_validate(found)


@router.delete("/{schedule_id}/backfill/")
async def undo_backfill(
    services: ServicesHere, actor: Staff, schedule_id: ScheduleId
) -> BackfillRemoved:
    """Remove the past times that still wait; runs that have begun go on. For staff."""
    undo = partial(services.schedules.undo_backfill, schedule_id)
    removed = await services.change(actor, "schedule.undo_backfill", str(schedule_id), undo)
    return BackfillRemoved(removed=removed)


@router.post("/{schedule_id}/pause/")
async def pause_schedule(
    services: ServicesHere, actor: Staff, schedule_id: ScheduleId, pause: SchedulePause
) -> ScheduleDetail:
    """Start no further runs; a run in progress continues. Pausing again changes the note."""
    call = partial(services.schedules.pause, note=pause.note)
    return await _change(services, actor, schedule_id, "pause", call, pause.note)


@router.post("/{schedule_id}/resume/")
async def resume_schedule(
    services: ServicesHere, actor: Staff, schedule_id: ScheduleId
) -> ScheduleDetail:
    """Enable it: the next start is computed from now on, and missed times are not caught up."""
    return await _change(services, actor, schedule_id, "resume", services.schedules.resume)


@router.post("/{schedule_id}/run/", status_code=202)
async def run_schedule(services: ServicesHere, actor: Staff, schedule_id: ScheduleId) -> Started:
    """Start a run now, even if the schedule is paused; return the ID of its job."""
    run = partial(services.schedules.run_now, schedule_id)
    return Started(id=await services.change(actor, "schedule.run", str(schedule_id), run))


@router.get("/{schedule_id}/ticks/")
async def list_ticks(
    services: ServicesHere,
    actor: Reader,
    schedule_id: ScheduleId,
    query: FromQuery[TickQuery],
) -> TickList:
    """List what was decided about each nominal time, and why; the newest first."""
    found = await services.on_thread(
        services.listed_schedules.ledger,
        schedule_id,
        limit=query.limit,
        before=query.before,
        decisions=() if query.decisions is None else query.decisions.split(","),
    )
    return shown_to(actor, TickList.model_validate(found))


@router.get("/{schedule_id}/why/")
async def explain_time(
    services: ServicesHere,
    actor: Reader,
    schedule_id: ScheduleId,
    query: FromQuery[WhyQuery],
) -> WhyItem:
    """Say why it did or did not run at a moment, or what will happen then."""
    found = await services.on_thread(services.listed_schedules.why, schedule_id, query.at)
    return shown_to(actor, why_item(found, values=actor.sees_values))


@router.get("/{schedule_id}/statistics/")
async def get_schedule_statistics(
    services: ServicesHere, _actor: Reader, schedule_id: ScheduleId
) -> StatisticsItem:
    """Read the statistics of its runs."""
    return statistics_item(await services.on_thread(services.schedules.get, schedule_id))


@router.get("/{schedule_id}/errors/")
async def list_schedule_errors(
    services: ServicesHere,
    actor: Reader,
    schedule_id: ScheduleId,
    query: FromQuery[ErrorQuery],
) -> FailedRunList:
    """List its runs that failed or crashed, the newest first."""
    errors = await services.on_thread(
        services.listed_schedules.errors, schedule_id, limit=query.limit
    )
    return shown_to(actor, FailedRunList.model_validate({"errors": errors}))


async def _change(
    services: Services,
    actor: Actor,
    schedule_id: int,
    action: str,
    call: Callable[[int], ScheduleView],
    note: str | None = None,
) -> ScheduleDetail:
    """Change a schedule, record the change in the audit log, and return the schedule."""
    changed = await services.change(
        actor, f"schedule.{action}", str(schedule_id), partial(call, schedule_id), note
    )
    return schedule_detail(services.registry, changed)
