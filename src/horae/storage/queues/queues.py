"""Queues: one that was ever paused or limited has a row; others are open and have no limit."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Insert,
    Text,
    bindparam,
    case,
    cast,
    func,
    null,
    or_,
    select,
    union_all,
    update,
)

from horae.domain.jobs import OWN_BACKEND, JobState, WaitsFor
from horae.errors import ConfigurationError
from horae.quoting import quoted
from horae.storage.engine import (
    Json,
    constant,
    database_now,
    insert,
    member_of,
    readable,
    row_reader,
    seconds_since,
)
from horae.storage.jobs import (
    EVERY_QUEUE,
    EVERYTHING_IS_PAUSED,
    HAS_LANES,
    IS_HELD,
    IS_READY,
    IS_SENT,
    IS_WAITING,
    jobs,
    queues,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """A queue with its waiting and running jobs."""

    name: str
    paused_at: datetime | None = None
    note: str | None = None
    concurrency_limit: int | None = None
    """How many jobs may run at a time on all nodes together; None: no limit."""
    fair_by: str | None = None
    """Who takes turns in the queue; None: jobs are claimed as they are due."""
    limits: Mapping[str, Any] | None = None
    """The limits by key of the queue, with their keys and numbers, by name."""
    declared: Mapping[str, Any] | None = None
    """What the code of a deployed module declares for these, with the name of the module; None:
    nothing.
    """
    backend: str | None = None
    """What runs its jobs, unless their type names something else; None: Horae's nodes."""
    pending: int = 0
    due: int = 0
    """How many of the pending jobs are due."""
    started: int = 0
    oldest_due: float | None = None
    """For how many seconds the longest waiting job has been due."""
    everything_is_paused: bool = False
    """Whether a pause of all queues holds this one."""

    @property
    def is_paused(self) -> bool:
        """Return whether no node claims from the queue, because it or everything is paused."""
        return self.paused_at is not None or self.everything_is_paused

    @property
    def is_full(self) -> bool:
        """Return whether as many of its jobs run as its limit allows."""
        return self.concurrency_limit is not None and self.started >= self.concurrency_limit


def put(new: Mapping[str, Any], changed: Mapping[str, Any]) -> Insert:
    """Insert a row for the queue, or change the one that it has."""
    return (
        insert(queues)
        .values(name=bindparam("name"), **new)
        .on_conflict_do_update(index_elements=[queues.c.name], set_=changed)
    )


_note: dict[str, Any] = {"note": bindparam("note")}
_since_when = func.coalesce(queues.c.paused_at, database_now())
PAUSE: Final = put({**_note, "paused_at": database_now()}, {**_note, "paused_at": _since_when})
_change = update(queues).where(queues.c.name == bindparam("queue"))
_resume = {"paused_at": null(), "note": null(), "opened_at": database_now()}
RESUME: Final = _change.where(queues.c.paused_at.is_not(None)).values(_resume)
_limited: dict[str, Any] = {"concurrency_limit": bindparam("concurrency_limit")}
LIMIT: Final = put(_limited, _limited)
SETTINGS: Final = select(queues).where(queues.c.name == bindparam("queue"))

LANES_BESIDE_BACKEND: Final = select(queues.c.name, queues.c.backend).where(
    member_of(queues.c.name, "names"), queues.c.backend != OWN_BACKEND, HAS_LANES
)
_fair: dict[str, Any] = {"fair_by": bindparam("fair_by")}
FAIR: Final = put(_fair, _fair)
_goes_through_lanes = select(queues.c.name).where(queues.c.name == bindparam("of_queue"), HAS_LANES)
_pending = update(jobs).where(
    jobs.c.state == JobState.PENDING, jobs.c.queue == bindparam("of_queue")
)
PUT: Final = put({}, {"name": queues.c.name})
LOCK_LIMITS: Final = (
    select(queues.c.limits).where(queues.c.name == bindparam("queue")).with_for_update()
)
WRITE_LIMITS: Final = _change.values(limits=cast(bindparam("text", type_=Text()), Json()))
TO_LANES: Final = _pending.where(
    or_(jobs.c.waits_for.is_(None), jobs.c.waits_for == WaitsFor.LIMIT),
    _goes_through_lanes.exists(),
).values(waits_for=WaitsFor.LIMIT.value, lane_id=null())
FROM_LANES: Final = _pending.where(
    jobs.c.waits_for == WaitsFor.LIMIT, ~_goes_through_lanes.exists()
).values(
    waits_for=case((jobs.c.limits.is_(None), null()), else_=WaitsFor.LIMIT.value), lane_id=null()
)

