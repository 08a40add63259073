"""Find the jobs that a new one would duplicate, or move a pending job instead of adding one.

Both run while the transaction holds the lock of the key, so that no other transaction starts a job
with it in the meantime.
"""

from typing import Final, NamedTuple

from sqlalchemy import Connection, Float, and_, bindparam, case, cast, or_, select, update
from sqlalchemy.sql.functions import func

from horae.domain.jobs import Debounce, Job, JobId, JobState, UniqueKey, WaitsFor
from horae.storage.engine import (
    earlier_of,
    member_of,
    now_or_later,
    read,
    seconds_after,
    seconds_from_now,
)
from horae.storage.jobs.creation import JobRow, expiry, parameters_of, value_of
from horae.storage.jobs.reading import COLUMNS, job_from
from horae.storage.jobs.tables import jobs

REPLACED_COLUMNS: Final = (
    "queue",
    "priority",
    "params",
    "max_attempts",
    "backoff",
    "meta",
    "limits",
)
"""The columns of the pending job that a later call of a debounced job replaces."""


class Duplicate(NamedTuple):
    """A job that blocks a new one."""

    id: JobId
    state: JobState


_within = cast(bindparam("within", type_=Float()), Float())
DUPLICATES: Final = (
    select(jobs.c.id, jobs.c.state)
    .where(
        jobs.c.type == bindparam("type"),
        jobs.c.unique_key == bindparam("unique_key"),
        member_of(jobs.c.state, "states"),
        or_(
            jobs.c.finished_at.is_(None),
            _within.is_(None),
            jobs.c.created_at > seconds_from_now(-_within),
        ),
    )
    .order_by(jobs.c.id.desc())
    .limit(100)
)
_newest = (
    select(func.max(jobs.c.id))
    .where(
        jobs.c.type == bindparam("of_type"),
        jobs.c.unique_key == bindparam("of_key"),
        jobs.c.owner.is_not_distinct_from(bindparam("of_owner")),
        jobs.c.state == JobState.PENDING,
        jobs.c.attempt == 0,
        jobs.c.started_at.is_(None),
    )
    .scalar_subquery()
)
_run_at = earlier_of(
    seconds_from_now("wait"),
    seconds_after(jobs.c.created_at, bindparam("max_wait", type_=Float())),
)
_is_limited = and_(jobs.c.waits_for.is_(None), value_of("limits").is_not(None))
MOVE: Final = (
    update(jobs)
    # Check the state again: if a node has claimed the row in the meantime, it runs with the old
    # parameters.
    .where(jobs.c.id == _newest, jobs.c.state == JobState.PENDING)
    .values(
        {
            **{name: value_of(name) for name in REPLACED_COLUMNS},
            "lane_id": None,  # the keys of the lane follow from the new parameters
            "waits_for": case((_is_limited, WaitsFor.LIMIT.value), else_=jobs.c.waits_for),
            "run_at": _run_at,
            "expires_at": expiry(_run_at),
            "updated_at": now_or_later(jobs.c.updated_at),
        }
    )
    .returning(*COLUMNS)
)


def duplicates(connection: Connection, job_type: str, key: UniqueKey) -> list[Duplicate]:
    """Return the jobs that block a new one with this key, the newest first."""
    parameters = {
        "type": job_type,
        "unique_key": key.text,
        "states": [state.value for state in key.states],
        "within": key.within,
    }
    rows = connection.execute(DUPLICATES, parameters)
    return [Duplicate(JobId(row.id), JobState(row.state)) for row in rows]


def move(connection: Connection, new: JobRow, debounce: Debounce) -> Job | None:
    """Give a pending job with the same key the parameters of `new` and a later time."""
    values = parameters_of(new)
    parameters = {
        **{name: values[name] for name in (*REPLACED_COLUMNS, "expires_at", "expires_after")},
        "of_type": new.type,
        "of_key": new.unique_key,
        "of_owner": new.owner,
        "wait": debounce.seconds,
        "max_wait": debounce.max_seconds,
    }
    row = connection.execute(MOVE, parameters).one_or_none()
    return None if row is None else read(jobs.name, row, job_from)
