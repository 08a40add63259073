"""All tables of the first release.

On PostgreSQL they include the live tables, which SQLite has in a side-car file.
"""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: Final = "0001"
down_revision: Final = None

# SQLite counts rows only in a column declared exactly INTEGER.
row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# A moment is whole microseconds since 1970, in UTC, where there is no type for it.
instant: Final = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")
json: Final = JSONB().with_variant(sa.Text(), "sqlite")
zero: Final = sa.text("0")


TABLES: Final = (
    "jobs",
    "job_attempts",
    "job_logs",
    "job_tags",
    "bulk_runs",
    "groups",
    "group_parts",
    "dependencies",
    "limits",
    "limit_buckets",
    "lanes",
    "lane_buckets",
    "nodes",
    "queues",
    "deployments",
    "schedules",
    "schedule_statistics",
    "ticks",
    "backfill_times",
    "audit",
    "sessions",
    "history",
    "history_state",
)
INDEXES: Final = """
CREATE INDEX horae_audit_at ON horae_audit (at);
CREATE INDEX horae_audit_target ON horae_audit (target, id);
CREATE INDEX horae_dependencies_job_id_ended ON horae_dependencies (job_id, ended);
CREATE UNIQUE INDEX horae_deployments_current ON horae_deployments (module)
    WHERE ended_at IS NULL;
CREATE INDEX horae_groups_ended_at ON horae_groups (ended_at);
CREATE UNIQUE INDEX horae_groups_then_id ON horae_groups (then_id) WHERE then_id IS NOT NULL;
CREATE INDEX horae_groups_unsettled ON horae_groups (id)
    WHERE ended_at IS NULL AND (cancelled_at IS NOT NULL OR inserting_at IS NOT NULL);
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
CREATE INDEX horae_sessions_expires_at ON horae_sessions (expires_at)
"""
SQLITE_INDEXES: Final = """
CREATE INDEX horae_jobs_ended ON horae_jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX horae_jobs_slow ON horae_jobs (id) WHERE finished_at - started_at > 1000000
"""
POSTGRESQL_INDEXES: Final = """
CREATE INDEX horae_jobs_slow ON horae_jobs (id)
    WHERE finished_at - started_at > interval '1 seconds';
CREATE INDEX horae_jobs_ended_values ON horae_jobs (finished_at, type text_pattern_ops, queue,
    created_at, id)
    WHERE finished_at IS NOT NULL;
CREATE INDEX horae_jobs_params ON horae_jobs USING gin (params jsonb_path_ops) WITH
    (gin_pending_list_limit = 512)
    WHERE params IS NOT NULL AND finished_at IS NOT NULL
"""


