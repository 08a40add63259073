"""The tables of schedules: deployments, schedules, statistics, the ledger, and backfills."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    String,
    Table,
    Text,
    text,
)

from horae.storage.engine import NUMBERED_ONCE, Instant, Json
from horae.storage.jobs import metadata, partial_index, row_id

deployments = Table(
    "horae_deployments",
    metadata,
    Column("id", row_id, primary_key=True, autoincrement=True),
    Column("key", String(64), nullable=False, unique=True),
    Column("module", String(200), nullable=False),
    Column("schema", Text, nullable=False),
    Column("schema_hash", String(64), nullable=False),
    Column("min_replicas", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("ended_at", Instant),
    Column("replaced_by", row_id, ForeignKey("horae_deployments.id", ondelete="SET NULL")),
    CheckConstraint("min_replicas >= 0", name="min_replicas"),
    CheckConstraint("replaced_by IS NULL OR ended_at IS NOT NULL", name="replaced"),
    **NUMBERED_ONCE,
)
# A module has one current version, so two never both fire.
partial_index(
    "horae_deployments_current", deployments.c.module, unique=True, where=text("ended_at IS NULL")
)

schedules = Table(
    "horae_schedules",
    metadata,
    Column("id", row_id, primary_key=True, autoincrement=True),
    Column("name", String(200), nullable=False),
    Column("module", String(200), nullable=False, server_default=text("''")),
    Column("deployment_id", row_id, ForeignKey("horae_deployments.id", ondelete="SET NULL")),
    Column("job_type", String(200), nullable=False),
    Column("params", Json),
    Column("trigger_kind", String(16), nullable=False),
    Column("trigger", Text, nullable=False),
    Column("timezone", String(64), nullable=False),
    Column("queue", String(200), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("rules", Json, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("disabled_reason", String(32)),
    Column("pause_note", Text),
    Column("partition", SmallInteger, nullable=False),
    Column("state", String(16), nullable=False),
    Column("run_token", BigInteger),
    Column("started_at", Instant),
    Column("next_start", Instant),
    Column("last_tick", Instant),
    Column("created_at", Instant, nullable=False),
    Column("version", Integer, nullable=False, server_default=text("1")),
    Column("updated_at", Instant, nullable=False),
    Column("overrides", Json),  # the declared value of each field that was changed at run time
    # The days that a calendar function excludes, as it returned them last.
    Column("calendar_days", Json),
    Column("skip_until", Instant),  # nominal times up to this are skipped for `skip_reason`
    Column("skip_reason", String(32)),
    Column("moved_start", Instant),  # a one-time start of the next run, instead of its nominal time
    Column("backfill_next", Instant),  # the first of its rows in `backfill_times`
    # The limits of each of its jobs, by the schedule's parameters, as in a job's row.
    Column("limits", Json),
    Column("tags", Json),  # the tags of each of its jobs
    Column("max_attempts", Integer),  # the attempts of each of its jobs; null: one
    # What integrations left at the end of the last run for the `meta` of the next one.
    Column("next_meta", Json, nullable=False, server_default=text("'{}'")),
    CheckConstraint("trigger_kind IN ('cron', 'interval')", name="trigger_kind"),
    CheckConstraint("state IN ('idle', 'executing', 'terminating', 'disabled')", name="state"),
    CheckConstraint(
        "(run_token IS NOT NULL) = (state IN ('executing', 'terminating'))", name="running"
    ),
    CheckConstraint("enabled = (disabled_reason IS NULL)", name="enabled"),
    CheckConstraint("partition BETWEEN 0 AND 1023", name="partition"),
    # An idle schedule is enabled and has a next start, so none waits for ever.
    CheckConstraint("state <> 'idle' OR (enabled AND next_start IS NOT NULL)", name="waiting"),
    **NUMBERED_ONCE,
)
Index("horae_schedules_name", schedules.c.module, schedules.c.name, unique=True)
partial_index("horae_schedules_due", schedules.c.next_start, where=text("next_start IS NOT NULL"))
# Event streams query the latest changes once a second.
Index("horae_schedules_updated", schedules.c.updated_at)
_has_options = text("limits IS NOT NULL OR tags IS NOT NULL OR max_attempts IS NOT NULL")
partial_index("horae_schedules_options", schedules.c.id, where=_has_options)
partial_index("horae_schedules_running", schedules.c.run_token, where=text("run_token IS NOT NULL"))


def _key_of_schedule() -> Column[int]:
    cascade = ForeignKey("horae_schedules.id", ondelete="CASCADE")
    return Column("schedule_id", row_id, cascade, primary_key=True, autoincrement=False)


schedule_statistics = Table(
    "horae_schedule_statistics",
    metadata,
    _key_of_schedule(),
    Column("last_start", Instant),
    Column("last_finish", Instant),
    Column("last_successful_finish", Instant),
    Column("last_run_success", Boolean),
    *(
        Column(name, BigInteger, nullable=False, server_default=text("0"))
        for name in ("total_runs", "total_successes", "total_failures", "total_crashes")
    ),
    *(
        Column(name, Float, nullable=False, server_default=text("0"))
        for name in ("total_duration", "total_duration_failures")
    ),
    *(
        Column(name, Integer, nullable=False, server_default=text("0"))
        for name in ("consecutive_failures", "consecutive_crashes")
    ),
    CheckConstraint(
        "total_runs = total_successes + total_failures + total_crashes", name="total_runs"
    ),
)

ticks = Table(
    "horae_ticks",
    metadata,
    _key_of_schedule(),
    Column("nominal_time", Instant, primary_key=True),
    Column("until", Instant, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("decision", String(16), nullable=False),
    Column("reason", String(32), nullable=False),
    Column("job_id", row_id),
    Column("decided_at", Instant, nullable=False),
    Column("decided_by", String(64)),
    Column("retried_as", row_id),  # the newest job that repeats its run
    CheckConstraint("decision IN ('fired', 'coalesced', 'skipped', 'missed')", name="decision"),
    CheckConstraint("count >= 1 AND until >= nominal_time", name="range"),
    CheckConstraint("(decision = 'fired') = (job_id IS NOT NULL)", name="job"),
    CheckConstraint("decision <> 'fired' OR count = 1", name="fired"),
)

# Past nominal times that a caller wants to run, and that have not been fired yet.
backfill_times = Table(
    "horae_backfill_times",
    metadata,
    _key_of_schedule(),
    Column("nominal_time", Instant, primary_key=True),
    Column("requested_at", Instant, nullable=False),
)
