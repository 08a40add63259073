"""`Horae`: the settings, the registry and the adapters of one application. The only place that picks adapters."""

import asyncio
import sys
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload
from weakref import WeakSet

from typing_extensions import Unpack

from horae.api.lazy import Interface, LazyInterface
from horae.api.security.exposure import check_exposure
from horae.api.security.tokens import tokens_of
from horae.client.changes import PYTHON, Caller, attributed_to
from horae.client.jobs.async_jobs import AsyncJobs
from horae.client.jobs.jobs import Jobs
from horae.client.schedules.async_schedules import AsyncSchedules
from horae.client.schedules.deployments import Deployed, Deployments
from horae.client.schedules.schedules import Schedules
from horae.forking import ForkSafeLock, made_once
from horae.live.database import DatabaseLiveStore
from horae.runtime.claims.slots import Slots
from horae.runtime.components import Components, NodeKeywords, NodeOptions
from horae.runtime.node.inline import InlineNode
from horae.runtime.node.node import Node
from horae.settings import Settings, settings
from horae.storage.engine.database import Database, side_car
from horae.storage.engine.dialect import SQLITE
from horae.storage.migrations import runner as migrations
from horae.types.function import BodyKeywords, JobFunction, JobKeywords
from horae.types.job_type import JobType
from horae.types.registry import Registry
from horae.types.schedule import (
    DeclaredKeywords,
    RuleKeywords,
    Schedule,
    TriggerKeywords,
    check_options,
    check_scheduled,
    module_schema,
    part_of,
    rules_of,
    trigger_of,
)
from horae.wakeup.channel import WakeupChannel
from horae.wakeup.local import LocalChannel
from horae.wakeup.silent import SilentChannel

if TYPE_CHECKING:
    from horae.api.security.actor import Authenticate

P = ParamSpec("P")
R = TypeVar("R")
J = TypeVar("J", bound=JobType[Any])


