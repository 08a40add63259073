"""Check that nothing waits for ever: due jobs, jobs of dead nodes, owed hooks, schedules."""

from datetime import timedelta
from typing import Final

from horae.client.audit.finding import Audit, Invariant, show
from horae.storage.jobs import EVERY_QUEUE
from horae.storage.operations import invariants

DUE_FOR: Final = timedelta(minutes=10)
"""How long a due job may wait while a node has a free slot for it, and how long a hook may be owed.
"""
RESCUED_WITHIN: Final = timedelta(minutes=2)
"""How long a job may stay with a dead node: longer than a silent node keeps jobs on their last
attempt.
"""
STARTED_WITHIN: Final = timedelta(minutes=2)
"""How late a node may start a due schedule, and how late it may notice the end of a run."""


def check_due(audit: Audit) -> None:
    """Check that no due job waits while a node that could run it has a free slot."""
    queues = {row.name: row for row in audit.stream(invariants.LIMITS)}
    occupied = {row.queue: row.number for row in audit.stream(invariants.OCCUPIED)}
    if EVERY_QUEUE in queues and queues[EVERY_QUEUE].paused_at is not None:
        return
    for row in audit.stream(invariants.DUE, before=audit.now - DUE_FOR):
        queue = queues.get(row.queue)
        if queue is not None and (
            queue.paused_at is not None
            or (
                queue.concurrency_limit is not None
                and occupied.get(row.queue, 0) >= queue.concurrency_limit
            )
        ):
            continue
        idle = [
            node
            for node in audit.workers
            if node.can_run(row.type, row.queue) and node.running < node.concurrency
        ]
        if idle:
            audit.add(
                Invariant.STUCK,
                f"{row.number} jobs of type {row.type} in queue {row.queue} are due, the oldest"
                f" since {show(row.oldest)}, although node {idle[0].id} has free slots",
                queue=row.queue,
            )


def check_lanes(audit: Audit) -> None:
    """Check that jobs with limits, or in fair queues, are in lanes from which they are claimed."""
    for row in audit.stream(invariants.WRONG_LANES):
        wrong = (
            "does not exist"
            if row.found is None
            else "is for jobs of another queue, type or priority"
        )
        audit.add(
            Invariant.STUCK,
            f"job {row.id} waits in lane {row.lane_id}, which {wrong}, so that no claim finds it",
            job=row.id,
        )
    before = audit.now - DUE_FOR
    # A change of a queue takes all of its jobs out of their lanes, and a node that has just started
    # has to catch up.
    if not any(node.started_at <= before for node in audit.workers):
        return
    if audit.connection.execute(invariants.QUEUE_CHANGES, {"after": before}).first() is not None:
        return
    unfiled = audit.connection.execute(invariants.UNFILED, {"before": before}).one()
    if unfiled.number:
        audit.add(
            Invariant.STUCK,
            f"{unfiled.number} jobs with limits, such as job {unfiled.first}, have waited to be put"
            " into a lane for more than ten minutes",
            job=unfiled.first,
        )


def check_held(audit: Audit) -> None:
    """Check that the jobs of nodes that are gone have been rescued."""
    living = {node.id for node in audit.alive}
    for row in audit.stream(invariants.HELD, before=audit.now - RESCUED_WITHIN):
        if row.node_id not in living:
            more = f" and {row.number - 1} more" if row.number > 1 else ""
            rescue = "was not rescued" if audit.alive else "waits for a node to start and rescue it"
            audit.add(
                Invariant.STUCK,
                f"job {row.first}{more} of node {row.node_id}, which is gone, {rescue}",
                job=row.first,
            )


def check_hooks(audit: Audit) -> None:
    """Check that no hook stays owed while a node knows its job type."""
    known = {name for node in audit.workers for name in node.types}
    for row in audit.stream(invariants.HOOKS, before=audit.now - DUE_FOR):
        if row.type in known:
            audit.add(
                Invariant.STUCK,
                f"{row.number} ended jobs of type {row.type} still owe a hook, such as job"
                f" {row.first}",
                job=row.first,
            )


def check_schedules(audit: Audit) -> None:
    """Check that due schedules have started, unless everything is paused or no node fires them."""
    paused = any(
        row.name == EVERY_QUEUE and row.paused_at is not None
        for row in audit.stream(invariants.LIMITS)
    )
    if paused or not any(node.is_scheduler for node in audit.alive):
        return
    for row in audit.stream(invariants.SCHEDULES):
        late = (
            row.enabled
            and row.run_token is None
            and row.next_start
            and row.next_start < audit.now - STARTED_WITHIN
        )
        if late:
            audit.add(
                Invariant.STUCK,
                f"schedule {row.id} ({row.name}) was to start at {show(row.next_start)} and has"
                " not",
                schedule=row.id,
            )


def check_runs(audit: Audit) -> None:
    """Check that no schedule waits for a run that has ended, if a node could notice its end."""
    if not audit.alive:
        audit.notes.append("no node is alive, so due work is not reported as stuck")
        return
    for row in audit.stream(invariants.ENDED_RUNS, before=audit.now - STARTED_WITHIN):
        end = "has no row" if row.job_state is None else f"is {row.job_state}"
        audit.add(
            Invariant.STUCK,
            f"schedule {row.id} ({row.name}) is {row.state} and waits for job {row.run_token},"
            f" which {end}",
            schedule=row.id,
            job=row.run_token,
        )
