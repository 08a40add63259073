"""All checks of what should be running, for `horae doctor` and the overview."""

from collections.abc import Iterator, Mapping, Sequence

from horae.client.doctor.finding import USUAL, Finding
from horae.client.doctor.schedules import missed_findings, paused_findings, schedule_findings
from horae.client.doctor.slow_queues import slow_findings
from horae.client.doctor.work import (
    Dead,
    lost_findings,
    node_findings,
    pause_findings,
    queue_findings,
    unsent_findings,
    work_findings,
)
from horae.domain.cluster import ALL_ROLES
from horae.domain.jobs import CELERY, OWN_BACKEND
from horae.storage.engine import Database
from horae.storage.nodes import NodeView, nodes
from horae.storage.operations import DueWork, change_log, doctor
from horae.storage.queues import QueueView, everything
from horae.storage.schedules import health
from horae.types import Registry, Routes


def system_findings(
    database: Database,
    registry: Registry,
    queue_backends: Mapping[str, str],
    alive: Sequence[NodeView],
    dead: Sequence[Dead],
    queues: Sequence[QueueView],
) -> Iterator[Finding]:
    """Check nodes, queues, due jobs and schedules.

    `registry`: the job types that this application declares; `queue_backends`: what its settings
    name for queues.
    """
    known, routes = registry.by_name, Routes(registry, queue_backends)
    # Callers that run their own jobs are not nodes.
    alive = [view for view in alive if not {*ALL_ROLES, CELERY}.isdisjoint(view.roles)]
    yield from node_findings(alive, dead)
    yield from lost_findings(database.autocommit(nodes.recently_died, USUAL.death_reported))
    held = [queue.name for queue in queues if queue.paused_at is not None]
    changes = database.autocommit(change_log.last_of, "queue.pause", held)
    yield from queue_findings(queues, changes)
    yield from pause_findings(database.autocommit(everything.read_pause))
    paused = {queue.name for queue in queues if queue.is_paused}
    waiting = database.autocommit(doctor.due_work)
    stored = {queue.name for queue in queues if queue.backend not in {None, OWN_BACKEND}}

    def has_backend(work: DueWork) -> bool:
        return work.queue in stored or routes.find(work.type, work.queue) is not None

    yield from unsent_findings([work for work in waiting if has_backend(work)], paused)
    yield from work_findings(
        [work for work in waiting if not has_backend(work)], alive, paused, known=known
    )
    yield from slow_findings(database, queues, alive)
    found = database.autocommit(health.check)
    yield from schedule_findings(found, alive, known=known)
    # A change names a schedule by its id or by its name.
    targets = [name for each in found.paused for name in (str(each.id), each.name)]
    changes = database.autocommit(change_log.last_of, "schedule.pause", targets)
    yield from paused_findings(found.paused, found.paused_count, changes)
    yield from missed_findings(database.autocommit(health.missed, USUAL.missed_searched, (), 100))
