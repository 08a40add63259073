"""The methods of `Jobs` for coroutines: each runs on a database thread or in an AsyncSession."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any, Never, TypeAlias, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from horae.client.jobs.async_bulk import AsyncChangesManyJobs
from horae.client.jobs.creating import Member, TryAgain, refusal_of_session, with_retries_async
from horae.client.jobs.jobs import Jobs
from horae.client.jobs.methods import READ_AT_ONCE
from horae.client.jobs.waiting import of_group, of_job, until_ended_async
from horae.client.on_threads import on_thread
from horae.domain.jobs import EVERYBODY, Group, Job, JobId, Whose
from horae.storage.engine import Database, Use
from horae.types import JobTypeReference, Timeout, seconds_of
from horae.types.options import StartOptions
from horae.wakeup import WakeupChannel

T = TypeVar("T")
AsyncWithin: TypeAlias = AsyncSession | AsyncConnection
JobIds: TypeAlias = list[JobId]


class AsyncJobs(AsyncChangesManyJobs):
    """Start, watch and cancel jobs from coroutines.

    Meanings, options and errors are those of `Jobs`.
    """

    def __init__(self, jobs: Jobs, database: Database, wakeup: WakeupChannel) -> None:
        super().__init__(jobs.without_waiting(), database)
        self._wakeup = wakeup

    get = on_thread(Jobs.get)
    list = on_thread(Jobs.list)
    attempts = on_thread(Jobs.attempts)
    logs = on_thread(Jobs.logs)
    count = on_thread(Jobs.count)
    reschedule = on_thread(Jobs.reschedule, Use.CHANGE)
    waiting_reason = on_thread(Jobs.waiting_reason)
    weight = on_thread(Jobs.weight)
    get_group = on_thread(Jobs.get_group)
    delete = on_thread(Jobs.delete, Use.HOOK)
    clean_up = on_thread(Jobs.clean_up, Use.HOOK)

    async def start(
        self,
        job_type: JobTypeReference,
        /,
        *by_position: Never,
        session: AsyncWithin | None = None,
        **options: Any,
    ) -> Job:
        """Create a job; see `Jobs.start`."""
        return await self._with_retries(
            session, partial(self.client.start, job_type, *by_position, **options)
        )

    async def create(
        self, job_type: JobTypeReference, values: Mapping[str, Any], options: StartOptions
    ) -> Job:
        """Create a job; parameters and options are separate; see `Jobs.create`."""
        return await self._with_retries(
            None, partial(self.client.create, job_type, values, options)
        )

    async def start_many(
        self,
        job_type: JobTypeReference,
        values: Iterable[Mapping[str, Any]],
        /,
        *,
        session: AsyncWithin | None = None,
        owner: str | None = None,
        options: StartOptions | None = None,
    ) -> JobIds:
        """Create many jobs in one statement; see `Jobs.start_many`."""
        start_many = partial(self.client.start_many, job_type, values, owner=owner, options=options)
        return await self._with_retries(session, start_many)

    async def _with_retries(self, session: AsyncWithin | None, call: Callable[..., T]) -> T:
        if session is None:
            change = partial(self.database.in_thread, use=Use.CHANGE)
            return await with_retries_async(
                lambda: change(call), change, self.client.limits.contention
            )
        if not isinstance(session, AsyncSession | AsyncConnection):
            raise refusal_of_session(session, "an AsyncSession or an AsyncConnection of SQLAlchemy")
        return await with_retries_async(
            lambda: session.run_sync(lambda within: call(session=within)),
            lambda again: session.run_sync(lambda _: again()),
            self.client.limits.contention,
        )

    async def _cancel(self, cancel: Callable[[], Job]) -> Job:
        try:
            return await self.database.in_thread(cancel, Use.CANCEL)
        except TryAgain as error:
            return await self.database.caller_threads.finish(error.operation)

    async def wait(
        self,
        job_id: int,
        *,
        timeout: Timeout | None = None,
        owner: Whose = EVERYBODY,
    ) -> Any:
        """Wait for the result without holding a thread; see `Jobs.wait`."""
        seconds = seconds_of("timeout", timeout)
        await self.get(job_id, owner=owner)
        await until_ended_async(self.client.waits, self._wakeup, of_job(JobId(job_id)), seconds)
        return self.client.result_of(await self.get(job_id, owner=owner))

    async def cancel(self, job_id: int, *, owner: Whose = EVERYBODY, by: str | None = None) -> Job:
        """Cancel a job; see `Jobs.cancel`."""
        # Shielded, because the body may have been asked to stop already when the caller is
        # cancelled.
        return await asyncio.shield(
            self._cancel(partial(self.client.cancel, job_id, owner=owner, by=by))
        )

    async def retry(self, job_id: int, *, owner: Whose = EVERYBODY) -> Job:
        """Repeat a failed or cancelled job; see `Jobs.retry`."""
        return await self._with_retries(None, partial(self.client.retry, job_id, owner=owner))

    async def start_group(
        self, members: Iterable[Member], /, *, session: AsyncWithin | None = None, **options: Any
    ) -> Group:
        """Start jobs as a group, and a job that runs after them; see `Jobs.start_group`."""
        return await self._with_retries(
            session, partial(self.client.start_group, members, **options)
        )

    async def add_to_group(
        self,
        group_id: int,
        members: Iterable[Member],
        /,
        *,
        session: AsyncWithin | None = None,
        **options: Any,
    ) -> JobIds:
        """Add members while the group is open; see `Jobs.add_to_group`."""
        return await self._with_retries(
            session, partial(self.client.add_to_group, group_id, members, **options)
        )

    async def wait_for_group(
        self,
        group_id: int,
        *,
        timeout: Timeout | None = None,
        owner: Whose = EVERYBODY,
    ) -> Group:
        """Wait until all members and `then` have ended; see `Jobs.wait_for_group`."""
        seconds = seconds_of("timeout", timeout)
        group = await self.get_group(group_id, owner=owner)
        await until_ended_async(self.client.waits, self._wakeup, of_group(group.id), seconds)
        return await self.get_group(group_id, owner=owner)

    async def cancel_group(
        self, group_id: int, *, owner: Whose = EVERYBODY, by: str | None = None
    ) -> Group:
        """Cancel the members that have not ended, and `then`; see `Jobs.cancel_group`."""
        cancel = partial(self.client.cancel_group, group_id, owner=owner, by=by)
        return await asyncio.shield(self.database.in_thread(cancel, Use.CANCEL))

    async def members(
        self, group_id: int, *, owner: Whose = EVERYBODY, finished: bool = False
    ) -> AsyncIterator[Job]:
        """Yield the members in the order in which they were added; see `Jobs.members`."""
        call = partial(self.client.members, group_id, owner=owner, finished=finished)
        source = await self.database.in_thread(call)
        while batch := await self.database.in_thread(lambda: list(islice(source, READ_AT_ONCE))):
            for job in batch:
                yield job

    async def results_of_group(
        self, group_id: int, *, owner: Whose = EVERYBODY
    ) -> AsyncIterator[Any]:
        """Yield the results of the members that have finished; see `Jobs.results_of_group`."""
        async for job in self.members(group_id, owner=owner, finished=True):
            yield self.client.result_of(job)
