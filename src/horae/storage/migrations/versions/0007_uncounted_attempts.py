"""Attempts that do not count, because the job was snoozed or its node stopped; why a job is pending
again.
"""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0007"
down_revision: Final = "0006"

_OUTCOMES: Final = ("finished", "failed", "cancelled", "timed_out", "crashed")
_BEFORE: Final = " OR ".join(f"outcome = '{outcome}'" for outcome in _OUTCOMES)
_AFTER: Final = f"{_BEFORE} OR outcome = 'snoozed' OR outcome = 'interrupted'"


def upgrade() -> None:
    """Apply."""
    op.add_column("horae_jobs", sa.Column("retry_reason", sa.Text))
    _restrict_outcomes(_AFTER)


def downgrade() -> None:
    """Take back."""
    op.execute(
        "UPDATE horae_job_attempts SET outcome = 'failed' WHERE outcome IN ('snoozed',"
        " 'interrupted')"
    )
    _restrict_outcomes(_BEFORE)
    op.drop_column("horae_jobs", "retry_reason")


def _restrict_outcomes(condition: str) -> None:
    """Replace the CHECK of the outcomes; SQLite can do that only by copying the table."""
    if op.get_context().dialect.name == "postgresql":
        op.drop_constraint("horae_job_attempts_outcome", "horae_job_attempts")
        op.create_check_constraint("horae_job_attempts_outcome", "horae_job_attempts", condition)
        return
    op.rename_table("horae_job_attempts", "horae_job_attempts_before")
    op.create_table(
        "horae_job_attempts",
        sa.Column("job_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("lease", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("node_id", sa.String(64)),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("traceback", sa.Text),
        sa.CheckConstraint(condition, name="horae_job_attempts_outcome"),
        sa.PrimaryKeyConstraint("job_id", "lease", name="horae_job_attempts_pkey"),
    )
    op.execute("INSERT INTO horae_job_attempts SELECT * FROM horae_job_attempts_before")
    op.drop_table("horae_job_attempts_before")