def upgrade() -> None:
    """Apply."""
    is_postgresql = op.get_context().dialect.name == "postgresql"
    # The range is that of Python, less a day at either end, so that every moment can be shown in
    # any time zone.
    first, last = (
        ("timestamptz '0001-01-02T00:00:00+00:00'", "timestamptz '9999-12-31T00:00:00+00:00'")
        if is_postgresql
        else ("-62135510400000000", "253402214400000000")
    )
    moments = ["run_at", "nominal_time", "expires_at"]
    if not is_postgresql:
        moments += ["created_at", "updated_at", "started_at", "finished_at"]
    readable = [
        "lease < 4611686018427387904 AND attempt < 1073741824",
        "jsonb_typeof(meta) = 'object'"
        if is_postgresql
        else "CASE WHEN json_valid(meta) THEN json_type(meta) = 'object' ELSE 0 END",
        *(f"{moment} BETWEEN {first} AND {last}" for moment in moments),
    ]
    op.create_table(
        "horae_jobs",
        sa.Column("id", row_id, primary_key=True, autoincrement=True),
        sa.Column("type", sa.String(200), nullable=False),
        sa.Column("queue", sa.String(200), nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("label", sa.String(128)),
        sa.Column("progress_percentage", sa.SmallInteger, nullable=False, server_default=zero),
        sa.Column("owner", sa.String(200)),
        sa.Column("params", json),
        sa.Column("result", json),
        sa.Column("error", sa.Text),
        sa.Column("human_readable_error", sa.Text),
        sa.Column("attempt", sa.Integer, nullable=False, server_default=zero),
        sa.Column("max_attempts", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("backoff", json),
        sa.Column("lease", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("node_id", sa.String(64)),
        sa.Column("unique_key", sa.String(200)),
        sa.Column("run_at", instant, nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("updated_at", instant, nullable=False),
        sa.Column("started_at", instant),
        sa.Column("finished_at", instant),
        sa.Column("cancelled_by", sa.String(200)),
        sa.Column("meta", json, nullable=False, server_default=sa.text("'{}'")),
        sa.Column("schedule_id", row_id),
        sa.Column("nominal_time", instant),
        sa.Column("deployment_id", row_id),
        sa.Column("max_runtime", sa.Float),
        sa.Column("run_reason", sa.String(32)),
        sa.Column("retry_of", row_id),
        sa.Column("hook_owed", sa.String(32)),
        sa.Column("hook_taken_at", instant),
        sa.Column("retry_reason", sa.Text),
        sa.Column("waits_for", sa.String(16)),
        sa.Column("limits", json),
        sa.Column("lane_id", row_id),
        sa.Column("group_id", row_id),
        sa.Column("awaited", sa.SmallInteger),
        sa.Column("key_is_shared", sa.Boolean),
        sa.Column("expires_at", instant),
        sa.Column("tags", json),
        sa.Column("sent_at", instant),
        sa.CheckConstraint(
            "state = 'pending' OR state = 'started' OR state = 'finished' OR state = 'failed' OR "
            "state = 'cancelled'",
            name="state",
        ),
        sa.CheckConstraint(
            "(finished_at IS NULL) = (state = 'pending' OR state = 'started')", name="ended"
        ),
        sa.CheckConstraint(
            "(node_id IS NULL OR (state <> 'pending' AND state <> 'finished')) AND (node_id IS NOT"
            " NULL OR state <> 'started')",
            name="held",
        ),
        sa.CheckConstraint(" AND ".join(readable), name="readable"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "horae_job_attempts",
        sa.Column("job_id", row_id, primary_key=True, autoincrement=False),
        sa.Column("lease", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("node_id", sa.String(64)),
        sa.Column("started_at", instant, nullable=False),
        sa.Column("finished_at", instant, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("traceback", sa.Text),
        sa.CheckConstraint(
            "outcome = 'finished' OR outcome = 'failed' OR outcome = 'cancelled' OR outcome = "
            "'timed_out' OR outcome = 'crashed' OR outcome = 'snoozed' OR outcome = 'interrupted'",
            name="outcome",
        ),
    )
    op.create_table(
        "horae_job_logs",
        sa.Column("job_id", row_id, primary_key=True, autoincrement=False),
        sa.Column("lease", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("line", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("at", instant, nullable=False),
        sa.Column("level", sa.SmallInteger, nullable=False),
        sa.Column("logger", sa.String(200), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("dropped", sa.Integer),
        sa.CheckConstraint("dropped > 0", name="dropped"),
    )
    op.create_table(
        "horae_job_tags",
        sa.Column("tag", sa.String(200), primary_key=True),
        sa.Column("job_id", row_id, primary_key=True, autoincrement=False),
    )
    op.create_table(
        "horae_bulk_runs",
        sa.Column("job_id", row_id, primary_key=True, autoincrement=False),
        sa.Column("lease", sa.BigInteger, nullable=False),
        sa.Column("reached", row_id, nullable=False),
        sa.Column("total", sa.BigInteger),
        sa.Column("changed", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("skipped", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("failed", sa.BigInteger, nullable=False, server_default=zero),
    )
    op.create_table(
        "horae_groups",
        sa.Column("id", row_id, primary_key=True, autoincrement=True),
        sa.Column("owner", sa.String(200)),
        sa.Column("on_failure", sa.String(16), nullable=False),
        sa.Column("then_id", row_id),
        sa.Column("total", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("finished", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("failed", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("cancelled", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("inserting_at", instant),
        sa.Column("cancelled_at", instant),
        sa.Column("cancelled_by", sa.String(200)),
        sa.Column("ended_at", instant),
        sa.CheckConstraint("on_failure IN ('continue', 'cancel')", name="on_failure"),
        sa.CheckConstraint(
            "finished >= 0 AND failed >= 0 AND cancelled >= 0 AND finished + failed + cancelled "
            "<= total",
            name="counts",
        ),
        sa.CheckConstraint(
            "ended_at IS NULL OR (finished + failed + cancelled = total AND inserting_at IS NULL)",
            name="ended",
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "horae_group_parts",
        sa.Column("group_id", row_id, primary_key=True, autoincrement=False),
        sa.Column("first_id", row_id, primary_key=True, autoincrement=False),
        sa.Column("last_id", row_id, nullable=False),
    )
    op.create_table(
        "horae_dependencies",
        sa.Column("after_id", row_id, primary_key=True, autoincrement=False),
        sa.Column("job_id", row_id, primary_key=True, autoincrement=False),
        sa.Column("on_failure", sa.String(16), nullable=False),
        sa.Column("ended", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.CheckConstraint("on_failure IN ('cancel', 'fail', 'run')", name="on_failure"),
    )
    op.create_table(
        "horae_limits",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("declared", json),
        sa.Column("changed", json),
        sa.Column("concurrency", sa.Integer),
    )
    op.create_table(
        "horae_limit_buckets",
        sa.Column("id", row_id, primary_key=True, autoincrement=True),
        sa.Column("limit_name", sa.String(200), nullable=False),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("state", json),
        sa.Column("waiting", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("opens_at", sa.BigInteger),
        sa.Column("fresh_at", sa.BigInteger, nullable=False, server_default=zero),
        sa.UniqueConstraint("limit_name", "key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "horae_lanes",
        sa.Column("id", row_id, primary_key=True, autoincrement=True),
        sa.Column("identity", sa.String(64), unique=True, nullable=False),
        sa.Column("queue", sa.String(200), nullable=False),
        sa.Column("type", sa.String(200), nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("owner", sa.String(200)),
        sa.Column("weight", sa.Integer, nullable=False),
        sa.Column("place", sa.BigInteger),
        sa.Column("turn", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("held_by", row_id),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "horae_lane_buckets",
        sa.Column("lane_id", row_id, primary_key=True, autoincrement=False),
        sa.Column("bucket_id", row_id, primary_key=True, autoincrement=False),
    )
    op.create_table(
        "horae_nodes",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("host", sa.String(300), nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("version", sa.String(50), nullable=False),
        sa.Column("roles", json, nullable=False),
        sa.Column("queues", json),
        sa.Column("types", json, nullable=False),
        sa.Column("concurrency", sa.Integer, nullable=False),
        sa.Column("lock_key", sa.BigInteger),
        sa.Column("started_at", instant, nullable=False),
        sa.Column("heartbeat_at", instant, nullable=False),
        sa.Column("process_ended", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.create_table(
        "horae_queues",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("paused_at", instant),
        sa.Column("note", sa.Text),
        sa.Column(
            "concurrency_limit",
            sa.Integer,
            sa.CheckConstraint("concurrency_limit > 0", name="limit"),
        ),
        sa.Column("opened_at", instant),
        sa.Column("fair_by", sa.String(200)),
        sa.Column("limits", json),
        sa.Column("declared", json),
        sa.Column("backend", sa.String(200)),
    )
    op.create_table(
        "horae_deployments",
        sa.Column("id", row_id, primary_key=True, autoincrement=True),
        sa.Column("key", sa.String(64), unique=True, nullable=False),
        sa.Column("module", sa.String(200), nullable=False),
        sa.Column("schema", sa.Text, nullable=False),
        sa.Column("schema_hash", sa.String(64), nullable=False),
        sa.Column("min_replicas", sa.Integer, nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("ended_at", instant),
        sa.Column(
            "replaced_by", row_id, sa.ForeignKey("horae_deployments.id", ondelete="SET NULL")
        ),
        sa.CheckConstraint("min_replicas >= 0", name="min_replicas"),
        sa.CheckConstraint("replaced_by IS NULL OR ended_at IS NOT NULL", name="replaced"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "horae_schedules",
        sa.Column("id", row_id, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("module", sa.String(200), nullable=False, server_default=sa.text("''")),
        sa.Column(
            "deployment_id", row_id, sa.ForeignKey("horae_deployments.id", ondelete="SET NULL")
        ),
        sa.Column("job_type", sa.String(200), nullable=False),
        sa.Column("params", json),
        sa.Column("trigger_kind", sa.String(16), nullable=False),
        sa.Column("trigger", sa.Text, nullable=False),
        sa.Column("timezone", sa.String(64), nullable=False),
        sa.Column("queue", sa.String(200), nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("rules", json, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("disabled_reason", sa.String(32)),
        sa.Column("pause_note", sa.Text),
        sa.Column("partition", sa.SmallInteger, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("run_token", sa.BigInteger),
        sa.Column("started_at", instant),
        sa.Column("next_start", instant),
        sa.Column("last_tick", instant),
        sa.Column("created_by", sa.String(64)),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("updated_at", instant),
        sa.Column("overrides", json),
        sa.Column("calendar_days", json),
        sa.Column("skip_until", instant),
        sa.Column("skip_reason", sa.String(32)),
        sa.Column("moved_start", instant),
        sa.Column("backfill_next", instant),
        sa.Column("limits", json),
        sa.Column("tags", json),
        sa.Column("max_attempts", sa.Integer),
        sa.CheckConstraint("trigger_kind IN ('cron', 'interval')", name="trigger_kind"),
        sa.CheckConstraint(
            "state IN ('idle', 'executing', 'terminating', 'disabled')", name="state"
        ),
        sa.CheckConstraint(
            "(run_token IS NOT NULL) = (state IN ('executing', 'terminating'))", name="running"
        ),
        sa.CheckConstraint("enabled = (disabled_reason IS NULL)", name="enabled"),
        sa.CheckConstraint("partition BETWEEN 0 AND 1023", name="partition"),
        sa.CheckConstraint(
            "state <> 'idle' OR (enabled AND next_start IS NOT NULL)", name="waiting"
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "horae_schedule_statistics",
        sa.Column(
            "schedule_id",
            row_id,
            sa.ForeignKey("horae_schedules.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("last_start", instant),
        sa.Column("last_finish", instant),
        sa.Column("last_successful_finish", instant),
        sa.Column("last_run_success", sa.Boolean),
        sa.Column("total_runs", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("total_successes", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("total_failures", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("total_crashes", sa.BigInteger, nullable=False, server_default=zero),
        sa.Column("total_duration", sa.Float, nullable=False, server_default=zero),
        sa.Column("total_duration_failures", sa.Float, nullable=False, server_default=zero),
        sa.Column("consecutive_failures", sa.Integer, nullable=False, server_default=zero),
        sa.Column("consecutive_crashes", sa.Integer, nullable=False, server_default=zero),
        sa.CheckConstraint(
            "total_runs = total_successes + total_failures + total_crashes", name="total_runs"
        ),
    )
    op.create_table(
        "horae_ticks",
        sa.Column(
            "schedule_id",
            row_id,
            sa.ForeignKey("horae_schedules.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("nominal_time", instant, primary_key=True),
        sa.Column("until", instant, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("decision", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(32), nullable=False),
        sa.Column("job_id", row_id),
        sa.Column("decided_at", instant, nullable=False),
        sa.Column("decided_by", sa.String(64)),
        sa.Column("retried_as", row_id),
        sa.CheckConstraint(
            "decision IN ('fired', 'coalesced', 'skipped', 'missed')", name="decision"
        ),
        sa.CheckConstraint("count >= 1 AND until >= nominal_time", name="range"),
        sa.CheckConstraint("(decision = 'fired') = (job_id IS NOT NULL)", name="job"),
        sa.CheckConstraint("decision <> 'fired' OR count = 1", name="fired"),
    )
    op.create_table(
        "horae_backfill_times",
        sa.Column(
            "schedule_id",
            row_id,
            sa.ForeignKey("horae_schedules.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("nominal_time", instant, primary_key=True),
        sa.Column("requested_at", instant, nullable=False),
    )
    op.create_table(
        "horae_audit",
        sa.Column("id", row_id, primary_key=True, autoincrement=True),
        sa.Column("at", instant, nullable=False),
        sa.Column("actor", sa.String(200), nullable=False),
        sa.Column("action", sa.String(100), nullable=False),
        sa.Column("target", sa.String(300), nullable=False),
        sa.Column("outcome", sa.String(100), nullable=False),
        sa.Column("note", sa.Text),
        sa.Column(
            "channel",
            sa.String(16),
            sa.CheckConstraint(f"at BETWEEN {first} AND {last}", name="readable"),
        ),
        sa.Column("before", json),
        sa.Column("after", json),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "horae_sessions",
        sa.Column("key_hash", sa.String(64), primary_key=True),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("expires_at", instant, nullable=False),
    )
    op.create_table(
        "horae_history",
        sa.Column("seconds", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("start", instant, primary_key=True),
        sa.Column("everything", json, nullable=False),
        sa.Column("queues", json, nullable=False),
        sa.Column("types", json, nullable=False),
        sa.CheckConstraint("seconds > 0", name="seconds"),
    )
    op.create_table(
        "horae_history_state",
        sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("reached", instant, nullable=False),
        sa.Column("behind", json, nullable=False),
        sa.CheckConstraint("id = 1", name="only_row"),
    )
    if is_postgresql:
        # The tables are unlogged: each job is written ten times a second, and may be lost with the
        # server.
        op.create_table(
            "horae_live_jobs",
            sa.Column("job_id", row_id, primary_key=True, autoincrement=False),
            sa.Column("lease", sa.BigInteger, nullable=False),
            sa.Column("label", sa.String(128)),
            sa.Column("progress_percentage", sa.SmallInteger, nullable=False),
            sa.Column("updated_at", instant, nullable=False),
            prefixes=["UNLOGGED"],
        )
        op.create_table(
            "horae_live_cancels",
            sa.Column("job_id", row_id, primary_key=True, autoincrement=False),
            sa.Column("requested_by", sa.String(200)),
            sa.Column("requested_at", instant, nullable=False),
            sa.Column("forced", sa.Boolean, nullable=False, server_default=sa.false()),
            prefixes=["UNLOGGED"],
        )
        op.create_table(
            "horae_live_waits",
            sa.Column("job_id", row_id, nullable=False),
            sa.Column("lease", sa.BigInteger, nullable=False),
            sa.Column("group_id", row_id),
            sa.Column("awaited_job", row_id),
            sa.Column("awaited_group", row_id),
            prefixes=["UNLOGGED"],
        )
    for indexes in (INDEXES, POSTGRESQL_INDEXES if is_postgresql else SQLITE_INDEXES):
        for statement in indexes.split(";"):
            op.execute(" ".join(statement.split()))
    op.add_column("horae_alembic_version", sa.Column("oldest_compatible", sa.String(32)))


def downgrade() -> None:
    """Take back."""
    op.drop_column("horae_alembic_version", "oldest_compatible")
    if op.get_context().dialect.name == "postgresql":
        for live in ("waits", "cancels", "jobs"):
            op.drop_table(f"horae_live_{live}")
    for table in reversed(TABLES):
        op.drop_table(f"horae_{table}")
