"""What type checkers compare a call of `Jobs.start` with.

Without options the parameters of a function are compared with its arguments. PEP 612 knows no
keywords beside those of a `ParamSpec`, so a call that has an option as well is checked for the type
of that option and for its result alone; `with_options` checks both. Each option has an overload
that requires it, because a call without any must not come to an overload that takes every name.
Nothing here runs.
"""

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from datetime import datetime
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

from sqlalchemy import Connection

from horae.domain.backoff import Backoff
from horae.domain.jobs import Debounce, Job, OnDuplicate, Unique
from horae.domain.times import Duration
from horae.types import JobContext, JobFunction, JobType, Returns
from horae.types.options import DependencyFailure

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
    from sqlalchemy.orm import Session, scoped_session

    Within: TypeAlias = Session | scoped_session[Any] | Connection
    AsyncWithin: TypeAlias = AsyncSession | async_scoped_session[Any] | AsyncConnection
else:  # the ORM is loaded by programs that use it
    Within = AsyncWithin = Any
ByName: TypeAlias = str | JobType[Any] | type[JobType[Any]]
"""References to a job type that say nothing about its parameters."""
B = ParamSpec("B")
R = TypeVar("R")


class Start(Protocol):
    """`Jobs.start`."""

    @overload
    def __call__(
        self,
        job_type: JobFunction[Concatenate[JobContext[Any], B], Coroutine[Any, Any, R]],
        /,
        *args: B.args,
        **parameters: B.kwargs,
    ) -> Job[R]: ...
    @overload
    def __call__(
        self,
        job_type: JobFunction[B, Coroutine[Any, Any, R]],
        /,
        *args: B.args,
        **parameters: B.kwargs,
    ) -> Job[R]: ...
    @overload
    def __call__(
        self,
        job_type: JobFunction[Concatenate[JobContext[Any], B], R],
        /,
        *args: B.args,
        **parameters: B.kwargs,
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: JobFunction[B, R], /, *args: B.args, **parameters: B.kwargs
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, owner: str | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, queue: str | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, priority: int | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, delay: Duration | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, run_at: datetime | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, tags: Collection[str] | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, unique_key: str | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, unique: Unique | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, on_duplicate: OnDuplicate | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, debounce: Duration | Debounce | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, expires: Duration | datetime | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, max_attempts: int | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, backoff: Backoff | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, weight: int | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, after: Iterable[Job | int] | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self,
        job_type: Returns[R],
        /,
        *args: Any,
        on_dependency_failure: DependencyFailure | None,
        **more: Any,
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, meta: Mapping[str, Any] | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(
        self, job_type: Returns[R], /, *args: Any, session: Within | None, **more: Any
    ) -> Job[R]: ...
    @overload
    def __call__(self, job_type: Returns[R], /, *args: Any, sync: bool, **more: Any) -> Job[R]: ...
    @overload
    def __call__(
        self,
        job_type: ByName,
        /,
        *,
        session: Within | None = None,
        owner: str | None = None,
        queue: str | None = None,
        priority: int | None = None,
        delay: Duration | None = None,
        run_at: datetime | None = None,
        tags: Collection[str] | None = None,
        unique_key: str | None = None,
        unique: Unique | None = None,
        on_duplicate: OnDuplicate | None = None,
        debounce: Duration | Debounce | None = None,
        expires: Duration | datetime | None = None,
        max_attempts: int | None = None,
        backoff: Backoff | None = None,
        weight: int | None = None,
        after: Iterable[Job | int] | None = None,
        on_dependency_failure: DependencyFailure | None = None,
        meta: Mapping[str, Any] | None = None,
        sync: bool = False,
        **values: Any,
    ) -> Job[Any]: ...


class AsyncStart(Protocol):
    """`AsyncJobs.start`."""

    @overload
    async def __call__(
        self,
        job_type: JobFunction[Concatenate[JobContext[Any], B], Coroutine[Any, Any, R]],
        /,
        *args: B.args,
        **parameters: B.kwargs,
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self,
        job_type: JobFunction[B, Coroutine[Any, Any, R]],
        /,
        *args: B.args,
        **parameters: B.kwargs,
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self,
        job_type: JobFunction[Concatenate[JobContext[Any], B], R],
        /,
        *args: B.args,
        **parameters: B.kwargs,
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: JobFunction[B, R], /, *args: B.args, **parameters: B.kwargs
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, owner: str | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, queue: str | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, priority: int | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, delay: Duration | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, run_at: datetime | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, tags: Collection[str] | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, unique_key: str | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, unique: Unique | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, on_duplicate: OnDuplicate | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, debounce: Duration | Debounce | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, expires: Duration | datetime | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, max_attempts: int | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, backoff: Backoff | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, weight: int | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, after: Iterable[Job | int] | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self,
        job_type: Returns[R],
        /,
        *args: Any,
        on_dependency_failure: DependencyFailure | None,
        **more: Any,
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, meta: Mapping[str, Any] | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, session: AsyncWithin | None, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self, job_type: Returns[R], /, *args: Any, sync: bool, **more: Any
    ) -> Job[R]: ...
    @overload
    async def __call__(
        self,
        job_type: ByName,
        /,
        *,
        session: AsyncWithin | None = None,
        owner: str | None = None,
        queue: str | None = None,
        priority: int | None = None,
        delay: Duration | None = None,
        run_at: datetime | None = None,
        tags: Collection[str] | None = None,
        unique_key: str | None = None,
        unique: Unique | None = None,
        on_duplicate: OnDuplicate | None = None,
        debounce: Duration | Debounce | None = None,
        expires: Duration | datetime | None = None,
        max_attempts: int | None = None,
        backoff: Backoff | None = None,
        weight: int | None = None,
        after: Iterable[Job | int] | None = None,
        on_dependency_failure: DependencyFailure | None = None,
        meta: Mapping[str, Any] | None = None,
        sync: bool = False,
        **values: Any,
    ) -> Job[Any]: ...


def typed_start(method: Callable[..., Job], /) -> Start:
    """Show a method to type checkers as `Start`, and leave it as it is."""
    return cast(Start, method)


def typed_async_start(method: Callable[..., Coroutine[Any, Any, Job]], /) -> AsyncStart:
    """Show a method to type checkers as `AsyncStart`, and leave it as it is."""
    return cast(AsyncStart, method)
