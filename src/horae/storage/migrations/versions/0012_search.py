"""Tags, what the search of jobs reads, and how far changes of many jobs have come."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0012"
down_revision: Final = "0011"

# As `horae_jobs.id`, to which it refers.
row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_SLOW: Final = {
    "postgresql": "finished_at - started_at > interval '10 seconds'",
    "sqlite": "finished_at - started_at > 10000000",
}


def upgrade() -> None:
    """Apply."""
    dialect = op.get_context().dialect.name
    op.execute(
        f"ALTER TABLE horae_jobs ADD COLUMN tags {'JSONB' if dialect == 'postgresql' else 'TEXT'}"
    )
    op.create_table(
        "horae_job_tags",
        sa.Column("tag", sa.String(200), nullable=False),
        sa.Column("job_id", row_id, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("tag", "job_id", name="horae_job_tags_pkey"),
    )
    op.create_table(
        "horae_bulk_runs",
        sa.Column("job_id", row_id, autoincrement=False, nullable=False),
        sa.Column("lease", sa.BigInteger, nullable=False),
        sa.Column("reached", row_id, nullable=False),
        sa.Column("total", sa.BigInteger),
        *(
            sa.Column(name, sa.BigInteger, nullable=False, server_default=sa.text("0"))
            for name in ("changed", "skipped", "failed")
        ),
        sa.PrimaryKeyConstraint("job_id", name="horae_bulk_runs_pkey"),
    )
    op.create_index("horae_job_tags_job_id", "horae_job_tags", ["job_id"])
    op.execute("CREATE INDEX horae_jobs_failed ON horae_jobs (id) WHERE state = 'failed'")
    op.execute(f"CREATE INDEX horae_jobs_slow ON horae_jobs (id) WHERE {_SLOW[dialect]}")
    if dialect == "postgresql":
        op.execute(
            "CREATE INDEX horae_jobs_params ON horae_jobs USING gin (params jsonb_path_ops) WITH"
            " (gin_pending_list_limit = 512) WHERE params IS NOT NULL AND finished_at IS NOT NULL"
        )


def downgrade() -> None:
    """Take back."""
    if op.get_context().dialect.name == "postgresql":
        op.drop_index("horae_jobs_params", "horae_jobs")
    op.drop_index("horae_jobs_slow", "horae_jobs")
    op.drop_index("horae_jobs_failed", "horae_jobs")
    op.drop_table("horae_bulk_runs")
    op.drop_table("horae_job_tags")
    op.drop_column("horae_jobs", "tags")
