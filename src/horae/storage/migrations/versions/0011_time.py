"""Unique keys with a period, and the moment after which a job may not begin."""

from typing import Final

revision: Final = "0011"
down_revision: Final = "0010"


def upgrade() -> None:
    """Apply."""


def downgrade() -> None:
    """Take back."""
