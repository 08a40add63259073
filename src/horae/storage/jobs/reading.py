"""Read jobs: one by its id, several, or pages of them; also their states, leases and attempts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import chain
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Connection,
    Row,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal,
    select,
    type_coerce,
    union_all,
)

from horae.domain.backoff import Backoff
from horae.domain.jobs import (
    ACTIVE,
    LEFT_OUT,
    AttemptOutcome,
    Job,
    JobId,
    JobState,
    NodeId,
    WaitsFor,
)
from horae.storage.engine import (
    MOST_ATTEMPTS,
    MOST_LEASES,
    check_kinds,
    kinds_of,
    longer_than,
    member_of,
    read,
    readable,
    readable_page,
)
from horae.storage.jobs.group_tables import group_parts
from horae.storage.jobs.tables import (
    IS_HELD,
    IS_OPEN,
    IS_READY,
    IS_SENT,
    IS_WAITING,
    job_attempts,
    jobs,
)

COLUMNS: Final = tuple(jobs.c[field.name] for field in fields(Job))
_KINDS: Final = kinds_of(COLUMNS)
GET: Final = select(*COLUMNS).where(jobs.c.id == bindparam("job_id"))
GET_MANY: Final = select(*COLUMNS).where(member_of(jobs.c.id, "ids"))
ATTEMPTS: Final = (
    select(job_attempts)
    .where(job_attempts.c.job_id == bindparam("job_id"))
    .order_by(job_attempts.c.lease)
)
LEASES: Final = select(jobs.c.id, jobs.c.state, jobs.c.lease, jobs.c.node_id).where(
    member_of(jobs.c.id, "ids")
)
OCCUPIED: Final = select(jobs.c.id).where(IS_OPEN, member_of(jobs.c.id, "ids"))
BACKOFF: Final = select(jobs.c.backoff).where(jobs.c.id == bindparam("job_id"))
LIMITS: Final = select(cast(jobs.c.limits, Text())).where(jobs.c.id == bindparam("job_id"))
_LONG: Final = ("params", "result", "meta")
_longest = bindparam("longest", type_=BigInteger())


_is_longer = {name: longer_than(jobs.c[name], _longest) for name in _LONG}
_LISTED: Final[Sequence[ColumnElement[Any]]] = (
    *(column for column in COLUMNS if column.name not in _LONG),
    *(
        type_coerce(case((is_longer, None), else_=jobs.c[name]), jobs.c[name].type).label(name)
        for name, is_longer in _is_longer.items()
    ),
    *(is_longer.label(f"{name}_is_longer") for name, is_longer in _is_longer.items()),
)
_LISTS: Final = {
    "states": jobs.c.state,
    "types": jobs.c.type,
    "ids": jobs.c.id,
    "queues": jobs.c.queue,
}
OPEN_PARTS: Final = {
    JobState.PENDING: (IS_READY, IS_SENT, IS_WAITING),
    JobState.STARTED: (and_(IS_HELD, jobs.c.finished_at.is_(None)),),
}
"""Conditions of which each open job meets exactly one; each of them has an index."""
NEWEST: Final = 10_000
"""Number of newest ids that a list of open jobs reads first; often most of these are open."""


def _count(*where: ColumnElement[bool]) -> Any:
    return select(func.count()).select_from(jobs).where(*where).scalar_subquery()


# Only indexes are read, of which that of the ended jobs is large.
COUNTS: Final = select(
    (_count(IS_READY) + _count(IS_SENT) + _count(IS_WAITING)).label(JobState.PENDING),
    _count(IS_HELD, jobs.c.finished_at.is_(None)).label(JobState.STARTED),
    _count(jobs.c.finished_at.is_not(None)).label("ended"),
    _count(jobs.c.state == JobState.FAILED).label(JobState.FAILED),
    _count(jobs.c.state == JobState.CANCELLED).label(JobState.CANCELLED),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs to list; None means any, an empty collection means none.

    `before` and `after`: bounds of the ids, the second one only for searches.

    `most_bytes`: maximum bytes of JSON in the whole page; each value may take an equal share, and a
    longer one is replaced by `LEFT_OUT`.
    """

    states: Collection[JobState] | None = None
    types: Collection[str] | None = None
    ids: Collection[JobId] | None = None
    queues: Collection[str] | None = None
    owner: str | None = None
    schedule_id: int | None = None
    group_id: int | None = None
    before: JobId | None = None
    after: JobId | None = None
    limit: int | None = 100
    most_bytes: int | None = None

    @property
    def is_open_only(self) -> bool:
        """Whether only jobs that have not ended are wanted."""
        return self.states is not None and bool(self.states) and ACTIVE.issuperset(self.states)

    @property
    def may_be_rare(self) -> bool:
        """Whether few ended jobs may match, so that reading from the newest on could take long."""
        if self.is_open_only:
            return False
        only_some = self.states is not None and JobState.FINISHED not in self.states
        return self.types is not None or self.queues is not None or only_some

    @property
    def longest(self) -> int | None:
        """The maximum number of bytes of one JSON value."""
        rows = self.limit if self.ids is None else len(self.ids)
        if self.most_bytes is None or rows is None:
            return None
        return self.most_bytes // (len(_LONG) * max(rows, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAttempt:
    """An ended attempt at a job."""

    job_id: JobId
    lease: int
    attempt: int
    node_id: NodeId | None
    started_at: datetime
    finished_at: datetime
    outcome: AttemptOutcome
    error: str | None
    traceback: str | None


