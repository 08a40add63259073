"""What was changed of a declared schedule at run time; one-time changes of its next start;
calendars; backfills.
"""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: Final = "0014"
down_revision: Final = "0013"

row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Whole microseconds since 1970, in UTC, where there is no type for a moment.
instant: Final = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")
json: Final = JSONB().with_variant(sa.Text(), "sqlite")

_COLUMNS: Final = (
    "overrides",
    "calendar_days",
    "skip_until",
    "skip_reason",
    "moved_start",
    "backfill_next",
)


def upgrade() -> None:
    """Apply."""
    for column in (
        sa.Column("overrides", json),
        sa.Column("calendar_days", json),
        sa.Column("skip_until", instant),
        sa.Column("skip_reason", sa.String(32)),
        sa.Column("moved_start", instant),
        sa.Column("backfill_next", instant),
    ):
        op.add_column("horae_schedules", column)
    op.create_table(
        "horae_backfill_times",
        sa.Column("schedule_id", row_id, nullable=False, autoincrement=False),
        sa.Column("nominal_time", instant, nullable=False),
        sa.Column("requested_at", instant, nullable=False),
        sa.PrimaryKeyConstraint("schedule_id", "nominal_time", name="horae_backfill_times_pkey"),
        sa.ForeignKeyConstraint(
            ["schedule_id"],
            ["horae_schedules.id"],
            name="horae_backfill_times_schedule_id_fkey",
            ondelete="CASCADE",
        ),
    )


def downgrade() -> None:
    """Take back; schedules with an exclusion calendar lose it."""
    op.drop_table("horae_backfill_times")
    without = (
        "rules - 'exclude'"
        if op.get_context().dialect.name == "postgresql"
        else "json_remove(rules, '$.exclude')"
    )
    op.execute(f"UPDATE horae_schedules SET rules = {without}")  # noqa: S608 - one of two constants
    for name in reversed(_COLUMNS):
        op.drop_column("horae_schedules", name)
