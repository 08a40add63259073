"""What `horae audit` reads about groups, and about jobs that wait for others."""

from typing import Final

from sqlalchemy import and_, case, func, or_, select

from horae.domain.jobs.groups import REPORTED
from horae.domain.jobs.job import JobState, WaitsFor
from horae.storage.jobs.group_tables import dependencies, groups
from horae.storage.jobs.tables import jobs

_is_open = or_(jobs.c.finished_at.is_(None), jobs.c.awaited > REPORTED)
_members = (
    select(jobs.c.group_id, func.sum(case((_is_open, 1), else_=0)).label("open"))
    .where(jobs.c.group_id.is_not(None))
    .group_by(jobs.c.group_id)
    .subquery("members")
)
_then = jobs.alias("then_job")
GROUPS: Final = (
    select(
        groups,
        func.coalesce(_members.c.open, 0).label("open"),
        _then.c.state.label("then_state"),
        _then.c.waits_for.label("then_waits_for"),
        _then.c.started_at.label("then_started_at"),
    )
    .select_from(
        groups.outerjoin(_members, _members.c.group_id == groups.c.id).outerjoin(_then, _then.c.id == groups.c.then_id)
    )
    .order_by(groups.c.id)
)
"""Each group with the number of members that have not ended, and the job after it."""

_waits = and_(jobs.c.state == JobState.PENDING, jobs.c.waits_for == WaitsFor.JOBS)
_unended = select(dependencies.c.job_id).where(dependencies.c.job_id == jobs.c.id, ~dependencies.c.ended).exists()
_of_open_group = select(groups.c.id).where(groups.c.then_id == jobs.c.id, groups.c.ended_at.is_(None)).exists()
WAIT_FOR_NOTHING: Final = select(jobs.c.id).where(_waits, ~_unended, ~_of_open_group).order_by(jobs.c.id)
"""Jobs that wait for others although none is left."""
_after = jobs.alias("after_job")
BEGAN_EARLY: Final = (
    select(jobs.c.id, dependencies.c.after_id)
    .select_from(dependencies.join(jobs, jobs.c.id == dependencies.c.job_id))
    .where(~dependencies.c.ended, jobs.c.started_at.is_not(None))
    .order_by(jobs.c.id)
)
"""Jobs that have begun although one that they wait for has not ended."""
UNREPORTED: Final = (
    select(dependencies.c.job_id, dependencies.c.after_id)
    .select_from(
        dependencies.join(jobs, jobs.c.id == dependencies.c.job_id).outerjoin(
            _after, _after.c.id == dependencies.c.after_id
        )
    )
    .where(
        _waits,
        ~dependencies.c.ended,
        or_(_after.c.id.is_(None), _after.c.awaited == REPORTED, _after.c.awaited.is_(None)),
    )
    .order_by(dependencies.c.job_id)
)
"""Dependencies that no end will report: on jobs that have ended, or are gone, or do not know that others wait.

Those of a job that no longer waits, as after a cancel, need no report."""