def get(connection: Connection, job_id: JobId) -> Job | None:
    """Return the job, or None."""
    row = connection.execute(GET, {"job_id": job_id}).one_or_none()
    return None if row is None else read(jobs.name, row, job_from)


def backoff(connection: Connection, job_id: JobId) -> Backoff | None:
    """Return the back-off that the caller chose for the job, if any."""
    stored = connection.scalar(BACKOFF, {"job_id": job_id})
    return None if stored is None else Backoff.from_json(stored)


def limits(connection: Connection, job_id: JobId) -> str | None:
    """Return the limits that the job was created under, as JSON text."""
    return connection.scalar(LIMITS, {"job_id": job_id})


def get_many(connection: Connection, job_ids: Collection[JobId]) -> list[Job]:
    """Return these jobs in no particular order; jobs that do not exist are left out."""
    return readable(jobs.name, connection.execute(GET_MANY, {"ids": job_ids}), job_from)


def states(connection: Connection, job_ids: Collection[JobId]) -> dict[JobId, JobState]:
    """Return the states of these jobs; jobs that do not exist are left out."""
    return {job_id: state for job_id, (state, *_) in leases(connection, job_ids).items()}


def leases(
    connection: Connection, job_ids: Collection[JobId]
) -> dict[JobId, tuple[JobState, int, NodeId | None]]:
    """Return the states, leases and nodes of these jobs; jobs that do not exist are left out."""
    rows = connection.execute(LEASES, {"ids": job_ids})
    return {JobId(row.id): (JobState(row.state), row.lease, row.node_id) for row in rows}


def find_occupied(connection: Connection, job_ids: Collection[JobId]) -> set[JobId]:
    """Return those of these jobs that are active, or whose bodies have not stopped."""
    return {JobId(id_) for id_ in connection.scalars(OCCUPIED, {"ids": job_ids})}


def page(connection: Connection, wanted: JobFilter) -> list[Job]:
    """Return a page of jobs, the newest first; `before` is the last id of the previous page."""
    given: dict[str, Any] = lists_of(wanted)
    if wanted.longest is not None:
        given["longest"] = wanted.longest
    # Open jobs are read without reading those that have ended. If most jobs are open, the newest
    # ids contain enough of them; if few are open, the small indexes of open jobs contain all.
    from_open = wanted.is_open_only and wanted.limit is not None and wanted.ids is None
    among_newest = from_open

    def fetch(before: JobId | None) -> Sequence[Row[Any]]:
        nonlocal among_newest
        asked = replace(wanted, before=before)
        if not from_open:
            return connection.execute(_page(asked), given).all()
        if among_newest:
            last = func.coalesce(select(func.max(jobs.c.id)).scalar_subquery(), 0)
            highest = last if before is None else literal(before, BigInteger())
            newest_ids = _page(asked).where(jobs.c.id > highest - NEWEST)
            rows = connection.execute(newest_ids, given).all()
            if len(rows) == wanted.limit:
                return rows
            among_newest = False
        newest = _newest_of(open_jobs(conditions_of(asked))).limit(asked.limit)
        of_open = _page(replace(asked, before=None)).where(jobs.c.id.in_(newest))
        return connection.execute(of_open, given).all()

    def without_long_values(row: Row[Any]) -> Job:
        values = dict(row._mapping)  # pyright: ignore[reportPrivateUsage]
        longer = [name for name in _LONG if values.pop(f"{name}_is_longer")]
        if "meta" in longer:
            values["meta"] = {}
        left_out: dict[str, Any] = dict.fromkeys(longer, LEFT_OUT)
        return replace(_job_of(values), **left_out)

    return readable_page(
        jobs.name,
        fetch,
        job_from if wanted.longest is None else without_long_values,
        start=wanted.before,
        place=lambda row: row.id,
        limit=wanted.limit,
    )


