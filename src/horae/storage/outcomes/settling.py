"""Settle a batch of claims: write how each job ended, guarded by its lease, and keep one attempt in
`job_attempts`.

A lease that no longer matches means that the job was ended while its body ran (it was cancelled, or
failed by its hard limit), or that it belongs to another node now. In the first case the row is
released, since its body has stopped. Settling is idempotent: the row of the attempt proves that an
earlier commit, whose answer was lost, took effect.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Executable

from horae.domain.jobs.groups import REPORTED
from horae.domain.jobs.job import AttemptOutcome, JobId, JobState, NodeId, Settlement
from horae.domain.schedules.statistics import RunOutcome
from horae.domain.storable import is_storable, storable
from horae.storage.engine.dialect import POSTGRESQL, PerDialect
from horae.storage.outcomes import follow_ups, run_ending
from horae.storage.outcomes.follow_ups import EndedJob, FollowUps
from horae.storage.outcomes.settling_statements import (
    FINISH,
    FINISH_MEMBERS,
    KEEP_ATTEMPT,
    RECORDED,
    RELEASE,
    SETTLE,
)
from horae.storage.schedules import writing
from horae.storage.schedules.plan_writing import AppliedPlan

_RUN_OUTCOMES: Final = {
    AttemptOutcome.CRASHED: RunOutcome.CRASHED,
    AttemptOutcome.INTERRUPTED: RunOutcome.UNCOUNTED,
}
_TEXTS: Final = ("error", "human_readable_error", "traceback", "label", "reason")


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of settling a batch.

    `settled`: written as requested, now or by an earlier call whose answer was lost; `released`:
    jobs that had been ended while their bodies ran; `returned`: pending again. All others no longer
    belong to this node. `runs`: the schedules whose runs have ended with these jobs. `follow_ups`:
    what followed for groups and jobs that waited.
    """

    settled: set[JobId] = field(default_factory=set[JobId])
    released: dict[JobId, JobState] = field(default_factory=dict[JobId, JobState])
    returned: set[JobId] = field(default_factory=set[JobId])
    runs: list[AppliedPlan] = field(default_factory=list[AppliedPlan])
    follow_ups: FollowUps = field(default_factory=FollowUps)

    def add(self, other: "Settled") -> None:
        """Add the result of another part of the same batch."""
        self.settled.update(other.settled)
        self.released.update(other.released)
        self.returned.update(other.returned)
        self.runs.extend(other.runs)
        self.follow_ups.add(other.follow_ups)


def settle(
    connection: Connection,
    node: NodeId,
    settlements: Sequence[Settlement],
    scheduler_age: timedelta | None = None,
) -> Settled:
    """Write those settlements whose leases are still current, and end the runs of schedules that
    end with them.

    `scheduler_age`: how long ago the scheduler that found a crash was started.
    """
    simple = [item for item in settlements if item.state is JobState.FINISHED and item.took is None]
    finished = _finish(connection, node, [item for item in simple if item.group_id is None])
    members = [item for item in simple if item.group_id is not None]
    counts = _finish_members(connection, node, members, finished) if members else Counter[int]()
    result = Settled(finished)
    settlements = [_storable(item) for item in settlements if item.id not in finished]
    awaited = (
        _settle_rest(connection, node, settlements, scheduler_age, result) if settlements else []
    )
    # Last, as the rows of groups are shared with the transactions of other nodes, and stay locked
    # until the commit.
    if counts or awaited:
        result.follow_ups.add(follow_ups.report(connection, awaited, counts))
    return result


def _settle_rest(
    connection: Connection,
    node: NodeId,
    settlements: Sequence[Settlement],
    scheduler_age: timedelta | None,
    result: Settled,
) -> list[EndedJob]:
    """Settle what the short statements have not written; return the ended jobs that others wait
    for.
    """
    rows = _write(connection, SETTLE, node, _as_json(settlements)).all()
    settled = {JobId(row.id) for row in rows}
    result.settled.update(settled)
    special = {
        item.id: _RUN_OUTCOMES[item.outcome]
        for item in settlements
        if item.outcome in _RUN_OUTCOMES
    }
    result.runs.extend(_end_runs(connection, node, rows, special, scheduler_age))
    rest = [item for item in settlements if item.id not in settled]
    if rest:
        recorded = _recorded_before(connection, rest)
        result.add(
            release(
                connection,
                node,
                [(item.id, item.lease) for item in rest if item.id not in recorded],
            )
        )
        result.settled.update(recorded)
    return _reported(rows)


def _reported(rows: Iterable[Any]) -> list[EndedJob]:
    """Return the jobs whose ends this transaction reports; see `follow_ups`."""
    return follow_ups.ended_jobs(row for row in rows if row.awaited == REPORTED)


