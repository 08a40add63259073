"""The tables of jobs, nodes and queues.

Constraints hold the invariants that SQL can express, except those of a job that only one place in
the code could break: PostgreSQL parses all CHECKs of a table for each statement that writes to it
(ADR 0087). Table names begin with `horae_`, because they are in the application's own database
(ADR 0002).
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Float,
    FromClause,
    Index,
    Integer,
    MetaData,
    Select,
    SmallInteger,
    String,
    Table,
    Text,
    TextClause,
    and_,
    exists,
    false,
    func,
    or_,
    select,
    text,
)

from horae.domain.jobs import ENDED, REPORTED, AttemptOutcome, JobState
from horae.storage.engine import (
    JOB_IS_READABLE,
    MOST_ATTEMPTS,
    MOST_LEASES,
    NUMBERED_ONCE,
    Instant,
    Json,
    Keyword,
    condition,
    constant,
    database_now,
    now_or_later,
)

SLOW_SECONDS: Final = 1
"""Minimum seconds of a run in the index for searches of long runs; most runs are shorter."""
IS_SLOW: Final = condition(
    f"finished_at - started_at > interval '{SLOW_SECONDS} seconds'",
    f"finished_at - started_at > {SLOW_SECONDS * 1_000_000}",
)
"""The condition of that index; a statement that is to use it repeats its text."""

metadata = MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    }
)

# SQLite numbers rows only by a column that is declared exactly INTEGER.
row_id = BigInteger().with_variant(Integer(), "sqlite")


def partial_index(
    name: str,
    *columns: ColumnElement[Any],
    where: ColumnElement[bool] | TextClause,
    unique: bool = False,
) -> None:
    """Declare an index of the rows that meet a condition, on both databases."""
    Index(name, *columns, unique=unique, postgresql_where=where, sqlite_where=where)


def is_one_of(name: str, *values: str) -> CheckConstraint:
    """Return the CHECK of a column that has few values.

    For `IN`, SQLite would build a table of the values for each row that it checks, which took a
    tenth of its time to claim and to settle.
    """
    return CheckConstraint(" OR ".join(f"{name} = '{value}'" for value in values), name=name)


jobs = Table(
    "horae_jobs",
    metadata,
    Column("id", row_id, primary_key=True, autoincrement=True),
    Column("type", String(200), nullable=False),
    Column("queue", String(200), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("state", Keyword(16), nullable=False),
    Column("label", String(128)),
    Column("progress_percentage", SmallInteger, nullable=False, server_default=text("0")),
    Column("owner", String(200)),
    Column("params", Json),
    Column("result", Json),
    Column("error", Text),
    Column("human_readable_error", Text),
    Column("attempt", Integer, nullable=False, server_default=text("0")),
    Column("max_attempts", Integer, nullable=False, server_default=text("1")),
    Column("backoff", Json),
    Column("lease", BigInteger, nullable=False, server_default=text("0")),
    Column("node_id", String(64)),
    Column("unique_key", String(200)),
    Column("run_at", Instant, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("started_at", Instant),
    Column("finished_at", Instant),
    Column("cancelled_by", String(200)),
    Column("meta", Json, nullable=False, server_default=text("'{}'")),
    Column("schedule_id", row_id),
    Column("nominal_time", Instant),
    Column("deployment_id", row_id),
    Column("max_runtime", Float),  # the limit in seconds that the schedule of the job sets
    Column("run_reason", String(32)),  # why its schedule started it
    Column("retry_of", row_id),
    # The hooks that are still to be called, separated by commas; `before_delete` comes last, if the
    # job is to be deleted after its hook.
    Column("hook_owed", String(32)),
    # The time at which a process began to call the hook; the process may have died since.
    Column("hook_taken_at", Instant),
    Column("retry_reason", Text),  # why the job is pending again; meaningless once it is claimed
    # The reason that holds a pending job back, so that no claim reads it; meaningless once claimed.
    Column("waits_for", Keyword(16)),
    # The limits that the job was created under, with its keys and its weight.
    Column("limits", Json),
    Column("lane_id", row_id),  # the lane where it waits, or waited last; null: none yet
    Column("group_id", row_id),  # the group of which the job is a member
    # The value is 1 while its group waits for its end, 2 while other jobs do; 0 after they were
    # notified, usually in the transaction that ended it; null if none waits, so that the shortest
    # statement may end it.
    Column("awaited", SmallInteger),
    # Whether other active jobs may have the same unique key; null means no. It is written once,
    # when the job is created.
    Column("key_is_shared", Boolean),
    # The time at which the job fails if it has not begun; null again once it has begun and is to
    # run another time.
    Column("expires_at", Instant),
    # A list of texts; null: none. The search reads `horae_job_tags`, which repeats them.
    Column("tags", Json),
    # The time at which the last message about a pending job was sent to a backend, such as Celery;
    # then only its workers may claim the job. Null: none was sent since the job became pending.
    Column("sent_at", Instant),
    is_one_of("state", *JobState),
    CheckConstraint(
        "(finished_at IS NULL) = (state = 'pending' OR state = 'started')", name="ended"
    ),
    # A node holds started jobs, and jobs that were cancelled or failed until their bodies have
    # stopped.
    CheckConstraint(
        "(node_id IS NULL OR (state <> 'pending' AND state <> 'finished'))"
        " AND (node_id IS NOT NULL OR state <> 'started')",
        name="held",
    ),
    CheckConstraint(JOB_IS_READABLE, name="readable"),
    **NUMBERED_ONCE,
)

ready_order = (jobs.c.priority.desc(), jobs.c.run_at, jobs.c.id)

# PostgreSQL checks the conditions of all indexes for each row that it writes. The columns that are
# null for plain jobs come first, so that one comparison decides.
_ready = text("state = 'pending' AND waits_for IS NULL AND sent_at IS NULL")
partial_index("horae_jobs_ready", *ready_order, jobs.c.queue, jobs.c.type, where=_ready)
_waiting = text("waits_for IS NOT NULL AND state = 'pending'")
partial_index("horae_jobs_waiting", jobs.c.waits_for, jobs.c.run_at, jobs.c.id, where=_waiting)
_sent = text("sent_at IS NOT NULL AND state = 'pending'")
partial_index("horae_jobs_sent", jobs.c.sent_at, jobs.c.id, where=_sent)
# Their conditions are not those of `horae_jobs_waiting`, by which PostgreSQL would read all jobs
# that are held back.
_unfiled = text("waits_for = 'limit' AND lane_id IS NULL AND finished_at IS NULL")
partial_index("horae_jobs_unfiled", jobs.c.id, where=_unfiled)
_in_lane = text("lane_id IS NOT NULL AND state = 'pending'")
partial_index("horae_jobs_lane", jobs.c.lane_id, jobs.c.run_at, jobs.c.id, where=_in_lane)
_runs_in_lane = text("lane_id IS NOT NULL AND node_id IS NOT NULL")
partial_index("horae_jobs_lane_held", jobs.c.lane_id, where=_runs_in_lane)
partial_index("horae_jobs_held", jobs.c.node_id, where=text("node_id IS NOT NULL"))
_occupying = text("owner IS NOT NULL AND (finished_at IS NULL OR node_id IS NOT NULL)")
partial_index("horae_jobs_occupying", jobs.c.owner, jobs.c.type, where=_occupying)
_open_run = text("schedule_id IS NOT NULL AND (finished_at IS NULL OR node_id IS NOT NULL)")
partial_index("horae_jobs_open_runs", jobs.c.schedule_id, where=_open_run)
UNIQUE_WHERE = text("unique_key IS NOT NULL AND key_is_shared IS NULL AND finished_at IS NULL")
partial_index(
    "horae_jobs_unique_key", jobs.c.type, jobs.c.unique_key, unique=True, where=UNIQUE_WHERE
)
_keyed = text("unique_key IS NOT NULL")
partial_index("horae_jobs_same_key", jobs.c.unique_key, jobs.c.type, jobs.c.id, where=_keyed)
_expiring = text("expires_at IS NOT NULL AND state = 'pending'")
partial_index("horae_jobs_expiring", jobs.c.expires_at, where=_expiring)
_ended = text("finished_at IS NOT NULL")
Index("horae_jobs_ended", jobs.c.finished_at, sqlite_where=_ended).ddl_if(dialect="sqlite")
# PostgreSQL reads rows in no order, so the searches for values that few jobs have need an index. It
# reads the whole of this one for them, but no rows. An index of each value would be faster to
# search, but slow down each end (ADR 0034). Its first two columns are the order of deletion.
Index(
    "horae_jobs_ended_values",
    jobs.c.finished_at,
    jobs.c.id,
    jobs.c.type,
    jobs.c.queue,
    jobs.c.created_at,
    postgresql_ops={"type": "text_pattern_ops"},
    postgresql_where=_ended,
).ddl_if(dialect="postgresql")
partial_index("horae_jobs_owner", jobs.c.owner, jobs.c.id, where=text("owner IS NOT NULL"))
# The index allows one job for each nominal time, and retries of it.
_tick = text("nominal_time IS NOT NULL AND retry_of IS NULL")
partial_index("horae_jobs_tick", jobs.c.schedule_id, jobs.c.nominal_time, unique=True, where=_tick)
_retried_tick = text("retry_of IS NOT NULL AND nominal_time IS NOT NULL")
partial_index(
    "horae_jobs_retried_tick", jobs.c.schedule_id, jobs.c.nominal_time, where=_retried_tick
)
partial_index(
    "horae_jobs_schedule", jobs.c.schedule_id, jobs.c.id, where=text("schedule_id IS NOT NULL")
)
_unreported = text("awaited > 0 AND finished_at IS NOT NULL")
partial_index("horae_jobs_unreported", jobs.c.id, where=_unreported)
# Both databases conclude from `state = 'failed'` that this holds; from it SQLite would not conclude
# `state IN (…)`.
_unsuccessful = text("state = 'failed' OR state = 'cancelled'")
partial_index("horae_jobs_unsuccessful", jobs.c.state, jobs.c.id, where=_unsuccessful)
partial_index("horae_jobs_slow", jobs.c.id, where=IS_SLOW)
Index(
    "horae_jobs_params",
    jobs.c.params,
    postgresql_using="gin",
    postgresql_ops={"params": "jsonb_path_ops"},
    # Entries are written in batches; these are small, because the transaction that fills a batch
    # waits until it is written.
    postgresql_with={"gin_pending_list_limit": 512},
    postgresql_where=text("params IS NOT NULL AND finished_at IS NOT NULL"),
).ddl_if(dialect="postgresql")
partial_index("horae_jobs_hook_owed", jobs.c.id, where=text("hook_owed IS NOT NULL"))
partial_index("horae_jobs_retry_of", jobs.c.retry_of, where=text("retry_of IS NOT NULL"))

job_tags = Table(
    "horae_job_tags",
    metadata,
    Column("tag", String(200), primary_key=True),
    Column("job_id", row_id, primary_key=True, autoincrement=False),
)
Index("horae_job_tags_job_id", job_tags.c.job_id)

ENDED_NOW = {
    "finished_at": now_or_later(jobs.c.updated_at),
    "updated_at": now_or_later(jobs.c.updated_at),
}
"""The values of a job that ends now, except by a settlement."""
_retry = jobs.alias("retry")
WAS_RETRIED = exists().where(_retry.c.retry_of == jobs.c.id)
"""Another job repeats the job."""
HAS_ENDED = jobs.c.state.in_(sorted(ENDED))
"""The job has ended; for jobs that are looked up by id.

