"""The live store in PostgreSQL's unlogged tables, or in a file beside a SQLite database."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    Executable,
    Integer,
    Row,
    SmallInteger,
    Text,
    and_,
    bindparam,
    delete,
    or_,
    select,
    true,
    union,
)

from horae.domain.jobs import JobId, Wait, WaitTarget
from horae.domain.names import is_id
from horae.listeners import Listeners
from horae.live.sidecar import BUSY_TIMEOUT, SideCar
from horae.live.store import CancelRequest, LiveReport, LiveStore, checked_report
from horae.storage.engine import (
    Database,
    database_now,
    insert,
    json_rows,
    member_of,
)
from horae.storage.jobs import live_cancels, live_jobs, live_metadata, live_waits

_REPORTED: Final = (
    live_jobs.c.job_id,
    live_jobs.c.lease,
    live_jobs.c.progress_percentage,
    live_jobs.c.label,
)


class DatabaseLiveStore:
    """A `LiveStore` for all processes on one database; it never waits for transactions on jobs."""

    def __init__(self, database: Database, *, busy_timeout: float = BUSY_TIMEOUT) -> None:
        """Use the database, or on SQLite the file `<database>-live`, which is recreated if it is
        lost.
        """
        self._run: Callable[..., Any] = database.autocommit
        self._listeners = Listeners[[]]()
        self._side_car: SideCar | None = None
        if database.is_file:
            self._side_car = SideCar(
                Path(f"{database.url.database}-live").absolute(),
                live_metadata,
                busy_timeout=busy_timeout,
            )
            self._run = self._side_car.run

    def publish(self, reports: Sequence[LiveReport]) -> None:
        """Write the reports in one statement, except those that are older than the stored ones."""
        if reports:
            stored = [asdict(report) for report in latest(reports)]
            batch = json.dumps(stored, separators=(",", ":"))
            self._run(_execute, {"reports": batch}, UPSERT)
            self._listeners.call()

    def read(self, job_ids: Collection[JobId]) -> Mapping[JobId, LiveReport]:
        """Return the latest reports of these jobs."""
        if not job_ids:
            return {}
        rows = self._run(_rows, REPORTED, {"job_ids": job_ids})
        return {row.job_id: report for row in rows if (report := checked_report(*row)) is not None}

    def request_cancel(self, job_id: JobId, request: CancelRequest) -> None:
        """Ask the body of this job to stop.

        The first name is kept; one forced request makes all of them forced.
        """
        values = {"job_id": job_id, "requested_by": request.by, "forced": request.forced}
        self._run(_execute, values, ASK)

    def cancel_requests(
        self,
        job_ids: Collection[JobId],
        *,
        thorough: bool = False,
    ) -> Mapping[JobId, CancelRequest]:
        """Return the cancel requests for these jobs."""
        del thorough  # a database loses no request
        found: dict[JobId, CancelRequest] = {}
        if job_ids:
            for row in self._run(_rows, REQUESTED, {"job_ids": job_ids}):
                # Another program may have written anything into the side-car file.
                by = row.requested_by
                is_readable = isinstance(by, str) and is_id(by)
                found[row.job_id] = CancelRequest(by if is_readable else None, forced=row.forced)
        return found

    def begin_wait(self, wait: Wait) -> None:
        """Record for what a body waits."""
        self._run(_execute, _row_of(wait), BEGIN_WAIT)

    def end_wait(self, wait: Wait) -> None:
        """Record that this wait is over."""
        values = {f"of_{name}": value for name, value in _row_of(wait).items()}
        self._run(_execute, values, END_WAIT)

    def waits(self) -> Sequence[Wait]:
        """Return the waits of all bodies, also some of attempts that have ended."""
        return [
            Wait(
                row.job_id,
                row.lease,
                row.group_id,
                WaitTarget.group(row.awaited_group)
                if row.awaited_job is None
                else WaitTarget.job(row.awaited_job),
            )
            for row in self._run(_rows, WAITS)
        ]

    def reported(self, after: JobId, limit: int) -> Sequence[JobId]:
        """Return the jobs after this id that have reports, requests or waits, ordered by id."""
        rows = self._run(_rows, JOBS_KNOWN, {"after": after, "limit": limit})
        return [JobId(row.job_id) for row in rows]

    def forget(self, job_ids: Collection[JobId]) -> None:
        """Delete the reports, requests and waits of these jobs."""
        if job_ids:
            # One round trip to a server; SQLite needs a statement for each table.
            statements = (DROP,) if self._side_car is None else DROP_EACH
            self._run(_execute, {"job_ids": job_ids}, *statements)

    def follow(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after reports of this process; a database tells of no others."""
        return self._listeners.add(listener)

    def close(self) -> None:
        """Close the connections to the side-car file; the database is closed by its owner."""
        if self._side_car is not None:
            self._side_car.close()


