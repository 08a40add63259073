"""Lets a node run job types that are registered after it has started."""

import asyncio
from contextlib import ExitStack
from functools import partial

from horae.domain.jobs import NodeId
from horae.guarded_log import guarded_log
from horae.runtime.claims import Workers
from horae.runtime.components import Components
from horae.runtime.node.contact import post
from horae.storage.nodes import nodes

log = guarded_log("horae.runtime")


class ServedTypes:
    """Follows the registry: passes new job types to the worker and adds them to the node's row."""

    def __init__(self, components: Components, node: NodeId, worker: Workers) -> None:
        self._components, self._node, self._worker = components, node, worker
        self._known = components.registry.claimable
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def run(self) -> None:
        """Follow until cancelled."""
        registry, database = self._components.registry, self._components.database
        with ExitStack() as following:
            following.callback(registry.listen(partial(post, self._loop, self._changed.set)))
            while True:
                if (types := registry.claimable) != self._known:
                    named = ", ".join(sorted(types))
                    log.info("node %s runs jobs of types %s from now on", self._node, named)
                    self._known = types
                    self._worker.serve(types)
                    # The row is only for display; the node claims the jobs all the same.
                    with log.guard(
                        "the job types of node %s could not be recorded: %s", self._node
                    ):
                        declared = tuple(registry.by_name)
                        await database.autocommit_async(nodes.set_types, self._node, declared)
                await self._changed.wait()
                self._changed.clear()