With a condition on `finished_at`, PostgreSQL would read the whole index of ended jobs instead, if
few had ended when it collected its statistics.
"""
HAS_STOPPED = and_(HAS_ENDED, jobs.c.node_id.is_(None))
"""The job has ended, and so has its body; for jobs that are looked up by id."""
IS_HELD = jobs.c.node_id.is_not(None)
"""A node holds the job, which is true of every started one (`horae_jobs_held`)."""
IS_READY = and_(
    jobs.c.state == JobState.PENDING, jobs.c.waits_for.is_(None), jobs.c.sent_at.is_(None)
)
"""The job may be claimed when it is due (`horae_jobs_ready`)."""
IS_SENT = and_(jobs.c.state == JobState.PENDING, jobs.c.sent_at.is_not(None))
"""The job is pending, and only a worker of a backend may claim it (`horae_jobs_sent`)."""
IS_WAITING = and_(jobs.c.state == JobState.PENDING, jobs.c.waits_for.is_not(None))
"""The job is pending and held back (`horae_jobs_waiting`).

A statement that finds open jobs names one of these four conditions: for `state = 'pending'` or
`state = 'started'` alone there is no index, and all ended jobs would be read.
"""
IS_UNREPORTED = and_(jobs.c.awaited > constant(REPORTED), jobs.c.finished_at.is_not(None))
"""Others wait for the job's end and were not notified of it (`horae_jobs_unreported`)."""
IS_OPEN = or_(jobs.c.finished_at.is_(None), IS_HELD)
"""The job has not ended, or its body has not stopped yet."""


