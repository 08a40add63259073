"""What keeps awaited jobs from ending: jobs that come first, and limits full of waiting bodies."""

from collections.abc import Collection
from typing import Final

from sqlalchemy import BigInteger, Connection, bindparam, false, null, select, union_all

from horae.domain.jobs import JobId, JobState, Prerequisite, Wait, WaitTarget
from horae.quoting import quoted
from horae.sentences import Sentence, SentenceCode
from horae.storage.engine import member_of
from horae.storage.jobs.group_tables import dependencies, groups
from horae.storage.jobs.groups.groups import IN_FORCE
from horae.storage.jobs.limit_tables import WAITS_FOR_LIMIT, buckets, lane_buckets, lanes
from horae.storage.jobs.tables import IS_LIMITED, jobs, queues

MOST_NAMED: Final = 5
"""Maximum number of jobs that a sentence names."""


_unended = dependencies.c.ended == false()
_given = select(jobs.c.id.label("job_id")).where(member_of(jobs.c.id, "ids"))
_reached = _given.cte("reached", recursive=True)
_reached = _reached.union(
    select(dependencies.c.after_id).where(dependencies.c.job_id == _reached.c.job_id, _unended)
)
PREREQUISITES: Final = union_all(
    select(dependencies.c.job_id, dependencies.c.after_id, null().label("group_id")).where(
        dependencies.c.job_id.in_(select(_reached.c.job_id)), _unended
    ),
    select(groups.c.then_id, null(), groups.c.id).where(
        groups.c.then_id.in_(select(_reached.c.job_id)), groups.c.ended_at.is_(None)
    ),
)
"""What jobs wait for, directly and indirectly, leaving out what has ended."""
_job_id: Final = bindparam("job_id", type_=BigInteger())
_holder = jobs.alias("holder")
_of_bucket = (
    select(buckets.c.limit_name.label("name"), null().label("most"), _holder.c.id)
    .select_from(
        jobs.join(lanes, lanes.c.id == jobs.c.lane_id)
        .join(buckets, buckets.c.id == lanes.c.held_by)
        .join(lane_buckets, lane_buckets.c.bucket_id == buckets.c.id)
        .join(_holder, _holder.c.lane_id == lane_buckets.c.lane_id)
    )
    .where(
        jobs.c.id == _job_id,
        WAITS_FOR_LIMIT,
        buckets.c.opens_at.is_(None),
        _holder.c.node_id.is_not(None),
    )
)
_of_queue = (
    select(null(), queues.c.concurrency_limit, _holder.c.id)
    .select_from(
        jobs.join(queues, queues.c.name == jobs.c.queue).join(
            _holder, _holder.c.queue == queues.c.name
        )
    )
    .where(
        jobs.c.id == _job_id,
        jobs.c.state == JobState.PENDING,
        IS_LIMITED,
        _holder.c.node_id.is_not(None),
    )
)
HOLDERS: Final = union_all(_of_bucket, _of_queue)


def prerequisites(connection: Connection, awaited: Collection[WaitTarget]) -> list[Prerequisite]:
    """Return what these jobs wait for before they begin, directly and indirectly, unless ended."""
    ids = sorted({each.id for each in awaited if each.kind == "job"})
    rows = connection.execute(PREREQUISITES, {"ids": ids}) if ids else ()
    return [
        Prerequisite(
            row.job_id,
            (
                WaitTarget.group(row.group_id)
                if row.after_id is None
                else WaitTarget.job(row.after_id)
            ),
        )
        for row in rows
    ]


def is_in_force(connection: Connection, wait: Wait) -> bool:
    """Return whether the attempt whose body waits still runs."""
    return (
        connection.execute(IN_FORCE, {"job_id": wait.job_id, "lease": wait.lease}).first()
        is not None
    )


def why_held_by_waiting(
    connection: Connection, job_id: JobId, waiting: Collection[JobId]
) -> str | None:
    """Return why a job cannot start: only bodies that wait use up one of its limits; else None."""
    holders: dict[tuple[str | None, int | None], list[JobId]] = {}
    for name, most, holder in connection.execute(HOLDERS, {"job_id": job_id}):
        holders.setdefault((name, most), []).append(holder)
    for (name, most), held in holders.items():
        if (most is None or len(held) >= most) and set(held) <= set(waiting):
            what = (
                f"limit {quoted(name)}"
                if name is not None
                else f"the limit of its queue, {most} at a time,"
            )
            jobs_held = "jobs " if len(held) > 1 else "job "
            jobs_held += ", ".join(map(str, sorted(held)[:MOST_NAMED]))
            others = " and others" if len(held) > MOST_NAMED else ""
            return Sentence(
                f"job {job_id} cannot start: {what} is taken up by bodies that wait"
                f" ({jobs_held}{others})",
                SentenceCode.WAITS_TAKE_UP_LIMIT,
                job=job_id,
                limit=name,
                most=most,
                jobs=[str(each) for each in sorted(held)[:MOST_NAMED]],
                others=len(held) > MOST_NAMED,
            )
    return None
