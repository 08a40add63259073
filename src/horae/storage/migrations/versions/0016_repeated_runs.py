"""Runs of schedules that are repeated: the attempts of their jobs, and retries that keep the
nominal time.
"""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0016"
down_revision: Final = "0015"

row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

_HAS_OPTIONS: Final = "limits IS NOT NULL OR tags IS NOT NULL"


def upgrade() -> None:
    """Apply."""
    op.add_column("horae_schedules", sa.Column("max_attempts", sa.Integer))
    _index_options(f"{_HAS_OPTIONS} OR max_attempts IS NOT NULL")
    op.add_column("horae_ticks", sa.Column("retried_as", row_id))
    _index_runs("nominal_time IS NOT NULL AND retry_of IS NULL")
    retried = "retry_of IS NOT NULL AND nominal_time IS NOT NULL"
    op.execute(
        "CREATE INDEX horae_jobs_retried_tick ON horae_jobs (schedule_id, nominal_time) WHERE"
        f" {retried}"
    )


def downgrade() -> None:
    """Take back; each run has one attempt again, and retries are no runs of their schedule any
    more.
    """
    op.execute(
        "UPDATE horae_jobs SET schedule_id = NULL, nominal_time = NULL "
        "WHERE nominal_time IS NOT NULL AND retry_of IS NOT NULL"
    )
    op.drop_index("horae_jobs_retried_tick", "horae_jobs")
    _index_runs("nominal_time IS NOT NULL")
    op.drop_column("horae_ticks", "retried_as")
    _index_options(_HAS_OPTIONS)
    op.drop_column("horae_schedules", "max_attempts")


def _index_options(condition: str) -> None:
    op.drop_index("horae_schedules_options", "horae_schedules")
    op.execute(f"CREATE INDEX horae_schedules_options ON horae_schedules (id) WHERE {condition}")


def _index_runs(condition: str) -> None:
    op.drop_index("horae_jobs_tick", "horae_jobs")
    op.execute(
        "CREATE UNIQUE INDEX horae_jobs_tick ON horae_jobs (schedule_id, nominal_time) WHERE"
        f" {condition}"
    )
