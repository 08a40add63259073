"""All checks of what should be running, for `horae doctor` and the overview."""

from collections.abc import Collection, Iterator, Sequence

from horae.client.doctor.finding import Finding
from horae.client.doctor.schedules import schedule_findings
from horae.client.doctor.work import Dead, node_findings, queue_findings, work_findings
from horae.domain.cluster.roles import ALL_ROLES
from horae.storage.engine.database import Database
from horae.storage.operations import doctor
from horae.storage.operations.nodes import NodeView
from horae.storage.operations.queues import QueueView
from horae.storage.schedules import health


def system_findings(
    database: Database,
    alive: Sequence[NodeView],
    dead: Sequence[Dead],
    queues: Sequence[QueueView],
    *,
    known: Collection[str],
) -> Iterator[Finding]:
    """Check nodes, queues, due jobs and schedules. `known`: the job types that this application declares."""
    alive = [view for view in alive if not set(ALL_ROLES).isdisjoint(view.roles)]  # not callers that run their own jobs
    yield from node_findings(alive, dead)
    yield from queue_findings(queues)
    paused = {queue.name for queue in queues if queue.paused_at is not None}
    yield from work_findings(database.autocommit(doctor.due_work), alive, paused, known=known)
    yield from schedule_findings(database.autocommit(health.check), alive, known=known)
