"""Create jobs, singly or thousands in one statement, with atomic checks of limits and keys.

A job that may start at once and has no rule is inserted by `add_at_once`, and jobs of callers at
the same time by `add_shared`; another one by `add`, which is `add_alone` outside a transaction, or
by `add_guarded` if others may be in its way. `add_limited` saves a job with limits a statement.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Boolean,
    ColumnElement,
    Connection,
    Float,
    Integer,
    Select,
    SmallInteger,
    String,
    Text,
    bindparam,
    case,
    cast,
    func,
    literal,
    literal_column,
    null,
    select,
)
from sqlalchemy.types import TypeEngine

from horae.domain.jobs import AWAITED_BY_GROUP, OWN_BACKEND, GroupId, JobId, JobState, WaitsFor
from horae.errors import DatabaseBusy, InvalidRequest
from horae.storage.engine import (
    Direct,
    Instant,
    Json,
    PerDialect,
    constant,
    database_now,
    insert,
    json_moment,
    json_rows,
    seconds_after,
    seconds_from_now,
    try_lock,
)
from horae.storage.jobs.search import tags
from horae.storage.jobs.tables import HAS_LANES, IS_OPEN, UNIQUE_WHERE, jobs, queues

NO_META: Final = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job to insert; `params`, `backoff`, `meta` and `limits` are JSON text.

    `expires_after`: seconds from the time at which it may start to the time at which it expires.
    """

    type: str
    queue: str
    priority: int
    params: str | None
    owner: str | None = None
    max_attempts: int = 1
    backoff: str | None = None
    unique_key: str | None = None
    run_at: datetime | None = None
    delay: float | None = None
    meta: str = NO_META
    max_runtime: float | None = None
    retry_of: JobId | None = None
    key_is_shared: bool | None = None
    limits: str | None = None
    expires_at: datetime | None = None
    expires_after: float | None = None
    tags: tuple[str, ...] = ()

    @property
    def may_start_now(self) -> bool:
        """Return whether the job may start as soon as it is inserted."""
        return self.run_at is None and self.delay is None

    @property
    def is_guarded(self) -> bool:
        """Return whether `add_guarded` has to insert the job, even without a limit on open jobs.

        That is so if it has a unique key, expires, or repeats another job.
        """
        return (
            self.unique_key is not None
            or self.expires_at is not None
            or self.expires_after is not None
            or self.retry_of is not None
        )


class Contended(DatabaseBusy):
    """An open transaction creates a job under the same limit or unique key.

    `holder`: identifies that transaction; None if it has just ended.
    """

    def __init__(self, message: str, holder: str | None = None) -> None:
        super().__init__(message)
        self.holder = holder


class Inserted(NamedTuple):
    """The values that the database assigned to a new job."""

    id: JobId
    run_at: datetime
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None


class QueueRules(NamedTuple):
    """What decides whether a job may start in a queue.

    `backend`: what runs its jobs, None if nothing was named; `has_lanes`: whether the queue has
    limits by key, or its owners take turns.
    """

    backend: str | None = None
    has_lanes: bool = False


_OF_RETRIES: Final = ("retry_of", "max_runtime")
_NO_PLAIN_COLUMNS: Final = (
    "run_at",
    "delay",
    "key_is_shared",
    "expires_at",
    "expires_after",
    "tags",
    *_OF_RETRIES,
)
_COLUMNS: Final = tuple(
    field.name for field in fields(JobRow) if field.name not in _NO_PLAIN_COLUMNS
)
RUN_AT: Final = func.coalesce(
    bindparam("run_at", type_=Instant()),
    seconds_from_now(func.coalesce(bindparam("delay", type_=Float()), 0.0)),
)
"""When a job may start: at `run_at`, or `delay` seconds from now, or now."""


def expiry(run_at: ColumnElement[datetime]) -> ColumnElement[datetime]:
    """Return when a job that may start at `run_at` expires; null if it never does."""
    after = cast(bindparam("expires_after", type_=Float()), Float())
    return func.coalesce(
        cast(bindparam("expires_at", type_=Instant()), Instant()), seconds_after(run_at, after)
    )


