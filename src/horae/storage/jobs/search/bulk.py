"""How far each change of many jobs has come, and which jobs it may change.

A change of one job and the note of it are written in one transaction, so a job that runs again after a crash goes on
behind the last job that was changed. The note also carries the lease: an attempt that was replaced by another changes
nothing any more, because its transaction is rolled back.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Table,
    bindparam,
    delete,
    exists,
    not_,
    or_,
    select,
    text,
    update,
)

from horae.domain.jobs.bulk import BulkAction
from horae.domain.jobs.job import JobId, JobState
from horae.errors import LeaseLost
from horae.storage.engine.dialect import INSERT, PerDialect
from horae.storage.jobs.owed_hooks import BEFORE_DELETE
from horae.storage.jobs.tables import IS_HELD, IS_READY, IS_SENT, IS_WAITING, jobs, metadata, row_id

_counts = ("changed", "skipped", "failed")

bulk_runs = Table(
    "horae_bulk_runs",
    metadata,
    Column("job_id", row_id, primary_key=True, autoincrement=False),
    Column("lease", BigInteger, nullable=False),
    Column("reached", row_id, nullable=False),  # the last job that was looked at; those before it are still to come
    Column("total", BigInteger),  # the number of jobs at the start; null: they could not be counted in time
    *(Column(name, BigInteger, nullable=False, server_default=text("0")) for name in _counts),
)


class BulkRun(NamedTuple):
    """How far a change of many jobs has come."""

    reached: JobId
    total: int | None
    changed: int
    skipped: int
    failed: int


_COLUMNS: Final = tuple(bulk_runs.c[name] for name in BulkRun._fields)


def _begin(dialect: str) -> Any:
    given = {name: bindparam(name, type_=BigInteger()) for name in ("job_id", "lease", "reached", "total")}
    added = INSERT[dialect](bulk_runs).values(**given)
    again = added.on_conflict_do_update(
        index_elements=[bulk_runs.c.job_id],
        set_={"lease": added.excluded.lease},
        where=bulk_runs.c.lease <= added.excluded.lease,
    )
    return again.returning(*_COLUMNS)


BEGIN: Final = PerDialect(_begin)
NOTE: Final = (
    update(bulk_runs)
    .where(bulk_runs.c.job_id == bindparam("of_job"), bulk_runs.c.lease == bindparam("of_lease"))
    .values(
        reached=bindparam("reached_now", type_=BigInteger()),
        **{name: bulk_runs.c[name] + bindparam(f"{name}_now", type_=Integer()) for name in _counts},
    )
    .returning(*_COLUMNS)
)
PROGRESS: Final = select(*_COLUMNS).where(bulk_runs.c.job_id == bindparam("of_job"))
FORGET: Final = delete(bulk_runs).where(bulk_runs.c.job_id == bindparam("of_job"))

_retry = jobs.alias("retry")
CHANGEABLE: Final[Mapping[BulkAction, Sequence[ColumnElement[bool]]]] = {
    BulkAction.CANCEL: [or_(IS_READY, IS_SENT, IS_WAITING, (jobs.c.state == JobState.STARTED) & IS_HELD)],
    BulkAction.RETRY: [
        jobs.c.state.in_([JobState.FAILED, JobState.CANCELLED]),
        not_(exists().where(_retry.c.retry_of == jobs.c.id)),
    ],
    BulkAction.DELETE: [
        jobs.c.finished_at.is_not(None),
        jobs.c.node_id.is_(None),
        or_(jobs.c.hook_owed.is_(None), not_(jobs.c.hook_owed.like(f"%{BEFORE_DELETE}"))),
    ],
    BulkAction.RESCHEDULE: [or_(IS_READY, IS_SENT, IS_WAITING)],
}
"""The conditions under which an action changes a job."""


def begin(connection: Connection, job_id: JobId, lease: int, total: int | None) -> BulkRun:
    """Begin, or go on where an earlier attempt has stopped. Raises `LeaseLost`."""
    values = {"job_id": job_id, "lease": lease, "reached": job_id, "total": total}
    row = connection.execute(BEGIN.on(connection), values).one_or_none()
    if row is None:
        raise LeaseLost
    return BulkRun(*row)


def progress(connection: Connection, job_id: JobId) -> BulkRun | None:
    """Return how far the job has come, None if it has not begun."""
    row = connection.execute(PROGRESS, {"of_job": job_id}).one_or_none()
    return None if row is None else BulkRun(*row)


def note(connection: Connection, job_id: JobId, lease: int, reached: JobId, **counts: int) -> BulkRun:
    """Add to the counts, in the transaction of what is counted. Raises `LeaseLost` if another attempt has begun.

    `counts`: how many jobs were `changed`, `skipped` and `failed`.
    """
    added = {f"{name}_now": counts.get(name, 0) for name in _counts}
    row = connection.execute(NOTE, {"of_job": job_id, "of_lease": lease, "reached_now": reached, **added}).one_or_none()
    if row is None:
        raise LeaseLost
    return BulkRun(*row)


def forget(connection: Connection, job_id: JobId) -> None:
    """Delete the note of a job that is deleted."""
    connection.execute(FORGET, {"of_job": job_id})
