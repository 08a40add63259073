"""Settling: what became of a batch of claims, guarded by lease, with one row an attempt kept in `job_attempts`.

A claim that no longer matches was ended by somebody else while its body ran (cancelled, or failed by its hard limit) or
belongs to another node now. In the first case the row is released: its body has stopped. Settling twice is harmless:
the attempt's row proves that the first commit, whose answer was lost, did arrive.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    Float,
    Integer,
    Select,
    String,
    Text,
    Update,
    bindparam,
    case,
    cast,
    func,
    insert,
    null,
    select,
    update,
)
from sqlalchemy.types import TypeEngine

from horae.domain.job import AttemptOutcome, JobId, JobState, NodeId, Settlement
from horae.domain.statistics import RunOutcome
from horae.domain.storable import is_storable, storable
from horae.storage import runs
from horae.storage.dialect import (
    POSTGRESQL,
    Json,
    PerDialect,
    database_now,
    json_rows,
    seconds_from_now,
)
from horae.storage.runs import Decided
from horae.storage.tables import job_attempts, jobs

_BATCH: Final[Mapping[str, TypeEngine[Any]]] = {
    "id": BigInteger(),
    "lease": BigInteger(),
    "state": String(),
    "outcome": String(),
    "delay": Float(),
    "result": Text(),
    "error": Text(),
    "human_readable_error": Text(),
    "traceback": Text(),
    "progress": Integer(),
    "label": Text(),
    "cancelled_by": Text(),
}
_ATTEMPT: Final = (
    "job_id",
    "lease",
    "attempt",
    "node_id",
    "started_at",
    "finished_at",
    "outcome",
    "error",
    "traceback",
)
_TEXTS: Final = ("error", "human_readable_error", "traceback", "label")
_SETTLED: Final = (
    jobs.c.id,
    jobs.c.lease,
    jobs.c.state,
    jobs.c.attempt,
    jobs.c.started_at,
    jobs.c.updated_at,
    jobs.c.schedule_id,
)


def _update(batch: Any) -> Update:
    retried = batch.c.state == JobState.PENDING
    finished = batch.c.state == JobState.FINISHED
    return (
        update(jobs)
        .where(jobs.c.id == batch.c.id, jobs.c.lease == batch.c.lease, jobs.c.state == JobState.STARTED)
        .values(
            state=batch.c.state,
            finished_at=case((retried, null()), else_=database_now()),
            run_at=case((retried, seconds_from_now(func.coalesce(batch.c.delay, 0.0))), else_=jobs.c.run_at),
            updated_at=database_now(),
            node_id=null(),
            result=cast(batch.c.result, Json()),
            error=case((retried, null()), else_=batch.c.error),
            human_readable_error=case((retried, null()), else_=batch.c.human_readable_error),
            progress_percentage=case(
                (finished, 100),
                (retried, 0),
                else_=func.coalesce(batch.c.progress, jobs.c.progress_percentage),
            ),
            label=case((retried, null()), else_=batch.c.label),
            cancelled_by=batch.c.cancelled_by,
        )
    )


def _settle(dialect: str) -> Any:
    """PostgreSQL writes the attempts in the same statement; SQLite has no such form (see `_keep_attempts`)."""
    batch = json_rows(dialect, "batch", **_BATCH)
    if dialect != POSTGRESQL:
        return _update(batch).returning(*_SETTLED)
    settled = _update(batch).returning(*_SETTLED, batch.c.outcome, batch.c.error, batch.c.traceback).cte("settled")
    attempt = select(
        settled.c.id,
        settled.c.lease,
        settled.c.attempt,
        cast(bindparam("node"), Text()),
        settled.c.started_at,
        settled.c.updated_at,
        settled.c.outcome,
        settled.c.error,
        settled.c.traceback,
    )
    kept = insert(job_attempts).from_select(list(_ATTEMPT), attempt, include_defaults=False).cte("kept")
    return select(settled.c.id, settled.c.lease, settled.c.state, settled.c.schedule_id).add_cte(kept)


SETTLE: Final = PerDialect(_settle)
KEEP_ATTEMPT: Final = insert(job_attempts)


def _recorded(dialect: str) -> Select[tuple[int]]:
    batch = json_rows(dialect, "batch", id=BigInteger(), lease=BigInteger(), outcome=String())
    return select(job_attempts.c.job_id).where(
        job_attempts.c.job_id == batch.c.id,
        job_attempts.c.lease == batch.c.lease,
        job_attempts.c.outcome == batch.c.outcome,
    )


RECORDED: Final = PerDialect(_recorded)


def _release(dialect: str) -> Update:
    batch = json_rows(dialect, "batch", id=BigInteger(), lease=BigInteger())
    return (
        update(jobs)
        .where(
            jobs.c.id == batch.c.id,
            jobs.c.lease == batch.c.lease,
            jobs.c.node_id == bindparam("node"),
            jobs.c.finished_at.is_not(None),
        )
        .values(node_id=null())
        .returning(*_SETTLED)
    )


RELEASE: Final = PerDialect(_release)


@dataclass(frozen=True, slots=True)
class Settled:
    """What a batch came to.

    `settled`: as the batch says, now or by an earlier call whose answer was lost; `released`: had been ended by
    somebody else under their bodies. The others are no longer this node's. `runs`: what became of the schedules whose
    runs these were.
    """

    settled: set[JobId] = field(default_factory=set[JobId])
    released: dict[JobId, JobState] = field(default_factory=dict[JobId, JobState])
    runs: list[Decided] = field(default_factory=list[Decided])

    def add(self, other: "Settled") -> None:
        """Take in another part of the same batch."""
        self.settled.update(other.settled)
        self.released.update(other.released)
        self.runs.extend(other.runs)


def settle(
    connection: Connection, node: NodeId, settlements: Sequence[Settlement], scheduler_age: timedelta | None = None
) -> Settled:
    """Write the batch, as far as its leases still hold; the runs of schedules that end with it, too.

    `scheduler_age`: how long ago the scheduler that found a crash was started.
    """
    settlements = [_storable(item) for item in settlements]
    batch = _as_json(settlements)
    rows = connection.execute(SETTLE.on(connection), {"batch": batch, "node": node}).all()
    if connection.dialect.name != POSTGRESQL:
        _keep_attempts(connection, node, rows, settlements)
    result = Settled({JobId(row.id) for row in rows})
    crashed = {item.id for item in settlements if item.outcome is AttemptOutcome.CRASHED}
    result.runs.extend(_end_runs(connection, node, rows, crashed, scheduler_age))
    rest = [item for item in settlements if item.id not in result.settled]
    if rest:
        recorded = _recorded_before(connection, rest)
        result.add(release(connection, node, [(item.id, item.lease) for item in rest if item.id not in recorded]))
        result.settled.update(recorded)
    return result


def release(connection: Connection, node: NodeId, leases: Collection[tuple[JobId, int]]) -> Settled:
    """Say that these bodies have stopped: releases those of them whose jobs had been ended under them."""
    if not leases:
        return Settled()
    batch = json.dumps([{"id": job_id, "lease": lease} for job_id, lease in leases])
    rows = connection.execute(RELEASE.on(connection), {"batch": batch, "node": node}).all()
    kinds = {
        JobState.CANCELLED: AttemptOutcome.CANCELLED,
        JobState.FAILED: AttemptOutcome.TIMED_OUT,
    }
    attempts = [_attempt(row, node, kinds[JobState(row.state)]) for row in rows]
    if attempts:
        connection.execute(KEEP_ATTEMPT, attempts)
    released = {JobId(row.id): JobState(row.state) for row in rows}
    return Settled(released=released, runs=_end_runs(connection, node, rows, (), None))


def _end_runs(
    connection: Connection,
    node: NodeId,
    rows: Sequence[Any],
    crashed: Collection[JobId],
    scheduler_age: timedelta | None,
) -> list[Decided]:
    over = {row.id: row.state for row in rows if row.schedule_id is not None and row.state != JobState.PENDING}
    if not over:
        return []
    outcomes = {
        job_id: RunOutcome.CRASHED if job_id in crashed else runs.outcome_of(state) for job_id, state in over.items()
    }
    return runs.end_jobs(connection, outcomes, node, scheduler_age)


def _recorded_before(connection: Connection, rest: Sequence[Settlement]) -> set[JobId]:
    rows = connection.execute(RECORDED.on(connection), {"batch": _as_json(rest)})
    return {JobId(row.job_id) for row in rows}


def _keep_attempts(
    connection: Connection, node: NodeId, rows: Sequence[Any], settlements: Sequence[Settlement]
) -> None:
    items = {(item.id, item.lease): item for item in settlements}
    settled = [(row, items[row.id, row.lease]) for row in rows]
    attempts = [_attempt(row, node, item.outcome, item) for row, item in settled]
    if attempts:
        connection.execute(KEEP_ATTEMPT, attempts)


def _attempt(row: Any, node: NodeId, outcome: AttemptOutcome, item: Settlement | None = None) -> dict[str, Any]:
    return {
        "job_id": row.id,
        "lease": row.lease,
        "attempt": row.attempt,
        "node_id": node,
        "started_at": row.started_at,
        "finished_at": row.updated_at,
        "outcome": outcome,
        "error": item and item.error,
        "traceback": item and item.traceback,
    }


def _storable(item: Settlement) -> Settlement:
    given = {name: text for name in _TEXTS if (text := getattr(item, name)) is not None}
    clean: dict[str, Any] = {name: storable(text) for name, text in given.items() if not is_storable(text)}
    return item._replace(**clean) if clean else item


def _as_json(settlements: Sequence[Settlement]) -> str:
    return json.dumps(
        [
            {name: value for name, value in zip(Settlement._fields, item, strict=True) if value is not None}
            for item in settlements
        ],
        separators=(",", ":"),
    )
