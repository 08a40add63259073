"""Fires that are planned ahead: for a crowd that is due at once all but the writing is done before.

What `plan` makes of an idle schedule at its next start it makes at any moment from then on, until its next time comes
due or this one is late. So the plan of what is due in a few seconds is made at leisure, from rows that nobody locks. At
the due time a row that has still the version it was planned from, and that is due by the database's clock, is fired as
it was planned, all of them by five statements that say little of each. What is less plain than that, or has changed
since, is left to `runs.fire`.
"""

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    Float,
    Insert,
    Integer,
    Text,
    Update,
    bindparam,
    cast,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.types import TypeEngine

from horae.domain.jobs.job import JobId, JobState, NodeId
from horae.domain.schedules.plan import plan
from horae.domain.schedules.planning_state import Due, Plan
from horae.domain.schedules.schedule import NEXT_STATE, Overlap, ScheduleEvent, ScheduleState
from horae.domain.schedules.tick import ON_TIME_WITHIN, Decision, Reason
from horae.storage.engine.dialect import (
    IdList,
    Instant,
    PerDialect,
    database_now,
    json_moment,
    json_rows,
    member_of,
    seconds_since,
)
from horae.storage.engine.row_bounds import MOST_IN_A_ROW, MOST_RUNS
from horae.storage.jobs.tables import jobs
from horae.storage.schedules import repository, runs
from horae.storage.schedules.rows import StoredSchedule
from horae.storage.schedules.runs import Decided
from horae.storage.schedules.tables import schedule_statistics
from horae.storage.schedules.tables import schedules as table
from horae.storage.schedules.tables import ticks as ledger

_ANY: Final = Random(0)  # noqa: S311 - spreads back-offs, guards nothing
"""What a fire that fits draws nothing from."""


class PlannedFire(NamedTuple):
    """What becomes of a schedule at its next start: the row `after` it, and how it is written.

    It holds from `after.now`, its due time, and before `until`, as long as the row has `version`.
    """

    after: StoredSchedule
    version: int
    until: datetime
    job: str
    moves: str


class Early(NamedTuple):
    """A schedule whose time has not come by the database's clock; `due_in` seconds, from when it was `seen`."""

    id: int
    priority: int
    due_in: float
    seen: float


@dataclass(frozen=True, slots=True)
class Fired:
    """What was fired as it was planned, and what is to be fired so a little later; the rest fits no longer."""

    decided: Sequence[Decided] = ()
    early: Sequence[Early] = ()


def _lock(dialect: str) -> Any:
    due_in = (-seconds_since(table.c.next_start)).label("due_in")
    chosen: list[Any] = [table.c.id, table.c.version, due_in, database_now().label("now")]
    found = member_of(dialect, table.c.id, "ids", of=IdList)
    return select(*chosen).where(found).order_by(table.c.id).with_for_update()


def _add_jobs(dialect: str) -> Insert:
    row = json_rows(dialect, "rows", id=BigInteger(), nominal=Instant(), max_runtime=Float())
    values: dict[str, Any] = {
        "schedule_id": table.c.id,
        "nominal_time": row.c.nominal,
        "deployment_id": table.c.deployment_id,
        "type": table.c.job_type,
        "queue": table.c.queue,
        "priority": table.c.priority,
        "params": table.c.params,
        "run_at": table.c.next_start,
        "max_runtime": row.c.max_runtime,
        "run_reason": literal(Reason.ON_TIME.value, Text()),
        "state": literal(JobState.PENDING.value, Text()),
        "created_at": database_now(),
        "updated_at": database_now(),
    }
    found = repository.found_of(dialect, table.c.id)
    source = select(*values.values()).join_from(row, table, table.c.id == row.c.id).where(found)
    added = insert(jobs).from_select(list(values), source, include_defaults=False)
    return added.returning(jobs.c.id, jobs.c.schedule_id)


_MOVES: Final[Mapping[str, TypeEngine[Any]]] = {
    "id": BigInteger(),
    "nominal": Instant(),
    "mark": Instant(),
    "next": Instant(),
    "job": BigInteger(),
}
_now: Final[Any] = bindparam("now", type_=Instant())


def _start(dialect: str) -> Update:
    row = json_rows(dialect, "rows", **_MOVES)
    found = repository.found_of(dialect, table.c.id)
    values: dict[str, Any] = {
        "state": literal(NEXT_STATE[ScheduleState.IDLE, ScheduleEvent.START].value, Text()),
        "run_token": row.c.job,
        "started_at": _now,
        "next_start": row.c.next,
        "last_tick": row.c.mark,
        "version": table.c.version + 1,
        "updated_at": _now,
    }
    return update(table).where(table.c.id == row.c.id, found).values(values)


