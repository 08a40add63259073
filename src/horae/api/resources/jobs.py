"""`/api/jobs/`: find, read, cancel, retry, reschedule and delete jobs."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, Path, Query, Response
from pydantic import BeforeValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from horae.api.dependencies import Authenticated, Changer, ServicesHere, Staff, shown_to
from horae.api.models import (
    FromQuery,
    Id,
    Instant,
    OptionalSentence,
    RequestModel,
    Storable,
    StoredSentenceOfValues,
    TextOfValues,
    View,
    without_parts,
)
from horae.api.problems import PermissionDenied
from horae.api.security.actor import Actor
from horae.api.services import Services
from horae.api.views.jobs import JobDetail, JobList
from horae.client.jobs import JobPage, wanted_states
from horae.domain.jobs import (
    EVERYBODY,
    MOST_CHARACTERS,
    Contains,
    HasParameter,
    Is,
    Job,
    JobState,
    WaitReason,
    level_name,
    parse_query,
)
from horae.domain.jobs import Field as JobField
from horae.domain.jobs import Query as JobSearch
from horae.domain.storable import LARGEST_ID, storable
from horae.errors import InvalidRequest
from horae.sentences import SentenceCode

MOST_IDS: Final = 10_000
"""Maximum number of IDs in one request."""
STATE: Final = "!?(" + "|".join(JobState) + ")"

router = APIRouter(prefix="/api/jobs", tags=["jobs"])


Timezone: Any = Field(
    "UTC",
    min_length=1,
    max_length=100,
    description="The IANA name of the time zone of the days in `query`.",
    examples=["Europe/Berlin"],
)


class JobQuery(RequestModel):
    """Which jobs to list. An omitted parameter does not filter."""

    job_ids: str | None = Field(
        None,
        json_schema_extra={"pattern": "^[0-9]{1,18}(,[0-9]{1,18})*$"},
        description=(
            f"IDs, separated by commas; at most {MOST_IDS:,}. All of these jobs are on one page;"
            " jobs that do not exist, or belong to another user, are left out."
        ),
        examples=["3,1,2"],
    )
    states: str | None = Field(
        None,
        json_schema_extra={"pattern": f"^{STATE}(,{STATE})*$"},
        description=(
            "States, separated by commas; `!` in front excludes one. The order does not matter. A"
            " job that shows a label is `started`."
        ),
        examples=["pending,started", "!finished"],
    )
    types: Storable | None = Field(
        None, min_length=1, description="Job types, separated by commas."
    )
    queues: Storable | None = Field(None, min_length=1, description="Queues, separated by commas.")
    owner: Storable | None = Field(
        None, min_length=1, description="Owner of the jobs; only for staff."
    )
    schedule_id: Id | None = Field(None, description="Only the runs of this schedule.")
    query: Storable | None = Field(
        None,
        min_length=1,
        max_length=MOST_CHARACTERS,
        description=(
            "Terms, separated by spaces, that the jobs must all meet; `-` in front of one excludes."
            " Fields are `id`, `type` (with `*` at the end for a beginning), `state`, `queue`,"
            " `owner`, `key`, `tag`, `schedule`, `group`, `error`, `text`, `created`, `finished`,"
            " `since`, `until`, `duration`, `wait`, `attempts` and parameters, as `NAME` or"
            " `params.NAME`. Names, states and ids may be several, separated by commas. A word"
            " without a field is an id, or a text that the job contains. A page of a search may"
            " have fewer jobs than `limit`: if `next` is not null, there is more to search."
        ),
        examples=[
            "type:import* customer_id:4711 -state:finished",
            "state:failed error:timeout since:yesterday attempts>=3 duration>30s",
        ],
    )
    timezone: Storable = Timezone
    group_id: Id | None = Field(None, description="Only the members of this group.")
    order: Literal["newest", "oldest", "last_ended", "first_ended"] = Field(
        "newest",
        description=(
            "Which jobs come first. `last_ended` and `first_ended` list only jobs that have ended."
        ),
    )
    limit: int = Field(
        100, ge=1, le=500, description="Jobs on a page, at most; does not apply to `job_ids`."
    )
    cursor: str | None = Field(
        None, pattern="^[0-9]{1,18}([.][0-9]{1,18})?$", description="`next` of the previous page."
    )

    @field_validator("job_ids")
    @classmethod
    def _check_ids(cls, text: str | None) -> str | None:
        ids = _split_filter(text)
        if len(ids) > MOST_IDS:
            raise _invalid(f"{len(ids)} ids are too many; ask for {MOST_IDS} at a time")
        if not all(item.isascii() and item.isdigit() and int(item) <= LARGEST_ID for item in ids):
            raise _invalid("ids are whole numbers, separated by commas, as in 3,1,2")
        return text

    @field_validator("states")
    @classmethod
    def _check_states(cls, text: str | None) -> str | None:
        try:
            wanted_states(_split_filter(text))
        except InvalidRequest as error:
            raise _invalid(storable(str(error))) from error
        return text

    def filters(self, actor: Actor) -> dict[str, Any]:
        """Return the query as arguments of `Jobs.list`, limited to what the actor may see."""
        ids, sees_all = _parts(self.job_ids), actor.reading_as is EVERYBODY
        return {
            "states": _parts(self.states),
            "types": _parts(self.types),
            "ids": None if ids is None else [int(item) for item in ids],
            "queues": _parts(self.queues),
            "owner": self.owner if sees_all and self.owner is not None else actor.reading_as,
            "schedule_id": self.schedule_id,
            "query": _query_of(self.query, self.timezone, actor),
            "oldest_first": self.order in ("oldest", "first_ended"),
            "by_end": self.order in ("last_ended", "first_ended"),
            "group_id": self.group_id,
            "limit": self.limit,
            "cursor": self.cursor,
        }


class CountQuery(RequestModel):
    """Which jobs to count."""

    query: Storable | None = Field(
        None,
        min_length=1,
        max_length=MOST_CHARACTERS,
        description="Terms that the jobs must all meet, as in the list of jobs.",
    )
    timezone: Storable = Timezone


class NewTime(RequestModel):
    """When a pending job may start; exactly one of the two."""

    run_at: Instant | None = Field(None, description="Not before this moment.")
    delay: Storable | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="Not before this time has passed.",
        examples=["10m"],
    )


LogLevel: TypeAlias = Literal["debug", "info", "warning", "error", "critical"]


class LogQuery(RequestModel):
    """Which log lines to list."""

    after: str | None = Field(
        None,
        pattern="^[0-9]{1,18}[.][0-9]{1,9}$",
        description="`next` of an earlier answer, or the cursor of a line.",
    )
    level: LogLevel = Field("debug", description="The lowest level.")
    limit: int = Field(1000, ge=1, le=10_000, description="Lines in an answer, at most.")


class StateCount(View):
    """How many jobs are in a state."""

    state: JobState
    count: int
    complete: bool = Field(description="False if there are more, or not enough time to count all.")


class JobCounts(View):
    """How many jobs are in each state."""

    counts: list[StateCount]


class AttemptView(View):
    """How one attempt at a job ended."""

    attempt: int
    node: str | None = Field(validation_alias="node_id")
    started_on: datetime
    finished_on: datetime
    outcome: str = Field(
        description=(
            "`finished`, `failed`, `cancelled`, `timed_out`, `crashed`, `snoozed` or `interrupted`."
        )
    )
    error: TextOfValues = Field(description="Shown to staff.")
    error_sentence: StoredSentenceOfValues = None
    traceback: TextOfValues = Field(description="Shown to staff.")


class AttemptList(View):
    """All attempts, the oldest first."""

    attempts: list[AttemptView]


class JobWhyItem(View):
    """Why a job has not started, or what has become of it: the reason that decides first."""

    job_id: int
    state: str
    reason: WaitReason = Field(description="What decides first, for programs.")
    text: str = Field(
        description="The reason in one sentence.", examples=["Queue 'mail' is paused."]
    )
    text_sentence: OptionalSentence
    until: datetime | None = Field(
        description="When the reason ends by itself; null if something has to happen first."
    )
    since: datetime | None = Field(
        description="When a pause began, or when the job started or ended."
    )
    note: str | None = Field(description="The note of a pause; shown to staff.")
    by: str | None = Field(description="Who paused or cancelled; a pause's is shown to staff.")
    ahead: int | None = Field(
        description="How many jobs are claimed before it; null if its place is not known."
    )
    ahead_is_least: bool = Field(description="There may be more than `ahead`.")
    starts_on: datetime | None = Field(
        description="An estimate of its start; null without ground for one."
    )
    reckoned: str | None = Field(description="What the estimate follows from.")
    reckoned_sentence: OptionalSentence
    fails_on: datetime | None = Field(description="When the job fails if it has not begun.")
    awaited: list[int] = Field(description="The first few jobs that must end first.")
    group_id: int | None = Field(description="The group whose members must end first.")
    holders: list[int] = Field(
        description="The first few jobs that run under the limit; shown to staff."
    )
    node: str | None = Field(description="The node that runs it.")


class LogLineView(View):
    """A line that a job has logged."""

    logged_on: datetime = Field(validation_alias="at")
    attempt: int
    level: Annotated[str, BeforeValidator(level_name)] = Field(
        description="`debug`, `info`, `warning`, `error` or `critical`."
    )
    logger: str
    message: str
    dropped: int = Field(description="If not 0, this stands for so many lines that were not kept.")
    cursor: str


class LogLines(View):
    """Log lines of a job, the oldest first."""

    lines: list[LogLineView]
    dropped: int = Field(description="Lines of the whole job that were not kept.")
    next: str | None = Field(
        validation_alias="cursor",
        description="Where to continue, as `after`; null before the first line.",
    )
    more: bool = Field(description="Whether more lines are there already.")


JobIdInPath = Annotated[Id, Path(description="ID of the job.")]
LargeValuesInQuery = Annotated[
    bool,
    Query(
        description=(
            "Whether large parameters and a large result are read from their store. Otherwise they"
            " are objects with `$stored`, `size` and `sha256`."
        )
    ),
]


@router.get("/")
async def list_jobs(
    services: ServicesHere, actor: Authenticated, query: FromQuery[JobQuery]
) -> JobList:
    """List jobs, newest first: the user's own, or for staff all."""
    if actor.reading_as is not EVERYBODY and query.owner not in (None, actor.id):
        found = JobPage([], None)
    elif query.job_ids is not None:  # clients ask for the jobs that they wait for
        found = await services.jobs.list(**query.filters(actor))
    else:
        found = await services.on_thread(services.listed_jobs.list, **query.filters(actor))
    return shown_to(actor, await services.on_thread(services.views.page, found))


