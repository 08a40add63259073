"""Limits and tags of the jobs of schedules, what code declares about queues, and an index of cancelled jobs."""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: Final = "0015"
down_revision: Final = "0014"

json: Final = JSONB().with_variant(sa.Text(), "sqlite")

_COLUMNS: Final = (("horae_schedules", "limits"), ("horae_schedules", "tags"), ("horae_queues", "declared"))


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
    is_cancelled = sa.text("state = 'cancelled'")
    op.create_index(
        "horae_jobs_cancelled", "horae_jobs", ["id"], postgresql_where=is_cancelled, sqlite_where=is_cancelled
    )


def downgrade() -> None:
    """Take back."""
    op.drop_index("horae_jobs_cancelled", "horae_jobs")
    op.drop_index("horae_schedules_options", "horae_schedules")
    for table, column in reversed(_COLUMNS):
        op.drop_column(table, column)
