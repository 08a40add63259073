"""The progress of each change of many jobs, and which jobs it may change.

A bulk change runs as a job, and changes nothing unless that job has a row here, which the call that
creates the job writes with it: a role of the database that may only start jobs can insert a job
with any parameters, but no row of this table.

A change of one job and the note of it are written in one transaction, so a bulk change that runs
again after a crash continues behind the last job that was changed. The note also carries the lease:
an attempt that was replaced by another changes nothing any more, because its transaction is rolled
back.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Table,
    bindparam,
    case,
    delete,
    insert,
    not_,
    or_,
    select,
    text,
    update,
)

from horae.domain.jobs import BulkAction, JobId, JobState
from horae.errors import LeaseLost
from horae.storage.jobs.owed_hooks import DELETION_NOT_REQUESTED
from horae.storage.jobs.tables import (
    IS_HELD,
    IS_READY,
    IS_SENT,
    IS_WAITING,
    WAS_RETRIED,
    jobs,
    metadata,
    row_id,
)

Conditions: TypeAlias = Sequence[ColumnElement[bool]]
_counts = ("changed", "skipped", "failed")

bulk_runs = Table(
    "horae_bulk_runs",
    metadata,
    Column("job_id", row_id, primary_key=True, autoincrement=False),
    Column("lease", BigInteger, nullable=False),
    # The last job that was examined; jobs with smaller ids are still to come.
    Column("reached", row_id, nullable=False),
    # The number of jobs at the start; null: they could not be counted in time.
    Column("total", BigInteger),
    *(Column(name, BigInteger, nullable=False, server_default=text("0")) for name in _counts),
)


class BulkRun(NamedTuple):
    """The progress of a change of many jobs."""

    reached: JobId
    total: int | None
    changed: int
    skipped: int
    failed: int


_COLUMNS: Final = tuple(bulk_runs.c[name] for name in BulkRun._fields)


ORDER: Final = insert(bulk_runs).values(
    job_id=bindparam("of_job"), reached=bindparam("of_job"), lease=0
)
_is_first = bulk_runs.c.lease == 0
BEGIN: Final = (
    update(bulk_runs)
    .where(bulk_runs.c.job_id == bindparam("of_job"), bulk_runs.c.lease <= bindparam("of_lease"))
    .values(
        lease=bindparam("of_lease"),
        total=case((_is_first, bindparam("counted", type_=BigInteger())), else_=bulk_runs.c.total),
    )
    .returning(*_COLUMNS)
)
NOTE: Final = (
    update(bulk_runs)
    .where(bulk_runs.c.job_id == bindparam("of_job"), bulk_runs.c.lease == bindparam("of_lease"))
    .values(
        reached=bindparam("reached_now"),
        **{name: bulk_runs.c[name] + bindparam(f"{name}_now", type_=Integer()) for name in _counts},
    )
    .returning(*_COLUMNS)
)
LEASE: Final = select(bulk_runs.c.lease).where(bulk_runs.c.job_id == bindparam("of_job"))
FORGET: Final = delete(bulk_runs).where(bulk_runs.c.job_id == bindparam("of_job"))

CHANGEABLE: Final[Mapping[BulkAction, Conditions]] = {
    BulkAction.CANCEL: [
        or_(IS_READY, IS_SENT, IS_WAITING, (jobs.c.state == JobState.STARTED) & IS_HELD)
    ],
    BulkAction.RETRY: [
        jobs.c.state.in_([JobState.FAILED, JobState.CANCELLED]),
        not_(WAS_RETRIED),
    ],
    BulkAction.DELETE: [
        jobs.c.finished_at.is_not(None),
        jobs.c.node_id.is_(None),
        DELETION_NOT_REQUESTED,
    ],
    BulkAction.RESCHEDULE: [or_(IS_READY, IS_SENT, IS_WAITING)],
}
"""The conditions under which an action changes a job."""


def began_since(moment: datetime, unless_due_at: datetime | None = None) -> Conditions:
    """Return the conditions of jobs that began since a moment, except those due at another."""
    began = [jobs.c.started_at >= moment, or_(IS_HELD, jobs.c.finished_at >= moment)]
    return began if unless_due_at is None else [*began, jobs.c.run_at != unless_due_at]


def order(connection: Connection, job_id: JobId) -> None:
    """Write the row of a new bulk change; without it the job changes nothing."""
    connection.execute(ORDER, {"of_job": job_id})


def last_lease(connection: Connection, job_id: JobId) -> int | None:
    """Return the lease of the last attempt, 0 before the first; None if the job has no row."""
    return connection.scalar(LEASE, {"of_job": job_id})


def begin(connection: Connection, job_id: JobId, lease: int, total: int | None) -> BulkRun:
    """Begin, or continue where an earlier attempt has stopped. Raises `LeaseLost`."""
    row = connection.execute(
        BEGIN, {"of_job": job_id, "of_lease": lease, "counted": total}
    ).one_or_none()
    if row is None:
        raise LeaseLost
    return BulkRun(*row)


def note(
    connection: Connection, job_id: JobId, lease: int, reached: JobId, **counts: int
) -> BulkRun:
    """Add to the counts, in the transaction of the changes that are counted.

    Raises `LeaseLost` if another attempt has begun.

    `counts`: how many jobs were `changed`, `skipped` and `failed`.
    """
    added = {f"{name}_now": counts.get(name, 0) for name in _counts}
    row = connection.execute(
        NOTE, {"of_job": job_id, "of_lease": lease, "reached_now": reached, **added}
    ).one_or_none()
    if row is None:
        raise LeaseLost
    return BulkRun(*row)


def forget(connection: Connection, job_id: JobId) -> None:
    """Delete the note of a job that is deleted."""
    connection.execute(FORGET, {"of_job": job_id})
