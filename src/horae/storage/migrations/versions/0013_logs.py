"""The log lines of jobs."""

from typing import Final

revision: Final = "0013"
down_revision: Final = "0012"


def upgrade() -> None:
    """Apply."""


def downgrade() -> None:
    """Take back."""
