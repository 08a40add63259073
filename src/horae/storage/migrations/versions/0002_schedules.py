"""Schedules, their statistics and ticks, deployments; a job remembers the tick that it is for."""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: Final = "0002"
down_revision: Final = "0001"

row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
instant: Final = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")
json: Final = JSONB().with_variant(sa.Text(), "sqlite")

_ZERO: Final = sa.text("0")


def upgrade() -> None:
    """Apply."""
    _create_deployments()
    _create_schedules()
    _create_statistics()
    _create_ticks()
    for column in (
        sa.Column("schedule_id", row_id),
        sa.Column("nominal_time", instant),
        sa.Column("deployment_id", row_id),
    ):
        op.add_column("horae_jobs", column)
    _index(
        "horae_jobs_tick",
        "horae_jobs",
        "nominal_time IS NOT NULL",
        "schedule_id",
        "nominal_time",
        unique=True,
    )
    _index("horae_jobs_schedule", "horae_jobs", "schedule_id IS NOT NULL", "schedule_id", "id")


def downgrade() -> None:
    """Take back."""
    op.drop_index("horae_jobs_schedule", "horae_jobs")
    op.drop_index("horae_jobs_tick", "horae_jobs")
    for name in ("deployment_id", "nominal_time", "schedule_id"):
        op.drop_column("horae_jobs", name)
    for table in ("ticks", "schedule_statistics", "schedules", "deployments"):
        op.drop_table(f"horae_{table}")


def _create_deployments() -> None:
    op.create_table(
        "horae_deployments",
        sa.Column("id", row_id, autoincrement=True),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("module", sa.String(200), nullable=False),
        sa.Column("schema", sa.Text, nullable=False),
        sa.Column("schema_hash", sa.String(64), nullable=False),
        sa.Column("min_replicas", sa.Integer, nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("ended_at", instant),
        sa.Column("replaced_by", row_id),
        sa.PrimaryKeyConstraint("id", name="horae_deployments_pkey"),
        _check("deployments", "min_replicas", "min_replicas >= 0"),
        _check("deployments", "replaced", "replaced_by IS NULL OR ended_at IS NOT NULL"),
        sa.UniqueConstraint("key", name="horae_deployments_key_key"),
        _deployment_key("deployments", "replaced_by"),
        sqlite_autoincrement=True,
    )
    _index(
        "horae_deployments_current", "horae_deployments", "ended_at IS NULL", "module", unique=True
    )


def _create_schedules() -> None:
    op.create_table(
        "horae_schedules",
        sa.Column("id", row_id, autoincrement=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("module", sa.String(200), nullable=False, server_default=sa.text("''")),
        sa.Column("deployment_id", row_id),
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
        sa.PrimaryKeyConstraint("id", name="horae_schedules_pkey"),
        _check("schedules", "trigger_kind", "trigger_kind IN ('cron', 'interval')"),
        _check("schedules", "state", "state IN ('idle', 'executing', 'terminating', 'disabled')"),
        _check(
            "schedules",
            "running",
            "(run_token IS NOT NULL) = (state IN ('executing', 'terminating'))",
        ),
        _check("schedules", "enabled", "enabled = (disabled_reason IS NULL)"),
        _check("schedules", "partition", "partition BETWEEN 0 AND 1023"),
        _check("schedules", "waiting", "state <> 'idle' OR (enabled AND next_start IS NOT NULL)"),
        _deployment_key("schedules", "deployment_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("horae_schedules_name", "horae_schedules", ["module", "name"], unique=True)
    _index("horae_schedules_due", "horae_schedules", "next_start IS NOT NULL", "next_start")
    _index("horae_schedules_running", "horae_schedules", "run_token IS NOT NULL", "run_token")


def _create_statistics() -> None:
    op.create_table(
        "horae_schedule_statistics",
        sa.Column("schedule_id", row_id, autoincrement=False),
        sa.Column("last_start", instant),
        sa.Column("last_finish", instant),
        sa.Column("last_successful_finish", instant),
        sa.Column("last_run_success", sa.Boolean),
        *(
            sa.Column(f"total_{name}", sa.BigInteger, nullable=False, server_default=_ZERO)
            for name in ("runs", "successes", "failures", "crashes")
        ),
        sa.Column("total_duration", sa.Float, nullable=False, server_default=_ZERO),
        sa.Column("total_duration_failures", sa.Float, nullable=False, server_default=_ZERO),
        sa.Column("consecutive_failures", sa.Integer, nullable=False, server_default=_ZERO),
        sa.Column("consecutive_crashes", sa.Integer, nullable=False, server_default=_ZERO),
        sa.PrimaryKeyConstraint("schedule_id", name="horae_schedule_statistics_pkey"),
        _schedule_key("schedule_statistics"),
        _check(
            "schedule_statistics",
            "total_runs",
            "total_runs = total_successes + total_failures + total_crashes",
        ),
    )


def _create_ticks() -> None:
    op.create_table(
        "horae_ticks",
        sa.Column("schedule_id", row_id, autoincrement=False),
        sa.Column("nominal_time", instant),
        sa.Column("until", instant, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("decision", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(32), nullable=False),
        sa.Column("job_id", row_id),
        sa.Column("decided_at", instant, nullable=False),
        sa.Column("decided_by", sa.String(64)),
        sa.PrimaryKeyConstraint("schedule_id", "nominal_time", name="horae_ticks_pkey"),
        _check("ticks", "decision", "decision IN ('fired', 'coalesced', 'skipped', 'missed')"),
        _check("ticks", "range", "count >= 1 AND until >= nominal_time"),
        _check("ticks", "job", "(decision = 'fired') = (job_id IS NOT NULL)"),
        _check("ticks", "fired", "decision <> 'fired' OR count = 1"),
        _schedule_key("ticks"),
    )


def _schedule_key(table: str) -> sa.ForeignKeyConstraint:
    name = f"horae_{table}_schedule_id_fkey"
    return sa.ForeignKeyConstraint(
        ["schedule_id"], ["horae_schedules.id"], ondelete="CASCADE", name=name
    )


def _deployment_key(table: str, column: str) -> sa.ForeignKeyConstraint:
    name = f"horae_{table}_{column}_fkey"
    return sa.ForeignKeyConstraint(
        [column], ["horae_deployments.id"], ondelete="SET NULL", name=name
    )


def _check(table: str, name: str, text: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(text, name=f"horae_{table}_{name}")


def _index(name: str, table: str, where: str, *columns: str, unique: bool = False) -> None:
    condition = sa.text(where)
    op.create_index(
        name,
        table,
        list(columns),
        unique=unique,
        postgresql_where=condition,
        sqlite_where=condition,
    )
