"""The audit: all checks, in one snapshot of the database."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from horae.client.audit import groups, jobs, limits, schedules, stuck
from horae.client.audit.finding import Audit, AuditReport
from horae.storage.engine import read_clock
from horae.storage.nodes import NodeView

CHECKS: Final[Sequence[Callable[[Audit], None]]] = (
    schedules.check,
    schedules.check_pairs,
    jobs.check,
    jobs.check_keys,
    jobs.check_cancels,
    jobs.check_retries,
    jobs.check_tags,
    groups.check,
    groups.check_dependencies,
    limits.check_queues,
    limits.check_pauses,
    limits.check_keys,
    stuck.check_due,
    stuck.check_lanes,
    stuck.check_held,
    stuck.check_hooks,
    stuck.check_schedules,
    stuck.check_runs,
)


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
    now = read_clock(connection)
    begin = now - since if isinstance(since, timedelta) else since
    run = Audit(connection, begin, now, alive, keep, unevenly_kept)
    for check in CHECKS:
        check(run)
    return run.report()
