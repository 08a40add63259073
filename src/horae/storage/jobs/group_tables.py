"""The tables of groups, and of jobs that wait for other jobs.

A group counts its ended members in its own row, with one update for all members that a transaction
ends.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    String,
    Table,
    and_,
    false,
    text,
)

from horae.domain.jobs import JobState, WaitsFor
from horae.storage.engine import NUMBERED_ONCE, Instant
from horae.storage.jobs.tables import jobs, metadata, partial_index, row_id


def _count(name: str) -> "Column[int]":
    return Column(name, BigInteger, nullable=False, server_default=text("0"))


groups = Table(
    "horae_groups",
    metadata,
    Column("id", row_id, primary_key=True, autoincrement=True),
    Column("owner", String(200)),
    Column("on_failure", String(16), nullable=False),
    Column("then_id", row_id),  # the job that runs when all members have ended
    _count("total"),
    _count("finished"),
    _count("failed"),
    _count("cancelled"),
    Column("created_at", Instant, nullable=False),
    # When the call that starts the group last inserted members; null when it is done.
    Column("inserting_at", Instant),
    Column("cancelled_at", Instant),
    Column("cancelled_by", String(200)),
    Column("ended_at", Instant),
    CheckConstraint("on_failure IN ('continue', 'cancel')", name="on_failure"),
    CheckConstraint(
        "finished >= 0 AND failed >= 0 AND cancelled >= 0 AND finished + failed + cancelled <="
        " total",
        name="counts",
    ),
    CheckConstraint(
        "ended_at IS NULL OR (finished + failed + cancelled = total AND inserting_at IS NULL)",
        name="ended",
    ),
    **NUMBERED_ONCE,
)

partial_index(
    "horae_groups_then_id", groups.c.then_id, unique=True, where=text("then_id IS NOT NULL")
)
_unsettled = text("ended_at IS NULL AND (cancelled_at IS NOT NULL OR inserting_at IS NOT NULL)")
partial_index("horae_groups_unsettled", groups.c.id, where=_unsettled)
Index("horae_groups_ended_at", groups.c.ended_at)

# Ranges of ids that contain all members of a group, and also jobs of others. An index of
# `jobs.group_id` would be written with each claim and each end of a member, which took a third of
# the time of a group on PostgreSQL.
group_parts = Table(
    "horae_group_parts",
    metadata,
    Column("group_id", row_id, primary_key=True, autoincrement=False),
    Column("first_id", row_id, primary_key=True, autoincrement=False),
    Column("last_id", row_id, nullable=False),
)

dependencies = Table(
    "horae_dependencies",
    metadata,
    Column("after_id", row_id, primary_key=True, autoincrement=False),
    Column("job_id", row_id, primary_key=True, autoincrement=False),
    Column("on_failure", String(16), nullable=False),
    # The job `after_id` has ended.
    Column("ended", Boolean, nullable=False, server_default=false()),
    CheckConstraint("on_failure IN ('cancel', 'fail', 'run')", name="on_failure"),
)

Index("horae_dependencies_job_id_ended", dependencies.c.job_id, dependencies.c.ended)

WAITS_FOR_JOBS = and_(jobs.c.state == JobState.PENDING, jobs.c.waits_for == WaitsFor.JOBS)
"""The job is pending, and waits for others to end, or for the members of its group."""
