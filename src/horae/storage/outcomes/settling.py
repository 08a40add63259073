"""Settling: what became of a batch of claims, guarded by lease, with one row an attempt kept in `job_attempts`.

A claim that no longer matches was ended by somebody else while its body ran (cancelled, or failed by its hard limit) or
belongs to another node now. In the first case the row is released: its body has stopped. Settling twice is harmless:
the attempt's row proves that the first commit, whose answer was lost, did arrive.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Executable

from horae.domain.jobs.job import AttemptOutcome, JobId, JobState, NodeId, Settlement
from horae.domain.schedules.statistics import RunOutcome
from horae.domain.storable import is_storable, storable
from horae.storage.engine.dialect import PerDialect
from horae.storage.outcomes.settling_statements import FINISH, KEEP_ATTEMPT, RECORDED, RELEASE, SETTLE
from horae.storage.schedules import runs, stopping
from horae.storage.schedules.runs import Decided

_TEXTS: Final = ("error", "human_readable_error", "traceback", "label")


@dataclass(frozen=True, slots=True)
class Settled:
    """What a batch came to.

    `settled`: as the batch says, now or by an earlier call whose answer was lost; `released`: had been ended by
    somebody else under their bodies; `returned`: pending again. The others are no longer this node's. `runs`: what
    became of the schedules whose runs these were.
    """

    settled: set[JobId] = field(default_factory=set[JobId])
    released: dict[JobId, JobState] = field(default_factory=dict[JobId, JobState])
    returned: set[JobId] = field(default_factory=set[JobId])
    runs: list[Decided] = field(default_factory=list[Decided])

    def add(self, other: "Settled") -> None:
        """Take in another part of the same batch."""
        self.settled.update(other.settled)
        self.released.update(other.released)
        self.returned.update(other.returned)
        self.runs.extend(other.runs)


def settle(
    connection: Connection, node: NodeId, settlements: Sequence[Settlement], scheduler_age: timedelta | None = None
) -> Settled:
    """Write the batch, as far as its leases still hold; the runs of schedules that end with it, too.

    `scheduler_age`: how long ago the scheduler that found a crash was started.
    """
    plain = [item for item in settlements if item.state is JobState.FINISHED and item.took is None]
    finished = _finish(connection, node, plain)
    settlements = [_storable(item) for item in settlements if item.id not in finished]
    if not settlements:
        return Settled(finished)
    rows = _write(connection, SETTLE, node, _as_json(settlements)).all()
    result = Settled({JobId(row.id) for row in rows})
    crashed = {item.id for item in settlements if item.outcome is AttemptOutcome.CRASHED}
    result.runs.extend(_end_runs(connection, node, rows, crashed, scheduler_age))
    rest = [item for item in settlements if item.id not in result.settled]
    if rest:
        recorded = _recorded_before(connection, rest)
        result.add(release(connection, node, [(item.id, item.lease) for item in rest if item.id not in recorded]))
        result.settled.update(recorded)
    result.settled.update(finished)
    return result


def _finish(connection: Connection, node: NodeId, settlements: Sequence[Settlement]) -> set[JobId]:
    """Finish the jobs the short way; which they are, or none if not all of them can be told to have gone that way."""
    if not settlements:
        return set()
    written = _write(connection, FINISH, node, _finished_as_json(settlements))
    count = written.scalar_one() if written.returns_rows else written.rowcount
    return {item.id for item in settlements} if count == len(settlements) else set()


def _write(
    connection: Connection, statements: PerDialect[Sequence[Executable]], node: NodeId, batch: str
) -> CursorResult[Any]:
    *before, last = statements.on(connection)
    for statement in before:
        connection.execute(statement, {"batch": batch, "node": node})
    return connection.execute(last, {"batch": batch, "node": node})


def release(
    connection: Connection, node: NodeId, leases: Collection[tuple[JobId, int]], unbegun: Collection[JobId] = ()
) -> Settled:
    """Say that these bodies have stopped: releases those of them whose jobs had been ended under them.

    `unbegun`: had no body yet; so that there was no attempt.
    """
    if not leases:
        return Settled()
    batch = json.dumps([{"id": job_id, "lease": lease} for job_id, lease in leases])
    rows = connection.execute(RELEASE.on(connection), {"batch": batch, "node": node}).all()
    kinds = {
        JobState.CANCELLED: AttemptOutcome.CANCELLED,
        JobState.FAILED: AttemptOutcome.TIMED_OUT,
    }
    attempts = [_attempt(row, node, kinds[JobState(row.state)]) for row in rows if row.id not in unbegun]
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
    if again := [JobId(row.id) for row in rows if row.schedule_id is not None and row.state == JobState.PENDING]:
        stopping.repeated(connection, again)
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


def _attempt(row: Any, node: NodeId, outcome: AttemptOutcome) -> dict[str, Any]:
    return {
        "job_id": row.id,
        "lease": row.lease,
        "attempt": row.attempt,
        "node_id": node,
        "started_at": row.started_at,
        "finished_at": row.updated_at,
        "outcome": outcome,
    }


def _storable(item: Settlement) -> Settlement:
    given = {name: text for name in _TEXTS if (text := getattr(item, name)) is not None}
    clean: dict[str, Any] = {name: storable(text) for name, text in given.items() if not is_storable(text)}
    return item._replace(**clean) if clean else item


def _finished_as_json(settlements: Sequence[Settlement]) -> str:
    # By hand where there is nothing to escape: a fifth of the time of json.dumps, for nearly every end.
    parts = (
        f'{{"id":{item.id},"lease":{item.lease}}}'
        if item.result is None and item.label is None
        else json.dumps({"id": item.id, "lease": item.lease, "result": item.result, "label": _storable(item).label})
        for item in settlements
    )
    return f"[{','.join(parts)}]"


def _microseconds(item: Settlement) -> int | None:
    return None if item.took is None else round(item.took * 1e6)


def _as_json(settlements: Sequence[Settlement]) -> str:
    return json.dumps(
        [
            {name: value for name, value in zip(Settlement._fields, item, strict=True) if value is not None}
            | {"took": _microseconds(item)}
            for item in settlements
        ],
        separators=(",", ":"),
    )
