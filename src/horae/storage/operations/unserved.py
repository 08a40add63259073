"""Whether a pending job can start at all: whether a node runs that knows its type and serves its queue."""

from typing import Final

from sqlalchemy import Connection, bindparam, select

from horae.domain.cluster.capabilities import Capabilities
from horae.domain.jobs.job import JobId, JobState
from horae.errors import quoted
from horae.storage.jobs.tables import jobs, nodes, queues

PENDING: Final = (
    select(jobs.c.type, jobs.c.queue, queues.c.paused_at, jobs.c.sent_at)
    .select_from(jobs.outerjoin(queues, queues.c.name == jobs.c.queue))
    .where(jobs.c.id == bindparam("job_id"), jobs.c.state == JobState.PENDING)
)
NODES: Final = select(nodes.c.roles, nodes.c.types, nodes.c.queues)


def why_unserved(connection: Connection, job_id: JobId) -> str | None:
    """Return why a job cannot start whatever it waits for; None if it can, or has started."""
    job = connection.execute(PENDING, {"job_id": job_id}).one_or_none()
    if job is None:
        return None
    named = f"job {job_id} of type {quoted(job.type)} in queue {quoted(job.queue)} cannot start"
    if job.paused_at is not None:
        return f"{named}: the queue is paused"
    if job.sent_at is not None:
        return None  # another system, such as Celery, was asked to run it
    registered = [Capabilities(**row) for row in connection.execute(NODES).mappings()]
    if not any(node.is_worker and node.knows(job.type) for node in registered):
        return f"{named}: no node that runs knows its type"
    if not any(node.can_run(job.type, job.queue) for node in registered):
        return f"{named}: no node that runs and knows its type serves its queue"
    return None
