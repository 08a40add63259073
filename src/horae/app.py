"""`Horae`: the settings, the registry and the adapters of one application. The only place that picks adapters."""

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, ParamSpec, TypeVar, overload

from typing_extensions import Unpack

from horae.handler.async_jobs import AsyncJobs
from horae.handler.jobs import Jobs
from horae.live.database import DatabaseLiveStore
from horae.runtime.inline import InlineNode
from horae.runtime.node import Node
from horae.runtime.parts import NodeOptions, Parts
from horae.settings import Settings, settings
from horae.storage.database import Database, side_car
from horae.storage.dialect import SQLITE
from horae.storage.migrations import runner as migrations
from horae.types.function import JobFunction, JobKeywords
from horae.types.job_type import JobType
from horae.types.registry import Registry
from horae.wakeup.channel import WakeupChannel
from horae.wakeup.local import LocalChannel
from horae.wakeup.postgres import PostgresChannel
from horae.wakeup.silent import SilentChannel

P = ParamSpec("P")
R = TypeVar("R")
J = TypeVar("J", bound=type[JobType[Any]])


class Horae:
    """An application's job types, and what it can do with jobs.

    Nothing is opened before it is used. Raises `ConfigurationError` for settings that cannot work.
    """

    def __init__(self, database: str | None = None, **given: Any) -> None:
        """`database` is a URL; other settings go by name. What is not given is `HORAE_…` or the default of `Settings`."""
        self.settings: Settings = settings(database=database, **given)
        self.registry = Registry()
        self._opening = threading.RLock()

    @overload
    def job(self, function: Callable[P, R], /) -> JobFunction[P, R]: ...
    @overload
    def job(self, /, **options: Unpack[JobKeywords]) -> Callable[[Callable[P, R]], JobFunction[P, R]]: ...
    def job(self, function: Callable[P, R] | None = None, /, **options: Unpack[JobKeywords]) -> Any:
        """Make a function a job type: `@horae.job`, or `@horae.job(max_count=1, …)` with the options of `JobType`."""

        def declare(declared: Callable[P, R]) -> JobFunction[P, R]:
            job_function = JobFunction(declared, **options)
            self.registry.add(job_function.job_type)
            return job_function

        return declare if function is None else declare(function)

    def register(self, job_type: J) -> J:
        """Register a subclass of `JobType`; also a decorator. Raises `InvalidJobType`, `JobTypeAlreadyRegistered`."""
        self.registry.add(job_type())
        return job_type

    @cached_property
    def parts(self) -> Parts:
        """The adapters, opened; a SQLite file is migrated. Raises `SchemaMismatch` where that is the operator's to do."""
        with self._opening:
            database = Database(self.settings.database, busy_timeout=self.settings.busy_timeout.total_seconds())
            try:
                migrations.ensure(database)
            except BaseException:
                database.close()
                raise
            return Parts(database, self.registry, DatabaseLiveStore(database), self._channel(database))

    @cached_property
    def jobs(self) -> Jobs:
        """Start, watch, cancel jobs."""
        with self._opening:
            parts = self.parts
            return Jobs(
                parts.database, parts.registry, parts.live, parts.wakeup, keep=self.settings.keep, inline=self._inline
            )

    @cached_property
    def aio(self) -> "AsyncHorae":
        """The same for coroutines: `await horae.aio.jobs.start(…)`."""
        return AsyncHorae(AsyncJobs(self.jobs, self.parts.database, self.parts.wakeup))

    @cached_property
    def _inline(self) -> InlineNode:
        return InlineNode(self.parts)

    def node(self, **options: Any) -> Node:
        """A node of this application; `await node.run()` runs it in an event loop. Options are `NodeOptions`."""
        given = {
            "concurrency": self.settings.concurrency,
            "queues": self.settings.queues,
            "name": self.settings.node_name,
            "grace": self.settings.grace,
            "keep": self.settings.keep,
        }
        return Node(self.parts, NodeOptions(**{**given, **options}))

    def close(self) -> None:
        """Send what waits and close connections; a later use opens them again."""
        with self._opening:
            if "_inline" in vars(self):
                self._inline.close()
            if "parts" in vars(self):
                self.parts.wakeup.close()
                self.parts.live.close()
                self.parts.database.close()
            for name in ("jobs", "aio", "_inline", "parts"):
                vars(self).pop(name, None)

    def _channel(self, database: Database) -> WakeupChannel:
        if not self.settings.hints:
            return SilentChannel()
        if database.dialect == SQLITE:
            return LocalChannel(side_car(database, "hints"))
        return PostgresChannel(database.url)


class AsyncHorae:
    """The faces for coroutines."""

    def __init__(self, jobs: AsyncJobs) -> None:
        self.jobs = jobs
