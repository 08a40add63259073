"""Fire many schedules at once, by plans that were made a few seconds before the due time and
without locks.

From the next start of an idle schedule on, `plan` gives the same result until the following nominal
time is due or this one counts as late. So it can be planned in advance. At the due time, the rows
that still have the version they were planned from, and are due by the database's clock, are fired
as planned: by five statements for any number of schedules, with little data for each. All others,
and plans that do more than fire one nominal time, are left to `firing.fire`.
"""

import json
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    FromClause,
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

from horae.domain.jobs import JobId, NodeId
from horae.domain.schedules import (
    NEXT_STATE,
    ON_TIME_WITHIN,
    Decision,
    Due,
    Overlap,
    Plan,
    Reason,
    ScheduleEvent,
    ScheduleState,
)
from horae.domain.schedules.plan import plan
from horae.storage.engine import (
    MOST_CONSECUTIVE,
    MOST_RUNS,
    IdList,
    Instant,
    PerDialect,
    among,
    database_now,
    json_moment,
    json_rows,
    member_of,
    seconds_since,
)
from horae.storage.schedules import reading
from horae.storage.schedules.plan_writing import (
    ADD_JOBS_ON_TIME,
    AppliedPlan,
    row_after,
    run_values,
    snapshot_if_readable,
    write_tags,
)
from horae.storage.schedules.rows import StoredSchedule
from horae.storage.schedules.tables import schedule_statistics, schedules, ticks
from horae.storage.schedules.writing import by_index

_UNUSED: Final = Random(0)


class PlannedFire(NamedTuple):
    """A plan made in advance: the row `after` it, and JSON rows for the job and other statements.

    It is valid from `after.now`, the due time, and before `until`, as long as the row has
    `version`.
    """

    after: StoredSchedule
    version: int
    until: datetime
    job: str
    changes: str


class NotYetDue(NamedTuple):
    """A schedule that is not due yet: `due_in` seconds from `read_at`, on the monotonic clock."""

    id: int
    priority: int
    due_in: float
    read_at: float


@dataclass(frozen=True, slots=True)
class BulkFired:
    """Plans that were carried out, and plans that are valid but not due yet; others are invalid."""

    applied: Sequence[AppliedPlan] = ()
    not_yet_due: Sequence[NotYetDue] = ()


def _changes(dialect: str) -> FromClause:
    moments = {name: Instant() for name in ("nominal", "last_tick", "next_start")}
    return json_rows(dialect, "rows", id=BigInteger(), **moments, job=BigInteger())


_now: Final[Any] = bindparam("now", type_=Instant())


def _start(dialect: str) -> Update:
    row = _changes(dialect)
    values: dict[str, Any] = {
        "state": literal(NEXT_STATE[ScheduleState.IDLE, ScheduleEvent.START].value, Text()),
        "run_token": row.c.job,
        "started_at": _now,
        "next_start": row.c.next_start,
        "last_tick": row.c.last_tick,
        "version": schedules.c.version + 1,
        "updated_at": _now,
    }
    return (
        update(schedules)
        .where(schedules.c.id == row.c.id, by_index(dialect, schedules.c.id))
        .values(values)
    )


def _count_start(dialect: str) -> Update:
    """Do in SQL what `Statistics.started` does."""
    own = schedule_statistics.c
    values: dict[str, Any] = {
        name: own[name] + 1 for name in ("total_runs", "total_crashes", "consecutive_crashes")
    }
    can_be_read = (
        own.total_runs < MOST_RUNS,
        own.total_crashes < MOST_RUNS,
        own.consecutive_crashes < MOST_CONSECUTIVE,
    )
    theirs = member_of(dialect, own.schedule_id, "ids", of=IdList)
    return update(schedule_statistics).where(theirs, *can_be_read).values(values)


def _add_ticks(dialect: str) -> Insert:
    row = _changes(dialect)
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
    return insert(ticks).from_select(list(values), select(*values.values()), include_defaults=False)


