"""Unique keys that several active jobs may share, and the moment after which a job may not
begin.
"""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0011"
down_revision: Final = "0010"

# The years that Python supports, less a day at either end.
_READABLE: Final = {
    "postgresql": "expires_at BETWEEN to_timestamp(-62135510400) AND to_timestamp(253402214400)",
    "sqlite": "expires_at BETWEEN -62135510400000000 AND 253402214400000000",
}


def upgrade() -> None:
    """Apply."""
    dialect = op.get_context().dialect.name
    kind = "TIMESTAMP WITH TIME ZONE" if dialect == "postgresql" else "BIGINT"
    op.add_column("horae_jobs", sa.Column("key_is_shared", sa.Boolean))
    op.execute(
        f"ALTER TABLE horae_jobs ADD COLUMN expires_at {kind} CONSTRAINT horae_jobs_expiry CHECK"
        f" ({_READABLE[dialect]})"
    )
    op.drop_index("horae_jobs_unique_key", "horae_jobs")
    active = "unique_key IS NOT NULL AND key_is_shared IS NULL AND finished_at IS NULL"
    _index("unique_key", "type, unique_key", active, unique=True)
    _index("same_key", "unique_key, type, id", "unique_key IS NOT NULL")
    _index("expiring", "expires_at", "state = 'pending' AND expires_at IS NOT NULL")


def downgrade() -> None:
    """Take back; active jobs that share a key lose it, and no job expires."""
    for name in ("expiring", "same_key", "unique_key"):
        op.drop_index(f"horae_jobs_{name}", "horae_jobs")
    op.execute(
        "UPDATE horae_jobs SET unique_key = NULL WHERE key_is_shared AND finished_at IS NULL"
    )
    op.drop_column("horae_jobs", "expires_at")
    op.drop_column("horae_jobs", "key_is_shared")
    _index(
        "unique_key",
        "type, unique_key",
        "unique_key IS NOT NULL AND finished_at IS NULL",
        unique=True,
    )


def _index(name: str, columns: str, condition: str, *, unique: bool = False) -> None:
    kind = "UNIQUE INDEX" if unique else "INDEX"
    op.execute(f"CREATE {kind} horae_jobs_{name} ON horae_jobs ({columns}) WHERE {condition}")