def value_of(name: str) -> Any:
    """Return the value of a column of a new job, as a parameter of the column's type."""
    kind = jobs.c[name].type
    if isinstance(kind, Json):
        return cast(bindparam(name, type_=Text()), kind)
    # The value is a text of any length: PostgreSQL would cut a text that is too long instead of
    # rejecting it.
    return cast(bindparam(name, type_=kind), Text() if isinstance(kind, String) else kind)


def waits_for(limits: ColumnElement[Any], queue: ColumnElement[str]) -> ColumnElement[Any]:
    """Return whether a new job is claimed through a lane; null if nothing limits it.

    A queue with limits, or with owners that take turns, has a row; for any other queue this is one
    look at its key.
    """
    of_queue: Select[tuple[str]] = select(constant(WaitsFor.LIMIT)).where(
        queues.c.name == queue, HAS_LANES
    )
    return case((limits.is_not(None), constant(WaitsFor.LIMIT)), else_=of_queue.scalar_subquery())


_given_queue: Final[BindParameter[str]] = bindparam("queue")
QUEUE_RULES: Final = select(queues.c.backend, HAS_LANES).where(queues.c.name == _given_queue)


# They come after `run_at`: SQLite reads its clock for each of them in turn, and a job that may
# start at once is due no later than it was last updated.
_NEW: Final = {
    "state": constant(JobState.PENDING),
    "created_at": database_now(),
    "updated_at": database_now(),
}
_VALUES: Final = {
    **{name: value_of(name) for name in _COLUMNS},
    "waits_for": waits_for(value_of("limits"), _given_queue),
    "run_at": RUN_AT,
    **_NEW,
}
_INSERTED: Final = tuple(jobs.c[name] for name in Inserted._fields if name != "expires_at")

COUNT_OPEN: Final = select(func.count()).where(
    jobs.c.owner == bindparam("owner"),
    jobs.c.type == bindparam("type"),
    IS_OPEN,
)
ADD: Final = Direct(insert(jobs).values(_VALUES).returning(*_INSERTED))
_SHARED: Final[dict[str, TypeEngine[Any]]] = {
    "type": Text(),
    "queue": Text(),
    "priority": Integer(),
    "params": Text(),
    "owner": Text(),
    "max_attempts": Integer(),
    "backoff": Text(),
    "meta": Text(),
    "run_at": Instant(),
    "delay": Float(),
}
"""The columns of `JobRow` in which jobs that share an insert may differ."""
_AT_ONCE: Final = tuple(name for name in _SHARED if name not in ("run_at", "delay"))
_add_at_once: Final = (
    insert(jobs)
    .values(
        {
            **{name: value_of(name) for name in _AT_ONCE},
            "waits_for": waits_for(null(), _given_queue),
            "run_at": database_now(),
            **_NEW,
        }
    )
    .returning(*_INSERTED)
)
# Most jobs need no other columns. The parameters of `ADD` take a tenth of the time of an insert.
ADD_AT_ONCE: Final = Direct(_add_at_once)
"""Inserts a job without a limit or a key that may start now."""
_added: Final = _add_at_once.cte("added")
_add_and_notify: Any = select(*_added.c, func.pg_notify(bindparam("channel"), bindparam("payload")))
ADD_AND_NOTIFY: Final = Direct(_add_and_notify)
"""Does the same, and notifies when it commits; on PostgreSQL only."""
_runs_elsewhere = (
    select(queues.c.name)
    .where(queues.c.name == _given_queue, queues.c.backend != constant(OWN_BACKEND))
    .exists()
)
# This replaces two statements. A guard in `ADD` would make plain jobs a tenth slower, and
# `ADD_GUARDED` costs a third more.
ADD_LIMITED: Final = (
    insert(jobs)
    .from_select(
        list(_VALUES), select(*_VALUES.values()).where(~_runs_elsewhere), include_defaults=False
    )
    .returning(*_INSERTED)
)
# The expiry is separate, so that jobs without one do not pay for it.
_EXPIRES_AT: Final = {"expires_at": expiry(RUN_AT)}


