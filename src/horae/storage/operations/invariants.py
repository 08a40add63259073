"""The rows that `horae audit` checks against invariants, streamed within one snapshot."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Row,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    false,
    func,
    or_,
    select,
    true,
    tuple_,
)

from horae.domain.jobs import JobState, TimeLimit, WaitsFor
from horae.storage.engine import Instant, check_kinds, check_row, kinds_of
from horae.storage.jobs import (
    HAS_ENDED,
    IS_HELD,
    IS_READY,
    IS_UNFILED,
    WAITS_IN_LANE,
    buckets,
    job_attempts,
    job_tags,
    jobs,
    lanes,
    queues,
)
from horae.storage.jobs.limit_tables import limits
from horae.storage.operations.change_log_tables import change_log
from horae.storage.schedules import schedule_statistics, schedules
from horae.storage.schedules.tables import deployments, ticks

BATCH: Final = 1_000
"""Number of rows that are fetched at a time, so that memory does not grow with the tables."""

_since: Any = bindparam("since", type_=Instant())
_recent: Final = or_(jobs.c.finished_at.is_(None), jobs.c.finished_at >= _since)


_columns_of_schedules: Any = (
    schedules,
    *(column for column in schedule_statistics.c if column.name != "schedule_id"),
    schedule_statistics.c.schedule_id.label("counted"),
)
SCHEDULES: Final = (
    select(*_columns_of_schedules)
    .select_from(
        schedules.outerjoin(
            schedule_statistics, schedule_statistics.c.schedule_id == schedules.c.id
        )
    )
    .order_by(schedules.c.id)
)
TICKS: Final = (
    select(ticks, ticks.c.count.label("times"))
    .where(ticks.c.until >= _since)
    .order_by(ticks.c.schedule_id, ticks.c.nominal_time, ticks.c.decided_at)
)

_JOB: Final[tuple[Any, ...]] = tuple(
    jobs.c[name]
    for name in (
        "id",
        "type",
        "queue",
        "state",
        "attempt",
        "max_attempts",
        "lease",
        "node_id",
        "schedule_id",
        "nominal_time",
        "created_at",
        "updated_at",
        "started_at",
        "finished_at",
        "cancelled_by",
        "hook_owed",
        "expires_at",
        "retry_of",
    )
)
_stopped: Final = func.coalesce(
    jobs.c.error.in_([TimeLimit.HARD.error, TimeLimit.OF_SCHEDULE.error]), false()
).label("stopped")
"""Whether a time limit has ended the job, which may happen before the body has begun."""
_ATTEMPT: Final[tuple[Any, ...]] = (
    job_attempts.c.lease.label("its_lease"),
    job_attempts.c.attempt.label("its_number"),
    job_attempts.c.outcome.label("its_outcome"),
    job_attempts.c.started_at.label("its_start"),
    job_attempts.c.finished_at.label("its_end"),
)
_with_attempts: Final = jobs.outerjoin(job_attempts, job_attempts.c.job_id == jobs.c.id)
JOBS: Final = (
    select(*_JOB, _stopped, *_ATTEMPT)
    .select_from(_with_attempts)
    .where(_recent)
    .order_by(jobs.c.id, job_attempts.c.lease)
)
RUNS: Final = (
    select(*_JOB, *_ATTEMPT)
    .select_from(_with_attempts)
    .where(jobs.c.schedule_id.is_not(None))
    .order_by(jobs.c.schedule_id, jobs.c.id, job_attempts.c.lease)
)
OF_LIMITS: Final = ("queue.limit", "queue.reset")
"""The actions that may change the limit of a queue."""
LIMITED: Final = (
    select(jobs.c.queue, jobs.c.id, job_attempts.c.started_at, job_attempts.c.finished_at)
    .join(job_attempts, job_attempts.c.job_id == jobs.c.id)
    .where(
        jobs.c.queue.in_(
            select(queues.c.name)
            .where(queues.c.concurrency_limit.is_not(None))
            .union(select(change_log.c.target).where(change_log.c.action.in_(OF_LIMITS)))
        ),
        job_attempts.c.finished_at >= _since,
    )
    .order_by(jobs.c.queue, job_attempts.c.started_at, job_attempts.c.finished_at)
)
_queue_and_job: Final = queues.join(jobs, jobs.c.queue == queues.c.name)
_paused_queue: Final = (jobs.c.id, jobs.c.queue, queues.c.paused_at)
ATTEMPTS_WHILE_PAUSED: Final = (
    select(*_paused_queue, job_attempts.c.started_at, job_attempts.c.node_id)
    .select_from(_queue_and_job.join(job_attempts, job_attempts.c.job_id == jobs.c.id))
    .where(job_attempts.c.started_at > queues.c.paused_at)
)
STARTED_WHILE_PAUSED: Final = (
    select(*_paused_queue, jobs.c.started_at, jobs.c.node_id)
    .select_from(_queue_and_job)
    .where(jobs.c.started_at > queues.c.paused_at, IS_HELD)
)
"""Attempts, ended or running, in queues that have been paused since before they began."""
LIMITS: Final = select(queues.c.name, queues.c.paused_at, queues.c.concurrency_limit)
KEY_LIMITED: Final = (
    select(
        jobs.c.id,
        cast(jobs.c.limits, Text()).label("limits"),
        job_attempts.c.started_at,
        job_attempts.c.finished_at,
    )
    .select_from(_with_attempts)
    .where(
        jobs.c.limits.is_not(None),
        or_(job_attempts.c.job_id.is_(None), job_attempts.c.finished_at >= _since),
    )
    .order_by(job_attempts.c.started_at, job_attempts.c.finished_at, jobs.c.id)
)
"""The attempts that count under limits by key. Jobs without an attempt are included, because their
rows show that the declared numbers have changed.
"""
_changed: Final = (
    select(limits.c.name)
    .where(limits.c.changed.is_not(None))
    .union(
        select(change_log.c.target.label("name")).where(
            change_log.c.action.in_(["limit.set", "limit.reset"])
        )
    )
    .subquery("changed")
)
CHANGED_LIMITS: Final = select(_changed.c.name)
BUCKETS: Final = select(
    buckets.c.limit_name, buckets.c.key, cast(buckets.c.state, Text()).label("state")
).where(buckets.c.state.is_not(None))

_fired: Final = and_(ticks.c.decision == "fired", ticks.c.nominal_time >= _since)
WRONG_JOBS: Final = (
    select(ticks.c.schedule_id, ticks.c.nominal_time, jobs.c.id.label("job_id"))
    .join(jobs, or_(jobs.c.id == ticks.c.job_id, jobs.c.id == ticks.c.retried_as))
    .where(
        _fired,
        tuple_(jobs.c.schedule_id, jobs.c.nominal_time)
        != tuple_(ticks.c.schedule_id, ticks.c.nominal_time),
    )
)
_other: Final = jobs.alias("other")
_newest: Final = ticks.alias("newest")
_of_it: Final = _other.c.schedule_id == ticks.c.schedule_id
_ended_before: Final = (  # the clean-up would have deleted it first
    select(_other.c.id)
    .where(
        _of_it, _other.c.finished_at <= ticks.c.decided_at, _other.c.type == schedules.c.job_type
    )
    .where(_other.c.hook_owed.is_(None), _other.c.node_id.is_(None))
    .exists()
)
_older_kept: Final = (
    select(_other.c.id).where(_of_it, _other.c.nominal_time <= ticks.c.nominal_time).exists()
)
_last, _first = (
    select(end(_newest.c.nominal_time))
    .where(_newest.c.schedule_id == ticks.c.schedule_id, which)
    .scalar_subquery()
    # Times that passed during a pause are entered late, and may come before a run that stayed.
    for end, which in ((func.max, true()), (func.min, _newest.c.decision == "fired"))
)
GONE_JOBS: Final = (
    select(
        ticks.c.schedule_id,
        ticks.c.nominal_time,
        ticks.c.job_id,
        ticks.c.decided_at,
        schedules.c.job_type,
        (ticks.c.nominal_time == _first).label("is_first"),
    )
    .join(schedules, schedules.c.id == ticks.c.schedule_id)
    .outerjoin(jobs, jobs.c.id == ticks.c.job_id)
    # The clean-up deletes jobs in the order of their ends, and with the oldest job the decisions
    # before the next one.
    .where(
        jobs.c.id.is_(None),
        _fired,
        or_(_ended_before, and_(~_older_kept, ticks.c.nominal_time < _last)),
    )
)
_named: Final = and_(
    ticks.c.schedule_id == jobs.c.schedule_id,
    ticks.c.nominal_time == jobs.c.nominal_time,
    # The decision names the first job, and the newest of its retries.
    or_(ticks.c.job_id == jobs.c.id, jobs.c.retry_of.is_not(None)),
)
UNDECIDED_JOBS: Final = (
    select(jobs.c.id, jobs.c.schedule_id, jobs.c.nominal_time)
    .join(schedules, schedules.c.id == jobs.c.schedule_id)
    .outerjoin(ticks, _named)
    .where(
        jobs.c.nominal_time.is_not(None),
        jobs.c.nominal_time >= _since,
        ticks.c.schedule_id.is_(None),
    )
)
DOUBLE_RUNS: Final = (
    select(jobs.c.schedule_id, jobs.c.nominal_time, func.count().label("number"))
    .where(
        jobs.c.schedule_id.is_not(None),
        jobs.c.nominal_time.is_not(None),
        jobs.c.nominal_time >= _since,
    )
    .where(jobs.c.retry_of.is_(None))
    .group_by(jobs.c.schedule_id, jobs.c.nominal_time)
    .having(func.count() > 1)
)
DOUBLE_KEYS: Final = (
    select(jobs.c.type, jobs.c.unique_key, func.count().label("number"))
    .where(
        jobs.c.unique_key.is_not(None), jobs.c.key_is_shared.is_(None), jobs.c.finished_at.is_(None)
    )
    .group_by(jobs.c.type, jobs.c.unique_key)
    .having(func.count() > 1)
)
KEYED: Final = (
    select(jobs.c.id, jobs.c.type, jobs.c.unique_key, jobs.c.created_at, jobs.c.finished_at)
    .where(jobs.c.unique_key.is_not(None), jobs.c.key_is_shared.is_(None), _recent)
    .order_by(jobs.c.type, jobs.c.unique_key, jobs.c.created_at, jobs.c.id)
)
ORPHANED_ATTEMPTS: Final = (
    select(job_attempts.c.job_id, func.count().label("number"))
    .outerjoin(jobs, jobs.c.id == job_attempts.c.job_id)
    .where(jobs.c.id.is_(None))
    .group_by(job_attempts.c.job_id)
)
_original: Final = jobs.alias("original")
RETRIES: Final = (
    select(
        jobs.c.id,
        jobs.c.retry_of,
        jobs.c.created_at,
        _original.c.state.label("its_state"),
        _original.c.finished_at.label("its_end"),
    )
    .select_from(jobs.outerjoin(_original, _original.c.id == jobs.c.retry_of))
    .where(jobs.c.retry_of.is_not(None))
    .order_by(jobs.c.retry_of, jobs.c.id)
)
TAGS: Final = (
    select(jobs.c.id, jobs.c.tags, job_tags.c.tag)
    .select_from(jobs.outerjoin(job_tags, job_tags.c.job_id == jobs.c.id))
    .where(jobs.c.tags.is_not(None))
    .order_by(jobs.c.id)
)
STRAY_TAGS: Final = (
    select(job_tags.c.job_id, job_tags.c.tag)
    .select_from(job_tags.outerjoin(jobs, jobs.c.id == job_tags.c.job_id))
    .where(jobs.c.tags.is_(None))
    .order_by(job_tags.c.job_id)
)
"""Tags by which a search finds a job that has none, or that is gone."""
IMPOSSIBLE_JOBS: Final = select(jobs.c.id, jobs.c.state, jobs.c.node_id, jobs.c.finished_at).where(
    or_(
        jobs.c.state.not_in([state.value for state in JobState]),
        and_(HAS_ENDED, jobs.c.finished_at.is_(None)),
        and_(~HAS_ENDED, jobs.c.finished_at.is_not(None)),
        and_(jobs.c.state == JobState.STARTED, jobs.c.node_id.is_(None)),
        and_(jobs.c.state.in_([JobState.PENDING, JobState.FINISHED]), jobs.c.node_id.is_not(None)),
        ~jobs.c.progress_percentage.between(0, 100),
        and_(jobs.c.cancelled_by.is_not(None), jobs.c.state != JobState.CANCELLED),
        jobs.c.attempt > jobs.c.lease,
    )
)
CANCELS: Final = select(change_log.c.target).where(
    change_log.c.action == "job.cancel", change_log.c.outcome == "done", change_log.c.at >= _since
)
DELETIONS: Final = select(change_log.c.target).where(
    change_log.c.action == "job.delete", change_log.c.outcome == "done"
)
LAST_DELETION: Final = select(func.max(change_log.c.at)).where(
    change_log.c.action.in_(["job.delete", "jobs.clean_up", "jobs.delete_many"])
)
CLEAN_UPS: Final = select(change_log.c.at, change_log.c.after).where(
    change_log.c.action == "jobs.clean_up", change_log.c.outcome == "done"
)
_CHANGES: Final = (
    select(change_log.c.at, change_log.c.action, change_log.c.target, change_log.c.before)
    .where(change_log.c.outcome == "done")
    .order_by(change_log.c.id)
)
ALTERATIONS: Final = _CHANGES.where(
    change_log.c.action.in_(["schedule.alter", "schedule.put", "schedule.reset"])
)
LIMIT_CHANGES: Final = _CHANGES.where(change_log.c.action.in_(OF_LIMITS))
LAST_DEPLOYMENTS: Final = select(
    deployments.c.module, func.max(deployments.c.created_at).label("created_at")
).group_by(deployments.c.module)
STATES: Final = select(jobs.c.id, jobs.c.state).where(
    jobs.c.id.in_(bindparam("ids", expanding=True))
)

DUE: Final = (
    select(
        jobs.c.queue,
        jobs.c.type,
        func.count().label("number"),
        func.min(jobs.c.run_at).label("oldest"),
    )
    .where(IS_READY, jobs.c.run_at <= bindparam("before"))
    .group_by(jobs.c.queue, jobs.c.type)
    .order_by(jobs.c.queue, jobs.c.type)
)
WRONG_LANES: Final = (
    select(jobs.c.id, jobs.c.lane_id, lanes.c.id.label("found"))
    .select_from(jobs.outerjoin(lanes, lanes.c.id == jobs.c.lane_id))
    .where(
        WAITS_IN_LANE,
        jobs.c.waits_for == WaitsFor.LIMIT,
        or_(
            lanes.c.id.is_(None),
            tuple_(lanes.c.queue, lanes.c.type, lanes.c.priority)
            != tuple_(jobs.c.queue, jobs.c.type, jobs.c.priority),
        ),
    )
    .order_by(jobs.c.id)
)
"""Jobs in lanes that do not exist, or that were made for other jobs."""
UNFILED: Final = select(func.count().label("number"), func.min(jobs.c.id).label("first")).where(
    IS_UNFILED, jobs.c.updated_at <= bindparam("before")
)
QUEUE_CHANGES: Final = (
    select(change_log.c.id)
    .where(change_log.c.action.like("queue.%"), change_log.c.at >= bindparam("after"))
    .limit(1)
)
HELD: Final = (
    select(jobs.c.node_id, func.count().label("number"), func.min(jobs.c.id).label("first"))
    .where(jobs.c.node_id.is_not(None), jobs.c.updated_at <= bindparam("before"))
    .group_by(jobs.c.node_id)
    .order_by(jobs.c.node_id)
)
HOOKS: Final = (
    select(jobs.c.type, func.count().label("number"), func.min(jobs.c.id).label("first"))
    .where(
        jobs.c.hook_owed.is_not(None),
        jobs.c.finished_at <= bindparam("before"),
        jobs.c.node_id.is_(None),
        or_(
            jobs.c.hook_taken_at.is_(None),
            jobs.c.hook_taken_at <= bindparam("before"),
        ),
    )
    .group_by(jobs.c.type)
    .order_by(jobs.c.type)
)
OCCUPIED: Final = (
    select(jobs.c.queue, func.count().label("number"))
    .where(jobs.c.node_id.is_not(None))
    .group_by(jobs.c.queue)
)
ENDED_RUNS: Final = (
    select(
        schedules.c.id,
        schedules.c.name,
        schedules.c.state,
        schedules.c.run_token,
        jobs.c.state.label("job_state"),
    )
    .select_from(schedules.outerjoin(jobs, jobs.c.id == schedules.c.run_token))
    .where(
        schedules.c.run_token.is_not(None),
        or_(
            jobs.c.id.is_(None),
            and_(
                jobs.c.finished_at <= bindparam("before"),
                jobs.c.node_id.is_(None),
            ),
        ),
    )
    .order_by(schedules.c.id)
)


def stream(
    connection: Connection, statement: Select[*tuple[Any, ...]], **values: Any
) -> Iterator[Row[Any]]:
    """Yield the rows of a statement in batches, without unreadable rows (see `doctor`)."""
    kinds = kinds_of(statement.selected_columns)
    for row in connection.execute(statement, values, execution_options={"yield_per": BATCH}):
        with suppress(ValueError):
            check_row(row._mapping, partial(check_kinds, kinds=kinds))  # pyright: ignore[reportPrivateUsage]
            yield row