_columns = [column.name for column in _REPORTED]
_report = json_rows(
    "reports",
    job_id=BigInteger(),
    lease=BigInteger(),
    progress_percentage=SmallInteger(),
    label=Text(),
)
_put_report = insert(live_jobs).from_select(
    [*_columns, "updated_at"],
    # SQLite cannot tell ON CONFLICT from a join's ON without a WHERE before it.
    select(*(_report.c[name] for name in _columns), database_now()).where(true()),
    include_defaults=False,
)
_new, _old = _put_report.excluded, live_jobs.c
UPSERT: Final = _put_report.on_conflict_do_update(
    index_elements=[_old.job_id],
    set_={name: _new[name] for name in (*_columns[1:], "updated_at")},
    where=or_(
        _new.lease > _old.lease,
        and_(_new.lease == _old.lease, _new.progress_percentage >= _old.progress_percentage),
    ),
)
JOBS_KNOWN: Final = (
    union(
        *(
            select(table.c.job_id).where(table.c.job_id > bindparam("after"))
            for table in (live_jobs, live_cancels, live_waits)
        )
    )
    .order_by("job_id")
    .limit(bindparam("limit", type_=Integer()))
)


_ask = insert(live_cancels).values(
    job_id=bindparam("job_id"),
    requested_by=bindparam("requested_by"),
    requested_at=database_now(),
    forced=bindparam("forced"),
)
ASK: Final = _ask.on_conflict_do_update(
    index_elements=[live_cancels.c.job_id],
    set_={"forced": _ask.excluded.forced},
    where=_ask.excluded.forced,
)
REPORTED: Final = select(*_REPORTED).where(member_of(live_jobs.c.job_id, "job_ids"))
REQUESTED: Final = select(live_cancels).where(member_of(live_cancels.c.job_id, "job_ids"))
DROP_EACH: Final = tuple(
    delete(table).where(member_of(table.c.job_id, "job_ids"))
    for table in (live_jobs, live_cancels, live_waits)
)
DROP: Final = DROP_EACH[1].add_cte(DROP_EACH[0].cte("reports"), DROP_EACH[2].cte("waits"))
BEGIN_WAIT: Final = insert(live_waits)
END_WAIT: Final = delete(live_waits).where(
    *(
        column.is_not_distinct_from(bindparam(f"of_{column.name}", type_=BigInteger()))
        for column in live_waits.c
    )
)
WAITS: Final = select(live_waits)


def latest(reports: Sequence[LiveReport]) -> list[LiveReport]:
    """Return the latest report of each job by the rule of `UPSERT`, in the order of the ids.

    PostgreSQL refuses two rows of one job. In any other order two publishers could wait for each
    other's locks.
    """
    ordered = sorted(reports, key=attrgetter("job_id", "lease", "progress_percentage"))
    return list({report.job_id: report for report in ordered}.values())


def _execute(connection: Connection, values: Mapping[str, Any], *statements: Executable) -> None:
    for statement in statements:
        connection.execute(statement, values)


def _rows(
    connection: Connection, statement: Executable, values: Mapping[str, Any] | None = None
) -> Sequence[Row[Any]]:
    return connection.execute(statement, values).all()


def _row_of(wait: Wait) -> dict[str, int | None]:
    awaited = {
        f"awaited_{kind}": wait.awaited.id if wait.awaited.kind == kind else None
        for kind in ("job", "group")
    }
    return {"job_id": wait.job_id, "lease": wait.lease, "group_id": wait.group_id, **awaited}


if TYPE_CHECKING:
    _conforms: type[LiveStore] = DatabaseLiveStore