def _insert_guarded(more: Mapping[str, Any]) -> Any:
    room: Any = bindparam("max_count", type_=Integer())
    has_room = cast(room, Integer()).is_(None) | (COUNT_OPEN.scalar_subquery() < room)
    values = {
        **_VALUES,
        "key_is_shared": cast(bindparam("key_is_shared", type_=Boolean()), Boolean()),
        **_EXPIRES_AT,
        **more,
    }
    source = select(*values.values()).where(has_room)
    return (
        insert(jobs)
        .from_select(list(values), source, include_defaults=False)
        .on_conflict_do_nothing(
            index_elements=[jobs.c.type, jobs.c.unique_key], index_where=UNIQUE_WHERE
        )
        .returning(*_INSERTED, jobs.c.expires_at)
    )


ADD_GUARDED: Final = _insert_guarded({})
# A role that may only start jobs may not write these columns: a row with `retry_of` would block the
# real retry.
ADD_RETRY: Final = _insert_guarded({name: value_of(name) for name in _OF_RETRIES})
_batch = bindparam("batch", type_=Text())
_has_limits = cast(bindparam("has_limits", type_=Boolean()), Boolean())
_array: Any = (
    func.jsonb_array_elements(cast(_batch, Json()))
    .table_valued("value", with_ordinality="position")
    .render_derived()
)
_list: Any = func.json_each(_batch).table_valued("value")


def _insert_many(more: Mapping[str, Any]) -> PerDialect[Any]:
    """Insert one job for each element of a JSON array of parameters.

    If the parameter `has_limits` is true, each element is a pair of a job's parameters and its
    limits. `more`: columns that other jobs do not have.
    """

    def insert_each(
        params: ColumnElement[Any], limits: ColumnElement[Any], *order: ColumnElement[Any]
    ) -> Any:
        values: dict[str, Any] = {
            **_VALUES,
            **_EXPIRES_AT,
            **more,
            "params": params,
            "limits": limits,
            "waits_for": waits_for(limits, _given_queue),
        }
        source = select(*values.values()).order_by(*order)
        return insert(jobs).from_select(list(values), source, include_defaults=False)

    # Taking a pair apart costs a fifth of the statement, so only jobs with limits come as pairs.
    first, second = (_array.c.value.op("->")(constant(index)) for index in (0, 1))
    # A JSON null would be an entry in the index of parameters, for each job without parameters.
    json_null: ColumnElement[Any] = literal_column("'null'::jsonb")
    of_array = insert_each(
        func.nullif(case((_has_limits, first), else_=_array.c.value), json_null),
        func.nullif(case((_has_limits, second)), json_null),
        _array.c.position,
    ).returning(jobs.c.id)
    first, second = (func.json_extract(_list.c.value, f"$[{index}]") for index in (0, 1))
    # SQLite reads the elements in order, and numbers the rows one after the other: to sort the rows
    # and to return the ids would take half of its time.
    of_list = insert_each(
        case((_has_limits, first), else_=_list.c.value), case((_has_limits, second))
    )
    return PerDialect(of_array, of_list)


ADD_MANY: Final = _insert_many({})
# A role that may only start jobs may not write these columns either.
ADD_MEMBERS: Final = _insert_many(
    {
        "group_id": cast(bindparam("group_id", type_=BigInteger()), BigInteger()),
        "awaited": literal(AWAITED_BY_GROUP, SmallInteger()),
    }
)

_shared: Final = json_rows("rows", number=Integer(), **_SHARED).c
_SHARED_VALUES: Final[dict[str, ColumnElement[Any]]] = {
    **{name: _shared[name] for name in _AT_ONCE},
    **{name: cast(_shared[name], jobs.c[name].type) for name in ("params", "backoff", "meta")},
    "waits_for": waits_for(null(), _shared.queue),
    "run_at": func.coalesce(_shared.run_at, seconds_from_now(func.coalesce(_shared.delay, 0.0))),
    **_NEW,
}
ADD_SHARED: Final = (
    insert(jobs)
    .from_select(
        list(_SHARED_VALUES),
        select(*_SHARED_VALUES.values()).order_by(_shared.number),
        include_defaults=False,
    )
    .returning(*_INSERTED)
)
"""Inserts jobs that have nothing in common, one for each element of a JSON array of objects."""

