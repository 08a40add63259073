"""What `horae audit` reads about groups, and about jobs that wait for others."""

from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, and_, bindparam, case, func, or_, select

from horae.domain.jobs import ENDED, REPORTED, JobState, WaitsFor
from horae.storage.jobs import dependencies, group_parts, job_attempts, jobs
from horae.storage.jobs.group_tables import WAITS_FOR_JOBS, groups

_is_open = or_(jobs.c.finished_at.is_(None), jobs.c.awaited > REPORTED)
_ended_as = {
    state: case((_is_open, 0), (jobs.c.state == state, 1), else_=0) for state in sorted(ENDED)
}
_members = (
    select(
        jobs.c.group_id,
        func.count().label("kept"),
        func.sum(case((_is_open, 1), else_=0)).label("open"),
        *(func.sum(number).label(f"kept_{state}") for state, number in _ended_as.items()),
    )
    .where(jobs.c.group_id.is_not(None))
    .group_by(jobs.c.group_id)
    .subquery("members")
)
_then = jobs.alias("then_job")


def _first_start(
    job_id: ColumnElement[int], started_at: ColumnElement[datetime]
) -> ColumnElement[datetime]:
    """Return when a job has first begun; null if it has not."""
    of_attempts = select(func.min(job_attempts.c.started_at)).where(job_attempts.c.job_id == job_id)
    return func.coalesce(of_attempts.scalar_subquery(), started_at)


GROUPS: Final = (
    select(
        groups,
        *(
            func.coalesce(column, 0).label(column.name)
            for column in _members.c
            if column.name != "group_id"
        ),
        _then.c.state.label("then_state"),
        _then.c.waits_for.label("then_waits_for"),
        _first_start(_then.c.id, _then.c.started_at).label("then_started_at"),
    )
    .select_from(
        groups.outerjoin(_members, _members.c.group_id == groups.c.id).outerjoin(
            _then, _then.c.id == groups.c.then_id
        )
    )
    .order_by(groups.c.id)
)
"""Each group with the job after it, and the counts of its members: kept, open, and by outcome."""
_older = jobs.alias("older")
OLDER_JOB: Final = (
    select(_older.c.id)
    .where(
        _older.c.finished_at < bindparam("before"),
        _older.c.node_id.is_(None),
        _older.c.hook_owed.is_(None),
        or_(_older.c.awaited.is_(None), _older.c.awaited == REPORTED),
        _older.c.type.in_(
            select(jobs.c.type).where(jobs.c.group_id == bindparam("group_id")).distinct()
        ),
    )
    .limit(1)
)
"""A job of a group's types that ended before a moment; a clean-up would delete it first."""
_parts_of_it = and_(
    group_parts.c.group_id == jobs.c.group_id,
    jobs.c.id.between(group_parts.c.first_id, group_parts.c.last_id),
)
STRAY_MEMBERS: Final = (
    select(
        jobs.c.group_id,
        groups.c.id.label("found"),
        func.count().label("number"),
        func.min(jobs.c.id).label("first"),
    )
    .select_from(jobs.outerjoin(groups, groups.c.id == jobs.c.group_id))
    .where(
        jobs.c.group_id.is_not(None),
        or_(groups.c.id.is_(None), ~select(group_parts.c.group_id).where(_parts_of_it).exists()),
    )
    .group_by(jobs.c.group_id, groups.c.id)
    .order_by(jobs.c.group_id)
)
"""Members of groups that do not exist, or outside the ranges of ids of their group."""

_unended = (
    select(dependencies.c.job_id)
    .where(dependencies.c.job_id == jobs.c.id, ~dependencies.c.ended)
    .exists()
)
_of_open_group = (
    select(groups.c.id).where(groups.c.then_id == jobs.c.id, groups.c.ended_at.is_(None)).exists()
)
WAIT_FOR_NOTHING: Final = (
    select(jobs.c.id).where(WAITS_FOR_JOBS, ~_unended, ~_of_open_group).order_by(jobs.c.id)
)
"""Jobs that wait for others although none is left."""
_after = jobs.alias("after_job")
_began = _first_start(jobs.c.id, jobs.c.started_at)
_is_released = and_(
    jobs.c.state == JobState.PENDING, func.coalesce(jobs.c.waits_for, "") != WaitsFor.JOBS
)
DEPENDENCIES: Final = (
    select(
        dependencies.c.job_id,
        dependencies.c.after_id,
        dependencies.c.ended,
        _began.label("began"),
        _is_released.label("released"),
        _after.c.id.label("found"),
        _after.c.finished_at.label("its_end"),
    )
    .select_from(
        dependencies.join(jobs, jobs.c.id == dependencies.c.job_id).outerjoin(
            _after, _after.c.id == dependencies.c.after_id
        )
    )
    .where(
        or_(
            dependencies.c.after_id >= dependencies.c.job_id,
            and_(~dependencies.c.ended, or_(jobs.c.started_at.is_not(None), _is_released)),
            and_(dependencies.c.ended, _after.c.id.is_not(None), _after.c.finished_at.is_(None)),
            _began < _after.c.finished_at,
        )
    )
    .order_by(dependencies.c.job_id, dependencies.c.after_id)
)
"""Jobs that begin before a job that they wait for has ended, or that wait for a later job."""
UNREPORTED: Final = (
    select(dependencies.c.job_id, dependencies.c.after_id)
    .select_from(
        dependencies.join(jobs, jobs.c.id == dependencies.c.job_id).outerjoin(
            _after, _after.c.id == dependencies.c.after_id
        )
    )
    .where(
        WAITS_FOR_JOBS,
        ~dependencies.c.ended,
        or_(_after.c.id.is_(None), _after.c.awaited == REPORTED, _after.c.awaited.is_(None)),
    )
    .order_by(dependencies.c.job_id)
)
"""Dependencies that no end will report: on jobs that ended, are gone, or do not know of them.

A job that no longer waits, for example after a cancel, needs no report.
"""
