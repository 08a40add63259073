"""Limits by key, and queues in which owners take turns."""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: Final = "0009"
down_revision: Final = "0008"

row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
json: Final = JSONB().with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.add_column("horae_jobs", sa.Column("limits", json))
    op.add_column("horae_jobs", sa.Column("lane_id", row_id))
    op.add_column("horae_queues", sa.Column("fair_by", sa.String(200)))
    op.add_column("horae_queues", sa.Column("limits", json))
    unfiled = "waits_for = 'limit' AND lane_id IS NULL AND finished_at IS NULL"
    _index("horae_jobs_unfiled", "horae_jobs", "id", unfiled)
    _index(
        "horae_jobs_lane",
        "horae_jobs",
        "lane_id, run_at, id",
        "state = 'pending' AND lane_id IS NOT NULL",
    )
    _index(
        "horae_jobs_lane_held",
        "horae_jobs",
        "lane_id",
        "node_id IS NOT NULL AND lane_id IS NOT NULL",
    )
    _create_limits()
    _create_lanes()


def downgrade() -> None:
    """Take back; nothing limits the jobs that waited."""
    for table in ("lane_buckets", "lanes", "limit_buckets", "limits"):
        op.drop_table(f"horae_{table}")
    for name in ("lane_held", "lane", "unfiled"):
        op.drop_index(f"horae_jobs_{name}", "horae_jobs")
    op.execute("UPDATE horae_jobs SET waits_for = NULL WHERE waits_for = 'limit'")
    for column in ("limits", "fair_by"):
        op.drop_column("horae_queues", column)
    for column in ("lane_id", "limits"):
        op.drop_column("horae_jobs", column)


def _create_limits() -> None:
    op.create_table(
        "horae_limits",
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("declared", json),
        sa.Column("changed", json),
        sa.Column("concurrency", sa.Integer),
        sa.PrimaryKeyConstraint("name", name="horae_limits_pkey"),
    )
    op.create_table(
        "horae_limit_buckets",
        sa.Column("id", row_id, autoincrement=True),
        sa.Column("limit_name", sa.String(200), nullable=False),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("state", json),
        sa.Column("waiting", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("opens_at", sa.BigInteger),
        sa.Column("fresh_at", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.PrimaryKeyConstraint("id", name="horae_limit_buckets_pkey"),
        sa.UniqueConstraint("limit_name", "key", name="horae_limit_buckets_limit_name_key_key"),
        sqlite_autoincrement=True,
    )
    _index(
        "horae_limit_buckets_closed",
        "horae_limit_buckets",
        "opens_at",
        "waiting AND opens_at IS NOT NULL",
    )
    _index("horae_limit_buckets_full", "horae_limit_buckets", "id", "waiting AND opens_at IS NULL")


def _create_lanes() -> None:
    op.create_table(
        "horae_lanes",
        sa.Column("id", row_id, autoincrement=True),
        sa.Column("identity", sa.String(64), nullable=False),
        sa.Column("queue", sa.String(200), nullable=False),
        sa.Column("type", sa.String(200), nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("owner", sa.String(200)),
        sa.Column("weight", sa.Integer, nullable=False),
        sa.Column("place", sa.BigInteger),
        sa.Column("turn", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("held_by", row_id),
        sa.PrimaryKeyConstraint("id", name="horae_lanes_pkey"),
        sa.UniqueConstraint("identity", name="horae_lanes_identity_key"),
        sqlite_autoincrement=True,
    )
    free = "held_by IS NULL AND place IS NOT NULL"
    _index("horae_lanes_next", "horae_lanes", "priority DESC, place, id", free)
    _index("horae_lanes_due", "horae_lanes", "place", free)
    _index(
        "horae_lanes_held",
        "horae_lanes",
        "held_by, priority DESC, place, id",
        "held_by IS NOT NULL",
    )
    _index("horae_lanes_owner", "horae_lanes", "queue, priority, owner, turn", "owner IS NOT NULL")
    op.create_table(
        "horae_lane_buckets",
        sa.Column("lane_id", row_id, autoincrement=False, nullable=False),
        sa.Column("bucket_id", row_id, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("lane_id", "bucket_id", name="horae_lane_buckets_pkey"),
    )
    op.create_index("horae_lane_buckets_bucket_id", "horae_lane_buckets", ["bucket_id"])


def _index(name: str, table: str, columns: str, condition: str) -> None:
    op.execute(f"CREATE INDEX {name} ON {table} ({columns}) WHERE {condition}")
