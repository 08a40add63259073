"""The audit: all checks, in one snapshot of the database."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from horae.client.audit import groups, jobs, key_limits, queue_limits, stuck
from horae.client.audit.finding import AuditReport, Findings
from horae.client.audit.known_rules import RuleChanges
from horae.client.audit.schedules import ScheduleAudit
from horae.storage.engine import EARLIEST
from horae.storage.nodes import NodeView


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
    findings, changes = Findings(), RuleChanges.read(connection)
    begin = changes.now - since if isinstance(since, timedelta) else since
    ScheduleAudit(connection, findings, changes, begin, keep, unevenly_kept).check()
    jobs.check(connection, findings, begin or EARLIEST, changes.now)
    jobs.check_keys(connection, findings, begin or EARLIEST)
    jobs.check_cancels(connection, findings, begin or EARLIEST)
    jobs.check_retries(connection, findings)
    jobs.check_tags(connection, findings)
    groups.check(connection, findings, changes.now, keep, unevenly_kept)
    groups.check_dependencies(connection, findings)
    queue_limits.check(connection, findings, begin or EARLIEST)
    queue_limits.check_pauses(connection, findings, alive)
    key_limits.check(connection, findings, begin or EARLIEST)
    workers = [node for node in alive if node.is_worker]
    stuck.check_due(connection, findings, changes.now, workers)
    stuck.check_lanes(connection, findings, changes.now, workers)
    stuck.check_held(connection, findings, changes.now, alive)
    stuck.check_hooks(connection, findings, changes.now, workers)
    if any(node.is_scheduler for node in alive):
        stuck.check_schedules(connection, findings, changes.now)
    if alive:
        stuck.check_runs(connection, findings, changes.now)
    else:  # nothing is expected to happen without a node
        findings.notes.append("no node is alive, so due work is not reported as stuck")
    return findings.report(begin)