def has_not_expired(row: FromClause = jobs) -> ColumnElement[bool]:
    """Return the condition that a job may still begin; the node that fails it may be late."""
    return or_(row.c.expires_at.is_(None), row.c.expires_at > database_now())


def is_startable(row: FromClause = jobs) -> ColumnElement[bool]:
    """Return the condition that a pending job may start, as far as its own row decides."""
    return and_(
        row.c.run_at <= database_now(),
        has_not_expired(row),
        # The next lease and attempt must be within their limits.
        row.c.lease < constant(MOST_LEASES),
        row.c.attempt < constant(MOST_ATTEMPTS),
    )


job_attempts = Table(
    "horae_job_attempts",
    metadata,
    Column("job_id", row_id, primary_key=True, autoincrement=False),
    Column("lease", BigInteger, primary_key=True, autoincrement=False),
    Column("attempt", Integer, nullable=False),
    Column("node_id", String(64)),
    Column("started_at", Instant, nullable=False),
    Column("finished_at", Instant, nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("error", Text),
    Column("traceback", Text),
    is_one_of("outcome", *AttemptOutcome),
)
# In a query it must be written like this, for SQLite to conclude that it holds.
IS_FAILED_ATTEMPT = text("(outcome = 'failed' OR outcome = 'timed_out' OR outcome = 'crashed')")
partial_index("horae_job_attempts_failed", job_attempts.c.finished_at, where=IS_FAILED_ATTEMPT)

nodes = Table(
    "horae_nodes",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("host", String(300), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("version", String(50), nullable=False),
    Column("roles", Json, nullable=False),
    Column("queues", Json),
    Column("types", Json, nullable=False),
    Column("concurrency", Integer, nullable=False),
    Column("lock_key", BigInteger),
    Column("started_at", Instant, nullable=False),
    Column("heartbeat_at", Instant, nullable=False),
    Column("process_ended", Boolean, nullable=False, server_default=false()),
)

queues = Table(
    "horae_queues",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("paused_at", Instant),
    Column("note", Text),
    Column("concurrency_limit", Integer, CheckConstraint("concurrency_limit > 0", name="limit")),
    Column("opened_at", Instant),  # when a pause ended; time limits of pending jobs count from then
    # What takes turns in the queue: "owner", or the name of a parameter.
    Column("fair_by", String(200)),
    Column("limits", Json),  # limits of the whole queue, by name
    # What code declares about the queue, by the names of these columns, and its module.
    Column("declared", Json),
    # What runs its jobs: "horae", "celery" or "celery:QUEUE"; null: never named.
    Column("backend", String(200)),
)

HAS_LANES = or_(queues.c.fair_by.is_not(None), queues.c.limits.is_not(None))
"""The queue's jobs are claimed through lanes: its owners take turns, or it has limits by key."""
IS_LIMITED = queues.c.concurrency_limit.is_not(None)
"""The jobs of the queue that run at a time are limited, whatever their keys."""
EVERY_QUEUE: Final = ""
"""The name of the row whose pause holds all queues and the firing of schedules.

No queue can have it: the name of a queue has at least one character.
"""
EVERYTHING_IS_PAUSED = (
    select(queues.c.name)
    .where(queues.c.name == constant(EVERY_QUEUE), queues.c.paused_at.is_not(None))
    .exists()
)


def queues_to_leave_out(*where: ColumnElement[bool]) -> Select[Any]:
    """Select the names of the queues that meet the conditions, for `NOT IN`.

    The row of all queues becomes null. `NOT IN` a list with a null is true for no name, so while
    everything is paused nothing is claimed, and the claim reads no more than before.
    """
    name = func.nullif(queues.c.name, constant(EVERY_QUEUE))
    return select(name.label("name")).where(*where)


# Reports of running jobs, requests to cancel them, and what their bodies wait for are each in a
# table of their own, so that no report overwrites a request. The tables are unlogged on PostgreSQL;
# on SQLite they are in a side-car file.
live_metadata = MetaData(naming_convention=metadata.naming_convention)

live_jobs = Table(
    "horae_live_jobs",
    live_metadata,
    Column("job_id", row_id, primary_key=True, autoincrement=False),
    Column("lease", BigInteger, nullable=False),
    Column("label", String(128)),
    Column("progress_percentage", SmallInteger, nullable=False),
    Column("updated_at", Instant, nullable=False),
)

live_cancels = Table(
    "horae_live_cancels",
    live_metadata,
    Column("job_id", row_id, primary_key=True, autoincrement=False),
    Column("requested_by", String(200)),
    Column("requested_at", Instant, nullable=False),
    Column("forced", Boolean, nullable=False, server_default=false()),
)

live_waits = Table(
    "horae_live_waits",
    live_metadata,
    Column("job_id", row_id, nullable=False),
    Column("lease", BigInteger, nullable=False),
    Column("group_id", row_id),  # the group to which the job belongs
    Column("awaited_job", row_id),
    Column("awaited_group", row_id),
)
