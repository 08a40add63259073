"""Jobs and their attempts, nodes, queues; on PostgreSQL the live tables too (on SQLite a side-car
file holds them).
"""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: Final = "0001"
down_revision: Final = None

# SQLite counts rows only in a column declared exactly INTEGER.
row_id: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Whole microseconds since 1970, in UTC, where there is no type for a moment.
instant: Final = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")
json: Final = JSONB().with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    """Apply."""
    _create_jobs()
    _create_job_indexes()
    _create_job_attempts()
    _create_nodes()
    _create_queues()
    if op.get_context().dialect.name == "postgresql":
        _create_live_tables()


def downgrade() -> None:
    """Take back."""
    if op.get_context().dialect.name == "postgresql":
        op.drop_table("horae_live_cancels")
        op.drop_table("horae_live_jobs")
    op.drop_table("horae_queues")
    op.drop_table("horae_nodes")
    op.drop_table("horae_job_attempts")
    op.drop_table("horae_jobs")


def _create_jobs() -> None:
    op.create_table(
        "horae_jobs",
        sa.Column("id", row_id, autoincrement=True),
        sa.Column("type", sa.String(200), nullable=False),
        sa.Column("queue", sa.String(200), nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("label", sa.String(128)),
        sa.Column(
            "progress_percentage", sa.SmallInteger, nullable=False, server_default=sa.text("0")
        ),
        sa.Column("owner", sa.String(200)),
        sa.Column("params", json),
        sa.Column("result", json),
        sa.Column("error", sa.Text),
        sa.Column("human_readable_error", sa.Text),
        sa.Column("attempt", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("max_attempts", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("backoff", json),
        sa.Column("lease", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column("node_id", sa.String(64)),
        sa.Column("unique_key", sa.String(200)),
        sa.Column("run_at", instant, nullable=False),
        sa.Column("created_at", instant, nullable=False),
        sa.Column("updated_at", instant, nullable=False),
        sa.Column("started_at", instant),
        sa.Column("finished_at", instant),
        sa.Column("cancelled_by", sa.String(200)),
        sa.Column("meta", json, nullable=False, server_default=sa.text("'{}'")),
        sa.PrimaryKeyConstraint("id", name="horae_jobs_pkey"),
        *_job_checks(),
        sqlite_autoincrement=True,
    )


def _job_checks() -> list[sa.CheckConstraint]:
    checks = {
        # Not IN, for which SQLite would build a table of the values for each row that it checks.
        "state": _is_one_of("state", "pending", "started", "finished", "failed", "cancelled"),
        "ended": (
            "(finished_at IS NOT NULL) ="
            f" ({_is_one_of('state', 'finished', 'failed', 'cancelled')})"
        ),
        "held": (
            "CASE state WHEN 'pending' THEN node_id IS NULL WHEN 'started' THEN node_id IS NOT NULL"
            " WHEN 'finished' THEN node_id IS NULL ELSE TRUE END"
        ),
        "progress": "progress_percentage BETWEEN 0 AND 100",
        "attempts": "attempt >= 0 AND max_attempts >= 1 AND lease >= attempt",
        "cancelled_by": "cancelled_by IS NULL OR state = 'cancelled'",
    }
    return [sa.CheckConstraint(text, name=f"horae_jobs_{name}") for name, text in checks.items()]


def _is_one_of(name: str, *values: str) -> str:
    return " OR ".join(f"{name} = '{value}'" for value in values)


def _create_job_indexes() -> None:
    _index("ready", "state = 'pending'", "priority DESC", "run_at", "id", "queue", "type")
    _index("held", "node_id IS NOT NULL", "node_id")
    _index(
        "occupying",
        "owner IS NOT NULL AND (finished_at IS NULL OR node_id IS NOT NULL)",
        "owner",
        "type",
    )
    _index(
        "unique_key",
        "unique_key IS NOT NULL AND finished_at IS NULL",
        "type",
        "unique_key",
        unique=True,
    )
    _index("ended", "finished_at IS NOT NULL", "finished_at")
    _index("owner", "owner IS NOT NULL", "owner", "id")


def _index(name: str, where: str, *columns: str, unique: bool = False) -> None:
    op.create_index(
        f"horae_jobs_{name}",
        "horae_jobs",
        [sa.text(column) for column in columns],
        unique=unique,
        postgresql_where=sa.text(where),
        sqlite_where=sa.text(where),
    )


def _create_job_attempts() -> None:
    op.create_table(
        "horae_job_attempts",
        sa.Column("job_id", row_id, autoincrement=False),
        sa.Column("lease", sa.BigInteger, autoincrement=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("node_id", sa.String(64)),
        sa.Column("started_at", instant, nullable=False),
        sa.Column("finished_at", instant, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("traceback", sa.Text),
        sa.PrimaryKeyConstraint("job_id", "lease", name="horae_job_attempts_pkey"),
        sa.CheckConstraint(
            _is_one_of("outcome", "finished", "failed", "cancelled", "timed_out", "crashed"),
            name="horae_job_attempts_outcome",
        ),
    )


def _create_nodes() -> None:
    op.create_table(
        "horae_nodes",
        sa.Column("id", sa.String(64)),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("host", sa.String(300), nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("version", sa.String(50), nullable=False),
        sa.Column("roles", json, nullable=False),
        sa.Column("queues", json),
        sa.Column("types", json, nullable=False),
        sa.Column("concurrency", sa.Integer, nullable=False),
        sa.Column("lock_key", sa.BigInteger),
        sa.Column("started_at", instant, nullable=False),
        sa.Column("heartbeat_at", instant, nullable=False),
        sa.PrimaryKeyConstraint("id", name="horae_nodes_pkey"),
    )


def _create_queues() -> None:
    op.create_table(
        "horae_queues",
        sa.Column("name", sa.String(200)),
        sa.Column("paused_at", instant),
        sa.Column("note", sa.Text),
        sa.PrimaryKeyConstraint("name", name="horae_queues_pkey"),
    )


def _create_live_tables() -> None:
    """Unlogged: what they hold may be lost with the server, and is written ten times a second a
    job.
    """
    op.create_table(
        "horae_live_jobs",
        sa.Column("job_id", row_id, autoincrement=False),
        sa.Column("lease", sa.BigInteger, nullable=False),
        sa.Column("label", sa.String(128)),
        sa.Column("progress_percentage", sa.SmallInteger, nullable=False),
        sa.Column("updated_at", instant, nullable=False),
        sa.PrimaryKeyConstraint("job_id", name="horae_live_jobs_pkey"),
        prefixes=["UNLOGGED"],
    )
    op.create_table(
        "horae_live_cancels",
        sa.Column("job_id", row_id, autoincrement=False),
        sa.Column("requested_by", sa.String(200)),
        sa.Column("requested_at", instant, nullable=False),
        sa.PrimaryKeyConstraint("job_id", name="horae_live_cancels_pkey"),
        prefixes=["UNLOGGED"],
    )
