"""Pending jobs that are held back, out of the index that claims read."""

from typing import Final

from alembic import op

revision: Final = "0008"
down_revision: Final = "0007"


def upgrade() -> None:
    """Apply."""
    op.execute(
        "ALTER TABLE horae_jobs ADD COLUMN waits_for VARCHAR(16) "
        "CONSTRAINT horae_jobs_waits_for CHECK (waits_for IN ('jobs', 'limit'))"
    )
    op.drop_index("horae_jobs_ready", "horae_jobs")
    _index(
        "ready", "priority DESC, run_at, id, queue, type", "state = 'pending' AND waits_for IS NULL"
    )
    _index("waiting", "waits_for, run_at, id", "state = 'pending' AND waits_for IS NOT NULL")


def downgrade() -> None:
    """Take back; jobs that are held back may be claimed."""
    for name in ("horae_jobs_waiting", "horae_jobs_ready"):
        op.drop_index(name, "horae_jobs")
    op.drop_column("horae_jobs", "waits_for")
    _index("ready", "priority DESC, run_at, id, queue, type", "state = 'pending'")


def _index(name: str, columns: str, condition: str) -> None:
    op.execute(f"CREATE INDEX horae_jobs_{name} ON horae_jobs ({columns}) WHERE {condition}")