@router.get("/counts/")
async def count_jobs(
    services: ServicesHere, actor: Authenticated, query: FromQuery[CountQuery]
) -> JobCounts:
    """Count the jobs in each state that meet a query: the user's own, or for staff all.

    Up to 10,000 of each state are counted, for at most about a second.
    """
    counts = await services.on_thread(
        services.listed_jobs.count_matching,
        _query_of(query.query, query.timezone, actor),
        owner=actor.reading_as,
    )
    return JobCounts(
        counts=[
            StateCount(state=state, count=found.count, complete=found.complete)
            for state, found in counts.items()
        ]
    )


@router.get("/{job_id}/")
async def get_job(
    services: ServicesHere,
    actor: Authenticated,
    job_id: JobIdInPath,
    *,
    large_values: LargeValuesInQuery = False,
) -> JobDetail:
    """Read one job, with its live progress."""
    job = await services.jobs.get(job_id, owner=actor.reading_as)
    if large_values:
        job = await services.on_thread(services.views.with_large_values, job)
    return await detail_of(services, actor, job)


@router.get("/{job_id}/attempts/")
async def list_attempts(
    services: ServicesHere, actor: Authenticated, job_id: JobIdInPath
) -> AttemptList:
    """List how each attempt at a job ended, the oldest first."""
    found = await services.jobs.attempts(job_id, owner=actor.reading_as)
    return shown_to(actor, AttemptList.model_validate({"attempts": found}))


