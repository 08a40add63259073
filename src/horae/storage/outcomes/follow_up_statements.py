"""The SQL by which the end of jobs is reported to the groups and jobs that wait for it."""

from typing import Any, Final

from sqlalchemy import (
    CTE,
    BigInteger,
    Boolean,
    Integer,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    literal,
    null,
    or_,
    select,
    true,
    update,
)

from horae.domain.jobs import (
    AWAITED_BY_JOBS,
    REPORTED,
    JobEvent,
    JobState,
    OnDependencyFailure,
    WaitsFor,
    state_after,
)
from horae.storage.engine import (
    IdList,
    PerDialect,
    among,
    constant,
    database_now,
    json_rows,
    member_of,
    now_or_later,
)
from horae.storage.jobs import (
    ENDED_NOW,
    HAS_LANES,
    ON_CANCELLED,
    ON_ERROR,
    dependencies,
    jobs,
    queues,
)
from horae.storage.jobs.group_tables import groups
from horae.storage.jobs.groups import GROUP_COLUMNS, IS_MEMBER_BETWEEN

_limit: Final = bindparam("limit", type_=Integer())
_ended: Final = (jobs.c.id, jobs.c.state, jobs.c.group_id)
_unreported: Final = and_(jobs.c.awaited > constant(REPORTED), jobs.c.finished_at.is_not(None))
NOW_REPORTED: Final = case((jobs.c.awaited > REPORTED, REPORTED), else_=jobs.c.awaited)
"""The new `awaited` of a job that ends, if the same transaction notifies those that wait."""
MARK_REPORTED: Final = among(
    update(jobs).where(_unreported).values(awaited=REPORTED).returning(*_ended), jobs.c.id
)
REPORT_LATER: Final = among(update(jobs).values(awaited=AWAITED_BY_JOBS), jobs.c.id)
_some = select(jobs.c.id).order_by(jobs.c.id).limit(_limit)
UNREPORTED: Final = _some.where(_unreported).with_for_update(skip_locked=True)

LOCK_GROUPS: Final = among(
    select(*GROUP_COLUMNS, database_now().label("now")).order_by(groups.c.id).with_for_update(),
    groups.c.id,
)


def _write_groups(dialect: str) -> Update:
    counts = {name: BigInteger() for name in ("finished", "failed", "cancelled")}
    flags = {"cancels": Boolean(), "inserted": Boolean(), "ends": Boolean()}
    rows = json_rows(dialect, "batch", id=BigInteger(), by=Text(), **counts, **flags)
    return (
        update(groups)
        .where(groups.c.id == rows.c.id)
        .values(
            **{name: rows.c[name] for name in counts},
            cancelled_at=case((rows.c.cancels, database_now()), else_=groups.c.cancelled_at),
            cancelled_by=case((rows.c.cancels, rows.c.by), else_=groups.c.cancelled_by),
            inserting_at=case((rows.c.inserted, null()), else_=groups.c.inserting_at),
            ended_at=case((rows.c.ends, database_now()), else_=groups.c.ended_at),
        )
    )


def _count_finished(dialect: str) -> Update:
    rows = json_rows(dialect, "batch", id=BigInteger(), finished=BigInteger())
    counted = (
        update(groups)
        .where(groups.c.id == rows.c.id)
        .values(finished=groups.c.finished + rows.c.finished)
    )
    return counted.returning(*GROUP_COLUMNS)


COUNT_FINISHED: Final = PerDialect(_count_finished)
WRITE_GROUPS: Final = PerDialect(_write_groups)

_waits: Final = and_(jobs.c.state == JobState.PENDING, jobs.c.waits_for == WaitsFor.JOBS)


def _downstream(dialect: str) -> CTE:
    """Select the jobs that wait for these, directly or indirectly, down to so many `levels`."""
    first = select(dependencies.c.job_id, literal(1, Integer()).label("level")).where(
        member_of(dialect, dependencies.c.after_id, "ids", of=IdList), ~dependencies.c.ended
    )
    found = first.cte("downstream", recursive=True)
    more = select(dependencies.c.job_id, (found.c.level + 1).label("level")).where(
        dependencies.c.after_id == found.c.job_id,
        ~dependencies.c.ended,
        dependencies.c.on_failure != OnDependencyFailure.RUN,
        found.c.level < bindparam("levels", type_=Integer()),
    )
    return found.union(more)