LOCK_JOB: Final = select(jobs.c.id).where(jobs.c.id == bindparam("job_id")).with_for_update()
LATEST_RETRY: Final = (
    select(jobs.c.id)
    .where(jobs.c.retry_of == bindparam("job_id"))
    .order_by(jobs.c.id.desc())
    .limit(1)
)

ACTIVE_WITH_KEY: Final = select(jobs.c.id).where(
    jobs.c.type == bindparam("type"),
    jobs.c.unique_key == bindparam("unique_key"),
    jobs.c.key_is_shared.is_(None),
    jobs.c.finished_at.is_(None),
)


def parameters_of(job: JobRow) -> dict[str, Any]:
    """Return the values of a new job as the parameters of a statement."""
    return {name: getattr(job, name) for name in (*_COLUMNS, *_NO_PLAIN_COLUMNS) if name != "tags"}


def queue_rules(connection: Connection, queue: str) -> QueueRules:
    """Return what decides whether a job may start in a queue."""
    row = connection.execute(QUEUE_RULES, {"queue": queue}).one_or_none()
    return QueueRules() if row is None else QueueRules(row[0], bool(row[1]))


def add(connection: Connection, job: JobRow) -> Inserted:
    """Insert a job that has neither a guard nor an expiry, and repeats none."""
    inserted = Inserted(*connection.execute(ADD.on(connection), _plain_values(job)).one())
    if job.tags:
        tags.write(connection, [inserted.id], job.tags)
    return inserted


def add_alone(connection: Connection, job: JobRow) -> Inserted:
    """Insert a job as `add` does, if it has no tags, on a connection of `Database.autocommit`."""
    return Inserted(*ADD.one(connection, _plain_values(job)))


def add_at_once(
    connection: Connection, job: JobRow, notification: tuple[str, str] | None = None
) -> Inserted:
    """Insert a job as `add_alone` does, if it has no limits and `may_start_now`.

    `notification`: the channel and the payload of a notification to send with the commit.
    """
    values = {name: getattr(job, name) for name in _AT_ONCE}
    if notification is None:
        return Inserted(*ADD_AT_ONCE.one(connection, values))
    values["channel"], values["payload"] = notification
    return Inserted(*ADD_AND_NOTIFY.one(connection, values)[:-1])


def _plain_values(job: JobRow) -> dict[str, Any]:
    # Other values are left out, because SQLAlchemy also inserts parameters that are named like
    # columns.
    return {name: getattr(job, name) for name in (*_COLUMNS, "run_at", "delay")}


def add_shared(connection: Connection, rows: Sequence[JobRow]) -> list[Inserted]:
    """Insert jobs that `add` could insert, in one statement; return their values in order."""
    given = [
        {"number": number, **{name: getattr(row, name) for name in _SHARED}}
        for number, row in enumerate(rows)
    ]
    text = json.dumps(given, default=partial(json_moment, connection), check_circular=False)
    found = connection.execute(ADD_SHARED, {"rows": text}).all()
    # Ids are assigned in the order of the select.
    return [Inserted(*each) for each in sorted(found)]


def add_limited(connection: Connection, job: JobRow) -> Inserted | None:
    """Insert a job with limits, unless a backend such as Celery runs the jobs of its queue."""
    row = connection.execute(ADD_LIMITED, parameters_of(job)).one_or_none()
    return None if row is None else Inserted(*row)


def add_guarded(
    connection: Connection, job: JobRow, max_count: int | None = None
) -> Inserted | None:
    """Insert a job unless its owner has `max_count` open jobs, or an active job has its key."""
    if max_count is not None:
        lock_limit(connection, job.owner, job.type)
    if job.unique_key is not None:
        lock_key(connection, job.type, job.unique_key)
    parameters = {**parameters_of(job), "max_count": max_count}
    statement = ADD_GUARDED if job.retry_of is None else ADD_RETRY
    row = connection.execute(statement, parameters).one_or_none()
    if row is None:
        return None
    inserted = Inserted(*row)
    if job.tags:
        tags.write(connection, [inserted.id], job.tags)
    return inserted


