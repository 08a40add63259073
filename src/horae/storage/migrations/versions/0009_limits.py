"""Limits by key, and queues in which owners take turns."""

from typing import Final

revision: Final = "0009"
down_revision: Final = "0008"


def upgrade() -> None:
    """Apply."""


def downgrade() -> None:
    """Take back."""
