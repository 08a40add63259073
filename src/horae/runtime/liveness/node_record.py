"""The row by which a node registers."""

import json
import secrets
from importlib.metadata import version
from typing import Final

from horae.runtime.components import NodeOptions
from horae.runtime.liveness.identity import encoded, new_node_id, this_process
from horae.storage.operations.nodes import NodeRecord
from horae.types.registry import Registry

WORKER: Final = "worker"
SCHEDULER: Final = "scheduler"
INLINE: Final = "inline"


def record_of(registry: Registry, options: NodeOptions, *, inline: bool = False) -> NodeRecord:
    """Return the row of a new incarnation of this process."""
    wanted = [(INLINE, inline), (SCHEDULER, options.scheduler and not inline), (WORKER, options.worker and not inline)]
    process = this_process()
    return NodeRecord(
        id=new_node_id(),
        name=options.name or process.host.partition("/")[0],
        host=encoded(process),
        pid=process.pid,
        version=version("horae"),
        roles=json.dumps([role for role, has in wanted if has]),
        queues=None if options.queues is None else json.dumps(options.queues),
        types=json.dumps(sorted(registry.by_name)),
        concurrency=options.concurrency + (options.processes or 0),
        lock_key=secrets.randbits(62),
    )
