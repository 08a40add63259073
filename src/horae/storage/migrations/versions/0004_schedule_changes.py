"""When a schedule has changed, so that event streams find the latest changes by an index."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0004"
down_revision: Final = "0003"

# Whole microseconds since 1970, in UTC, where there is no type for a moment.
instant: Final = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.add_column("horae_schedules", sa.Column("updated_at", instant))
    op.create_index("horae_schedules_updated", "horae_schedules", ["updated_at"])


def downgrade() -> None:
    """Take back."""
    op.drop_index("horae_schedules_updated", "horae_schedules")
    op.drop_column("horae_schedules", "updated_at")
