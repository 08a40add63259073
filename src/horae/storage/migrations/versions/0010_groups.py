"""Groups of jobs, and jobs that wait for others."""

from typing import Final

revision: Final = "0010"
down_revision: Final = "0009"


def upgrade() -> None:
    """Apply."""


def downgrade() -> None:
    """Take back."""