def _lock_waiting(dialect: str) -> Select[Any]:
    """Lock the waiting jobs that may change, in the order of their ids to avoid deadlocks."""
    found = select(_downstream(dialect).c.job_id)
    wanted = or_(jobs.c.id.in_(found), member_of(dialect, jobs.c.id, "thens", of=IdList))
    return select(jobs.c.id).where(wanted, _waits).order_by(jobs.c.id).with_for_update()


LOCK_WAITING: Final = PerDialect(_lock_waiting)
END_DEPENDENCIES: Final = among(
    update(dependencies)
    .where(~dependencies.c.ended)
    .values(ended=true())
    .returning(dependencies.c.job_id, dependencies.c.after_id, dependencies.c.on_failure),
    dependencies.c.after_id,
)
STILL_WAITING: Final = among(
    select(jobs.c.id).where(
        select(dependencies.c.job_id)
        .where(dependencies.c.job_id == jobs.c.id, ~dependencies.c.ended)
        .exists()
    ),
    jobs.c.id,
)
_in_lanes = select(queues.c.name).where(queues.c.name == jobs.c.queue, HAS_LANES).exists()
_LIMIT_NEXT: Final = case(
    (or_(jobs.c.limits.is_not(None), _in_lanes), WaitsFor.LIMIT.value), else_=null()
)
RELEASE: Final = among(
    update(jobs)
    .where(_waits)
    .values(
        waits_for=_LIMIT_NEXT,
        run_at=now_or_later(jobs.c.run_at),
        updated_at=now_or_later(jobs.c.updated_at),
    )
    .returning(jobs.c.id),
    jobs.c.id,
)
"""Releases a job; its time limit as a pending job counts from the new `run_at`."""


def _end_waiting(dialect: str, event: JobEvent) -> Update:
    rows = json_rows(dialect, "batch", id=BigInteger(), reason=Text())
    cancelled = event is JobEvent.CANCEL
    texts = (
        {"cancelled_by": rows.c.reason, "hook_owed": literal(ON_CANCELLED)}
        if cancelled
        else {
            "error": rows.c.reason,
            "human_readable_error": literal("A job that this one waited for did not finish."),
            "hook_owed": literal(ON_ERROR),
        }
    )
    values = {"state": state_after(event), "awaited": NOW_REPORTED, **texts, **ENDED_NOW}
    ended = update(jobs).where(jobs.c.id == rows.c.id, _waits).values(values)
    return ended.returning(jobs.c.id, jobs.c.type, jobs.c.state, jobs.c.awaited)


CANCEL_WAITING: Final = PerDialect(lambda dialect: _end_waiting(dialect, JobEvent.CANCEL))
FAIL_WAITING: Final = PerDialect(lambda dialect: _end_waiting(dialect, JobEvent.EXPIRE))
CANCEL_GROUP: Final = (
    update(groups)
    .where(
        groups.c.id == bindparam("group_id", type_=BigInteger()),
        groups.c.ended_at.is_(None),
        groups.c.cancelled_at.is_(None),
    )
    .values(
        cancelled_at=database_now(), cancelled_by=bindparam("by", type_=Text()), inserting_at=null()
    )
    .returning(*GROUP_COLUMNS)
)
OPEN_MEMBERS: Final = _some.where(IS_MEMBER_BETWEEN, jobs.c.finished_at.is_(None)).with_for_update()
CANCEL_MEMBERS: Final = among(
    update(jobs)
    .where(jobs.c.finished_at.is_(None))
    .values(
        state=state_after(JobEvent.CANCEL),
        cancelled_by=bindparam("by", type_=Text()),
        hook_owed=ON_CANCELLED,
        awaited=NOW_REPORTED,
        **ENDED_NOW,
    )
    .returning(*_ended, jobs.c.type, jobs.c.node_id),
    jobs.c.id,
)
