"""Columns for values that were in `meta`, for owed hooks and audited changes; browser sessions;
limits of values.
"""

from collections.abc import Sequence
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
    _replace_unreadable()
    _add_to_jobs()
    for statements in (_FROM_META, _RETRIES_FROM_META):
        op.execute(statements[op.get_context().dialect.name])
    op.execute(
        "ALTER TABLE horae_audit ADD COLUMN channel VARCHAR(16) CONSTRAINT horae_audit_readable"
        f" CHECK ({_moments(['at'])})"
    )
    for name in ("before", "after"):
        op.add_column("horae_audit", sa.Column(name, json))
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
    op.add_column(
        "horae_nodes",
        sa.Column("process_ended", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    if op.get_context().dialect.name == "postgresql":
        op.add_column(
            "horae_live_cancels",
            sa.Column("forced", sa.Boolean, nullable=False, server_default=sa.text("false")),
        )


def downgrade() -> None:
    """Take back."""
    if op.get_context().dialect.name == "postgresql":
        op.drop_column("horae_live_cancels", "forced")
    op.drop_column("horae_nodes", "process_ended")
    op.drop_table("horae_sessions")
    op.drop_column("horae_queues", "opened_at")
    if (
        op.get_context().dialect.name == "postgresql"
    ):  # SQLite drops them with the columns they came with
        for table in ("horae_audit", "horae_jobs"):
            op.drop_constraint(f"{table}_readable", table)
    for name in ("after", "before", "channel"):
        op.drop_column("horae_audit", name)
    for name in ("horae_jobs_retry_of", "horae_jobs_hook_owed"):
        op.drop_index(name, "horae_jobs")
    op.execute(_BACK_INTO_META[op.get_context().dialect.name])
    for name in ("hook_taken_at", "hook_owed", "retry_of", "run_reason", "max_runtime"):
        op.drop_column("horae_jobs", name)


def _add_to_jobs() -> None:
    op.execute(
        "ALTER TABLE horae_jobs ADD COLUMN max_runtime FLOAT CONSTRAINT horae_jobs_max_runtime"
        " CHECK (max_runtime > 0)"
    )
    op.add_column("horae_jobs", sa.Column("run_reason", sa.String(32)))
    op.add_column("horae_jobs", sa.Column("retry_of", row_id))
    op.execute(
        "ALTER TABLE horae_jobs ADD COLUMN hook_owed VARCHAR(32) CONSTRAINT horae_jobs_hook_owed"
        " CHECK (hook_owed = 'on_error' OR hook_owed = 'on_cancelled' OR hook_owed ="
        " 'before_delete' OR hook_owed = 'on_error,before_delete' OR hook_owed ="
        " 'on_cancelled,before_delete')"
    )
    kind = "BIGINT" if op.get_context().dialect.name == "sqlite" else "TIMESTAMP WITH TIME ZONE"
    readable = f"{_COUNTS} AND {_is_object()} AND {_moments(_MOMENTS)}"
    op.execute(
        f"ALTER TABLE horae_jobs ADD COLUMN hook_taken_at {kind} CONSTRAINT horae_jobs_readable"
        f" CHECK ({readable})"
    )
    owed = sa.text("hook_owed IS NOT NULL")
    op.create_index(
        "horae_jobs_hook_owed", "horae_jobs", ["id"], postgresql_where=owed, sqlite_where=owed
    )
    repeats = sa.text("retry_of IS NOT NULL")
    op.create_index(
        "horae_jobs_retry_of",
        "horae_jobs",
        ["retry_of"],
        postgresql_where=repeats,
        sqlite_where=repeats,
    )


# Years 1 to 9999 without a day at either end, so that every moment can be shown in any time zone.
_SECONDS: Final = (-62135510400, 253402214400)
_MOMENTS: Final = (
    "run_at",
    "created_at",
    "updated_at",
    "started_at",
    "finished_at",
    "nominal_time",
)
_COUNTS: Final = f"lease < {2**62} AND attempt < {2**30}"


def _moments(names: Sequence[str]) -> str:
    """Return the condition that these moments are in the years that Python supports; null is
    allowed.
    """
    first, last = _SECONDS
    if op.get_context().dialect.name == "sqlite":
        return " AND ".join(f"{name} BETWEEN {first * 10**6} AND {last * 10**6}" for name in names)
    return " AND ".join(
        f"{name} BETWEEN to_timestamp({first}) AND to_timestamp({last})" for name in names
    )


def _is_object() -> str:
    if op.get_context().dialect.name == "sqlite":
        return "CASE WHEN json_valid(meta) THEN json_type(meta) = 'object' ELSE 0 END"
    return "jsonb_typeof(meta) = 'object'"


def _replace_unreadable() -> None:
    """Replace values that the new CHECKs would reject, and fail the active jobs that had them."""
    now = (
        "now()"
        if op.get_context().dialect.name != "sqlite"
        else "CAST(strftime('%s', 'now') AS INTEGER) * 1000000"
    )
    ended, counts = (
        "state IN ('finished', 'failed', 'cancelled')",
        f"{_COUNTS} AND lease >= 0 AND attempt >= 0",
    )
    why = "its row held a value that cannot be read, which a migration replaced"
    new = {
        "state": f"CASE WHEN {ended} THEN state ELSE 'failed' END",
        "node_id": f"CASE WHEN {ended} THEN node_id END",
        "error": f"CASE WHEN {ended} THEN error ELSE '{why}' END",
        "human_readable_error": (
            f"CASE WHEN {ended} THEN human_readable_error ELSE 'This job could not be read.' END"
        ),
        "lease": f"CASE WHEN {counts} THEN lease ELSE 0 END",
        "attempt": f"CASE WHEN {counts} THEN attempt ELSE 0 END",
        "meta": f"CASE WHEN {_is_object()} THEN meta ELSE '{{}}' END",
        **{
            name: f"CASE WHEN {_moments([name])} THEN {name} ELSE {now} END"
            for name in _MOMENTS[:3]
        },
        **{
            name: f"CASE WHEN {_moments([name])} THEN {name} END"
            for name in ("started_at", "nominal_time")
        },
        "finished_at": (
            f"CASE WHEN {ended} AND {_moments(['finished_at'])} THEN finished_at ELSE {now} END"
        ),
    }
    op.execute(
        # Our own
        f"UPDATE horae_jobs SET {', '.join(f'{name} = {value}' for name, value in new.items())} "  # noqa: S608
        f"WHERE NOT ({_COUNTS}) OR NOT ({_is_object()}) OR NOT ({_moments(_MOMENTS)})"
    )
    # As above
    op.execute(f"UPDATE horae_audit SET at = {now} WHERE NOT ({_moments(['at'])})")  # noqa: S608


# Callers may have used the same keys in `meta`: only the jobs of schedules have them from Horae,
# and only values that Horae could have written are copied; no schedule allows more than a hundred
# years. CASEs are nested where the order of evaluation matters, which AND does not guarantee.
_FROM_META: Final = {
    "postgresql": (
        """
UPDATE horae_jobs SET
  max_runtime = CASE WHEN jsonb_typeof(meta -> 'max_runtime') = 'number' THEN
    CASE WHEN (meta ->> 'max_runtime')::numeric > 0 AND (meta ->> 'max_runtime')::numeric <= 3155760000
    THEN (meta ->> 'max_runtime')::float8 END END,
  run_reason = CASE WHEN meta ->> 'reason' IN ('on_time', 'late', 'catch_up', 'buffered', 'retry', 'manual')
    THEN meta ->> 'reason' END,
  meta = meta - ARRAY['schedule', 'schedule_id', 'reason', 'nominal_time', 'max_runtime', 'retry_of']
WHERE schedule_id IS NOT NULL AND jsonb_typeof(meta) = 'object'
"""
    ),
    "sqlite": (
        """
UPDATE horae_jobs SET
  max_runtime = CASE WHEN json_type(meta, '$.max_runtime') IN ('integer', 'real')
    AND json_extract(meta, '$.max_runtime') > 0 AND json_extract(meta, '$.max_runtime') <= 3155760000
    THEN json_extract(meta, '$.max_runtime') END,
  run_reason = CASE WHEN json_extract(meta, '$.reason')
    IN ('on_time', 'late', 'catch_up', 'buffered', 'retry', 'manual') THEN json_extract(meta, '$.reason') END,
  meta = json_remove(meta, '$.schedule', '$.schedule_id', '$.reason', '$.nominal_time', '$.max_runtime', '$.retry_of')
WHERE schedule_id IS NOT NULL AND CASE WHEN json_valid(meta) THEN json_type(meta) = 'object' END
"""
    ),
}
# A retry refers to an older job of its type that failed or was cancelled.
_RETRIES_FROM_META: Final = {
    "postgresql": (
        """
UPDATE horae_jobs AS jobs SET retry_of = original.id, meta = jobs.meta - 'retry_of'
FROM horae_jobs AS original
WHERE jobs.schedule_id IS NULL AND jsonb_typeof(jobs.meta) = 'object'
  AND jsonb_typeof(jobs.meta -> 'retry_of') = 'number' AND jobs.meta -> 'retry_of' = to_jsonb(original.id)
  AND original.id < jobs.id AND original.type = jobs.type AND original.state IN ('failed', 'cancelled')
"""
    ),
    "sqlite": (
        """
UPDATE horae_jobs SET retry_of = json_extract(meta, '$.retry_of'), meta = json_remove(meta, '$.retry_of')
WHERE schedule_id IS NULL AND CASE WHEN json_valid(meta) THEN json_type(meta, '$.retry_of') = 'integer' END
  AND EXISTS (
    SELECT 1 FROM horae_jobs AS original
    WHERE original.id = json_extract(horae_jobs.meta, '$.retry_of') AND original.id < horae_jobs.id
      AND original.type = horae_jobs.type AND original.state IN ('failed', 'cancelled')
  )
"""
    ),
}
_BACK_INTO_META: Final = {
    "postgresql": (
        """
UPDATE horae_jobs SET meta = meta || jsonb_strip_nulls(jsonb_build_object(
  'schedule_id', schedule_id, 'reason', run_reason, 'nominal_time', nominal_time, 'max_runtime', max_runtime,
  'retry_of', retry_of))
WHERE (schedule_id IS NOT NULL OR retry_of IS NOT NULL) AND jsonb_typeof(meta) = 'object'
"""
    ),
    "sqlite": (
        """
UPDATE horae_jobs SET meta = json_patch(meta, json_object(
  'schedule_id', schedule_id, 'reason', run_reason, 'max_runtime', max_runtime, 'retry_of', retry_of,
  'nominal_time', strftime('%Y-%m-%dT%H:%M:%S', nominal_time / 1000000, 'unixepoch')
    || printf('.%06d', nominal_time % 1000000) || '+00:00'))
WHERE (schedule_id IS NOT NULL OR retry_of IS NOT NULL)
  AND CASE WHEN json_valid(meta) THEN json_type(meta) = 'object' END
"""
    ),
}