def _finish(connection: Connection, node: NodeId, settlements: Sequence[Settlement]) -> set[JobId]:
    """Finish jobs by the short statement; return them, or none unless it has written all of
    them.
    """
    if not settlements:
        return set()
    written = _write(connection, FINISH, node, finished_as_json(settlements))
    count = written.scalar_one() if written.returns_rows else written.rowcount
    return {item.id for item in settlements} if count == len(settlements) else set()


def _finish_members(
    connection: Connection, node: NodeId, members: Sequence[Settlement], finished: set[JobId]
) -> Counter[int]:
    """Finish members for whose ends only their groups wait, and add them to `finished`.

    Returns how many were finished in each group, as far as this transaction reports them.
    """
    batch = {"batch": finished_as_json(members), "node": node}
    if connection.dialect.name == POSTGRESQL:
        [statement] = FINISH_MEMBERS.on(connection)
        number, awaited, some = connection.execute(
            statement, {**batch, "number": len(members)}
        ).one()
    else:
        keep, finish, finish_some = FINISH_MEMBERS.on(connection)
        number, awaited = connection.execute(keep, batch).rowcount, REPORTED
        written = connection.execute(finish if number == len(members) else finish_some, batch)
        some = written.scalars() if written.returns_rows else None
    if number != len(members):
        ids = set(some or ())
        members = [item for item in members if item.id in ids]
    finished.update(item.id for item in members)
    if awaited != REPORTED:  # the same for all, as it depends on the transaction
        return Counter()
    return Counter(item.group_id for item in members if item.group_id is not None)


def _write(
    connection: Connection, statements: PerDialect[Sequence[Executable]], node: NodeId, batch: str
) -> CursorResult[Any]:
    *before, last = statements.on(connection)
    for statement in before:
        connection.execute(statement, {"batch": batch, "node": node})
    return connection.execute(last, {"batch": batch, "node": node})


def release(
    connection: Connection,
    node: NodeId,
    leases: Collection[tuple[JobId, int]],
    unbegun: Collection[JobId] = (),
) -> Settled:
    """Note that these bodies have stopped: release the jobs among them that were ended while their
    bodies ran.

    `unbegun`: jobs whose bodies had not begun, so that no attempt is kept.
    """
    if not leases:
        return Settled()
    batch = json.dumps([{"id": job_id, "lease": lease} for job_id, lease in leases])
    rows = connection.execute(RELEASE.on(connection), {"batch": batch, "node": node}).all()
    kinds = {
        JobState.CANCELLED: AttemptOutcome.CANCELLED,
        JobState.FAILED: AttemptOutcome.TIMED_OUT,
    }
    attempts = [
        _attempt(row, node, kinds[JobState(row.state)]) for row in rows if row.id not in unbegun
    ]
    if attempts:
        connection.execute(KEEP_ATTEMPT, attempts)
    released = {JobId(row.id): JobState(row.state) for row in rows}
    return Settled(released=released, runs=_end_runs(connection, node, rows, {}, None))


def _end_runs(
    connection: Connection,
    node: NodeId,
    rows: Sequence[Any],
    special: Mapping[JobId, RunOutcome],
    scheduler_age: timedelta | None,
) -> list[AppliedPlan]:
    scheduled = [row for row in rows if row.schedule_id is not None]
    if repeating := [JobId(row.id) for row in scheduled if row.state == JobState.PENDING]:
        writing.mark_repeating(connection, repeating)
    outcomes = {
        JobId(row.id): special.get(row.id) or run_ending.outcome_of(row.state)
        for row in scheduled
        if row.state != JobState.PENDING
    }
    return run_ending.end_runs(connection, outcomes, node, scheduler_age) if outcomes else []


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
    clean: dict[str, Any] = {
        name: storable(text) for name, text in given.items() if not is_storable(text)
    }
    return item._replace(**clean) if clean else item


def finished_as_json(settlements: Sequence[Settlement]) -> str:
    """Return the batch of `FINISH`."""
    # Formatted by hand where nothing needs escaping, which is nearly always: it takes a fifth of
    # json.dumps's time.
    parts = (
        f'{{"id":{item.id},"lease":{item.lease}}}'
        if item.result is None and item.label is None
        else json.dumps(
            {
                "id": item.id,
                "lease": item.lease,
                "result": item.result,
                "label": _storable(item).label,
            }
        )
        for item in settlements
    )
    return f"[{','.join(parts)}]"


def _microseconds(item: Settlement) -> int | None:
    return None if item.took is None else round(item.took * 1e6)


def _as_json(settlements: Sequence[Settlement]) -> str:
    return json.dumps(
        [
            {
                name: value
                for name, value in zip(Settlement._fields, item, strict=True)
                if value is not None
            }
            | {"took": _microseconds(item)}
            for item in settlements
        ],
        separators=(",", ":"),
    )
