"""The SQL by which the end of jobs is reported to the groups and jobs that wait for it."""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Integer,
    Text,
    Update,
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
    DEPENDENCY_FAILED_TEXT,
    REPORTED,
    JobEvent,
    OnDependencyFailure,
    WaitsFor,
    state_after,
)
from horae.storage.engine import database_now, json_rows, member_of, now_or_later
from horae.storage.jobs import (
    ENDED_NOW,
    HAS_LANES,
    IS_UNREPORTED,
    ON_CANCELLED,
    ON_ERROR,
    dependencies,
    jobs,
    queues,
)
from horae.storage.jobs.group_tables import WAITS_FOR_JOBS, groups
from horae.storage.jobs.groups import GROUP_COLUMNS, IS_MEMBER_BETWEEN

_limit: Final = bindparam("limit", type_=Integer())
_ended: Final = (jobs.c.id, jobs.c.state, jobs.c.group_id)
NOW_REPORTED: Final = case((jobs.c.awaited > REPORTED, REPORTED), else_=jobs.c.awaited)
"""The new `awaited` of a job that ends, if the same transaction notifies those that wait."""
MARK_REPORTED: Final = (
    update(jobs)
    .where(IS_UNREPORTED, member_of(jobs.c.id, "ids"))
    .values(awaited=REPORTED)
    .returning(*_ended)
)
REPORT_LATER: Final = (
    update(jobs).where(member_of(jobs.c.id, "ids")).values(awaited=AWAITED_BY_JOBS)
)
_some = select(jobs.c.id).order_by(jobs.c.id).limit(_limit)
UNREPORTED: Final = _some.where(IS_UNREPORTED).with_for_update(skip_locked=True)
LOCK_GROUPS: Final = (
    select(*GROUP_COLUMNS, database_now().label("now"))
    .where(member_of(groups.c.id, "ids"))
    .order_by(groups.c.id)
    .with_for_update()
)
_counted = json_rows("batch", id=BigInteger(), finished=BigInteger())
COUNT_FINISHED: Final = (
    update(groups)
    .where(groups.c.id == _counted.c.id)
    .values(finished=groups.c.finished + _counted.c.finished)
    .returning(*GROUP_COLUMNS)
)
_written = json_rows(
    "batch",
    id=BigInteger(),
    by=Text(),
    finished=BigInteger(),
    failed=BigInteger(),
    cancelled=BigInteger(),
    cancels=Boolean(),
    inserted=Boolean(),
    ends=Boolean(),
)
WRITE_GROUPS: Final = (
    update(groups)
    .where(groups.c.id == _written.c.id)
    .values(
        finished=_written.c.finished,
        failed=_written.c.failed,
        cancelled=_written.c.cancelled,
        cancelled_at=case((_written.c.cancels, database_now()), else_=groups.c.cancelled_at),
        cancelled_by=case((_written.c.cancels, _written.c.by), else_=groups.c.cancelled_by),
        inserting_at=case((_written.c.inserted, null()), else_=groups.c.inserting_at),
        ended_at=case((_written.c.ends, database_now()), else_=groups.c.ended_at),
    )
)


_direct = select(dependencies.c.job_id, literal(1, Integer()).label("level")).where(
    member_of(dependencies.c.after_id, "ids"), ~dependencies.c.ended
)
_found = _direct.cte("downstream", recursive=True)
_downstream = _found.union(
    select(dependencies.c.job_id, (_found.c.level + 1).label("level")).where(
        dependencies.c.after_id == _found.c.job_id,
        ~dependencies.c.ended,
        dependencies.c.on_failure != OnDependencyFailure.RUN,
        _found.c.level < bindparam("levels"),
    )
)  # the jobs that wait for these, directly or indirectly, down to so many `levels`
LOCK_WAITING: Final = (
    select(jobs.c.id)
    .where(
        or_(jobs.c.id.in_(select(_downstream.c.job_id)), member_of(jobs.c.id, "thens")),
        WAITS_FOR_JOBS,
    )
    .order_by(jobs.c.id)
    .with_for_update()
)
"""Lock the waiting jobs that may change, in the order of their ids to avoid deadlocks."""
END_DEPENDENCIES: Final = (
    update(dependencies)
    .where(~dependencies.c.ended, member_of(dependencies.c.after_id, "ids"))
    .values(ended=true())
    .returning(dependencies.c.job_id, dependencies.c.after_id, dependencies.c.on_failure)
)
STILL_WAITING: Final = select(jobs.c.id).where(
    select(dependencies.c.job_id)
    .where(dependencies.c.job_id == jobs.c.id, ~dependencies.c.ended)
    .exists(),
    member_of(jobs.c.id, "ids"),
)
_in_lanes = select(queues.c.name).where(queues.c.name == jobs.c.queue, HAS_LANES).exists()
_LIMIT_NEXT: Final = case(
    (or_(jobs.c.limits.is_not(None), _in_lanes), WaitsFor.LIMIT.value), else_=null()
)
RELEASE: Final = (
    update(jobs)
    .where(WAITS_FOR_JOBS, member_of(jobs.c.id, "ids"))
    .values(
        waits_for=_LIMIT_NEXT,
        run_at=now_or_later(jobs.c.run_at),
        updated_at=now_or_later(jobs.c.updated_at),
    )
    .returning(jobs.c.id)
)
"""Releases a job; its time limit as a pending job counts from the new `run_at`."""


_reason = json_rows("batch", id=BigInteger(), reason=Text())


def _end_waiting(event: JobEvent, texts: Mapping[str, Any]) -> Update:
    return (
        update(jobs)
        .where(jobs.c.id == _reason.c.id, WAITS_FOR_JOBS)
        .values({"state": state_after(event), "awaited": NOW_REPORTED, **texts, **ENDED_NOW})
        .returning(jobs.c.id, jobs.c.type, jobs.c.state, jobs.c.awaited)
    )


CANCEL_WAITING: Final = _end_waiting(
    JobEvent.CANCEL, {"cancelled_by": _reason.c.reason, "hook_owed": literal(ON_CANCELLED)}
)
FAIL_WAITING: Final = _end_waiting(
    JobEvent.EXPIRE,
    {
        "error": _reason.c.reason,
        "human_readable_error": literal(DEPENDENCY_FAILED_TEXT),
        "hook_owed": literal(ON_ERROR),
    },
)
CANCEL_GROUP: Final = (
    update(groups)
    .where(
        groups.c.id == bindparam("group_id"),
        groups.c.ended_at.is_(None),
        groups.c.cancelled_at.is_(None),
    )
    .values(cancelled_at=database_now(), cancelled_by=bindparam("by"), inserting_at=null())
    .returning(*GROUP_COLUMNS)
)
OPEN_MEMBERS: Final = _some.where(IS_MEMBER_BETWEEN, jobs.c.finished_at.is_(None)).with_for_update()
CANCEL_MEMBERS: Final = (
    update(jobs)
    .where(jobs.c.finished_at.is_(None), member_of(jobs.c.id, "ids"))
    .values(
        state=state_after(JobEvent.CANCEL),
        cancelled_by=bindparam("by"),
        hook_owed=ON_CANCELLED,
        awaited=NOW_REPORTED,
        **ENDED_NOW,
    )
    .returning(*_ended, jobs.c.type, jobs.c.node_id)
)