def _count(dialect: str) -> Update:
    """What `Statistics.started` says, of all."""
    own = schedule_statistics.c
    values: dict[str, Any] = {name: own[name] + 1 for name in ("total_runs", "total_crashes", "consecutive_crashes")}
    can_be_read = (own.total_runs < MOST_RUNS, own.total_crashes < MOST_RUNS, own.consecutive_crashes < MOST_IN_A_ROW)
    mine = member_of(dialect, own.schedule_id, "ids", of=IdList)
    return update(schedule_statistics).where(mine, *can_be_read).values(values)


def _note(dialect: str) -> Insert:
    row = json_rows(dialect, "rows", **_MOVES)
    values = {
        "schedule_id": row.c.id,
        "nominal_time": row.c.nominal,
        "until": row.c.nominal,
        "count": literal(1, Integer()),
        "decision": literal(Decision.FIRED.value, Text()),
        "reason": literal(Reason.ON_TIME.value, Text()),
        "job_id": row.c.job,
        "decided_at": _now,
        "decided_by": cast(bindparam("node"), Text()),
    }
    return insert(ledger).from_select(list(values), select(*values.values()), include_defaults=False)


LOCK: Final = PerDialect(_lock)
ADD_JOBS: Final = PerDialect(_add_jobs)
MOVE: Final = PerDialect(lambda dialect: (_start(dialect), _count(dialect), _note(dialect)))


def plan_ahead(connection: Connection, ids: Collection[int]) -> dict[int, PlannedFire | None]:
    """Plan the next fires of these schedules; None where that is not plain, nothing where it may be when a run ends."""
    rows = repository.these(connection, ids)
    dialect = connection.dialect.name
    return {row.id: _planned(dialect, row) for row in rows if row.run_token is None}


def _planned(dialect: str, row: StoredSchedule) -> PlannedFire | None:
    due = row.next_start
    snapshot = None if due is None or not row.enabled else runs.readable(row)
    if snapshot is None or due is None or snapshot.rules.finish_trigger or snapshot.rules.overlap is Overlap.ALLOW_ALL:
        return None
    made = plan(snapshot, Due(), due, _ANY)
    if not _is_plain(made):
        return None
    until = due + min(ON_TIME_WITHIN, snapshot.rules.catch_up_window)
    job = runs.job_of(row, made)
    nominal = json_moment(dialect, job["nominal_time"])
    marks = {"mark": json_moment(dialect, made.last_tick), "next": json_moment(dialect, made.next_start)}
    return PlannedFire(
        after=runs.row_after(row._replace(now=due), made, JobId(0)),
        version=row.version,
        until=until if made.next_start is None else min(until, made.next_start),
        job=json.dumps({"id": row.id, "nominal": nominal, "max_runtime": job["max_runtime"]}),
        moves=json.dumps({"id": row.id, "nominal": nominal, **marks})[:-1],
    )


def _is_plain(made: Plan) -> bool:
    """One time, on time, and nothing else: all that the statements here can write."""
    if made.stop is not None or made.disabled is not None or len(made.ticks) != 1:
        return False
    return made.ticks[0].decision is Decision.FIRED and made.ticks[0].reason is Reason.ON_TIME


def fire(connection: Connection, planned: Sequence[PlannedFire], node: NodeId) -> Fired:
    """Fire what still fits its plan, in one transaction."""
    waiting = {item.after.id: item for item in planned}
    rows = connection.execute(LOCK.on(connection), {"ids": sorted(waiting)}).all()
    seen = time.monotonic()
    same = [(waiting[row.id], row) for row in rows if row.version == waiting[row.id].version]
    early = tuple(Early(row.id, item.after.priority, row.due_in, seen) for item, row in same if row.due_in > 0)
    fits = [item for item, row in same if row.due_in <= 0 and row.now < item.until]
    return Fired(_write(connection, fits, rows[0].now, seen, node) if fits else (), early)


def _write(
    connection: Connection, fits: Sequence[PlannedFire], now: datetime, seen: float, node: NodeId
) -> list[Decided]:
    ids = [item.after.id for item in fits]
    added = connection.execute(ADD_JOBS.on(connection), {"rows": _array(item.job for item in fits), "ids": ids})
    tokens = {row.schedule_id: JobId(row.id) for row in added}
    moves = _array(f'{item.moves},"job":{tokens[item.after.id]}}}' for item in fits)
    for statement in MOVE.on(connection):
        connection.execute(statement, {"rows": moves, "ids": ids, "now": now, "node": node})
    return [_decided(item.after, tokens[item.after.id], now, seen) for item in fits]


def _decided(after: StoredSchedule, job: JobId, now: datetime, seen: float) -> Decided:
    row = after._replace(run_token=job, started_at=now, now=now)
    return Decided(row, job, None, seen=seen)


def _array(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"
