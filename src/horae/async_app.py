"""The clients of an application for async code: `horae.aio`."""

import asyncio
from typing import TYPE_CHECKING, Protocol

from horae.forking import ForkSafeLock, lazy_property
from horae.opened import Opened

if TYPE_CHECKING:
    from horae.client.jobs import AsyncJobs
    from horae.client.operations import AsyncLimits, AsyncQueues, Limits, Queues
    from horae.client.schedules import AsyncSchedules, Schedules
    from horae.runtime.components import Components


class SyncHorae(Protocol):
    """What this module needs of `Horae`."""

    opening: ForkSafeLock
    opened: Opened

    @property
    def components(self) -> "Components":
        """The opened adapters."""
        ...

    @property
    def schedules(self) -> "Schedules":
        """The client for schedules."""
        ...

    @property
    def limits(self) -> "Limits":
        """The client for limits by key."""
        ...

    @property
    def queues(self) -> "Queues":
        """The client for queues."""
        ...

    def migrate(self) -> None:
        """Create the tables or bring them up to date."""
        ...


class AsyncHorae:
    """The clients for async code."""

    def __init__(self, horae: SyncHorae) -> None:
        self._horae = horae
        self.opening = horae.opening

    @property
    def jobs(self) -> "AsyncJobs":
        """Start, watch and cancel jobs."""
        return self._horae.opened.async_jobs

    @lazy_property
    def schedules(self) -> "AsyncSchedules":
        """Add, change and read schedules."""
        from horae.client.schedules import AsyncSchedules

        return AsyncSchedules(self._horae.schedules, self._horae.components.database)

    @lazy_property
    def limits(self) -> "AsyncLimits":
        """List limits by key with what they hold back, and change their numbers."""
        from horae.client.operations import AsyncLimits

        return AsyncLimits(self._horae.limits, self._horae.components.database)

    @lazy_property
    def queues(self) -> "AsyncQueues":
        """Pause, resume and limit queues, and let owners take turns in them."""
        from horae.client.operations import AsyncQueues

        return AsyncQueues(self._horae.queues, self._horae.components.database)

    async def migrate(self) -> None:
        """Create the tables or bring them up to date; see `Horae.migrate`."""
        await asyncio.to_thread(self._horae.migrate)
