"""Deploys the schedules that are declared in this process at a node's start, and periodically."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

from horae.guarded_log import guarded_log
from horae.runtime.components import Components, NodeOptions
from horae.runtime.controller import Controller
from horae.storage.engine import Use

Deploy: TypeAlias = Callable[[], Sequence[int]]

log = guarded_log("horae.runtime")


class Deploying:
    """Calls `deploy`, and lets the node own the schedules whose ids it returns."""

    def __init__(
        self, components: Components, options: NodeOptions, deploy: Deploy, controller: Controller
    ) -> None:
        self._components, self._options = components, options
        self._deploy, self._controller = deploy, controller

    async def deploy(self) -> None:
        """Deploy now."""
        self._controller.adopt(await self._components.database.in_thread(self._deploy, Use.CHANGE))

    async def reread_schedules(self) -> None:
        """Let the controller reread all schedules periodically while no hint reports a change."""
        while True:
            await asyncio.sleep(self._options.timing.controller.reload_without_hints)
            if not self._components.wakeup.connected:
                self._controller.reread()

    async def refresh_calendars(self) -> None:
        """Deploy periodically: the schedules are the same, but calendar functions may exclude other
        days.
        """
        while True:
            await asyncio.sleep(self._options.timing.calendars)
            if not (self._options.scheduler and self._components.registry.calendars):
                continue
            with log.guard(
                "calendar functions could not be asked again; the days that are known stay",
                traceback=True,
            ):
                await self.deploy()
