"""The one place that decides why a pending job has not started, in one sentence."""

from typing import Any, Final

from sqlalchemy import Boolean, Connection, bindparam, cast, false, select

from horae.domain.cluster import Capabilities
from horae.domain.jobs import OWN_BACKEND, Job, JobId, JobState, WaitsFor
from horae.domain.limits import LimitNumbers
from horae.quoting import quoted
from horae.redaction import MASK
from horae.storage.engine import EPOCH, MICROSECOND, database_now, seconds_since
from horae.storage.jobs.group_tables import dependencies, groups
from horae.storage.jobs.limit_tables import buckets, lane_buckets, lanes, limits
from horae.storage.jobs.limits import running_weights
from horae.storage.jobs.tables import EVERYTHING_IS_PAUSED, jobs, nodes, queues

MOST_NAMED: Final = 5
"""Maximum number of jobs that a sentence names."""

_of_job = jobs.c.id == bindparam("job_id")
FACTS: Final = (
    select(
        cast(jobs.c.run_at <= database_now(), Boolean()).label("is_due"),
        jobs.c.lane_id,
        queues.c.paused_at,
        EVERYTHING_IS_PAUSED.label("everything_is_paused"),
        seconds_since(jobs.c.sent_at).label("sent"),
        queues.c.backend,
        queues.c.concurrency_limit,
        queues.c.fair_by,
        queues.c.limits.label("queue_limits"),
        buckets.c.limit_name,
        buckets.c.key,
        buckets.c.opens_at,
        limits.c.declared,
        limits.c.changed,
        lanes.c.weight,
        lanes.c.held_by,
    )
    .select_from(
        jobs.outerjoin(queues, queues.c.name == jobs.c.queue)
        .outerjoin(lanes, lanes.c.id == jobs.c.lane_id)
        .outerjoin(buckets, buckets.c.id == lanes.c.held_by)
        .outerjoin(limits, limits.c.name == buckets.c.limit_name)
    )
    .where(_of_job)
)
AWAITED: Final = (
    select(dependencies.c.after_id)
    .where(dependencies.c.job_id == bindparam("job_id"), dependencies.c.ended == false())
    .order_by(dependencies.c.after_id)
    .limit(MOST_NAMED + 1)
)
RUNNING: Final = running_weights(lane_buckets.c.bucket_id == bindparam("bucket"))
GROUP: Final = select(groups.c.id).where(groups.c.then_id == bindparam("job_id"))
NODES: Final = select(nodes.c.roles, nodes.c.types, nodes.c.queues)


def waiting_reason(connection: Connection, job: Job) -> str | None:
    """Return why a pending job has not started; None for other jobs."""
    if job.state is not JobState.PENDING:
        return None
    if job.waits_for is WaitsFor.JOBS:
        return _waits_for_jobs(connection, job.id)
    facts = connection.execute(FACTS, {"job_id": job.id}).one_or_none()
    if facts is None:
        return None
    queue = f"queue {quoted(job.queue)}"
    runs_elsewhere = facts.backend not in {None, OWN_BACKEND}
    if not facts.is_due:
        reason = f"It is due at {job.run_at:%Y-%m-%d %H:%M:%S} UTC."
    elif facts.everything_is_paused:
        reason = "Everything is paused."
    elif facts.paused_at is not None:
        reason = f"Queue {quoted(job.queue)} is paused."
    elif job.waits_for is WaitsFor.LIMIT and runs_elsewhere:
        reason = (
            f"It cannot start: its limits hold only on Horae's nodes, and {queue} has the backend"
            f" {quoted(facts.backend)}."
        )
    elif facts.limit_name is not None:
        reason = _held_by_limit(connection, facts)
    elif facts.sent is not None:
        reason = (
            f"A message about it was sent {facts.sent:.0f} s ago, and no worker that knows its type"
            " has claimed it yet."
        )
    elif runs_elsewhere:
        reason = (
            f"No message about it was sent yet: {queue} has the backend {quoted(facts.backend)}."
        )
    else:
        reason = _next_in_line(connection, job, facts)
    return reason


def why_no_node(connection: Connection, job_type: str, queue: str) -> str | None:
    """Return why no running node would ever start a job of this type and queue, or None."""
    registered = [Capabilities(**row) for row in connection.execute(NODES).mappings()]
    if not any(node.is_worker and node.knows(job_type) for node in registered):
        return "no node that runs knows its type"
    if not any(node.can_run(job_type, queue) for node in registered):
        return "no node that runs and knows its type serves its queue"
    return None


def _next_in_line(connection: Connection, job: Job, facts: Any) -> str:
    """Return what a job that any node may claim waits for."""
    if (why := why_no_node(connection, job.type, job.queue)) is not None:
        return f"It cannot start: {why}."
    if job.waits_for is WaitsFor.LIMIT and facts.lane_id is None:
        return "No node has looked at its limits yet."
    if facts.fair_by is not None:
        return (
            f"Others come before it: queue {quoted(job.queue)} is fair by {facts.fair_by}, or no"
            " slot is free."
        )
    if facts.concurrency_limit is not None:
        return (
            f"No slot is free, or queue {quoted(job.queue)} runs {facts.concurrency_limit} jobs, as"
            " many as it may."
        )
    return "No node that knows its type and serves its queue has a free slot."


def _held_by_limit(connection: Connection, facts: Any) -> str:
    numbers = LimitNumbers.from_json(facts.declared if facts.changed is None else facts.changed)
    # Of a queue's limit the format is shown, because values may be secret.
    of_queue = (facts.queue_limits or {}).get(facts.limit_name)
    shown: str = facts.key if of_queue is None else of_queue["key"]
    key = f" for key {quoted(MASK if shown.startswith(MASK) else shown)}" if facts.key else ""
    allowed = numbers.concurrency or 0
    needed = min(facts.weight, allowed)  # a heavier job may run alone
    if facts.opens_at is not None:
        until = f"{EPOCH + facts.opens_at * MICROSECOND:%Y-%m-%d %H:%M:%S} UTC at least"
    elif needed <= 1:
        until = "a running job ends"
    else:
        running = connection.execute(RUNNING, {"bucket": facts.held_by}).one_or_none()
        free = max(0, allowed - (0 if running is None else int(running.weight)))
        until = (
            f"running jobs end: it needs {needed} of {allowed}, and {free}"
            f" {'is' if free == 1 else 'are'} free"
        )
    return f"Limit {quoted(facts.limit_name)} ({numbers.text}) holds it back{key}, until {until}."


def _waits_for_jobs(connection: Connection, job_id: JobId) -> str:
    group = connection.execute(GROUP, {"job_id": job_id}).scalar_one_or_none()
    if group is not None:
        return f"It waits for the members of group {group} to end."
    awaited = [str(id_) for id_ in connection.execute(AWAITED, {"job_id": job_id}).scalars()]
    if not awaited:
        return "It waits for other jobs to end."
    others = " and others" if len(awaited) > MOST_NAMED else ""
    return f"It waits for other jobs to end: {', '.join(awaited[:MOST_NAMED])}{others}."
