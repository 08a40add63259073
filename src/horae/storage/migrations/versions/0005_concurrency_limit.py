"""How many jobs of a queue may run at the same time."""

from typing import Final

from alembic import op

revision: Final = "0005"
down_revision: Final = "0004"


def upgrade() -> None:
    """Apply."""
    op.execute(
        "ALTER TABLE horae_queues ADD COLUMN concurrency_limit INTEGER "
        "CONSTRAINT horae_queues_limit CHECK (concurrency_limit > 0)"
    )


def downgrade() -> None:
    """Take back."""
    op.drop_column("horae_queues", "concurrency_limit")