@router.get("/{job_id}/why/")
async def explain_job(
    services: ServicesHere, actor: Authenticated, job_id: JobIdInPath
) -> JobWhyItem:
    """Say why a job has not started, its place and an estimate, or what has become of it."""
    found = await services.jobs.why(job_id, owner=actor.reading_as)
    item = JobWhyItem.model_validate(found)
    if not actor.sees_all:
        item.note = None
        item.holders = []
        if found.reason in (WaitReason.QUEUE_PAUSED, WaitReason.EVERYTHING_PAUSED):
            item.by = None
    elif not actor.sees_values:
        item.text = without_parts(item.text, found.of_values)
        if found.of_values:
            item.text_sentence = None
    return item


@router.get("/{job_id}/logs/")
async def list_logs(
    services: ServicesHere,
    actor: Authenticated,
    job_id: JobIdInPath,
    query: FromQuery[LogQuery],
) -> LogLines:
    """List the log lines of a job, the oldest first; for staff, because they may contain what its
    owner must not see.

    To follow a running job, repeat the request with `after` set to `next` of the last answer.
    """
    job = await services.jobs.get(job_id, owner=actor.reading_as)
    if not actor.sees_values:
        raise PermissionDenied(
            "log lines are shown to staff", SentenceCode.REFUSED_TO_OTHERS_THAN_STAFF
        )
    return LogLines.model_validate(await services.jobs.logs(job.id, **query.model_dump()))


