"""Limits and tags of schedules' jobs, declarations about queues, jobs that other systems run, and
compatibility.
"""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: Final = "0015"
down_revision: Final = "0014"

json: Final = JSONB().with_variant(sa.Text(), "sqlite")
# SQLite counts rows only in a column declared exactly INTEGER.
row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Whole microseconds since 1970, in UTC, where there is no type for a moment.
instant: Final = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")

_COLUMNS: Final = (
    ("horae_schedules", "limits"),
    ("horae_schedules", "tags"),
    ("horae_queues", "declared"),
)

_READY: Final = "priority DESC, run_at, id, queue, type"
_IS_READY: Final = "state = 'pending' AND waits_for IS NULL"
# Their conditions are put into the opposite order, for what is null for plain jobs decides soonest.
_REORDERED: Final = (
    ("waiting", "waits_for, run_at, id", "state = 'pending' AND waits_for IS NOT NULL"),
    ("lane", "lane_id, run_at, id", "state = 'pending' AND lane_id IS NOT NULL"),
    ("lane_held", "lane_id", "node_id IS NOT NULL AND lane_id IS NOT NULL"),
    ("expiring", "expires_at", "state = 'pending' AND expires_at IS NOT NULL"),
)
_ENDED: Final = "finished_at IS NOT NULL"


def upgrade() -> None:
    """Apply."""
    for table, column in _COLUMNS:
        op.add_column(table, sa.Column(column, json))
    has_options = sa.text("limits IS NOT NULL OR tags IS NOT NULL")
    op.create_index(
        "horae_schedules_options",
        "horae_schedules",
        ["id"],
        postgresql_where=has_options,
        sqlite_where=has_options,
    )
    op.drop_index("horae_jobs_failed", "horae_jobs")
    _create_index("unsuccessful", "state, id", "state = 'failed' OR state = 'cancelled'")
    for name, columns, condition in _REORDERED:
        op.drop_index(f"horae_jobs_{name}", "horae_jobs")
        _create_index(name, columns, " AND ".join(reversed(condition.split(" AND "))))
    op.add_column("horae_queues", sa.Column("backend", sa.String(200)))
    op.add_column("horae_jobs", sa.Column("sent_at", instant))
    op.drop_index("horae_jobs_ready", "horae_jobs")
    _create_index("ready", _READY, f"{_IS_READY} AND sent_at IS NULL")
    _create_index("sent", "sent_at, id", "sent_at IS NOT NULL AND state = 'pending'")
    op.add_column("horae_alembic_version", sa.Column("oldest_compatible", sa.String(32)))
    op.drop_index("horae_jobs_slow", "horae_jobs")
    _create_index("slow", "id", _took_longer(1))
    if _is_postgresql():
        _create_live_waits()
        op.drop_index("horae_jobs_ended", "horae_jobs")
        _create_index(
            "ended_values", "finished_at, type text_pattern_ops, queue, created_at, id", _ENDED
        )


def downgrade() -> None:
    """Take back; every node may claim the jobs that were sent to another system."""
    if _is_postgresql():
        op.drop_table("horae_live_waits")
        op.drop_index("horae_jobs_ended_values", "horae_jobs")
        _create_index("ended", "finished_at", _ENDED)
    op.drop_index("horae_jobs_slow", "horae_jobs")
    _create_index("slow", "id", _took_longer(10))
    op.drop_column("horae_alembic_version", "oldest_compatible")
    for name in ("sent", "ready"):
        op.drop_index(f"horae_jobs_{name}", "horae_jobs")
    op.drop_column("horae_jobs", "sent_at")
    op.drop_column("horae_queues", "backend")
    _create_index("ready", _READY, _IS_READY)
    for name, columns, condition in _REORDERED:
        op.drop_index(f"horae_jobs_{name}", "horae_jobs")
        _create_index(name, columns, condition)
    op.drop_index("horae_jobs_unsuccessful", "horae_jobs")
    _create_index("failed", "id", "state = 'failed'")
    op.drop_index("horae_schedules_options", "horae_schedules")
    for table, column in reversed(_COLUMNS):
        op.drop_column(table, column)


def _create_live_waits() -> None:
    op.create_table(
        "horae_live_waits",
        sa.Column("job_id", row_id, nullable=False),
        sa.Column("lease", sa.BigInteger, nullable=False),
        sa.Column("group_id", row_id),
        sa.Column("awaited_job", row_id),
        sa.Column("awaited_group", row_id),
        prefixes=["UNLOGGED"],
    )


def _create_index(name: str, columns: str, condition: str) -> None:
    op.execute(f"CREATE INDEX horae_jobs_{name} ON horae_jobs ({columns}) WHERE {condition}")


def _is_postgresql() -> bool:
    return op.get_context().dialect.name == "postgresql"


def _took_longer(seconds: int) -> str:
    return "finished_at - started_at > " + (
        f"interval '{seconds} seconds'" if _is_postgresql() else f"{seconds}000000"
    )