# Held jobs include ended ones whose bodies still run. The state of pending jobs is a constant: the
# index of ready jobs has the other columns, so their rows are not read.
_held = select(jobs.c.queue, jobs.c.state, jobs.c.run_at).where(IS_HELD)
_are_pending = (
    select(jobs.c.queue, constant(JobState.PENDING), jobs.c.run_at).where(each)
    for each in (IS_READY, IS_SENT, IS_WAITING)
)
_open = union_all(_held, *_are_pending).subquery("open")
_due = (_open.c.state == JobState.PENDING) & (_open.c.run_at <= database_now())
_busy = (
    select(
        _open.c.queue.label("name"),
        func.count(case((_open.c.state == JobState.PENDING, 1))).label("pending"),
        func.count(case((_due, 1))).label("due"),
        func.count(case((_open.c.state == JobState.STARTED, 1))).label("started"),
        func.max(case((_due, seconds_since(_open.c.run_at)))).label("oldest_due"),
    )
    .where(_open.c.state.in_([JobState.PENDING, JobState.STARTED]))
    .group_by(_open.c.queue)
    .cte("busy")
)
_settings = (
    queues.c.paused_at,
    queues.c.concurrency_limit,
    queues.c.fair_by,
    queues.c.limits,
    queues.c.declared,
)
_kept = or_(*(column.is_not(None) for column in _settings), queues.c.backend != OWN_BACKEND)
_names = (
    select(queues.c.name)
    .where(_kept, queues.c.name != EVERY_QUEUE)
    .union(select(_busy.c.name))
    .subquery("names")
)
VIEW: Final = (
    select(
        _names.c.name,
        queues.c.paused_at,
        queues.c.note,
        queues.c.concurrency_limit,
        queues.c.fair_by,
        queues.c.limits,
        queues.c.declared,
        queues.c.backend,
        func.coalesce(_busy.c.pending, 0).label("pending"),
        func.coalesce(_busy.c.due, 0).label("due"),
        func.coalesce(_busy.c.started, 0).label("started"),
        _busy.c.oldest_due,
        EVERYTHING_IS_PAUSED.label("everything_is_paused"),
    )
    .select_from(
        _names.outerjoin(queues, queues.c.name == _names.c.name).outerjoin(
            _busy, _busy.c.name == _names.c.name
        )
    )
    .order_by(_names.c.name)
)
_read: Final = row_reader(QueueView, VIEW.selected_columns)


def pause(connection: Connection, name: str, note: str | None) -> None:
    """Pause the queue: no node claims from it, and started jobs continue."""
    connection.execute(PAUSE, {"name": name, "note": note})


def resume(connection: Connection, name: str) -> bool:
    """Resume the queue; return False if it was not paused."""
    return connection.execute(RESUME, {"queue": name}).rowcount > 0


def limit(connection: Connection, name: str, concurrency_limit: int | None) -> None:
    """Limit how many jobs of the queue run at a time; None removes the limit.

    Started jobs continue.
    """
    connection.execute(LIMIT, {"name": name, "concurrency_limit": concurrency_limit})


def fair(connection: Connection, name: str, fair_by: str | None) -> None:
    """Let owners, or other keys, take turns in the queue; None: claim jobs as they become due."""
    connection.execute(FAIR, {"name": name, "fair_by": fair_by})
    file_again(connection, name)


def limit_by_key(
    connection: Connection, name: str, limit: tuple[str, Mapping[str, Any]] | None
) -> None:
    """Add or replace a limit by key of the queue; None removes all of them."""
    connection.execute(PUT, {"name": name})
    stored = connection.scalar(LOCK_LIMITS, {"queue": name})
    limits = None if limit is None else {**(stored or {}), limit[0]: limit[1]}
    text = None if limits is None else json.dumps(limits)
    connection.execute(WRITE_LIMITS, {"queue": name, "text": text})
    file_again(connection, name)


def check_lanes(connection: Connection, names: Collection[str]) -> None:
    """Raise `ConfigurationError` if one of these queues, as just changed, has a backend and limits
    by key or turns.

    Only Horae's nodes claim jobs under such limits, and they leave the queue to its backend: no job
    would ever start.
    """
    found = connection.execute(LANES_BESIDE_BACKEND, {"names": names}).first()
    if found is not None:
        raise ConfigurationError(
            f"queue {quoted(found.name)}: limits by key and turns hold only for jobs that Horae's"
            f" nodes run, but the backend of this queue is {quoted(found.backend)}; limit its"
            " concurrency instead, or change one of them"
        )


def file_again(connection: Connection, name: str) -> None:
    """Put the pending jobs of the queue into lanes anew, or out of them if it has none now.

    Raises what `check_lanes` raises.
    """
    check_lanes(connection, [name])
    connection.execute(TO_LANES, {"of_queue": name})
    connection.execute(FROM_LANES, {"of_queue": name})


def settings(connection: Connection, name: str) -> Mapping[str, Any]:
    """Return whether a queue is paused, with the note, and its limit."""
    row: Mapping[Any, Any] = (
        connection.execute(SETTINGS, {"queue": name}).mappings().one_or_none() or {}
    )
    given = {name: row.get(name) for name in ("note", "concurrency_limit")}
    more = {name: row.get(name) for name in ("fair_by", "limits", "backend")}
    return {
        "paused": row.get("paused_at") is not None,
        **given,
        **{name: value for name, value in more.items() if value is not None},
    }


def is_paused(connection: Connection, name: str) -> bool:
    """Return whether a queue is paused."""
    return bool(settings(connection, name)["paused"])


def view(connection: Connection) -> list[QueueView]:
    """Return every queue with open jobs, a pause, a limit or a backend, by name."""

    def queue(row: Mapping[Any, Any]) -> QueueView:
        return _read({**row, "everything_is_paused": bool(row["everything_is_paused"])})

    return readable(queues.name, connection.execute(VIEW).mappings(), queue)
