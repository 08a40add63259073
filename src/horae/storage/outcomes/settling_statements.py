"""The SQL of settling a batch of claims, which keeps one row for each attempt in `job_attempts`.

The statements touch only rows whose lease is still current, so each of them may be repeated.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Executable,
    Float,
    Integer,
    String,
    Text,
    and_,
    bindparam,
    case,
    cast,
    func,
    insert,
    literal,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.types import TypeEngine

from horae.domain.jobs import AWAITED_BY_GROUP, REPORTED, UNCOUNTED, AttemptOutcome, JobState
from horae.storage.engine import (
    POSTGRESQL,
    SEES_COMMITTED,
    SQLITE,
    Json,
    PerDatabase,
    PerDialect,
    constant,
    json_rows,
    microseconds_before,
    now_or_later,
    one_of,
    seconds_from_now,
)
from horae.storage.jobs import job_attempts, jobs
from horae.storage.outcomes.follow_up_statements import NOW_REPORTED

BATCH: Final[Mapping[str, TypeEngine[Any]]] = {
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
    "group_id": BigInteger(),
    "meta": Text(),
}
"""The columns of a batch: the fields of a `Settlement`."""
PLAIN: Final = ("id", "lease", "result", "label", "group_id")
"""The columns of a batch of jobs that have finished without consequences."""
_ENDED_AS: Final = ("outcome", "error", "traceback")
_ATTEMPT: Final = ("job_id", "lease", "attempt", "node_id", "started_at", "finished_at", *_ENDED_AS)
_NODE: Final = cast(bindparam("node"), Text())
# A promoted standby may have lost claims and jobs: another node may have the same lease of the same
# job, or of a new one with its id. In this form no plan uses the index of `node_id`.
_is_of_node: Final = jobs.c.node_id.is_not_distinct_from(_NODE)
_ENDED_AT: Final = now_or_later(jobs.c.started_at)  # the clock may have been set back
_SETTLED: Final = (
    jobs.c.id,
    jobs.c.lease,
    jobs.c.state,
    jobs.c.schedule_id,
    jobs.c.group_id,
    jobs.c.awaited,
)
_sees_committed = func.current_setting("transaction_isolation").in_(
    [constant(name) for name in SEES_COMMITTED]
)
_AWAITED: Final = PerDatabase(
    case(
        # The subquery makes PostgreSQL read the setting once, and not for each row.
        (and_(jobs.c.awaited > REPORTED, select(_sees_committed).scalar_subquery()), REPORTED),
        else_=jobs.c.awaited,
    ),
    NOW_REPORTED,
)
"""`awaited` of a job that ends: `REPORTED` if this transaction notifies those that wait.