_due_in = (-seconds_since(schedules.c.next_start)).label("due_in")
_chosen = select(schedules.c.id, schedules.c.version, _due_in, database_now().label("now"))
LOCK: Final = among(_chosen.order_by(schedules.c.id).with_for_update(), schedules.c.id)
CHANGE: Final = PerDialect(
    lambda dialect: (_start(dialect), _count_start(dialect), _add_ticks(dialect))
)


def plan_ahead(connection: Connection, ids: Collection[int]) -> dict[int, PlannedFire | None]:
    """Plan the next fires of these schedules.

    The plan is None if it does more than fire one nominal time. A schedule that is running is left
    out: it may be planned when its run ends.
    """
    rows = reading.by_ids(connection, ids)
    dialect = connection.dialect.name
    return {row.id: _planned(dialect, row) for row in rows if row.run_token is None}


def _planned(dialect: str, row: StoredSchedule) -> PlannedFire | None:
    due = row.next_start
    snapshot = None if due is None or not row.enabled else snapshot_if_readable(row)
    if (
        snapshot is None
        or due is None
        or snapshot.rules.finish_trigger
        or snapshot.rules.overlap is Overlap.ALLOW_ALL
    ):
        return None
    if snapshot.change is not None:
        return None
    made = plan(snapshot, Due(), due, _UNUSED)
    if not _only_fires_on_time(made):
        return None
    until = due + min(ON_TIME_WITHIN, snapshot.rules.catch_up_window)
    values = run_values(row, made)
    nominal = json_moment(dialect, values["nominal"])
    moments = {
        name: json_moment(dialect, getattr(made, name)) for name in ("last_tick", "next_start")
    }
    return PlannedFire(
        after=row_after(row._replace(now=due), made, JobId(0)),
        version=row.version,
        until=until if made.next_start is None else min(until, made.next_start),
        job=json.dumps({"id": row.id, **values, "nominal": nominal}),
        changes=json.dumps({"id": row.id, "nominal": nominal, **moments})[:-1],
    )


def _only_fires_on_time(made: Plan) -> bool:
    """Return whether a plan only fires one nominal time, on time; these statements suffice then."""
    if made.stop is not None or made.disabled is not None or len(made.ticks) != 1:
        return False
    return made.ticks[0].decision is Decision.FIRED and made.ticks[0].reason is Reason.ON_TIME


def fire(connection: Connection, planned: Sequence[PlannedFire], node: NodeId) -> BulkFired:
    """Carry out those of these plans that are still valid, in one transaction."""
    waiting = {item.after.id: item for item in planned}
    rows = connection.execute(LOCK.on(connection), {"ids": sorted(waiting)}).all()
    read_at = time.monotonic()
    unchanged = [(waiting[row.id], row) for row in rows if row.version == waiting[row.id].version]
    not_yet_due = tuple(
        NotYetDue(row.id, item.after.priority, row.due_in, read_at)
        for item, row in unchanged
        if row.due_in > 0
    )
    valid = [item for item, row in unchanged if row.due_in <= 0 and row.now < item.until]
    return BulkFired(
        _write(connection, valid, rows[0].now, read_at, node) if valid else (), not_yet_due
    )


def _write(
    connection: Connection,
    valid: Sequence[PlannedFire],
    now: datetime,
    read_at: float,
    node: NodeId,
) -> list[AppliedPlan]:
    ids = [item.after.id for item in valid]
    added = connection.execute(
        ADD_JOBS_ON_TIME.on(connection), {"rows": _array(item.job for item in valid), "ids": ids}
    )
    tokens = {row.schedule_id: JobId(row.id) for row in added}
    write_tags(connection, ((tokens[item.after.id], item.after) for item in valid))
    changes = _array(f'{item.changes},"job":{tokens[item.after.id]}}}' for item in valid)
    for statement in CHANGE.on(connection):
        connection.execute(statement, {"rows": changes, "ids": ids, "now": now, "node": node})
    return [_applied(item.after, tokens[item.after.id], now, read_at) for item in valid]


def _applied(after: StoredSchedule, job: JobId, now: datetime, read_at: float) -> AppliedPlan:
    row = after._replace(run_token=job, started_at=now, now=now)
    return AppliedPlan(row, job, None, read_at=read_at)


def _array(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"