def lock_limit(connection: Connection, owner: str | None, job_type: str) -> None:
    """Let only one transaction at a time count and insert for this owner and type.

    SQLite has only one writer anyway. Raises `Contended`, and `InvalidRequest` for a transaction
    that does not see what others have committed since it began.
    """
    hides = _try_lock(connection, f"horae:{job_type}:{owner}", f"a {job_type!r} job of {owner!r}")
    if hides is not None:
        raise _refusal(f"jobs of type {job_type!r} are counted", hides)


def lock_key(
    connection: Connection, job_type: str, unique_key: str, *, latest_rows: bool = False
) -> None:
    """Let only one transaction at a time insert with this key, where the index would wait.

    Raises `Contended`.

    `latest_rows`: whether the decision depends on rows that no index guards; raises
    `InvalidRequest` for a transaction that does not see the latest ones.
    """
    about = f"a {job_type!r} job with unique key {unique_key!r}"
    hides = _try_lock(connection, f"horae:{job_type}:key:{unique_key}", about)
    if latest_rows and hides is not None:
        raise _refusal(f"jobs of type {job_type!r} are unique", hides)


def _try_lock(connection: Connection, key: str, about: str) -> str | None:
    """Take a lock until the end of the transaction.

    Returns the isolation level if the transaction does not see what others commit.
    """
    # The lock is not waited for: the other transaction belongs to a caller, and may stay open for
    # any time.
    tried = try_lock(connection, key)
    if not tried.taken:
        raise Contended(f"another transaction has started {about}", tried.holder)
    return tried.hides


def _refusal(why: str, isolation: str) -> InvalidRequest:
    return InvalidRequest(
        f"{why}, and a {isolation} transaction does not see those that others have started since it"
        " began; start this job in a read committed transaction, or without `session`"
    )


def count_open(connection: Connection, owner: str | None, job_type: str) -> int:
    """Return how many jobs of this owner and type are pending, running, or not stopped yet."""
    return connection.execute(COUNT_OPEN, {"owner": owner, "type": job_type}).scalar_one()


def add_many(
    connection: Connection,
    template: JobRow,
    params: Sequence[str | None],
    group_id: GroupId | None = None,
    *,
    limits: Sequence[str | None] | None = None,
) -> list[JobId]:
    """Insert a job for each of these JSON texts in one statement; return the ids in order.

    `group_id`: the group of which they are members; `limits`: the limits of each, as JSON text.
    """
    elements = [each or "null" for each in params]
    if limits is not None:
        elements = [f"[{each},{own or 'null'}]" for each, own in zip(elements, limits, strict=True)]
    parameters: dict[str, Any] = {
        **parameters_of(template),
        "batch": f"[{','.join(elements)}]",
        "has_limits": limits is not None,
    }
    statement = ADD_MANY
    if group_id is not None:
        statement, parameters["group_id"] = ADD_MEMBERS, group_id
    inserted = connection.execute(statement.on(connection), parameters)
    if inserted.returns_rows:
        ids = sorted(inserted.scalars())  # ids are assigned in the order of the select
    else:
        last = inserted.lastrowid
        ids = [JobId(id_) for id_ in range(last + 1 - len(params), last + 1)]
    if template.tags:
        tags.write(connection, ids, template.tags)
    return ids


def latest_retry(connection: Connection, job_id: JobId) -> JobId | None:
    """Lock this job, so that no other transaction retries it; return its newest retry."""
    connection.execute(LOCK_JOB, {"job_id": job_id})
    return newest_retry(connection, job_id)


def newest_retry(connection: Connection, job_id: JobId) -> JobId | None:
    """Return the newest job that retries this one."""
    found = connection.execute(LATEST_RETRY, {"job_id": job_id}).scalar_one_or_none()
    return None if found is None else JobId(found)


def active_with_key(connection: Connection, job_type: str, unique_key: str) -> JobId | None:
    """Return the active job that holds this unique key alone."""
    found = connection.execute(
        ACTIVE_WITH_KEY, {"type": job_type, "unique_key": unique_key}
    ).scalar_one_or_none()
    return None if found is None else JobId(found)
