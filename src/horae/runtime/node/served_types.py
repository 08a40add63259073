"""Lets a node run job types that are registered after it has started."""

import asyncio
from contextlib import closing, suppress

from horae.domain.jobs import NodeId
from horae.guarded_log import guarded_log
from horae.runtime.claims import Workers
from horae.runtime.components import Components
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
        with closing(self._components.registry.listen(self._on_change)):
            while True:
                await self._follow()
                await self._changed.wait()
                self._changed.clear()

    def _on_change(self) -> None:
        with suppress(RuntimeError):  # the loop may have ended
            self._loop.call_soon_threadsafe(self._changed.set)

    async def _follow(self) -> None:
        types = self._components.registry.claimable
        if types == self._known:
            return
        log.info("node %s runs jobs of types %s from now on", self._node, ", ".join(sorted(types)))
        self._known = types
        self._worker.serve(types)
        try:
            declared = tuple(self._components.registry.by_name)
            await self._components.database.autocommit_async(nodes.set_types, self._node, declared)
        except Exception as error:  # noqa: BLE001
            # The row is only for display; the node claims the jobs all the same.
            log.warning("the job types of node %s could not be recorded: %s", self._node, error)
