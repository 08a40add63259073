"""The methods of `Jobs` that change many jobs, for coroutines."""

from functools import partial
from typing import Any, Literal, cast, overload

from typing_extensions import Unpack

from horae.client.jobs.jobs import Jobs
from horae.client.jobs.methods import BulkFilter, Deletion, Rescheduling
from horae.client.on_threads import OnThreads
from horae.domain.jobs import BulkPreview, Job
from horae.storage.engine import Use


class AsyncChangesManyJobs(OnThreads[Jobs]):
    """Change many jobs by one job; see `Jobs.cancel_many`."""

    @overload
    async def cancel_many(
        self, *, preview: Literal[True], **which: Unpack[BulkFilter]
    ) -> BulkPreview: ...
    @overload
    async def cancel_many(
        self, *, preview: Literal[False] = False, **which: Unpack[BulkFilter]
    ) -> Job: ...
    async def cancel_many(
        self, *, preview: bool = False, **which: Unpack[BulkFilter]
    ) -> Job | BulkPreview:
        """See `Jobs.cancel_many`."""
        return await self._many("cancel_many", preview=preview, **which)

    @overload
    async def retry_many(
        self, *, preview: Literal[True], **which: Unpack[BulkFilter]
    ) -> BulkPreview: ...
    @overload
    async def retry_many(
        self, *, preview: Literal[False] = False, **which: Unpack[BulkFilter]
    ) -> Job: ...
    async def retry_many(
        self, *, preview: bool = False, **which: Unpack[BulkFilter]
    ) -> Job | BulkPreview:
        """See `Jobs.retry_many`."""
        return await self._many("retry_many", preview=preview, **which)

    @overload
    async def delete_many(
        self, *, preview: Literal[True], **which: Unpack[Deletion]
    ) -> BulkPreview: ...
    @overload
    async def delete_many(
        self, *, preview: Literal[False] = False, **which: Unpack[Deletion]
    ) -> Job: ...
    async def delete_many(
        self, *, preview: bool = False, **which: Unpack[Deletion]
    ) -> Job | BulkPreview:
        """See `Jobs.delete_many`."""
        return await self._many("delete_many", preview=preview, **which)

    @overload
    async def reschedule_many(
        self, *, preview: Literal[True], **which: Unpack[Rescheduling]
    ) -> BulkPreview: ...
    @overload
    async def reschedule_many(
        self, *, preview: Literal[False] = False, **which: Unpack[Rescheduling]
    ) -> Job: ...
    async def reschedule_many(
        self, *, preview: bool = False, **which: Unpack[Rescheduling]
    ) -> Job | BulkPreview:
        """See `Jobs.reschedule_many`."""
        return await self._many("reschedule_many", preview=preview, **which)

    async def _many(self, method: str, **options: Any) -> Job | BulkPreview:
        call = partial(getattr(self.client, method), **options)
        return cast("Job | BulkPreview", await self.database.in_thread(call, Use.CHANGE))