class Horae:
    """An application's job types, and what it can do with jobs.

    Nothing is opened before it is used. Raises `ConfigurationError` for settings that cannot work.
    """

    def __init__(
        self, database: str | None = None, *, authenticate: "Authenticate | None" = None, **given: Any
    ) -> None:
        """`database` is a URL; other settings go by name; what is not given is `HORAE_…` or a default of `Settings`.

        `authenticate` says who asks over HTTP, also where `horae run` serves; see `asgi`.
        """
        self._authenticate = authenticate
        self.settings: Settings = settings(database=database, **given)
        tokens_of(token.get_secret_value() for token in self.settings.tokens)  # wrong ones are refused here
        self.registry = Registry()
        self.declared: list[Schedule] = []
        self._module = _calling_module()
        self._nodes: WeakSet[Node] = WeakSet()
        self.opening = ForkSafeLock(reentrant=True)
        self._interfaces: list[LazyInterface] = []

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

    def cron(
        self, expression: str, /, **options: Unpack[DeclaredKeywords]
    ) -> Callable[[Callable[P, R]], JobFunction[P, R]]:
        """Declare a function that runs when a cron expression fires, as in `@horae.cron("0 3 * * *", timezone=…)`.

        It takes no parameters (but a `JobContext`) and returns nothing, else `SchemaError`. A node deploys what its
        application declares. Raises `CronSyntaxError` and `InvalidRequest` for what cannot be meant.
        """
        return self._declare_schedule({**options, "cron": expression})

    def every(
        self, interval: str | timedelta, /, **options: Unpack[DeclaredKeywords]
    ) -> Callable[[Callable[P, R]], JobFunction[P, R]]:
        """Declare a function that runs again an interval after each finish, or on a grid with `fixed=True`."""
        return self._declare_schedule({**options, "every": interval})

    def _declare_schedule(self, given: Mapping[str, Any]) -> Callable[[Callable[P, R]], JobFunction[P, R]]:
        check_options(given, TriggerKeywords, RuleKeywords, BodyKeywords)
        trigger = trigger_of(part_of(given, TriggerKeywords))
        rules, job_options = part_of(given, RuleKeywords), part_of(given, BodyKeywords)
        options: Any = {"max_count": None} | job_options

        def declare(function: Callable[P, R]) -> JobFunction[P, R]:
            check_scheduled(function)
            job_function = JobFunction(function, **options)
            kind = job_function.job_type
            its_rules = rules_of(f"{function.__module__}.{kind.type}", trigger, rules)
            self.registry.add(kind)
            # A module that is loaded again declares again what it had declared.
            self.declared[:] = [schedule for schedule in self.declared if schedule.name != kind.type]
            self.declared.append(Schedule(kind.type, kind.type, its_rules, kind.queue, kind.priority))
            return job_function

        return declare

    @property
    def module(self) -> str:
        """The module whose schedules these are: what a deployment is of."""
        return self.settings.module or self._module

    @property
    def schema(self) -> str:
        """The declared schedules as text; what a deployment stores and compares."""
        return module_schema(self.module, self.declared)

    def deploy(self, *, min_replicas: int = 1, restore: bool = True) -> Deployed:
        """Make what is declared here the current version of the module; a node does it when it starts."""
        return self.deployments.deploy(self.module, self.declared, min_replicas=min_replicas, restore=restore)

    def register(self, job_type: type[J]) -> type[J]:
        """Register a subclass of `JobType`; also a decorator. Raises `InvalidJobType`, `JobTypeAlreadyRegistered`."""
        self.registry.add(job_type())
        return job_type

    @made_once
    def components(self) -> Components:
        """The adapters, opened; a SQLite file is migrated, for the rest there is `SchemaMismatch`."""
        database = self._database()
        try:
            migrations.ensure(database)
        except BaseException:
            database.close()
            raise
        return Components(database, self.registry, DatabaseLiveStore(database), self._channel(database))

    @made_once
    def jobs(self) -> Jobs:
        """Start, watch, cancel jobs."""
        components = self.components
        return Jobs(
            components.database,
            components.registry,
            components.live,
            components.wakeup,
            keep=self.settings.keep,
            inline=self._inline,
        )

    @made_once
    def aio(self) -> "AsyncHorae":
        """The same for coroutines: `await horae.aio.jobs.start(…)`."""
        return AsyncHorae(self)

    @made_once
    def schedules(self) -> Schedules:
        """Add, change and read schedules."""
        components = self.components
        return Schedules(components.database, components.registry, components.wakeup, self._adopt)

    @made_once
    def deployments(self) -> Deployments:
        """Deploy the module's declared schedules, see what is deployed."""
        return Deployments(self.components.database, self.components.registry, self.components.wakeup)

    def _adopt(self, schedule_ids: Collection[int]) -> None:
        for node in list(self._nodes):
            node.adopt(schedule_ids)

    def _deploy_at_start(self) -> tuple[int, ...]:
        """What is declared here, also if that is nothing any more."""
        known = self.declared or self.deployments.current(self.module) is not None
        return self.deploy(restore=False).schedules if known else ()

    @made_once
    def _inline(self) -> InlineNode:
        return InlineNode(self.components)

    def node(self, *, slots: Slots | None = None, **options: Unpack[NodeKeywords]) -> Node:
        """A node of this application: it runs jobs and fires schedules, as `horae run` does.

        `await node.run()` runs it in an event loop, `node.run_sync()` in this thread until a signal, and
        `with node.running(): …` in a thread of its own while the block lasts. `slots`: one limit for several
        applications in one process.
        """
        given: NodeKeywords = {
            "concurrency": self.settings.concurrency,
            "queues": self.settings.queues,
            "name": self.settings.node_name,
            "grace": self.settings.grace,
            "keep": self.settings.keep,
        }
        given.update(options)
        node = Node(self.components, NodeOptions(**given), self._deploy_at_start, slots)
        self._nodes.add(node)
        return node

    def asgi(self, authenticate: "Authenticate | None" = None) -> LazyInterface:
        """The HTTP interface as an ASGI application, to be served, or mounted in another one.

        `authenticate`, or else the one that the application was made with, says who asks (`request -> Actor | None`,
        or a coroutine function); without it the tokens of the settings do, and without those it is closed, unless
        the settings have `local_staff`. It is made at the first request, so that all job types have been declared by
        then.
        """
        known_by = authenticate or self._authenticate

        def make() -> Interface:
            from horae.api import assembly  # noqa: PLC0415 - a program that only starts jobs needs nothing of the web

            handlers = assembly.Handlers(self.jobs, self.aio.jobs, self.schedules, self.deployments)
            return assembly.assemble(self.settings, self.components, handlers, known_by)

        interface = LazyInterface(make, lambda host: check_exposure(host, self.settings, known_by))
        self._interfaces.append(interface)
        return interface

    @contextmanager
    def acting_as(self, actor: str) -> Generator[None]:
        """Record what is changed within the block as changed by `actor`, and not by this process.

        Every change is recorded (`GET /api/audit/`), but not that jobs are started.
        """
        with attributed_to(Caller(actor, PYTHON)):
            yield

    def migrate(self) -> None:
        """Make the tables, or bring them up to date, as `horae migrate up` does; nothing where they are.

        Raises `SchemaMismatch` for a database that a newer program has migrated, `DatabaseBusy` and `Unavailable`.
        """
        with closing(self._database()) as database:
            migrations.upgrade(database)

    def open(self) -> None:
        """Open the database now: a new SQLite file gets its tables, any other must have them, else `SchemaMismatch`.

        The first use does it, too. But a first `start` within the caller's own transaction on a new SQLite file would
        wait for the lock that this transaction holds.
        """
        _ = self.components

    def close(self) -> None:
        """Send what waits and close connections; a later use opens them again."""
        with self.opening:
            for interface in self._interfaces:
                interface.close()
            if "_inline" in vars(self):
                self._inline.close()
            if "components" in vars(self):
                self.components.wakeup.close()
                self.components.live.close()
                self.components.database.close()
            for name in ("jobs", "schedules", "deployments", "aio", "_inline", "components"):
                vars(self).pop(name, None)

    def _database(self) -> Database:
        given = self.settings
        return Database(given.database, busy_timeout=given.busy_timeout.total_seconds(), pooler=given.pooler)

    def _channel(self, database: Database) -> WakeupChannel:
        if not self.settings.hints:
            return SilentChannel()
        if database.dialect == SQLITE:
            return LocalChannel(side_car(database, "hints"))
        from horae.wakeup.postgres import PostgresChannel  # noqa: PLC0415 - its driver is an extra

        return PostgresChannel(database.url, listens=not database.pooled)


class AsyncHorae:
    """The faces for coroutines."""

    def __init__(self, horae: Horae) -> None:
        self._horae = horae
        self.opening = horae.opening

    @made_once
    def jobs(self) -> AsyncJobs:
        """Start, watch, cancel jobs."""
        components = self._horae.components
        return AsyncJobs(self._horae.jobs, components.database, components.wakeup)

    @made_once
    def schedules(self) -> AsyncSchedules:
        """Add, change and read schedules."""
        return AsyncSchedules(self._horae.schedules, self._horae.components.database)

    async def migrate(self) -> None:
        """Make the tables, or bring them up to date; see `Horae.migrate`."""
        await asyncio.to_thread(self._horae.migrate)


def _calling_module() -> str:
    """The module that made the application; a script is known by its file's name."""
    frame = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # as collections.namedtuple and logging find their callers
    name: str = frame.f_globals.get("__name__", "app")
    return Path(frame.f_code.co_filename).stem if name == "__main__" else name
