"""How a node announces itself."""

import json
import secrets
from importlib.metadata import version
from typing import Final

from horae.runtime.identity import encoded, new_node_id, this_process
from horae.runtime.parts import NodeOptions
from horae.storage.nodes import NodeRecord
from horae.types.registry import Registry

WORKER: Final = "worker"
INLINE: Final = "inline"


def record_of(registry: Registry, options: NodeOptions, *, role: str = WORKER) -> NodeRecord:
    """The row of a new incarnation of this process."""
    process = this_process()
    return NodeRecord(
        id=new_node_id(),
        name=options.name or process.host.partition("/")[0],
        host=encoded(process),
        pid=process.pid,
        version=version("horae"),
        roles=json.dumps([role]),
        queues=None if options.queues is None else json.dumps(options.queues),
        types=json.dumps(sorted(registry.by_name)),
        concurrency=options.concurrency,
        lock_key=secrets.randbits(62),
    )
