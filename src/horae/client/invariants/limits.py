"""Check the concurrency limits of queues: no more attempts at a time than the queue allowed when
the last one began.
"""

from collections.abc import Sequence
from datetime import datetime
from heapq import heappop, heappush
from itertools import chain, groupby
from typing import Any, Final

from sqlalchemy import Connection

from horae.client.invariants.finding import Findings, Invariant, shown
from horae.client.invariants.history import ONE_CHANGE, Alteration, History
from horae.client.invariants.jobs import IN_ONE_TRANSACTION
from horae.storage.engine.value_limits import EARLIEST, LATEST
from horae.storage.operations import invariants
from horae.storage.operations.nodes import NodeView

LIMIT: Final = "concurrency_limit"


def check(connection: Connection, findings: Findings, history: History, since: datetime) -> None:
    """Check all queues that have a limit or had one."""
    limits = {
        row.name: row.concurrency_limit for row in invariants.stream(connection, invariants.LIMITS)
    }
    rows = invariants.stream(connection, invariants.LIMITED, since=since)
    for queue, attempts in groupby(rows, key=lambda row: row.queue):
        found: Any = None
        over_time = _over_time(limits.get(queue), history.limits.get(queue, []))
        running: list[tuple[datetime, int]] = []
        for attempt in attempts:
            while running and running[0][0] <= attempt.started_at:
                heappop(running)
            heappush(running, (attempt.finished_at, attempt.id))
            limit = _largest(over_time, attempt.started_at)
            if found is None and limit is not None and len(running) > limit:
                found = (attempt, limit, sorted(job for _, job in running))
        if found is not None:
            attempt, limit, jobs = found
            named = ", ".join(map(str, jobs[:10]))
            findings.add(
                Invariant.LIMITS,
                f"queue {queue} allowed {limit} jobs at a time, but at {shown(attempt.started_at)}"
                f" jobs {named} ran",
                queue=queue,
            )


def check_pauses(connection: Connection, findings: Findings, alive: Sequence[NodeView]) -> None:
    """Check that no node which is alive has claimed from a queue since it was paused.

    Earlier pauses are no longer known. A node that has ended may have been a process that ran a job
    with `sync=True`, which a pause does not concern.
    """
    workers = {node.id for node in alive if node.is_worker}
    attempts = invariants.stream(connection, invariants.ATTEMPTS_WHILE_PAUSED)
    for row in chain(attempts, invariants.stream(connection, invariants.STARTED_WHILE_PAUSED)):
        if row.node_id in workers and row.started_at > row.paused_at + IN_ONE_TRANSACTION:
            message = (
                f"node {row.node_id} began job {row.id} at {shown(row.started_at)}, although queue"
                f" {row.queue} has been paused since {shown(row.paused_at)}"
            )
            findings.add(Invariant.LIMITS, message, job=row.id, queue=row.queue)


def _over_time(current: int | None, changes: list[Alteration]) -> list[tuple[datetime, int | None]]:
    """Return the limits and since when each was in force, the oldest first."""
    starts = [EARLIEST, *(change.at for change in changes)]
    return list(
        zip(starts, [*(change.before.get(LIMIT) for change in changes), current], strict=True)
    )


def _largest(limits: list[tuple[datetime, int | None]], moment: datetime) -> int | None:
    """Return the largest limit in force around a moment; None if there was none."""
    ends = [*(start for start, _ in limits[1:]), LATEST]
    possible = [
        limit
        for (start, limit), end in zip(limits, ends, strict=True)
        if start <= moment + ONE_CHANGE and end >= moment - ONE_CHANGE
    ]
    known = [limit for limit in possible if limit is not None]
    return max(known) if known and len(known) == len(possible) else None
