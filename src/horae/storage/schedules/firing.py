"""Find due schedules and fire them: plan each from its locked row, and create its job.

`bulk_firing` does the same with plans that were made before the due time.
"""

import time
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from sqlalchemy import Connection, select

from horae.domain.jobs import NodeId
from horae.domain.schedules import Due, Plan
from horae.domain.schedules.plan import plan
from horae.domain.times import MICROSECOND
from horae.storage.engine import member_of, seconds_from_now, seconds_since
from horae.storage.jobs import EVERYTHING_IS_PAUSED
from horae.storage.schedules import backfill, ticks, writing
from horae.storage.schedules.plan_writing import (
    JITTER,
    AppliedPlan,
    apply_plans,
    snapshot_if_readable,
)
from horae.storage.schedules.rows import DueSchedule, StoredSchedule
from horae.storage.schedules.tables import schedules

_due_soon = select(
    schedules.c.id,
    schedules.c.partition,
    schedules.c.priority,
    (-seconds_since(schedules.c.next_start)).label("due_in"),
).where(schedules.c.next_start < seconds_from_now("horizon"), ~EVERYTHING_IS_PAUSED)
DUE: Final = _due_soon.where(member_of(schedules.c.partition, "partitions"))
DUE_AMONG: Final = _due_soon.where(member_of(schedules.c.id, "ids"))


def due(connection: Connection, partitions: Collection[int], horizon: float) -> list[DueSchedule]:
    """Return these partitions' schedules due within `horizon` seconds, including running ones."""
    rows = connection.execute(DUE, {"partitions": sorted(partitions), "horizon": horizon})
    return [DueSchedule(**row) for row in rows.mappings()]


def due_among(connection: Connection, ids: Collection[int], horizon: float) -> list[DueSchedule]:
    """Return those of these schedules that are due within `horizon` seconds."""
    rows = connection.execute(DUE_AMONG, {"ids": sorted(ids), "horizon": horizon})
    return [DueSchedule(**row) for row in rows.mappings()]


def fire(connection: Connection, ids: Collection[int], node: NodeId) -> list[AppliedPlan]:
    """Fire those of these schedules that are due, and return the state of each one.

    The others are returned as well, so that a node that lost a race learns the new next start.
    """
    locked, read_at = writing.lock(connection, ids, writing.LOCK_TO_FIRE), time.monotonic()
    changes: list[tuple[StoredSchedule, Plan]] = []
    found: dict[int, AppliedPlan] = {}
    for row in locked:
        snapshot = snapshot_if_readable(row)
        found[row.id] = AppliedPlan(row, unreadable=snapshot is None)
        if snapshot is None:
            continue
        # Move an interval's start past decided times, which a clock that was set back shows again.
        start, mark = snapshot.next_start, snapshot.last_tick
        if snapshot.rules.finish_trigger is not None and start and mark and start <= mark:
            while ticks.is_decided(connection, row.id, start):
                start += MICROSECOND
            snapshot = replace(snapshot, next_start=start)
        if row.backfill_next is not None:
            snapshot = replace(snapshot, backfill=backfill.following(connection, row.id))
        made = plan(snapshot, Due(), row.now, JITTER)
        if made != Plan.unchanged(snapshot):
            changes.append((row, made))
    found |= {each.schedule.id: each for each in apply_plans(connection, changes, node)}
    return [replace(each, read_at=read_at) for each in found.values()]