@router.post("/{job_id}/cancel/")
async def cancel_job(services: ServicesHere, actor: Changer, job_id: JobIdInPath) -> JobDetail:
    """Cancel a job; after the response it is cancelled for good. Idempotent."""
    async with services.record_change(actor, "job.cancel", str(job_id)):
        job = await services.jobs.cancel(job_id, owner=actor.changing_as, by=actor.id)
    return await detail_of(services, actor, job)


@router.post("/{job_id}/retry/", status_code=202)
async def retry_job(services: ServicesHere, actor: Changer, job_id: JobIdInPath) -> JobDetail:
    """Start a new job with the parameters of a failed or cancelled one; owners only if the type is
    public.
    """
    async with services.record_change(actor, "job.retry", str(job_id)):
        if not actor.changes_all:
            ended = await services.jobs.get(job_id, owner=actor.changing_as)
            kind = services.registry.find(ended.type)
            if kind is not None and not kind.public:
                raise PermissionDenied(
                    f"jobs of type {ended.type!r} cannot be started over HTTP",
                    SentenceCode.REFUSED_TYPE_NOT_STARTABLE,
                    type=ended.type,
                )
        job = await services.jobs.retry(job_id, owner=actor.changing_as)
    return await detail_of(services, actor, job)


@router.post("/{job_id}/reschedule/")
async def reschedule_job(
    services: ServicesHere, actor: Changer, job_id: JobIdInPath, body: NewTime
) -> JobDetail:
    """Move a pending job to another time."""
    async with services.record_change(actor, "job.reschedule", str(job_id)):
        job = await services.jobs.reschedule(job_id, owner=actor.changing_as, **body.model_dump())
    return await detail_of(services, actor, job)


@router.delete(
    "/{job_id}/",
    status_code=204,
    responses={
        202: {
            "model": JobDetail,
            "description": (
                "This server does not have the type of the job; the next node that has it deletes"
                " the job."
            ),
        }
    },
)
async def delete_job(services: ServicesHere, actor: Staff, job_id: JobIdInPath) -> Response:
    """Delete an ended job; for staff."""
    async with services.record_change(actor, "job.delete", str(job_id)):
        gone = await services.jobs.delete(job_id)
    if gone:
        return Response(status_code=204)
    job = await services.jobs.get(job_id)
    return Response(
        (await detail_of(services, actor, job)).model_dump_json(),
        202,
        media_type="application/json",
    )


async def detail_of(services: Services, actor: Actor, job: Job) -> JobDetail:
    """Return the job as on its own page, with what this actor may see."""
    return shown_to(actor, await services.on_thread(services.views.detail, job))


def _query_of(text: str | None, zone: str, actor: Actor) -> JobSearch | None:
    """Parse a search; raise `PermissionDenied` if a viewer searches for what viewers do not see."""
    if text is None:
        return None
    # Owners cannot search the error texts for developers, because they do not see them.
    query = parse_query(text, technical=actor.sees_values, zone=zone)
    if actor.sees_all and not actor.sees_values:
        for term in query.terms:
            condition = term.condition
            # A text without a field is looked for in keys and errors, too.
            if isinstance(condition, HasParameter | Contains) or (
                isinstance(condition, Is) and condition.field is JobField.KEY
            ):
                raise PermissionDenied(
                    "viewers cannot search for parameters, keys, errors or texts without a field",
                    SentenceCode.REFUSED_SEARCH_OF_VIEWERS,
                )
    return query


def _invalid(reason: str) -> PydanticCustomError:
    return PydanticCustomError("invalid", "{reason}", {"reason": reason})


def _split_filter(text: str | None) -> list[str]:
    if text is not None and not text.strip():
        raise PydanticCustomError("blank", "this must not be blank; leave it out for no filter")
    return _parts(text) or []


def _parts(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]
