"""Whether pending jobs can start at all: a live node must know their type and serve their queue."""

from typing import Final

from sqlalchemy import Connection, bindparam, func, select

from horae.domain.jobs import GroupId, JobId, JobState
from horae.quoting import quoted
from horae.storage.jobs import EVERYTHING_IS_PAUSED, jobs, queues, why_no_node
from horae.storage.jobs.group_tables import groups
from horae.storage.jobs.groups import IS_MEMBER_AFTER

PENDING: Final = (
    select(
        jobs.c.type,
        jobs.c.queue,
        queues.c.paused_at,
        jobs.c.sent_at,
        EVERYTHING_IS_PAUSED.label("everything_is_paused"),
    )
    .select_from(jobs.outerjoin(queues, queues.c.name == jobs.c.queue))
    .where(jobs.c.id == bindparam("job_id"), jobs.c.state == JobState.PENDING)
)
OF_GROUP: Final = (
    select(func.min(jobs.c.id).label("job_id"))
    .where(IS_MEMBER_AFTER, jobs.c.state == JobState.PENDING, jobs.c.waits_for.is_(None))
    .group_by(jobs.c.type, jobs.c.queue)
    .order_by("job_id")
    # Few groups have more pairs of type and queue.
    .limit(20)
)
THEN: Final = select(groups.c.then_id).where(groups.c.id == bindparam("group_id"))


def why_unserved(connection: Connection, job_id: JobId) -> str | None:
    """Return why a job can never start, whatever it waits for; None if it can, or has started."""
    job = connection.execute(PENDING, {"job_id": job_id}).one_or_none()
    if job is None:
        return None
    named = f"job {job_id} of type {quoted(job.type)} in queue {quoted(job.queue)} cannot start"
    if job.everything_is_paused:
        return f"{named}: everything is paused"
    if job.paused_at is not None:
        return f"{named}: the queue is paused"
    if job.sent_at is not None:
        return None  # a backend, such as Celery, was asked to run it
    why = why_no_node(connection, job.type, job.queue)
    return None if why is None else f"{named}: {why}"


def why_group_unserved(connection: Connection, group_id: GroupId) -> str | None:
    """Return why a member of a group, or the job after it, can never start; None if all can."""
    members = connection.scalars(OF_GROUP, {"group_id": group_id, "after": 0}).all()
    then = connection.scalars(THEN, {"group_id": group_id}).all()
    awaited = [JobId(each) for each in (*members, *then) if each is not None]
    return next(
        (why for each in awaited if (why := why_unserved(connection, each)) is not None), None
    )
