"""How many attempts the jobs of a schedule have, by their type."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0016"
down_revision: Final = "0015"

_HAS_OPTIONS: Final = "limits IS NOT NULL OR tags IS NOT NULL"


def upgrade() -> None:
    """Apply."""
    op.add_column("horae_schedules", sa.Column("max_attempts", sa.Integer))
    _index_options(f"{_HAS_OPTIONS} OR max_attempts IS NOT NULL")


def downgrade() -> None:
    """Take back; each run has one attempt again."""
    _index_options(_HAS_OPTIONS)
    op.drop_column("horae_schedules", "max_attempts")


def _index_options(condition: str) -> None:
    op.drop_index("horae_schedules_options", "horae_schedules")
    op.create_index(
        "horae_schedules_options",
        "horae_schedules",
        ["id"],
        postgresql_where=sa.text(condition),
        sqlite_where=sa.text(condition),
    )
