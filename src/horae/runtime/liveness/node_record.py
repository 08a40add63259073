"""The row by which a node registers."""

import json
import secrets
from importlib.metadata import version

from horae.domain.cluster import CELERY_WORKER, NodeRole
from horae.runtime.components import NodeOptions
from horae.runtime.liveness.identity import encode_host, new_node_id, this_process
from horae.storage.nodes import NodeRecord
from horae.types import Registry


def record_of(registry: Registry, options: NodeOptions, *, role: str | None = None) -> NodeRecord:
    """Return the row of a new incarnation of this process; `role` replaces the options' roles."""
    had = [
        (NodeRole.SCHEDULER, options.scheduler),
        (NodeRole.WORKER, options.worker),
        (NodeRole.WEB, options.web),
    ]
    # A node of an application with a backend sends messages about the jobs that this backend
    # runs.
    systems = [CELERY_WORKER] if options.backend_worker else sorted(registry.backends)
    roles = [each.value for each, has in had if has] + systems if role is None else [role]
    process = this_process()
    return NodeRecord(
        id=new_node_id(),
        name=options.name or process.host.partition("/")[0],
        host=encode_host(process),
        pid=process.pid,
        version=version("horae"),
        roles=json.dumps(roles),
        queues=None if options.queues is None else json.dumps(options.queues),
        types=json.dumps(sorted(registry.by_name)),
        concurrency=options.concurrency + (options.processes or 0),
        lock_key=secrets.randbits(62),
    )
