"""The log lines of jobs."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0013"
down_revision: Final = "0012"

# As `horae_jobs.id`, to which it refers.
row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Whole microseconds since 1970, in UTC, where there is no type for a moment.
instant: Final = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "horae_job_logs",
        sa.Column("job_id", row_id, autoincrement=False),
        sa.Column("lease", sa.BigInteger, autoincrement=False),
        sa.Column("line", sa.Integer, autoincrement=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("at", instant, nullable=False),
        sa.Column("level", sa.SmallInteger, nullable=False),
        sa.Column("logger", sa.String(200), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("dropped", sa.Integer),
        sa.PrimaryKeyConstraint("job_id", "lease", "line", name="horae_job_logs_pkey"),
        sa.CheckConstraint("dropped > 0", name="horae_job_logs_dropped"),
    )
    op.create_index("horae_job_logs_at", "horae_job_logs", ["at"])


def downgrade() -> None:
    """Take back."""
    op.drop_table("horae_job_logs")
