"""The methods of `Schedules` for coroutines: each runs on a database thread."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from typing_extensions import Unpack

from horae.client.schedules.schedules import FailedRuns, Reference, ScheduleKeywords, Schedules, ScheduleViews, TickList
from horae.client.schedules.views import ScheduleView
from horae.domain.jobs.job import JobId
from horae.domain.schedules.statistics import Statistics
from horae.storage.engine.caller_threads import Use
from horae.storage.engine.database import Database
from horae.types.registry import JobTypeReference


class AsyncSchedules:
    """Add, change and read schedules from coroutines. Meanings, options and errors are those of `Schedules`."""

    def __init__(self, schedules: Schedules, database: Database) -> None:
        self._schedules, self._run = schedules, database.in_thread
        self._change = partial(database.in_thread, use=Use.CHANGE)

    async def add(
        self, job_type: JobTypeReference, /, *, name: str | None = None, config: Mapping[str, Any] | None = None,
        enabled: bool = True, **options: Unpack[ScheduleKeywords],
    ) -> ScheduleView:  # fmt: skip
        """Add a schedule; see `Schedules.add`."""
        return await self._change(
            partial(self._schedules.add, job_type, name=name, config=config, enabled=enabled, **options)
        )

    async def alter(
        self, reference: Reference, /, *, config: Mapping[str, Any] | None = None, **options: Unpack[ScheduleKeywords]
    ) -> ScheduleView:
        """Change what is named; see `Schedules.alter`."""
        return await self._change(partial(self._schedules.alter, reference, config=config, **options))

    async def delete(self, reference: Reference) -> None:
        """Delete a schedule; see `Schedules.delete`."""
        await self._change(partial(self._schedules.delete, reference))

    async def pause(self, reference: Reference, note: str | None = None) -> ScheduleView:
        """Pause a schedule; see `Schedules.pause`."""
        return await self._change(partial(self._schedules.pause, reference, note))

    async def resume(self, reference: Reference) -> ScheduleView:
        """Resume a schedule; see `Schedules.resume`."""
        return await self._change(partial(self._schedules.resume, reference))

    async def run_now(self, reference: Reference) -> JobId:
        """Start a run by hand; see `Schedules.run_now`."""
        return await self._change(partial(self._schedules.run_now, reference))

    async def get(self, reference: Reference) -> ScheduleView:
        """Read a schedule; see `Schedules.get`."""
        return await self._run(partial(self._schedules.get, reference))

    async def list(self, *, module: str | None = None) -> ScheduleViews:
        """List schedules; see `Schedules.list`."""
        return await self._run(partial(self._schedules.list, module=module))

    async def statistics(self, reference: Reference) -> Statistics:
        """Read the statistics; see `Schedules.statistics`."""
        return await self._run(partial(self._schedules.statistics, reference))

    async def ticks(self, reference: Reference, *, limit: int = 100, before: datetime | None = None) -> TickList:
        """Read the decisions about its times; see `Schedules.ticks`."""
        return await self._run(partial(self._schedules.ticks, reference, limit=limit, before=before))

    async def errors(self, reference: Reference | None = None, *, limit: int = 100) -> FailedRuns:
        """Read the failed runs; see `Schedules.errors`."""
        return await self._run(partial(self._schedules.errors, reference, limit=limit))
