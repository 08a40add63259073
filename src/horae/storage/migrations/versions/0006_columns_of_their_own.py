"""Columns of their own for what `meta` held, for hooks that are owed and for changes; log-ins."""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: Final = "0006"
down_revision: Final = "0005"

# SQLite counts rows only in a column declared exactly INTEGER.
row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Whole microseconds since 1970, in UTC, where there is no type for a moment.
instant: Final = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")
json: Final = JSONB().with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    """Apply."""
    _add_to_jobs()
    for statements in (_FROM_META, _RETRIES_FROM_META):
        op.execute(statements[op.get_context().dialect.name])
    for name, kind in (("channel", sa.String(16)), ("before", json), ("after", json)):
        op.add_column("horae_audit", sa.Column(name, kind))
    op.add_column("horae_queues", sa.Column("opened_at", instant))
    op.create_table(
        "horae_sessions",
        sa.Column("key_hash", sa.String(64), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("expires_at", instant, nullable=False),
        sa.PrimaryKeyConstraint("key_hash", name="horae_sessions_pkey"),
    )
    op.create_index("horae_sessions_expires_at", "horae_sessions", ["expires_at"])
    if op.get_context().dialect.name == "postgresql":
        op.add_column(
            "horae_live_cancels", sa.Column("forced", sa.Boolean, nullable=False, server_default=sa.text("false"))
        )


def downgrade() -> None:
    """Take back."""
    if op.get_context().dialect.name == "postgresql":
        op.drop_column("horae_live_cancels", "forced")
    op.drop_table("horae_sessions")
    op.drop_column("horae_queues", "opened_at")
    for name in ("after", "before", "channel"):
        op.drop_column("horae_audit", name)
    op.drop_index("horae_jobs_hook_owed", "horae_jobs")
    op.execute(_BACK_INTO_META[op.get_context().dialect.name])
    for name in ("hook_taken_at", "hook_owed", "retry_of", "run_reason", "max_runtime"):
        op.drop_column("horae_jobs", name)


def _add_to_jobs() -> None:
    op.execute(
        "ALTER TABLE horae_jobs ADD COLUMN max_runtime FLOAT CONSTRAINT horae_jobs_max_runtime CHECK (max_runtime > 0)"
    )
    op.add_column("horae_jobs", sa.Column("run_reason", sa.String(32)))
    op.add_column("horae_jobs", sa.Column("retry_of", row_id))
    op.execute(
        "ALTER TABLE horae_jobs ADD COLUMN hook_owed VARCHAR(16) "
        "CONSTRAINT horae_jobs_hook_owed CHECK (hook_owed IN ('on_error', 'on_cancelled'))"
    )
    op.add_column("horae_jobs", sa.Column("hook_taken_at", instant))
    owed = sa.text("hook_owed IS NOT NULL")
    op.create_index("horae_jobs_hook_owed", "horae_jobs", ["id"], postgresql_where=owed, sqlite_where=owed)


# Whoever started a job may have put the same words into `meta`: only a schedule's own job has them from Horae, and only
# what Horae would have written is taken over: no schedule allows more than a hundred years. Cases are nested where
# something must not be evaluated too early, for AND promises no order.
_FROM_META: Final = {
    "postgresql": """
UPDATE horae_jobs SET
  max_runtime = CASE WHEN jsonb_typeof(meta -> 'max_runtime') = 'number' THEN
    CASE WHEN (meta ->> 'max_runtime')::numeric > 0 AND (meta ->> 'max_runtime')::numeric <= 3155760000
    THEN (meta ->> 'max_runtime')::float8 END END,
  run_reason = CASE WHEN meta ->> 'reason' IN ('on_time', 'late', 'catch_up', 'buffered', 'retry', 'manual')
    THEN meta ->> 'reason' END,
  meta = meta - ARRAY['schedule', 'schedule_id', 'reason', 'nominal_time', 'max_runtime', 'retry_of']
WHERE schedule_id IS NOT NULL AND jsonb_typeof(meta) = 'object'
""",
    "sqlite": """
UPDATE horae_jobs SET
  max_runtime = CASE WHEN json_type(meta, '$.max_runtime') IN ('integer', 'real')
    AND json_extract(meta, '$.max_runtime') > 0 AND json_extract(meta, '$.max_runtime') <= 3155760000
    THEN json_extract(meta, '$.max_runtime') END,
  run_reason = CASE WHEN json_extract(meta, '$.reason')
    IN ('on_time', 'late', 'catch_up', 'buffered', 'retry', 'manual') THEN json_extract(meta, '$.reason') END,
  meta = json_remove(meta, '$.schedule', '$.schedule_id', '$.reason', '$.nominal_time', '$.max_runtime', '$.retry_of')
WHERE schedule_id IS NOT NULL AND CASE WHEN json_valid(meta) THEN json_type(meta) = 'object' END
""",
}
# A retry repeats an older job of its type that failed or was cancelled.
_RETRIES_FROM_META: Final = {
    "postgresql": """
UPDATE horae_jobs AS jobs SET retry_of = original.id, meta = jobs.meta - 'retry_of'
FROM horae_jobs AS original
WHERE jobs.schedule_id IS NULL AND jsonb_typeof(jobs.meta) = 'object'
  AND jsonb_typeof(jobs.meta -> 'retry_of') = 'number' AND jobs.meta -> 'retry_of' = to_jsonb(original.id)
  AND original.id < jobs.id AND original.type = jobs.type AND original.state IN ('failed', 'cancelled')
""",
    "sqlite": """
UPDATE horae_jobs SET retry_of = json_extract(meta, '$.retry_of'), meta = json_remove(meta, '$.retry_of')
WHERE schedule_id IS NULL AND CASE WHEN json_valid(meta) THEN json_type(meta, '$.retry_of') = 'integer' END
  AND EXISTS (
    SELECT 1 FROM horae_jobs AS original
    WHERE original.id = json_extract(horae_jobs.meta, '$.retry_of') AND original.id < horae_jobs.id
      AND original.type = horae_jobs.type AND original.state IN ('failed', 'cancelled')
  )
""",
}
_BACK_INTO_META: Final = {
    "postgresql": """
UPDATE horae_jobs SET meta = meta || jsonb_strip_nulls(jsonb_build_object(
  'schedule_id', schedule_id, 'reason', run_reason, 'nominal_time', nominal_time, 'max_runtime', max_runtime,
  'retry_of', retry_of))
WHERE (schedule_id IS NOT NULL OR retry_of IS NOT NULL) AND jsonb_typeof(meta) = 'object'
""",
    "sqlite": """
UPDATE horae_jobs SET meta = json_patch(meta, json_object(
  'schedule_id', schedule_id, 'reason', run_reason, 'max_runtime', max_runtime, 'retry_of', retry_of,
  'nominal_time', strftime('%Y-%m-%dT%H:%M:%S', nominal_time / 1000000, 'unixepoch')
    || printf('.%06d', nominal_time % 1000000) || '+00:00'))
WHERE (schedule_id IS NOT NULL OR retry_of IS NOT NULL)
  AND CASE WHEN json_valid(meta) THEN json_type(meta) = 'object' END
""",
}
