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
    Integer,
    Text,
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
    Reason,
    ScheduleEvent,
    ScheduleState,
)
from horae.domain.schedules.plan import plan
from horae.storage.engine import (
    MOST_CONSECUTIVE,
    MOST_RUNS,
    Instant,
    database_now,
    has_listed_id,
    json_moment,
    json_rows,
    member_of,
    seconds_since,
)
from horae.storage.jobs import EVERYTHING_IS_PAUSED
from horae.storage.schedules import reading
from horae.storage.schedules.plan_writing import (
    ADD_JOBS,
    AppliedPlan,
    row_after,
    run_values,
    snapshot_if_readable,
    write_tags,
)
from horae.storage.schedules.rows import StoredSchedule
from horae.storage.schedules.tables import schedule_statistics, schedules, ticks

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


_row = json_rows(
    "rows",
    id=BigInteger(),
    nominal=Instant(),
    last_tick=Instant(),
    next_start=Instant(),
    job=BigInteger(),
)
_now: Final[Any] = bindparam("now", type_=Instant())
_due_in = (-seconds_since(schedules.c.next_start)).label("due_in")
LOCK: Final = (
    select(schedules.c.id, schedules.c.version, _due_in, database_now().label("now"))
    .where(member_of(schedules.c.id, "ids"), ~EVERYTHING_IS_PAUSED)
    .order_by(schedules.c.id)
    .with_for_update()
)
START: Final = (
    update(schedules)
    .where(has_listed_id(schedules.c.id, _row.c.id))
    .values(
        state=literal(NEXT_STATE[ScheduleState.IDLE, ScheduleEvent.START].value, Text()),
        run_token=_row.c.job,
        started_at=_now,
        next_start=_row.c.next_start,
        last_tick=_row.c.last_tick,
        version=schedules.c.version + 1,
        updated_at=_now,
    )
)
_own = schedule_statistics.c
COUNT_START: Final = (
    update(schedule_statistics)
    .where(
        member_of(_own.schedule_id, "ids"),
        # Larger numbers could not be read any more.
        _own.total_runs < MOST_RUNS,
        _own.total_crashes < MOST_RUNS,
        _own.consecutive_crashes < MOST_CONSECUTIVE,
    )
    .values(
        total_runs=_own.total_runs + 1,
        total_crashes=_own.total_crashes + 1,
        consecutive_crashes=_own.consecutive_crashes + 1,
    )
)
"""Do in SQL what `Statistics.started` does."""
_tick = {
    "schedule_id": _row.c.id,
    "nominal_time": _row.c.nominal,
    "until": _row.c.nominal,
    "count": literal(1, Integer()),
    "decision": literal(Decision.FIRED.value, Text()),
    "reason": literal(Reason.ON_TIME.value, Text()),
    "job_id": _row.c.job,
    "decided_at": _now,
    "decided_by": cast(bindparam("node"), Text()),
}
ADD_TICKS: Final = insert(ticks).from_select(
    list(_tick), select(*_tick.values()), include_defaults=False
)


def plan_ahead(connection: Connection, ids: Collection[int]) -> dict[int, PlannedFire | None]:
    """Plan the next fires of these schedules.

    The plan is None if it does more than fire one nominal time. A schedule that is running is left
    out: it may be planned when its run ends.
    """
    rows = reading.by_ids(connection, ids)
    return {row.id: _plan_one(connection, row) for row in rows if row.run_token is None}


def _plan_one(connection: Connection, row: StoredSchedule) -> PlannedFire | None:
    due = row.next_start
    if due is None or not row.enabled:
        return None
    snapshot = snapshot_if_readable(row)
    if snapshot is None or snapshot.change is not None:
        return None
    rules = snapshot.rules
    if rules.finish_trigger or rules.overlap is Overlap.ALLOW_ALL:
        return None

    # These statements suffice for a plan that only fires one nominal time, on time.
    made = plan(snapshot, Due(), due, _UNUSED)
    fired = made.fired
    if (
        made.stop is not None
        or made.disabled is not None
        or fired is None
        or fired.reason is not Reason.ON_TIME
        or len(made.ticks) > 1
    ):
        return None

    until = due + min(ON_TIME_WITHIN, rules.catch_up_window)
    values = run_values(row, fired)
    nominal = json_moment(connection, values["nominal"])
    moments = {
        name: json_moment(connection, getattr(made, name)) for name in ("last_tick", "next_start")
    }
    return PlannedFire(
        after=row_after(row._replace(now=due), made, JobId(0)),
        version=row.version,
        until=until if made.next_start is None else min(until, made.next_start),
        job=json.dumps({"id": row.id, **values, "nominal": nominal}),
        changes=json.dumps({"id": row.id, "nominal": nominal, **moments})[:-1],
    )


def fire(connection: Connection, planned: Sequence[PlannedFire], node: NodeId) -> BulkFired:
    """Carry out those of these plans that are still valid, in one transaction."""
    waiting = {item.after.id: item for item in planned}
    rows = connection.execute(LOCK, {"ids": sorted(waiting)}).all()
    read_at = time.monotonic()
    unchanged = [(waiting[row.id], row) for row in rows if row.version == waiting[row.id].version]
    not_yet_due = tuple(
        NotYetDue(row.id, item.after.priority, row.due_in, read_at)
        for item, row in unchanged
        if row.due_in > 0
    )
    valid = [item for item, row in unchanged if row.due_in <= 0 and row.now < item.until]
    if not valid:
        return BulkFired((), not_yet_due)

    now, ids = rows[0].now, [item.after.id for item in valid]
    added = connection.execute(ADD_JOBS, {"rows": _array(item.job for item in valid), "ids": ids})
    tokens = {row.schedule_id: JobId(row.id) for row in added}
    write_tags(connection, ((tokens[item.after.id], item.after) for item in valid))
    changes = _array(f'{item.changes},"job":{tokens[item.after.id]}}}' for item in valid)
    for statement in (START, COUNT_START, ADD_TICKS):
        connection.execute(statement, {"rows": changes, "ids": ids, "now": now, "node": node})

    applied = [
        AppliedPlan(
            item.after._replace(run_token=tokens[item.after.id], started_at=now, now=now),
            tokens[item.after.id],
            None,
            read_at=read_at,
        )
        for item in valid
    ]
    return BulkFired(applied, not_yet_due)


def _array(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"
