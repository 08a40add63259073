"""Who changed what over HTTP."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0003"
down_revision: Final = "0002"

# SQLite counts rows only in a column declared exactly INTEGER.
row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Whole microseconds since 1970, in UTC, where there is no type for a moment.
instant: Final = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "horae_audit",
        sa.Column("id", row_id, autoincrement=True),
        sa.Column("at", instant, nullable=False),
        sa.Column("actor", sa.String(200), nullable=False),
        sa.Column("action", sa.String(100), nullable=False),
        sa.Column("target", sa.String(300), nullable=False),
        sa.Column("outcome", sa.String(100), nullable=False),
        sa.Column("note", sa.Text),
        sa.PrimaryKeyConstraint("id", name="horae_audit_pkey"),
        sqlite_autoincrement=True,
    )
    op.create_index("horae_audit_at", "horae_audit", ["at"])


def downgrade() -> None:
    """Take back."""
    op.drop_table("horae_audit")
