"""Groups of jobs, and jobs that wait for others."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0010"
down_revision: Final = "0009"

# SQLite counts rows only in a column declared exactly INTEGER.
row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Whole microseconds since 1970, in UTC, where there is no type for a moment.
instant: Final = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.add_column("horae_jobs", sa.Column("group_id", row_id))
    op.add_column("horae_jobs", sa.Column("awaited", sa.SmallInteger))
    _index("jobs_unreported", "horae_jobs", "id", "awaited > 0 AND finished_at IS NOT NULL")
    _create_groups()
    _create_dependencies()


def downgrade() -> None:
    """Take back; jobs that wait for others may be claimed."""
    op.execute(
        "UPDATE horae_jobs SET waits_for = NULL WHERE state = 'pending' AND waits_for = 'jobs'"
    )
    op.drop_table("horae_dependencies")
    op.drop_table("horae_group_parts")
    op.drop_table("horae_groups")
    op.drop_index("horae_jobs_unreported", "horae_jobs")
    for name in ("awaited", "group_id"):
        op.drop_column("horae_jobs", name)


def _create_groups() -> None:
    op.create_table(
        "horae_groups",
        sa.Column("id", row_id, nullable=False, autoincrement=True),
        sa.Column("owner", sa.String(200)),
        sa.Column("on_failure", sa.String(16), nullable=False),
        sa.Column("then_id", row_id),
        *(
            sa.Column(name, sa.BigInteger, nullable=False, server_default=sa.text("0"))
            for name in ("total", "finished", "failed", "cancelled")
        ),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("inserting_at", instant),
        sa.Column("cancelled_at", instant),
        sa.Column("cancelled_by", sa.String(200)),
        sa.Column("ended_at", instant),
        sa.CheckConstraint("on_failure IN ('continue', 'cancel')", name="horae_groups_on_failure"),
        sa.CheckConstraint(
            "finished >= 0 AND failed >= 0 AND cancelled >= 0 AND finished + failed + cancelled <="
            " total",
            name="horae_groups_counts",
        ),
        sa.CheckConstraint(
            "ended_at IS NULL OR (finished + failed + cancelled = total AND inserting_at IS NULL)",
            name="horae_groups_ended",
        ),
        sa.PrimaryKeyConstraint("id", name="horae_groups_pkey"),
        sqlite_autoincrement=True,
    )
    _index("groups_then_id", "horae_groups", "then_id", "then_id IS NOT NULL", unique=True)
    unsettled = "ended_at IS NULL AND (cancelled_at IS NOT NULL OR inserting_at IS NOT NULL)"
    _index("groups_unsettled", "horae_groups", "id", unsettled)
    op.create_index("horae_groups_ended_at", "horae_groups", ["ended_at"])
    op.create_table(
        "horae_group_parts",
        sa.Column("group_id", row_id, nullable=False, autoincrement=False),
        sa.Column("first_id", row_id, nullable=False, autoincrement=False),
        sa.Column("last_id", row_id, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "first_id", name="horae_group_parts_pkey"),
    )


def _create_dependencies() -> None:
    op.create_table(
        "horae_dependencies",
        sa.Column("after_id", row_id, nullable=False, autoincrement=False),
        sa.Column("job_id", row_id, nullable=False, autoincrement=False),
        sa.Column("on_failure", sa.String(16), nullable=False),
        sa.Column("ended", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.CheckConstraint(
            "on_failure IN ('cancel', 'fail', 'run')", name="horae_dependencies_on_failure"
        ),
        sa.PrimaryKeyConstraint("after_id", "job_id", name="horae_dependencies_pkey"),
    )
    op.create_index("horae_dependencies_job_id_ended", "horae_dependencies", ["job_id", "ended"])


def _index(name: str, table: str, columns: str, condition: str, *, unique: bool = False) -> None:
    kind = "UNIQUE INDEX" if unique else "INDEX"
    op.execute(f"CREATE {kind} horae_{name} ON {table} ({columns}) WHERE {condition}")