A transaction that reads a snapshot does not see what others have committed, so it cannot know
whether it ends the last job of several.
"""


def _settle(dialect: str, *, plain: bool = False) -> Sequence[Executable]:
    """Write how bodies with current leases ended, keep their attempts, and return the jobs.

    `plain`: finish jobs that are not runs of a schedule and for whose ends at most a group waits;
    nearly all bodies end so. This takes two thirds of the time of the whole statement, and less
    than half on SQLite. A row for each job would take a tenth more, so ids are returned only if
    some jobs were not written: on PostgreSQL together with their number and the new `awaited`, on
    SQLite by a third statement, to be executed instead of the second one.
    """
    given = json_rows("batch", **{name: BATCH[name] for name in (PLAIN if plain else BATCH)})
    # PostgreSQL reads the batch twice in one statement.
    batch: Any = select(given).cte("batch") if dialect == POSTGRESQL else given
    held = and_(_is_of_node, _has_lease(batch), jobs.c.state == JobState.STARTED)
    attempt: ColumnElement[int] = jobs.c.attempt
    began: Any = jobs.c.started_at
    if plain:
        # SQLite extracts the group from the batch only for members.
        awaited = or_(
            and_(jobs.c.awaited.is_(None), jobs.c.group_id.is_(None)),
            and_(jobs.c.awaited == AWAITED_BY_GROUP, jobs.c.group_id == batch.c.group_id),
        )
        held = and_(held, jobs.c.schedule_id.is_(None), awaited)
        ended: Sequence[Any] = (literal(AttemptOutcome.FINISHED, String()), null(), null())
        changes: dict[str, Any] = {
            "state": literal(JobState.FINISHED, String()),
            "finished_at": _ENDED_AT,
            "error": null(),
            "human_readable_error": null(),
            "progress_percentage": literal(100, Integer()),
            "label": batch.c.label,
            "awaited": _AWAITED,
        }
    else:
        retried = batch.c.state == JobState.PENDING
        finished = batch.c.state == JobState.FINISHED
        uncounted = case((and_(retried, batch.c.outcome.in_(list(UNCOUNTED))), 1), else_=0)
        attempt = jobs.c.attempt + uncounted  # the attempt's number before the change
        # The body began its duration before its end, even if the clock was changed meanwhile.
        began = microseconds_before(_ENDED_AT, batch.c.took, jobs.c.started_at)
        ended = (batch.c.outcome, batch.c.error, batch.c.traceback)
        changes = {
            "state": batch.c.state,
            "finished_at": case((retried, null()), else_=_ENDED_AT),
            "run_at": case(
                (retried, seconds_from_now(func.coalesce(batch.c.delay, 0.0))), else_=jobs.c.run_at
            ),
            "error": case((retried, null()), else_=batch.c.error),
            "human_readable_error": case((retried, null()), else_=batch.c.human_readable_error),
            "progress_percentage": case(
                (finished, 100),
                (retried, 0),
                else_=func.coalesce(batch.c.progress, jobs.c.progress_percentage),
            ),
            "label": case((retried, null()), else_=batch.c.label),
            "cancelled_by": batch.c.cancelled_by,
            "started_at": began,
            "hook_owed": batch.c.hook_owed,
            # A job that has begun cannot expire any more.
            "expires_at": case((retried, null()), else_=jobs.c.expires_at),
            # The attempt has the whole text.
            "retry_reason": func.substr(batch.c.reason, 1, 500),
            "attempt": jobs.c.attempt - uncounted,
            "awaited": case((retried, jobs.c.awaited), else_=_AWAITED),
            # A job with limits that is tried again is put into its lane again.
            "lane_id": case((retried, null()), else_=jobs.c.lane_id),
            "meta": func.coalesce(cast(batch.c.meta, Json()), jobs.c.meta),
        }
    changes |= {
        "result": cast(batch.c.result, Json()),
        "node_id": null(),
        "updated_at": _ENDED_AT,
    }
    changed = update(jobs).where(held).values(changes)
    keep = insert(job_attempts)
    # The attempts come first, because the change makes the rows unrecognisable.
    if dialect == SQLITE:
        kept_before = select(
            jobs.c.id, jobs.c.lease, jobs.c.attempt, _NODE, began, _ENDED_AT, *ended
        ).where(held)
        first = keep.from_select(_ATTEMPT, kept_before, include_defaults=False)
        if plain:
            return first, changed, changed.returning(jobs.c.id)
        return first, changed.returning(*_SETTLED)
    settled = (
        changed.where(one_of(jobs.c.id, select(batch.c.id).correlate(None)))
        .returning(
            *_SETTLED,
            attempt.label("number"),
            jobs.c.started_at,
            jobs.c.updated_at,
            *(column.label(name) for name, column in zip(_ENDED_AS, ended, strict=True)),
        )
        .cte("settled")
    )
    row = settled.c
    kept_after = select(
        row.id,
        row.lease,
        row.number,
        _NODE,
        row.started_at,
        row.updated_at,
        *(row[name] for name in _ENDED_AS),
    )
    kept = keep.from_select(_ATTEMPT, kept_after, include_defaults=False).cte("kept")
    if not plain:
        return (select(*(row[column.name] for column in _SETTLED)).add_cte(kept),)
    # A subquery in a CASE is executed only if it is needed.
    ids = case(
        (
            func.count() != bindparam("number", type_=Integer()),
            select(func.json_agg(settled.c.id)).scalar_subquery(),
        )
    )
    counted = select(func.count(), func.max(row.awaited), ids).select_from(settled)
    return (counted.add_cte(kept),)


def _has_lease(batch: Any) -> ColumnElement[bool]:
    return and_(jobs.c.id == batch.c.id, jobs.c.lease == batch.c.lease)


SETTLE: Final = PerDialect(_settle(POSTGRESQL), _settle(SQLITE))
FINISH: Final = PerDialect(_settle(POSTGRESQL, plain=True), _settle(SQLITE, plain=True))
_attempted = json_rows("batch", id=BigInteger(), lease=BigInteger(), outcome=String())
RECORDED: Final = select(job_attempts.c.job_id).where(
    job_attempts.c.job_id == _attempted.c.id,
    job_attempts.c.lease == _attempted.c.lease,
    job_attempts.c.outcome == _attempted.c.outcome,
)
_released = json_rows("batch", id=BigInteger(), lease=BigInteger())
RELEASE: Final = (
    update(jobs)
    .where(
        _has_lease(_released),
        jobs.c.node_id == bindparam("node"),
        jobs.c.finished_at.is_not(None),
    )
    .values(node_id=null())
    .returning(*_SETTLED, jobs.c.attempt, jobs.c.started_at, jobs.c.updated_at)
)
KEEP_ATTEMPT: Final = insert(job_attempts)
