"""The failures of a period: the newest failed jobs, and the newest failed attempts of other jobs.

The index of failed attempts costs only the settlements that it names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    Connection,
    FromClause,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    case,
    func,
    literal,
    select,
    union_all,
)

from horae.domain.jobs import FAILED_OUTCOMES, Failure, JobState
from horae.storage.engine import PerDatabase, readable, row_reader, seconds_ago
from horae.storage.jobs import IS_FAILED_ATTEMPT, WAS_RETRIED, job_attempts, jobs
from horae.storage.schedules.tables import deployments

TRACEBACK_END: Final = 3_000
"""Characters of a traceback that are read, from its end: there is the error and what raised it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """Failures since a moment. `complete`: none was left out."""

    since: datetime
    found: list[Failure]
    complete: bool


@dataclass(frozen=True, slots=True)
class RecentDeployment:
    """When a version of a module was deployed."""

    key: str
    module: str
    at: datetime


_limit = bindparam("limit", type_=Integer())
_since = seconds_ago("seconds")
_failed = (
    select(jobs.c.id, jobs.c.finished_at)
    .where(jobs.c.state == JobState.FAILED)
    .order_by(jobs.c.id.desc())
    .limit(_limit)
    .cte("failed")
)
# It has all columns of the attempts: PostgreSQL would join their ids with all rows of the table.
_failed_attempts = (
    select(job_attempts)
    .where(IS_FAILED_ATTEMPT, job_attempts.c.finished_at >= _since)
    .order_by(job_attempts.c.finished_at.desc())
    .limit(_limit)
    .cte("failed_attempts")
)


_was_retried = case((WAS_RETRIED, 1), else_=0)


def _failures(attempts: FromClause, *, has_failed: bool) -> Select[*tuple[Any, ...]]:
    """Select what a `Failure` consists of from jobs and some of their attempts."""
    end = PerDatabase(
        func.right(attempts.c.traceback, TRACEBACK_END, type_=Text()),
        func.substr(attempts.c.traceback, -TRACEBACK_END, type_=Text()),
    )
    ended_at = func.coalesce(attempts.c.finished_at, jobs.c.finished_at)
    return select(
        jobs.c.id.label("job_id"),
        jobs.c.type,
        ended_at.label("at"),
        attempts.c.outcome,
        func.coalesce(attempts.c.error, jobs.c.error).label("error"),
        end.label("traceback"),
        literal(int(has_failed), Integer()).label("has_failed"),
        (_was_retried if has_failed else literal(0, Integer())).label("was_retried"),
    ).where(ended_at >= _since)


_of_failed_jobs = _failures(job_attempts, has_failed=True).select_from(
    _failed.join(jobs, jobs.c.id == _failed.c.id).outerjoin(
        job_attempts,
        and_(
            job_attempts.c.job_id == jobs.c.id,
            job_attempts.c.outcome.in_(sorted(FAILED_OUTCOMES)),
        ),
    )
)
_of_other_jobs = (
    _failures(_failed_attempts, has_failed=False)
    .select_from(_failed_attempts.join(jobs, jobs.c.id == _failed_attempts.c.job_id))
    .where(jobs.c.state != JobState.FAILED)
)
_all = union_all(_of_failed_jobs, _of_other_jobs).subquery("failure")
READ: Final = select(_all).order_by(_all.c.at.desc()).limit(2 * _limit)
PERIOD: Final = select(
    _since,
    select(func.count()).where(_failed.c.finished_at >= _since).scalar_subquery(),
    select(func.count()).select_from(_failed_attempts).scalar_subquery(),
)
DEPLOYED: Final = (
    select(deployments.c.key, deployments.c.module, deployments.c.created_at.label("at"))
    .where(deployments.c.created_at > _since)
    .order_by(deployments.c.created_at.desc())
    .limit(100)
)
_read_deployment: Final = row_reader(RecentDeployment, DEPLOYED.selected_columns)


def read(connection: Connection, seconds: float, limit: int = 5_000) -> Failures:
    """Return the failures of the last `seconds`, the latest first."""
    given = {"seconds": seconds, "limit": limit}
    since, *counts = connection.execute(PERIOD, given).one()
    rows = connection.execute(READ, given).mappings()

    def failure(row: Mapping[Any, Any]) -> Failure:
        flags = {name: bool(row[name]) for name in ("has_failed", "was_retried")}
        values: dict[str, Any] = {**row, **flags}
        return Failure(**values)

    found = readable(jobs.name, rows, failure)
    return Failures(
        since=since, found=found, complete=max(counts) < limit and len(found) < 2 * limit
    )


def deployed(connection: Connection, seconds: float) -> list[RecentDeployment]:
    """Return what was deployed in the last `seconds`, the latest first."""
    rows = connection.execute(DEPLOYED, {"seconds": seconds}).mappings()
    return readable(deployments.name, rows, _read_deployment)
