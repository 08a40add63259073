"""Check that a queue never had more attempts at a time than it allowed when the last one began."""

import math
from collections import defaultdict
from datetime import datetime
from heapq import heappop, heappush
from itertools import chain, groupby
from typing import Any, Final

from horae.client.audit.finding import Audit, Invariant, show
from horae.client.audit.jobs import IN_ONE_TRANSACTION
from horae.client.audit.known_rules import ONE_CHANGE
from horae.storage.engine import EARLIEST, LATEST
from horae.storage.operations import invariants

LIMIT: Final = "concurrency_limit"


def check(audit: Audit) -> None:
    """Check all queues that have a limit or had one."""
    changes: dict[str, list[tuple[datetime, int | None]]] = defaultdict(list)
    for row in audit.stream(invariants.LIMIT_CHANGES):
        before = row.before if isinstance(row.before, dict) else {}
        if row.action == "queue.reset" and LIMIT not in before:
            continue  # the entry changed other settings
        changes[row.target].append((row.at, before.get(LIMIT)))
    current = {row.name: row.concurrency_limit for row in audit.stream(invariants.LIMITS)}
    rows = audit.stream(invariants.LIMITED, since=audit.since)
    for queue, attempts in groupby(rows, key=lambda row: row.queue):
        starts = [EARLIEST, *(at for at, _ in changes[queue]), LATEST]
        limits = [*(before for _, before in changes[queue]), current.get(queue)]
        spans = list(zip(starts[:-1], starts[1:], limits, strict=True))
        found: Any = None
        running: list[tuple[datetime, int]] = []
        for attempt in attempts:
            while running and running[0][0] <= attempt.started_at:
                heappop(running)
            heappush(running, (attempt.finished_at, attempt.id))
            around = attempt.started_at - ONE_CHANGE, attempt.started_at + ONE_CHANGE
            # The largest limit in force around the start; a queue without one allowed all.
            limit = max(
                math.inf if allowed is None else allowed
                for start, end, allowed in spans
                if start <= around[1] and end >= around[0]
            )
            if found is None and len(running) > limit:
                found = (attempt, limit, sorted(job for _, job in running))
        if found is not None:
            attempt, limit, jobs = found
            named = ", ".join(map(str, jobs[:10]))
            audit.add(
                Invariant.LIMITS,
                f"queue {queue} allowed {limit} jobs at a time, but at {show(attempt.started_at)}"
                f" jobs {named} ran",
                queue=queue,
            )


def check_pauses(audit: Audit) -> None:
    """Check that no live node has claimed from a queue since it was paused.

    Earlier pauses are no longer known. A node that has ended may have been a process that ran a job
    with `sync=True`, which a pause does not affect.
    """
    workers = {node.id for node in audit.workers}
    attempts = audit.stream(invariants.ATTEMPTS_WHILE_PAUSED)
    for row in chain(attempts, audit.stream(invariants.STARTED_WHILE_PAUSED)):
        if row.node_id in workers and row.started_at > row.paused_at + IN_ONE_TRANSACTION:
            message = (
                f"node {row.node_id} began job {row.id} at {show(row.started_at)}, although queue"
                f" {row.queue} has been paused since {show(row.paused_at)}"
            )
            audit.add(Invariant.LIMITS, message, job=row.id, queue=row.queue)
