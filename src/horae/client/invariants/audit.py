"""The audit: all checks, in one snapshot of the database."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from horae.client.invariants import groups, jobs, key_limits, limits, stuck
from horae.client.invariants.finding import AuditReport, Findings
from horae.client.invariants.history import History
from horae.client.invariants.schedules import ScheduleAudit
from horae.storage.engine.value_limits import EARLIEST
from horae.storage.operations.nodes import NodeView


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
    findings, history = Findings(), History.read(connection)
    begin = history.now - since if isinstance(since, timedelta) else since
    ScheduleAudit(connection, findings, history, begin, keep, unevenly_kept).check()
    jobs.check(connection, findings, begin or EARLIEST, history.now)
    groups.check(connection, findings, history.now, keep, unevenly_kept)
    limits.check(connection, findings, history, begin or EARLIEST)
    limits.check_pauses(connection, findings, alive)
    key_limits.check(connection, findings, begin or EARLIEST)
    stuck.check(connection, findings, history.now, alive)
    return findings.report(begin)
