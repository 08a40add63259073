"""The SQL of settling a batch of claims, which keeps one row for each attempt in `job_attempts`.

The statements touch only rows whose lease is still current, so each of them may be repeated.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Executable,
    Float,
    Insert,
    Integer,
    Select,
    String,
    Text,
    Update,
    and_,
    bindparam,
    case,
    cast,
    func,
    insert,
    literal,
    literal_column,
    null,
    select,
    update,
)
from sqlalchemy.types import TypeEngine

from horae.domain.jobs.groups import AWAITED_BY_GROUP, REPORTED
from horae.domain.jobs.job import UNCOUNTED, AttemptOutcome, JobState
from horae.storage.engine.dialect import (
    POSTGRESQL,
    Json,
    PerDialect,
    json_rows,
    microseconds_before,
    now_or_later,
    one_of,
    seconds_from_now,
)
from horae.storage.engine.isolation import SEES_COMMITTED
from horae.storage.jobs.tables import job_attempts, jobs

_BATCH: Final[Mapping[str, TypeEngine[Any]]] = {
    "id": BigInteger(),
    "lease": BigInteger(),
    "state": String(),
    "outcome": String(),
    "delay": Float(),
    "result": Text(),
    "error": Text(),
    "human_readable_error": Text(),
    "traceback": Text(),
    "progress": Integer(),
    "label": Text(),
    "cancelled_by": Text(),
    "took": BigInteger(),
    "hook_owed": String(),
    "reason": Text(),
}
_ENDED_AS: Final = ("outcome", "error", "traceback")
_ATTEMPT: Final = ("job_id", "lease", "attempt", "node_id", "started_at", "finished_at", *_ENDED_AS)
_NODE: Final = cast(bindparam("node"), Text())
_ENDED_AT: Final = now_or_later(jobs.c.started_at)  # the clock may have been set back
_SETTLED: Final = (
    jobs.c.id,
    jobs.c.lease,
    jobs.c.state,
    jobs.c.schedule_id,
    jobs.c.group_id,
    jobs.c.awaited,
)
_LONGEST_REASON: Final = 500
"""Characters of a reason that are kept with the job; the attempt has the whole text."""


def _finish(dialect: str, *, members: bool = False) -> Sequence[Executable]:
    """Finish jobs that are not runs of a schedule, and count them; nearly all bodies end in this
    way.

    It costs two thirds of `SETTLE`, and a third on SQLite. `members`: those for which a group
    waits, and no other jobs, with the new `awaited` on PostgreSQL. Else those for which nothing
    waits. A row for each job would cost a tenth of its end, so there are ids only where some were
    not written: on PostgreSQL in the one row, on SQLite by a third statement, to be executed
    instead of the second one.
    """
    batch = _batch(dialect, id=BigInteger(), lease=BigInteger(), result=Text(), label=Text())
    changes = {
        "state": literal(JobState.FINISHED, String()),
        "finished_at": _ENDED_AT,
        "result": cast(batch.c.result, Json()),
        "error": null(),
        "human_readable_error": null(),
        "progress_percentage": literal(100, Integer()),
        "label": batch.c.label,
    }
    ended = (literal(AttemptOutcome.FINISHED, String()), null(), null())
    awaited = jobs.c.awaited == AWAITED_BY_GROUP if members else jobs.c.awaited.is_(None)
    held = and_(_held(batch), jobs.c.schedule_id.is_(None), awaited)
    if members:
        changes["awaited"] = _reported(dialect)
    changed = _changed(held, changes)
    if dialect != POSTGRESQL:
        keep = _kept_before(held, jobs.c.started_at, ended)
        return (keep, changed, changed.returning(jobs.c.id)) if members else (keep, changed)
    settled, kept = _changed_and_kept(dialect, batch, changed, ended)
    number = select(func.count()).select_from(settled).add_cte(kept)
    if not members:
        return (number,)
    reported = select(settled.c.awaited).limit(1).scalar_subquery()
    # A subquery in a CASE is executed only if it is needed.
    ids = select(func.json_agg(settled.c.id)).scalar_subquery()
    asked = bindparam("number", type_=Integer())
    return (number.add_columns(reported, case((func.count() != asked, ids))),)


def _settle(dialect: str) -> Sequence[Executable]:
    """Write any outcome of a body."""
    batch = _batch(dialect, **_BATCH)
    retried = batch.c.state == JobState.PENDING
    finished = batch.c.state == JobState.FINISHED
    uncounted = case((and_(retried, batch.c.outcome.in_(list(UNCOUNTED))), 1), else_=0)
    changes = {
        "state": batch.c.state,
        "finished_at": case((retried, null()), else_=_ENDED_AT),
        "run_at": case(
            (retried, seconds_from_now(func.coalesce(batch.c.delay, 0.0))), else_=jobs.c.run_at
        ),
        "result": cast(batch.c.result, Json()),
        "error": case((retried, null()), else_=batch.c.error),
        "human_readable_error": case((retried, null()), else_=batch.c.human_readable_error),
        "progress_percentage": case(
            (finished, 100),
            (retried, 0),
            else_=func.coalesce(batch.c.progress, jobs.c.progress_percentage),
        ),
        "label": case((retried, null()), else_=batch.c.label),
        "cancelled_by": batch.c.cancelled_by,
        "started_at": _began_at(batch),
        "hook_owed": batch.c.hook_owed,
        "expires_at": case(
            (retried, null()), else_=jobs.c.expires_at
        ),  # it has begun, so it cannot expire any more
        "retry_reason": func.substr(batch.c.reason, 1, _LONGEST_REASON),
        "attempt": jobs.c.attempt - uncounted,
        "awaited": case((retried, jobs.c.awaited), else_=_reported(dialect)),
        "lane_id": case((retried, null()), else_=jobs.c.lane_id),  # it is put into its lane again
    }
    ended = (batch.c.outcome, batch.c.error, batch.c.traceback)
    held = _held(batch)
    if dialect != POSTGRESQL:
        return _kept_before(held, _began_at(batch), ended), _changed(held, changes).returning(
            *_SETTLED
        )
    settled, kept = _changed_and_kept(
        dialect, batch, _changed(held, changes), ended, jobs.c.attempt + uncounted
    )
    return (_all_of(settled, kept),)


def _all_of(settled: CTE, kept: CTE) -> Select[Any]:
    return select(*(settled.c[column.name] for column in _SETTLED)).add_cte(kept)


def _reported(dialect: str) -> ColumnElement[Any]:
    """Return `awaited` of a job that ends: `REPORTED`, if this transaction notifies those that wait
    for it.

    A transaction that reads a snapshot does not see what others have committed, so it cannot know
    whether it ends the last job of several.
    """
    sees_others: ColumnElement[bool] = jobs.c.awaited > REPORTED
    if dialect == POSTGRESQL:
        isolation = func.current_setting("transaction_isolation")
        sees_committed = isolation.in_([literal_column(f"'{name}'") for name in SEES_COMMITTED])
        # A subquery, so that PostgreSQL reads the setting once, and not for each row.
        sees_others = and_(sees_others, select(sees_committed).scalar_subquery())
    return case((sees_others, REPORTED), else_=jobs.c.awaited)


def _batch(dialect: str, **columns: TypeEngine[Any]) -> Any:
    rows = json_rows(dialect, "batch", **columns)
    return (
        select(rows).cte("batch") if dialect == POSTGRESQL else rows
    )  # PostgreSQL reads it twice in one statement


def _held(batch: Any) -> ColumnElement[bool]:
    return and_(
        jobs.c.id == batch.c.id, jobs.c.lease == batch.c.lease, jobs.c.state == JobState.STARTED
    )


def _began_at(batch: Any) -> ColumnElement[datetime]:
    """When the body began: its duration before its end, even if the clock was changed meanwhile."""
    return microseconds_before(_ENDED_AT, batch.c.took, jobs.c.started_at)


def _changed(held: ColumnElement[bool], changes: Mapping[str, Any]) -> Update:
    return update(jobs).where(held).values({**changes, "node_id": null(), "updated_at": _ENDED_AT})


def _kept_before(held: ColumnElement[bool], began: Any, ended: Sequence[Any]) -> Insert:
    """Keep the attempts in a statement of their own on SQLite, before the change makes the rows
    unrecognisable.
    """
    moments = (began, _ENDED_AT)
    return _kept(
        select(jobs.c.id, jobs.c.lease, jobs.c.attempt, _NODE, *moments, *ended).where(held)
    )


def _changed_and_kept(
    dialect: str,
    batch: Any,
    changed: Update,
    ended: Sequence[Any],
    attempt: ColumnElement[int] = jobs.c.attempt,
) -> tuple[CTE, CTE]:
    """Change the jobs and keep the attempts in one statement on PostgreSQL; `attempt`: its number,
    after the change.
    """
    named = [column.label(f"attempt_{name}") for name, column in zip(_ENDED_AS, ended, strict=True)]
    found = changed.where(one_of(dialect, jobs.c.id, select(batch.c.id).correlate(None)))
    number = attempt.label("number")
    settled = found.returning(*_SETTLED, number, jobs.c.started_at, jobs.c.updated_at, *named).cte(
        "settled"
    )
    row = settled.c
    attempts = select(
        row.id,
        row.lease,
        row.number,
        _NODE,
        row.started_at,
        row.updated_at,
        *list(row)[-len(named) :],
    )
    return settled, _kept(attempts).cte("kept")


def _kept(attempts: Any) -> Insert:
    return insert(job_attempts).from_select(list(_ATTEMPT), attempts, include_defaults=False)


FINISH: Final = PerDialect(_finish)
FINISH_MEMBERS: Final = PerDialect(partial(_finish, members=True))
SETTLE: Final = PerDialect(_settle)


def _recorded(dialect: str) -> Select[tuple[int]]:
    batch = json_rows(dialect, "batch", id=BigInteger(), lease=BigInteger(), outcome=String())
    return select(job_attempts.c.job_id).where(
        job_attempts.c.job_id == batch.c.id,
        job_attempts.c.lease == batch.c.lease,
        job_attempts.c.outcome == batch.c.outcome,
    )


RECORDED: Final = PerDialect(_recorded)


def _release(dialect: str) -> Update:
    batch = json_rows(dialect, "batch", id=BigInteger(), lease=BigInteger())
    return (
        update(jobs)
        .where(
            jobs.c.id == batch.c.id,
            jobs.c.lease == batch.c.lease,
            jobs.c.node_id == bindparam("node"),
            jobs.c.finished_at.is_not(None),
        )
        .values(node_id=null())
        .returning(*_SETTLED, jobs.c.attempt, jobs.c.started_at, jobs.c.updated_at)
    )


RELEASE: Final = PerDialect(_release)
KEEP_ATTEMPT: Final = insert(job_attempts)
