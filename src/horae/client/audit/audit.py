"""The audit: all checks, in one snapshot of the database."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from horae.client.audit import groups, jobs, key_limits, queue_limits, schedules, stuck
from horae.client.audit.finding import Audit, AuditReport
from horae.storage.nodes import NodeView
from horae.storage.operations import invariants


def audit(
    connection: Connection,
    alive: Sequence[NodeView],
    keep: timedelta,
    since: datetime | timedelta | None = None,
    unevenly_kept: Collection[str] = (),
) -> AuditReport:
    """Check all invariants on a connection that reads one snapshot.

    `alive`: the nodes that are alive; `keep`: how long ended jobs are kept; `since`: how far back
    to look; `unevenly_kept`: the types that say themselves how long their jobs are kept.
    """
    now = invariants.now(connection)
    run = Audit(connection, now - since if isinstance(since, timedelta) else since, now)
    schedules.check(run, keep, unevenly_kept)
    jobs.check(run)
    jobs.check_keys(run)
    jobs.check_cancels(run)
    jobs.check_retries(run)
    jobs.check_tags(run)
    groups.check(run, keep, unevenly_kept)
    groups.check_dependencies(run)
    queue_limits.check(run)
    queue_limits.check_pauses(run, alive)
    key_limits.check(run)
    workers = [node for node in alive if node.is_worker]
    stuck.check_due(run, workers)
    stuck.check_lanes(run, workers)
    stuck.check_held(run, alive)
    stuck.check_hooks(run, workers)
    if any(node.is_scheduler for node in alive):
        stuck.check_schedules(run)
    if alive:
        stuck.check_runs(run)
    else:  # nothing is expected to happen without a node
        run.notes.append("no node is alive, so due work is not reported as stuck")
    return run.report()