def _newest_of(found: CompoundSelect[int]) -> Select[tuple[int]]:
    """Sort jobs by id after they are found, or PostgreSQL reads the primary key backwards."""
    rows = found.cte("found").prefix_with("MATERIALIZED")
    return select(rows.c.id).order_by(rows.c.id.desc())


def open_jobs(conditions: Sequence[ColumnElement[bool]]) -> CompoundSelect[int]:
    """Select the ids of open jobs that meet the conditions, from the indexes of such jobs."""
    return union_all(
        *(select(jobs.c.id).where(part, *conditions) for part in chain(*OPEN_PARTS.values()))
    )


def newest(connection: Connection, states: Collection[JobState] | None, limit: int) -> list[JobId]:
    """Return the ids of the newest jobs in these states, or in any."""
    chosen = select(jobs.c.id).order_by(jobs.c.id.desc()).limit(limit)
    if states is not None and ACTIVE.issuperset(states):
        chosen = _newest_of(open_jobs([jobs.c.state.in_(states)])).limit(limit)
    elif states is not None:
        chosen = chosen.where(jobs.c.state.in_(states))
    return [JobId(row.id) for row in connection.execute(chosen)]


def attempts(connection: Connection, job_id: JobId) -> list[PastAttempt]:
    """Return the ended attempts of a job, the oldest first."""
    rows = connection.execute(ATTEMPTS, {"job_id": job_id}).mappings()

    def attempt(row: Mapping[Any, Any]) -> PastAttempt:
        values: dict[str, Any] = {**row, "outcome": AttemptOutcome(row["outcome"])}
        return PastAttempt(**values)

    return readable(job_attempts.name, rows, attempt)


def counts(connection: Connection) -> dict[JobState, int]:
    """Return the number of jobs in each state."""
    found = dict(connection.execute(COUNTS).mappings().one())
    found[JobState.FINISHED] = (
        found.pop("ended") - found[JobState.FAILED] - found[JobState.CANCELLED]
    )
    return {state: found[state] for state in JobState if found[state]}


def job_from(row: Row[Any], besides: Sequence[str] = ()) -> Job:
    """Return a row of `COLUMNS` as a job; `besides`: further columns, which are ignored."""
    values = dict(row._mapping)  # pyright: ignore[reportPrivateUsage]
    for name in besides:
        del values[name]
    return _job_of(values)


def _job_of(values: dict[str, Any]) -> Job:
    check_kinds(values, _KINDS)
    values["state"] = JobState(values["state"])
    if not isinstance(values["meta"], dict):
        raise TypeError("its meta is not a JSON object")
    if values["state"] is not JobState.PENDING:
        # The claim leaves the old values, which saves writing.
        values["retry_reason"] = values["waits_for"] = None
    elif values["waits_for"] is not None:
        values["waits_for"] = WaitsFor(values["waits_for"])
    values["tags"] = tuple(values["tags"] or ())
    if not (values["lease"] < MOST_LEASES and values["attempt"] < MOST_ATTEMPTS):
        raise ValueError("its lease or attempt is too large")
    return Job(**values)


def lists_of(wanted: JobFilter) -> dict[str, list[Any]]:
    """Return the lists of a filter: parameters of a statement with its `conditions_of`."""
    return {name: list(values) for name in _LISTS if (values := getattr(wanted, name)) is not None}


def conditions_of(wanted: JobFilter) -> list[ColumnElement[bool]]:
    """Return the conditions of a filter."""
    conditions = [
        member_of(column, name)
        for name, column in _LISTS.items()
        if getattr(wanted, name) is not None
    ]
    if wanted.owner is not None:
        conditions.append(jobs.c.owner == wanted.owner)
    if wanted.schedule_id is not None:
        conditions.append(jobs.c.schedule_id == wanted.schedule_id)
    if wanted.group_id is not None:
        conditions += in_group(wanted.group_id)
    if wanted.before is not None:
        conditions.append(jobs.c.id < wanted.before)
    return conditions


def in_group(group_id: int) -> list[ColumnElement[bool]]:
    """Return the conditions of the members of a group, which have ids between two bounds."""
    parts = select(func.min(group_parts.c.first_id), func.max(group_parts.c.last_id))
    among_them = parts.where(group_parts.c.group_id == group_id).subquery()
    first, last = (select(column).scalar_subquery() for column in among_them.c)
    return [jobs.c.group_id == group_id, jobs.c.id >= first, jobs.c.id <= last]


def _page(wanted: JobFilter) -> Select[Any]:
    columns = COLUMNS if wanted.longest is None else _LISTED
    return (
        select(*columns)
        .where(*conditions_of(wanted))
        .order_by(jobs.c.id.desc())
        .limit(wanted.limit)
    )
