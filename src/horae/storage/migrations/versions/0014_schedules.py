"""Changes of declared schedules at run time."""

from typing import Final

revision: Final = "0014"
down_revision: Final = "0013"


def upgrade() -> None:
    """Apply."""


def downgrade() -> None:
    """Take back."""
