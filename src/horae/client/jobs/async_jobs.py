"""The methods of `Jobs` for coroutines: each runs on a database thread or in an AsyncSession."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any, TypeVar, overload

from typing_extensions import override

from horae.client.jobs.creating import (
    Member,
    NewJob,
    TryAgain,
    observed,
    refusal_of_session,
    with_large_values,
    with_meta_of,
    with_retries_async,
)
from horae.client.jobs.job_reads import READ_AT_ONCE
from horae.client.jobs.job_starts import JobIds, StartedJobs
from horae.client.jobs.jobs import Jobs
from horae.client.jobs.shared_starts import SharedStarts
from horae.client.jobs.typed_starts import AsyncWithin, typed_async_start
from horae.client.jobs.waiting import of_group, of_job, until_ended_async
from horae.client.on_threads import OnThreads, on_change_thread, on_thread
from horae.domain.jobs import EVERYBODY, Group, Job, JobId, Whose
from horae.storage.engine import Database, Use
from horae.types import JobTypeReference, Registry, Timeout, seconds_of
from horae.types.options import StartOptions, options_in
from horae.types.parameters.large_values import is_reference
from horae.wakeup import WakeupChannel

T = TypeVar("T")


class AsyncJobs(OnThreads[Jobs]):
    """Start, watch and cancel jobs from coroutines.

    Meanings, options and errors are those of `Jobs`.
    """

    def __init__(
        self, jobs: Jobs, registry: Registry, database: Database, wakeup: WakeupChannel
    ) -> None:
        super().__init__(jobs.without_waiting(), database)
        self._wakeup, self._registry = wakeup, registry
        self._starts = SharedStarts(registry, database, jobs.inserts)

    get = on_thread(Jobs.get)
    list = on_thread(Jobs.list)
    attempts = on_thread(Jobs.attempts)
    logs = on_thread(Jobs.logs)
    count = on_thread(Jobs.count)
    count_matching = on_thread(Jobs.count_matching)
    waiting_reason = on_thread(Jobs.waiting_reason)
    why = on_thread(Jobs.why)
    weight = on_thread(Jobs.weight)
    get_group = on_thread(Jobs.get_group)
    retry = on_change_thread(Jobs.retry)
    reschedule = on_change_thread(Jobs.reschedule)
    cancel = on_thread(Jobs.cancel, Use.CANCEL)
    cancel_group = on_thread(Jobs.cancel_group, Use.CANCEL)
    cancel_many = on_change_thread(Jobs.cancel_many)
    retry_many = on_change_thread(Jobs.retry_many)
    delete_many = on_change_thread(Jobs.delete_many)
    reschedule_many = on_change_thread(Jobs.reschedule_many)
    delete = on_thread(Jobs.delete, Use.HOOK)
    clean_up = on_thread(Jobs.clean_up, Use.HOOK)

    @override
    async def run(self, call: Callable[[], T], use: Use) -> T:
        in_thread = self.database.in_thread
        match use:
            case Use.CHANGE:
                change = partial(in_thread, use=use)
                limit = self.client.limits.contention
                return await with_retries_async(partial(change, call), change, limit)
            case Use.CANCEL:
                # Shielded, because the body may have been asked to stop already when the caller
                # is cancelled.
                return await asyncio.shield(self._cancel(call))
            case _:
                return await in_thread(call, use)

    async def _cancel(self, call: Callable[[], T]) -> T:
        try:
            return await self.database.in_thread(call, Use.CANCEL)
        except TryAgain as error:
            return await self.database.caller_threads.finish(error.operation)

    async def _create(self, session: AsyncWithin | None, call: Callable[..., T]) -> T:
        """Create jobs, in the caller's transaction if there is one."""
        if session is None:
            return await self.run(call, Use.CHANGE)
        from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session

        if isinstance(session, async_scoped_session):
            session = session()
        if not isinstance(session, AsyncSession | AsyncConnection):
            raise refusal_of_session(session, "an AsyncSession or an AsyncConnection of SQLAlchemy")
        return await with_retries_async(
            lambda: session.run_sync(lambda within: call(session=within)),
            lambda again: session.run_sync(lambda _: again()),
            self.client.limits.contention,
        )

    @typed_async_start
    async def start(
        self,
        job_type: JobTypeReference,
        /,
        *by_position: Any,
        session: AsyncWithin | None = None,
        sync: bool = False,
        **keywords: Any,
    ) -> Job:
        """Create a job; see `Jobs.start`."""
        options, values = options_in(keywords)
        if by_position:
            values = self.client.named(job_type, by_position, values)
        return await self.create(job_type, values, options, session=session, sync=sync)

    async def create(
        self,
        job_type: JobTypeReference,
        values: Mapping[str, Any],
        options: StartOptions,
        *,
        session: AsyncWithin | None = None,
        sync: bool = False,
    ) -> Job:
        """Create a job; parameters and options are separate; see `Jobs.create`."""
        if session is not None or sync is not False:
            create = partial(self.client.create, job_type, values, options, sync=sync)
            return await self._create(session, create)
        observers = self.client.observers
        if not observers:
            return await self._create_unobserved(job_type, values, options)
        with observed(observers, self._registry.resolve(job_type), options) as starting:
            options = with_meta_of(starting, options)
            job = await self._create_unobserved(job_type, values, options)
            starting.ids = (job.id,)
        return job

    async def _create_unobserved(
        self, job_type: JobTypeReference, values: Mapping[str, Any], options: StartOptions
    ) -> Job:
        found = await self._starts.start(job_type, options, values)
        if found is None:
            create = partial(self.client.create_unless_large, job_type, values, options)
            found = await self.run(create, Use.CHANGE)
            if isinstance(found, NewJob):
                # The store may be slow or away, and other starts do not wait for it.
                found = await self.run(partial(with_large_values, found), Use.HOOK)
        if isinstance(found, Job):
            return found
        return await self.run(partial(self.client.insert, found), Use.CHANGE)

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
        return await self._create(session, start_many)

    @overload
    async def wait(
        self, job_id: Job[T], *, timeout: Timeout | None = None, owner: Whose = EVERYBODY
    ) -> T: ...
    @overload
    async def wait(
        self, job_id: int, *, timeout: Timeout | None = None, owner: Whose = EVERYBODY
    ) -> Any: ...
    async def wait(
        self,
        job_id: Job[Any] | int,
        *,
        timeout: Timeout | None = None,
        owner: Whose = EVERYBODY,
    ) -> Any:
        """Wait for the result without holding a thread; see `Jobs.wait`."""
        seconds = seconds_of("timeout", timeout)
        wanted = job_id.id if isinstance(job_id, Job) else JobId(job_id)
        await self.get(wanted, owner=owner)
        await until_ended_async(self.client.waits, self._wakeup, of_job(wanted), seconds)
        return await self._result_of(await self.get(wanted, owner=owner))

    async def _result_of(self, job: Job[Any]) -> Any:
        """Return the result of an ended job; one in a store of files is read on a thread."""
        if is_reference(job.result):
            return await self.database.in_thread(partial(self.client.result_of, job))
        return self.client.result_of(job)

    async def start_group(
        self, members: Iterable[Member], /, *, session: AsyncWithin | None = None, **options: Any
    ) -> Group:
        """Start jobs as a group, and a job that runs after them; see `Jobs.start_group`."""
        return await self._create(session, partial(self.client.start_group, members, **options))

    async def chain(
        self, links: Iterable[Member], /, *, session: AsyncWithin | None = None, **options: Any
    ) -> StartedJobs:
        """Start jobs one after another; see `Jobs.chain`."""
        return await self._create(session, partial(self.client.chain, links, **options))

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
        return await self._create(
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
            yield await self._result_of(job)
