"""All tables of the first release, as SQL for both databases.

What the databases spell differently has a name in braces, which `SPELLED` gives for each of them.
"""

import re
from typing import Final

from alembic import op

revision: Final = "0001"
down_revision: Final = None

_IN_RANGE_OF_SQLITE: Final = "BETWEEN -62135510400000000 AND 253402214400000000"
_BY_CLOCK: Final = ("created_at", "updated_at", "started_at", "finished_at")
SPELLED: Final = {
    "postgresql": {
        "numbered": "BIGSERIAL PRIMARY KEY",
        "id": "BIGINT",
        "instant": "TIMESTAMP WITH TIME ZONE",
        "json": "JSONB",
        "false": "false",
        # The range is that of Python, less a day at either end, so that every moment can be shown
        # in any time zone.
        "in_range": (
            "BETWEEN timestamptz '0001-01-02T00:00:00+00:00'"
            " AND timestamptz '9999-12-31T00:00:00+00:00'"
        ),
        "is_object": "jsonb_typeof(meta) = 'object'",
        "by_clock": "",
    },
    "sqlite": {
        # SQLite counts rows only in a column declared exactly INTEGER.
        "numbered": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
        "id": "INTEGER",
        # A moment is whole microseconds since 1970, in UTC, because there is no type for it.
        "instant": "BIGINT",
        "json": "TEXT",
        "false": "0",
        "in_range": _IN_RANGE_OF_SQLITE,
        "is_object": "CASE WHEN json_valid(meta) THEN json_type(meta) = 'object' ELSE 0 END",
        "by_clock": "".join(f" AND {moment} {_IN_RANGE_OF_SQLITE}" for moment in _BY_CLOCK),
    },
}
ON_BOTH: Final = """
CREATE TABLE horae_jobs (
    id {numbered},
    type VARCHAR(200) NOT NULL,
    queue VARCHAR(200) NOT NULL,
    priority INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    label VARCHAR(128),
    progress_percentage SMALLINT DEFAULT 0 NOT NULL,
    owner VARCHAR(200),
    params {json},
    result {json},
    error TEXT,
    human_readable_error TEXT,
    attempt INTEGER DEFAULT 0 NOT NULL,
    max_attempts INTEGER DEFAULT 1 NOT NULL,
    backoff {json},
    lease BIGINT DEFAULT 0 NOT NULL,
    node_id VARCHAR(64),
    unique_key VARCHAR(200),
    run_at {instant} NOT NULL,
    created_at {instant} NOT NULL,
    updated_at {instant} NOT NULL,
    started_at {instant},
    finished_at {instant},
    cancelled_by VARCHAR(200),
    meta {json} DEFAULT '{{}}' NOT NULL,
    schedule_id {id},
    nominal_time {instant},
    deployment_id {id},
    max_runtime FLOAT,
    run_reason VARCHAR(32),
    retry_of {id},
    hook_owed VARCHAR(32),
    hook_taken_at {instant},
    retry_reason TEXT,
    waits_for VARCHAR(16),
    limits {json},
    lane_id {id},
    group_id {id},
    awaited SMALLINT,
    key_is_shared BOOLEAN,
    expires_at {instant},
    tags {json},
    sent_at {instant},
    CONSTRAINT horae_jobs_state CHECK (state = 'pending' OR state = 'started'
        OR state = 'finished' OR state = 'failed' OR state = 'cancelled'),
    CONSTRAINT horae_jobs_ended CHECK ((finished_at IS NULL)
        = (state = 'pending' OR state = 'started')),
    CONSTRAINT horae_jobs_held CHECK
        ((node_id IS NULL OR (state <> 'pending' AND state <> 'finished'))
        AND (node_id IS NOT NULL OR state <> 'started')),
    CONSTRAINT horae_jobs_readable CHECK
        (lease < 4611686018427387904 AND attempt < 1073741824 AND {is_object}
        AND run_at {in_range} AND nominal_time {in_range} AND expires_at {in_range}{by_clock})
);
CREATE TABLE horae_job_attempts (
    job_id {id} NOT NULL,
    lease BIGINT NOT NULL,
    attempt INTEGER NOT NULL,
    node_id VARCHAR(64),
    started_at {instant} NOT NULL,
    finished_at {instant} NOT NULL,
    outcome VARCHAR(16) NOT NULL,
    error TEXT,
    traceback TEXT,
    CONSTRAINT horae_job_attempts_pkey PRIMARY KEY (job_id, lease),
    CONSTRAINT horae_job_attempts_outcome CHECK (outcome = 'finished' OR outcome = 'failed'
        OR outcome = 'cancelled' OR outcome = 'timed_out' OR outcome = 'crashed'
        OR outcome = 'snoozed' OR outcome = 'interrupted')
);
CREATE TABLE horae_job_logs (
    job_id {id} NOT NULL,
    lease BIGINT NOT NULL,
    line INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    at {instant} NOT NULL,
    level SMALLINT NOT NULL,
    logger VARCHAR(200) NOT NULL,
    message TEXT NOT NULL,
    dropped INTEGER,
    CONSTRAINT horae_job_logs_pkey PRIMARY KEY (job_id, lease, line),
    CONSTRAINT horae_job_logs_dropped CHECK (dropped > 0)
);
CREATE TABLE horae_job_tags (
    tag VARCHAR(200) NOT NULL,
    job_id {id} NOT NULL,
    CONSTRAINT horae_job_tags_pkey PRIMARY KEY (tag, job_id)
);
CREATE TABLE horae_bulk_runs (
    job_id {id} NOT NULL,
    lease BIGINT NOT NULL,
    reached {id} NOT NULL,
    total BIGINT,
    changed BIGINT DEFAULT 0 NOT NULL,
    skipped BIGINT DEFAULT 0 NOT NULL,
    failed BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT horae_bulk_runs_pkey PRIMARY KEY (job_id)
);
CREATE TABLE horae_groups (
    id {numbered},
    owner VARCHAR(200),
    on_failure VARCHAR(16) NOT NULL,
    then_id {id},
    total BIGINT DEFAULT 0 NOT NULL,
    finished BIGINT DEFAULT 0 NOT NULL,
    failed BIGINT DEFAULT 0 NOT NULL,
    cancelled BIGINT DEFAULT 0 NOT NULL,
    created_at {instant} NOT NULL,
    inserting_at {instant},
    cancelled_at {instant},
    cancelled_by VARCHAR(200),
    ended_at {instant},
    CONSTRAINT horae_groups_on_failure CHECK (on_failure IN ('continue', 'cancel')),
    CONSTRAINT horae_groups_counts CHECK (finished >= 0 AND failed >= 0 AND cancelled >= 0
        AND finished + failed + cancelled <= total),
    CONSTRAINT horae_groups_ended CHECK (ended_at IS NULL
        OR (finished + failed + cancelled = total AND inserting_at IS NULL))
);
CREATE TABLE horae_group_parts (
    group_id {id} NOT NULL,
    first_id {id} NOT NULL,
    last_id {id} NOT NULL,
    CONSTRAINT horae_group_parts_pkey PRIMARY KEY (group_id, first_id)
);
CREATE TABLE horae_dependencies (
    after_id {id} NOT NULL,
    job_id {id} NOT NULL,
    on_failure VARCHAR(16) NOT NULL,
    ended BOOLEAN DEFAULT {false} NOT NULL,
    CONSTRAINT horae_dependencies_pkey PRIMARY KEY (after_id, job_id),
    CONSTRAINT horae_dependencies_on_failure CHECK (on_failure IN ('cancel', 'fail', 'run'))
);
CREATE TABLE horae_limits (
    name VARCHAR(200) NOT NULL,
    declared {json},
    changed {json},
    concurrency INTEGER,
    CONSTRAINT horae_limits_pkey PRIMARY KEY (name)
);
CREATE TABLE horae_limit_buckets (
    id {numbered},
    limit_name VARCHAR(200) NOT NULL,
    "key" VARCHAR(200) NOT NULL,
    state {json},
    waiting BOOLEAN DEFAULT {false} NOT NULL,
    opens_at BIGINT,
    fresh_at BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT horae_limit_buckets_limit_name_key_key UNIQUE (limit_name, "key")
);
CREATE TABLE horae_lanes (
    id {numbered},
    identity VARCHAR(64) NOT NULL,
    queue VARCHAR(200) NOT NULL,
    type VARCHAR(200) NOT NULL,
    priority INTEGER NOT NULL,
    owner VARCHAR(200),
    weight INTEGER NOT NULL,
    place BIGINT,
    turn BIGINT DEFAULT 0 NOT NULL,
    held_by {id},
    CONSTRAINT horae_lanes_identity_key UNIQUE (identity)
);
CREATE TABLE horae_lane_buckets (
    lane_id {id} NOT NULL,
    bucket_id {id} NOT NULL,
    CONSTRAINT horae_lane_buckets_pkey PRIMARY KEY (lane_id, bucket_id)
);
CREATE TABLE horae_nodes (
    id VARCHAR(64) NOT NULL,
    name VARCHAR(200) NOT NULL,
    host VARCHAR(300) NOT NULL,
    pid INTEGER NOT NULL,
    version VARCHAR(50) NOT NULL,
    roles {json} NOT NULL,
    queues {json},
    types {json} NOT NULL,
    concurrency INTEGER NOT NULL,
    lock_key BIGINT,
    started_at {instant} NOT NULL,
    heartbeat_at {instant} NOT NULL,
    process_ended BOOLEAN DEFAULT {false} NOT NULL,
    CONSTRAINT horae_nodes_pkey PRIMARY KEY (id)
);
CREATE TABLE horae_queues (
    name VARCHAR(200) NOT NULL,
    paused_at {instant},
    note TEXT,
    concurrency_limit INTEGER CONSTRAINT horae_queues_limit CHECK (concurrency_limit > 0),
    opened_at {instant},
    fair_by VARCHAR(200),
    limits {json},
    declared {json},
    backend VARCHAR(200),
    CONSTRAINT horae_queues_pkey PRIMARY KEY (name)
);
CREATE TABLE horae_deployments (
    id {numbered},
    "key" VARCHAR(64) NOT NULL,
    module VARCHAR(200) NOT NULL,
    schema TEXT NOT NULL,
    schema_hash VARCHAR(64) NOT NULL,
    min_replicas INTEGER NOT NULL,
    created_at {instant} NOT NULL,
    ended_at {instant},
    replaced_by {id},
    CONSTRAINT horae_deployments_min_replicas CHECK (min_replicas >= 0),
    CONSTRAINT horae_deployments_replaced CHECK (replaced_by IS NULL OR ended_at IS NOT NULL),
    CONSTRAINT horae_deployments_key_key UNIQUE ("key"),
    CONSTRAINT horae_deployments_replaced_by_fkey FOREIGN KEY(replaced_by)
        REFERENCES horae_deployments (id) ON DELETE SET NULL
);
CREATE TABLE horae_schedules (
    id {numbered},
    name VARCHAR(200) NOT NULL,
    module VARCHAR(200) DEFAULT '' NOT NULL,
    deployment_id {id},
    job_type VARCHAR(200) NOT NULL,
    params {json},
    trigger_kind VARCHAR(16) NOT NULL,
    "trigger" TEXT NOT NULL,
    timezone VARCHAR(64) NOT NULL,
    queue VARCHAR(200) NOT NULL,
    priority INTEGER NOT NULL,
    rules {json} NOT NULL,
    enabled BOOLEAN NOT NULL,
    disabled_reason VARCHAR(32),
    pause_note TEXT,
    partition SMALLINT NOT NULL,
    state VARCHAR(16) NOT NULL,
    run_token BIGINT,
    started_at {instant},
    next_start {instant},
    last_tick {instant},
    created_at {instant} NOT NULL,
    version INTEGER DEFAULT 1 NOT NULL,
    updated_at {instant} NOT NULL,
    overrides {json},
    calendar_days {json},
    skip_until {instant},
    skip_reason VARCHAR(32),
    moved_start {instant},
    backfill_next {instant},
    limits {json},
    tags {json},
    max_attempts INTEGER,
    next_meta {json} DEFAULT '{{}}' NOT NULL,
    CONSTRAINT horae_schedules_trigger_kind CHECK (trigger_kind IN ('cron', 'interval')),
    CONSTRAINT horae_schedules_state CHECK
        (state IN ('idle', 'executing', 'terminating', 'disabled')),
    CONSTRAINT horae_schedules_running CHECK
        ((run_token IS NOT NULL) = (state IN ('executing', 'terminating'))),
    CONSTRAINT horae_schedules_enabled CHECK (enabled = (disabled_reason IS NULL)),
    CONSTRAINT horae_schedules_partition CHECK (partition BETWEEN 0 AND 1023),
    CONSTRAINT horae_schedules_waiting CHECK
        (state <> 'idle' OR (enabled AND next_start IS NOT NULL)),
    CONSTRAINT horae_schedules_deployment_id_fkey FOREIGN KEY(deployment_id)
        REFERENCES horae_deployments (id) ON DELETE SET NULL
);
CREATE TABLE horae_schedule_statistics (
    schedule_id {id} NOT NULL,
    last_start {instant},
    last_finish {instant},
    last_successful_finish {instant},
    last_run_success BOOLEAN,
    total_runs BIGINT DEFAULT 0 NOT NULL,
    total_successes BIGINT DEFAULT 0 NOT NULL,
    total_failures BIGINT DEFAULT 0 NOT NULL,
    total_crashes BIGINT DEFAULT 0 NOT NULL,
    total_duration FLOAT DEFAULT 0 NOT NULL,
    total_duration_failures FLOAT DEFAULT 0 NOT NULL,
    consecutive_failures INTEGER DEFAULT 0 NOT NULL,
    consecutive_crashes INTEGER DEFAULT 0 NOT NULL,
    CONSTRAINT horae_schedule_statistics_pkey PRIMARY KEY (schedule_id),
    CONSTRAINT horae_schedule_statistics_total_runs CHECK
        (total_runs = total_successes + total_failures + total_crashes),
    CONSTRAINT horae_schedule_statistics_schedule_id_fkey FOREIGN KEY(schedule_id)
        REFERENCES horae_schedules (id) ON DELETE CASCADE
);
CREATE TABLE horae_ticks (
    schedule_id {id} NOT NULL,
    nominal_time {instant} NOT NULL,
    until {instant} NOT NULL,
    count BIGINT NOT NULL,
    decision VARCHAR(16) NOT NULL,
    reason VARCHAR(32) NOT NULL,
    job_id {id},
    decided_at {instant} NOT NULL,
    decided_by VARCHAR(64),
    retried_as {id},
    CONSTRAINT horae_ticks_pkey PRIMARY KEY (schedule_id, nominal_time),
    CONSTRAINT horae_ticks_decision CHECK
        (decision IN ('fired', 'coalesced', 'skipped', 'missed')),
    CONSTRAINT horae_ticks_range CHECK (count >= 1 AND until >= nominal_time),
    CONSTRAINT horae_ticks_job CHECK ((decision = 'fired') = (job_id IS NOT NULL)),
    CONSTRAINT horae_ticks_fired CHECK (decision <> 'fired' OR count = 1),
    CONSTRAINT horae_ticks_schedule_id_fkey FOREIGN KEY(schedule_id)
        REFERENCES horae_schedules (id) ON DELETE CASCADE
);
CREATE TABLE horae_backfill_times (
    schedule_id {id} NOT NULL,
    nominal_time {instant} NOT NULL,
    requested_at {instant} NOT NULL,
    CONSTRAINT horae_backfill_times_pkey PRIMARY KEY (schedule_id, nominal_time),
    CONSTRAINT horae_backfill_times_schedule_id_fkey FOREIGN KEY(schedule_id)
        REFERENCES horae_schedules (id) ON DELETE CASCADE
);
CREATE TABLE horae_audit (
    id {numbered},
    at {instant} NOT NULL,
    actor VARCHAR(200) NOT NULL,
    action VARCHAR(100) NOT NULL,
    target VARCHAR(300) NOT NULL,
    outcome VARCHAR(100) NOT NULL,
    note TEXT,
    channel VARCHAR(16) CONSTRAINT horae_audit_readable CHECK (at {in_range}),
    "before" {json},
    "after" {json}
);
CREATE TABLE horae_sessions (
    key_hash VARCHAR(64) NOT NULL,
    token_hash VARCHAR(64) NOT NULL,
    created_at {instant} NOT NULL,
    expires_at {instant} NOT NULL,
    CONSTRAINT horae_sessions_pkey PRIMARY KEY (key_hash)
);
CREATE TABLE horae_history (
    seconds INTEGER NOT NULL,
    start {instant} NOT NULL,
    everything {json} NOT NULL,
    queues {json} NOT NULL,
    types {json} NOT NULL,
    CONSTRAINT horae_history_pkey PRIMARY KEY (seconds, start),
    CONSTRAINT horae_history_seconds CHECK (seconds > 0)
);
CREATE TABLE horae_history_state (
    id SMALLINT NOT NULL,
    reached {instant} NOT NULL,
    behind {json} NOT NULL,
    CONSTRAINT horae_history_state_pkey PRIMARY KEY (id),
    CONSTRAINT horae_history_state_only_row CHECK (id = 1)
);
CREATE INDEX horae_audit_at ON horae_audit (at);
CREATE INDEX horae_audit_target ON horae_audit (target, id);
CREATE INDEX horae_dependencies_job_id_ended ON horae_dependencies (job_id, ended);
CREATE UNIQUE INDEX horae_deployments_current ON horae_deployments (module)
    WHERE ended_at IS NULL;
CREATE INDEX horae_groups_ended_at ON horae_groups (ended_at);
CREATE UNIQUE INDEX horae_groups_then_id ON horae_groups (then_id) WHERE then_id IS NOT NULL;
CREATE INDEX horae_groups_unsettled ON horae_groups (id)
    WHERE ended_at IS NULL AND (cancelled_at IS NOT NULL OR inserting_at IS NOT NULL);
CREATE INDEX horae_job_attempts_failed ON horae_job_attempts (finished_at)
    WHERE (outcome = 'failed' OR outcome = 'timed_out' OR outcome = 'crashed');
CREATE INDEX horae_job_logs_at ON horae_job_logs (at);
CREATE INDEX horae_job_tags_job_id ON horae_job_tags (job_id);
CREATE INDEX horae_jobs_expiring ON horae_jobs (expires_at)
    WHERE expires_at IS NOT NULL AND state = 'pending';
CREATE INDEX horae_jobs_held ON horae_jobs (node_id) WHERE node_id IS NOT NULL;
CREATE INDEX horae_jobs_hook_owed ON horae_jobs (id) WHERE hook_owed IS NOT NULL;
CREATE INDEX horae_jobs_lane ON horae_jobs (lane_id, run_at, id)
    WHERE lane_id IS NOT NULL AND state = 'pending';
CREATE INDEX horae_jobs_lane_held ON horae_jobs (lane_id)
    WHERE lane_id IS NOT NULL AND node_id IS NOT NULL;
CREATE INDEX horae_jobs_occupying ON horae_jobs (owner, type)
    WHERE owner IS NOT NULL AND (finished_at IS NULL OR node_id IS NOT NULL);
CREATE INDEX horae_jobs_open_runs ON horae_jobs (schedule_id)
    WHERE schedule_id IS NOT NULL AND (finished_at IS NULL OR node_id IS NOT NULL);
CREATE INDEX horae_jobs_owner ON horae_jobs (owner, id) WHERE owner IS NOT NULL;
CREATE INDEX horae_jobs_ready ON horae_jobs (priority DESC, run_at, id, queue, type)
    WHERE state = 'pending' AND waits_for IS NULL AND sent_at IS NULL;
CREATE INDEX horae_jobs_retried_tick ON horae_jobs (schedule_id, nominal_time)
    WHERE retry_of IS NOT NULL AND nominal_time IS NOT NULL;
CREATE INDEX horae_jobs_retry_of ON horae_jobs (retry_of) WHERE retry_of IS NOT NULL;
CREATE INDEX horae_jobs_same_key ON horae_jobs (unique_key, type, id)
    WHERE unique_key IS NOT NULL;
CREATE INDEX horae_jobs_schedule ON horae_jobs (schedule_id, id) WHERE schedule_id IS NOT NULL;
CREATE INDEX horae_jobs_sent ON horae_jobs (sent_at, id)
    WHERE sent_at IS NOT NULL AND state = 'pending';
CREATE UNIQUE INDEX horae_jobs_tick ON horae_jobs (schedule_id, nominal_time)
    WHERE nominal_time IS NOT NULL AND retry_of IS NULL;
CREATE INDEX horae_jobs_unfiled ON horae_jobs (id)
    WHERE waits_for = 'limit' AND lane_id IS NULL AND finished_at IS NULL;
CREATE UNIQUE INDEX horae_jobs_unique_key ON horae_jobs (type, unique_key)
    WHERE unique_key IS NOT NULL AND key_is_shared IS NULL AND finished_at IS NULL;
CREATE INDEX horae_jobs_unreported ON horae_jobs (id)
    WHERE awaited > 0 AND finished_at IS NOT NULL;
CREATE INDEX horae_jobs_unsuccessful ON horae_jobs (state, id)
    WHERE state = 'failed' OR state = 'cancelled';
CREATE INDEX horae_jobs_waiting ON horae_jobs (waits_for, run_at, id)
    WHERE waits_for IS NOT NULL AND state = 'pending';
CREATE INDEX horae_lane_buckets_bucket_id ON horae_lane_buckets (bucket_id);
CREATE INDEX horae_lanes_due ON horae_lanes (place) WHERE held_by IS NULL AND place IS NOT NULL;
CREATE INDEX horae_lanes_held ON horae_lanes (held_by, priority DESC, place, id)
    WHERE held_by IS NOT NULL;
CREATE INDEX horae_lanes_next ON horae_lanes (priority DESC, place, id)
    WHERE held_by IS NULL AND place IS NOT NULL;
CREATE INDEX horae_lanes_owner ON horae_lanes (queue, priority, owner, turn)
    WHERE owner IS NOT NULL;
CREATE INDEX horae_limit_buckets_closed ON horae_limit_buckets (opens_at)
    WHERE waiting AND opens_at IS NOT NULL;
CREATE INDEX horae_limit_buckets_full ON horae_limit_buckets (id)
    WHERE waiting AND opens_at IS NULL;
CREATE INDEX horae_schedules_due ON horae_schedules (next_start) WHERE next_start IS NOT NULL;
CREATE UNIQUE INDEX horae_schedules_name ON horae_schedules (module, name);
CREATE INDEX horae_schedules_options ON horae_schedules (id)
    WHERE limits IS NOT NULL OR tags IS NOT NULL OR max_attempts IS NOT NULL;
CREATE INDEX horae_schedules_running ON horae_schedules (run_token) WHERE run_token IS NOT NULL;
CREATE INDEX horae_schedules_updated ON horae_schedules (updated_at);
CREATE INDEX horae_sessions_expires_at ON horae_sessions (expires_at);
"""
# PostgreSQL has the live tables, which SQLite has in a side-car file. They are unlogged: each job
# is written ten times a second, and may be lost with the server.
ONLY_ON: Final = {
    "postgresql": """
CREATE UNLOGGED TABLE horae_live_jobs (
    job_id BIGINT NOT NULL,
    lease BIGINT NOT NULL,
    label VARCHAR(128),
    progress_percentage SMALLINT NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT horae_live_jobs_pkey PRIMARY KEY (job_id)
);
CREATE UNLOGGED TABLE horae_live_cancels (
    job_id BIGINT NOT NULL,
    requested_by VARCHAR(200),
    requested_at TIMESTAMP WITH TIME ZONE NOT NULL,
    forced BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT horae_live_cancels_pkey PRIMARY KEY (job_id)
);
CREATE UNLOGGED TABLE horae_live_waits (
    job_id BIGINT NOT NULL,
    lease BIGINT NOT NULL,
    group_id BIGINT,
    awaited_job BIGINT,
    awaited_group BIGINT
);
CREATE INDEX horae_jobs_slow ON horae_jobs (id)
    WHERE finished_at - started_at > interval '1 seconds';
CREATE INDEX horae_jobs_ended_values ON horae_jobs (finished_at, id, type text_pattern_ops, queue,
    created_at)
    WHERE finished_at IS NOT NULL;
CREATE INDEX horae_jobs_params ON horae_jobs USING gin (params jsonb_path_ops) WITH
    (gin_pending_list_limit = 512)
    WHERE params IS NOT NULL AND finished_at IS NOT NULL;
""",
    "sqlite": """
CREATE INDEX horae_jobs_ended ON horae_jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX horae_jobs_slow ON horae_jobs (id) WHERE finished_at - started_at > 1000000;
""",
}


def upgrade() -> None:
    """Apply."""
    dialect = op.get_context().dialect.name
    statements = (ON_BOTH + ONLY_ON[dialect]).format(**SPELLED[dialect])
    for statement in statements.strip().removesuffix(";").split(";\n"):
        op.execute(statement)
    op.execute("ALTER TABLE horae_alembic_version ADD COLUMN oldest_compatible VARCHAR(32)")


def downgrade() -> None:
    """Take back."""
    op.execute("ALTER TABLE horae_alembic_version DROP COLUMN oldest_compatible")
    made = ON_BOTH + ONLY_ON[op.get_context().dialect.name]
    for table in reversed(re.findall(r"TABLE (\w+)", made)):
        op.execute(f"DROP TABLE {table}")
