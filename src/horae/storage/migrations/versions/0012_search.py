"""Tags, and what the search of jobs reads."""

from typing import Final

revision: Final = "0012"
down_revision: Final = "0011"


def upgrade() -> None:
    """Apply."""


def downgrade() -> None:
    """Take back."""
