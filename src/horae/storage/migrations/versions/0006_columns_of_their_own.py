"""Columns of their own for what `meta` held, for hooks that are owed and for changes; log-ins."""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: Final = "0006"
down_revision: Final = "0005"

# SQLite counts rows only in a column declared exactly INTEGER.
row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Whole microseconds since 1970, in UTC, where there is no type for a moment.
instant: Final = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")
json: Final = JSONB().with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    """Apply."""
    _add_to_jobs()
    for name, kind in (("channel", sa.String(16)), ("before", json), ("after", json)):
        op.add_column("horae_audit", sa.Column(name, kind))
    op.create_table(
        "horae_sessions",
        sa.Column("key_hash", sa.String(64), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("expires_at", instant, nullable=False),
        sa.PrimaryKeyConstraint("key_hash", name="horae_sessions_pkey"),
    )
    op.create_index("horae_sessions_expires_at", "horae_sessions", ["expires_at"])
    if op.get_context().dialect.name == "postgresql":
        op.add_column(
            "horae_live_cancels", sa.Column("forced", sa.Boolean, nullable=False, server_default=sa.text("false"))
        )


def downgrade() -> None:
    """Take back."""
    if op.get_context().dialect.name == "postgresql":
        op.drop_column("horae_live_cancels", "forced")
    op.drop_table("horae_sessions")
    for name in ("after", "before", "channel"):
        op.drop_column("horae_audit", name)
    op.drop_index("horae_jobs_hook_owed", "horae_jobs")
    for name in ("hook_taken_at", "hook_owed", "retry_of", "run_reason", "max_runtime"):
        op.drop_column("horae_jobs", name)


def _add_to_jobs() -> None:
    op.execute(
        "ALTER TABLE horae_jobs ADD COLUMN max_runtime FLOAT CONSTRAINT horae_jobs_max_runtime CHECK (max_runtime > 0)"
    )
    op.add_column("horae_jobs", sa.Column("run_reason", sa.String(32)))
    op.add_column("horae_jobs", sa.Column("retry_of", row_id))
    op.execute(
        "ALTER TABLE horae_jobs ADD COLUMN hook_owed VARCHAR(16) "
        "CONSTRAINT horae_jobs_hook_owed CHECK (hook_owed IN ('on_error', 'on_cancelled'))"
    )
    op.add_column("horae_jobs", sa.Column("hook_taken_at", instant))
    owed = sa.text("hook_owed IS NOT NULL")
    op.create_index("horae_jobs_hook_owed", "horae_jobs", ["id"], postgresql_where=owed, sqlite_where=owed)
