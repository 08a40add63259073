"""The tables of jobs, and the statements that create, claim and read them.

Invariants: a claim moves due jobs from pending to started, raises the lease and sets the node, in
one statement; a committed job is never created twice; `max_count` and unique keys are checked in
the transaction that inserts; a row that cannot be read is put aside, reported, and stops nobody.

Others use the modules named in the contract as namespaces (`claims`, `creation`, `reading` ...) and
the tables and values named here. How jobs end is written in `storage/outcomes`.
"""

from horae.storage.jobs.claims import CLAIMED, ClaimScope, NextWork, Part
from horae.storage.jobs.creation import NO_META, Contended, Inserted, JobRow, waits_for
from horae.storage.jobs.dispatching import Dispatched
from horae.storage.jobs.events import ChangeScan, JobVersion
from horae.storage.jobs.group_tables import dependencies, group_parts
from horae.storage.jobs.limit_tables import (
    IS_UNFILED,
    WAITS_FOR_LIMIT,
    WAITS_IN_LANE,
    buckets,
    lane_buckets,
    lanes,
)
from horae.storage.jobs.log_tables import job_logs
from horae.storage.jobs.owed_hooks import (
    BEFORE_DELETE,
    EVER,
    ON_CANCELLED,
    ON_ERROR,
    OWED_BY,
    LeftoverJobs,
    OwedHook,
)
from horae.storage.jobs.reading import COLUMNS, JobFilter, PastAttempt, job_from
from horae.storage.jobs.serving_nodes import why_no_node
from horae.storage.jobs.tables import (
    ENDED_NOW,
    EVERY_QUEUE,
    EVERYTHING_IS_PAUSED,
    HAS_ENDED,
    HAS_LANES,
    HAS_STOPPED,
    IS_FAILED_ATTEMPT,
    IS_HELD,
    IS_OPEN,
    IS_READY,
    IS_SENT,
    IS_UNREPORTED,
    IS_WAITING,
    WAS_RETRIED,
    has_not_expired,
    is_startable,
    job_attempts,
    job_tags,
    jobs,
    live_cancels,
    live_jobs,
    live_metadata,
    live_waits,
    metadata,
    nodes,
    partial_index,
    queues,
    queues_to_leave_out,
    row_id,
)
from horae.storage.jobs.waiting_sample import sample_of_waiting

__all__ = [
    "BEFORE_DELETE",
    "CLAIMED",
    "COLUMNS",
    "ENDED_NOW",
    "EVER",
    "EVERYTHING_IS_PAUSED",
    "EVERY_QUEUE",
    "HAS_ENDED",
    "HAS_LANES",
    "HAS_STOPPED",
    "IS_FAILED_ATTEMPT",
    "IS_HELD",
    "IS_OPEN",
    "IS_READY",
    "IS_SENT",
    "IS_UNFILED",
    "IS_UNREPORTED",
    "IS_WAITING",
    "NO_META",
    "ON_CANCELLED",
    "ON_ERROR",
    "OWED_BY",
    "WAITS_FOR_LIMIT",
    "WAITS_IN_LANE",
    "WAS_RETRIED",
    "ChangeScan",
    "ClaimScope",
    "Contended",
    "Dispatched",
    "Inserted",
    "JobFilter",
    "JobRow",
    "JobVersion",
    "LeftoverJobs",
    "NextWork",
    "OwedHook",
    "Part",
    "PastAttempt",
    "buckets",
    "dependencies",
    "group_parts",
    "has_not_expired",
    "is_startable",
    "job_attempts",
    "job_from",
    "job_logs",
    "job_tags",
    "jobs",
    "lane_buckets",
    "lanes",
    "live_cancels",
    "live_jobs",
    "live_metadata",
    "live_waits",
    "metadata",
    "nodes",
    "partial_index",
    "queues",
    "queues_to_leave_out",
    "row_id",
    "sample_of_waiting",
    "waits_for",
    "why_no_node",
]
