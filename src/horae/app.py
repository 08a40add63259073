"""`Horae`: the settings, the registry and the adapters of one application, which `adapters.py`
picks.

Clients, database and runtime are imported by the methods that first need them: a program that
declares job types, or starts jobs and runs none, does not load the rest.
"""

import asyncio
import sys
import time
from collections.abc import Collection, Generator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from horae.api.lazy import Interface, LazyInterface, web_packages_required
from horae.domain.names import foreign_id
from horae.errors import ConfigurationError
from horae.forking import lazy_property
from horae.opened import Opened
from horae.quoting import quoted
from horae.types import ApplicationHooks, Declarations, Registry, module_schema
from horae.types.parameters import sealer_of
from horae.types.parameters.large_values import large_values_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from horae.api.security.actor import Authenticate
    from horae.client.audit import AuditReport
    from horae.client.forecasting import Forecasting
    from horae.client.jobs import AsyncJobs, Jobs
    from horae.client.operations import AsyncLimits, AsyncQueues, Limits, Queues
    from horae.client.schedules import AsyncSchedules, Deployed, Deployments, Schedules
    from horae.runtime.claims import Slots
    from horae.runtime.components import Components, NodeKeywords
    from horae.runtime.node import Node
    from horae.settings import Settings
    from horae.storage.engine import Database


class Horae(Declarations):
    """An application's job types and schedules, and the clients to work with them.

    Opens nothing before its first use. Raises `ConfigurationError` for invalid settings.
    """

    def __init__(
        self,
        database: str | None = None,
        *,
        authenticate: "Authenticate | None" = None,
        **given: Any,
    ) -> None:
        """`database` is a URL; other settings are keyword arguments; the rest is read from
        `HORAE_…` or defaults.

        `authenticate` identifies the user of an HTTP request, also under `horae run`; see `asgi`.
        """
        from horae.api.security.tokens import tokens_of
        from horae.settings import settings

        module, self._module = _calling_module()
        _check_authenticate(authenticate)
        self._authenticate = authenticate
        chosen = settings(database=database, **given)
        # This refuses malformed settings.
        tokens_of(token.get_secret_value() for token in chosen.tokens)
        sealer = sealer_of(key.get_secret_value() for key in chosen.secret_keys)
        store = chosen.large_values
        files = large_values_of(
            None if store is None else store.get_secret_value(), chosen.large_values_over
        )
        registry = Registry(chosen.queue_backends, sealer, files)
        hooks = ApplicationHooks(self, module)
        self.opened = self.make_opened(chosen, registry, hooks)
        self.opening = self.opened.opening
        super().__init__(registry, hooks, self.opened)
        self._nodes = WeakSet["Node"]()
        self._interfaces: list[LazyInterface] = []

    def make_opened(
        self, settings: "Settings", registry: Registry, hooks: ApplicationHooks
    ) -> Opened:
        """Return what will open adapters and clients; an integration may return one of its own."""
        return Opened(settings, registry, hooks)

    @property
    def settings(self) -> "Settings":
        """The settings; others count from the next time that something is opened."""
        return self.opened.settings

    @settings.setter
    def settings(self, settings: "Settings") -> None:
        self.opened.settings = settings

    @property
    def module(self) -> str:
        """The name of the module whose schedules are deployed together."""
        return self.settings.module or self._module

    @property
    def schema(self) -> str:
        """The declared schedules as the text that a deployment stores and compares."""
        return module_schema(self.module, self.declared, self.registry.queues.values())

    def deploy(self, *, min_replicas: int = 1, restore: bool = True) -> "Deployed":
        """Make what is declared here the current version of the module, as a node does at its
        start.
        """
        queues = tuple(self.registry.queues.values())
        return self.deployments.deploy(
            self.module, self.declared, queues=queues, min_replicas=min_replicas, restore=restore
        )

    @property
    def components(self) -> "Components":
        """The opened adapters.

        Creates the tables of a new SQLite file; raises `SchemaMismatch` for other databases.
        """
        return self.opened.components

    @property
    def jobs(self) -> "Jobs":
        """Start, watch and cancel jobs."""
        return self.opened.jobs

    @lazy_property
    def aio(self) -> "AsyncHorae":
        """Clients for async code: `await horae.aio.jobs.start(…)`."""
        return AsyncHorae(self)

    @lazy_property
    def schedules(self) -> "Schedules":
        """Add, change and read schedules."""
        from horae.client.schedules import Schedules

        components = self.components
        return Schedules(components.database, components.registry, components.wakeup, self._adopt)

    @lazy_property
    def queues(self) -> "Queues":
        """Pause, resume and limit queues, and let owners take turns; `queue` declares queues."""
        from horae.client.operations import Queues

        return Queues(self.components.database, self.components.wakeup, self.registry)

    @lazy_property
    def limits(self) -> "Limits":
        """List limits by key with what they hold back, and change their numbers."""
        from horae.client.operations import Limits

        return Limits(self.components.database, self.components.registry, self.components.wakeup)

    @lazy_property
    def deployments(self) -> "Deployments":
        """Deploy the module's declared schedules, and list deployments."""
        from horae.client.schedules import Deployments

        return Deployments(
            self.components.database, self.components.registry, self.components.wakeup
        )

    def _adopt(self, schedule_ids: Collection[int]) -> None:
        for node in list(self._nodes):
            node.adopt(schedule_ids)

    def _deploy_at_start(self) -> tuple[int, ...]:
        """Deploy what is declared here, even if the last schedule of a module was removed."""
        if (
            self.declared
            or self.registry.queues
            or self.deployments.current(self.module) is not None
        ):
            return self.deploy(restore=False).schedules
        self.deployments.refresh()
        return ()

    def audit(self, since: "datetime | timedelta | None" = None) -> "AuditReport":
        """Recompute every invariant from the tables and report contradictions, as `horae audit`
        does.

        Changes nothing. `since`: a moment, or how far back to look; by default everything that is
        kept is checked.
        """
        from horae.client.audit.audit import audit
        from horae.runtime.node import living, look

        database = self.components.database
        alive = living(look(database))
        with database.snapshot() as connection:
            own = [kind.type for kind in self.registry if kind.retention.seconds]
            return audit(connection, alive, self.settings.keep, since, own)

    def node(self, *, slots: "Slots | None" = None, **options: "Unpack[NodeKeywords]") -> "Node":
        """A node of this application: it runs jobs and fires schedules, as `horae run` does.

        `await node.run()` runs it in an event loop, `node.run_sync()` in this thread until a
        signal, and `with node.running(): …` in a thread of its own while the block lasts. Pass the
        same `slots` to the nodes of several applications in one process to limit the jobs of all of
        them together.
        """
        from horae.runtime.components import options_from
        from horae.runtime.node import Node

        given: NodeKeywords = {
            "concurrency": self.settings.concurrency,
            "processes": self.settings.processes,
            "spare_children": self.settings.spare_children,
            "max_jobs_per_child": self.settings.max_jobs_per_child,
            "max_child_memory": self.settings.max_child_memory,
            "queues": self.settings.queues,
            "name": self.settings.node_name,
            "grace": self.settings.grace,
            "keep": self.settings.keep,
            "keep_logs_for": self.settings.keep_logs_for,
            "journal_dir": self.settings.journal_dir,
        }
        given.update(options)
        node = Node(
            self.components, options_from(self.settings.roles, given), self._deploy_at_start, slots
        )
        self._nodes.add(node)
        return node

    def asgi(self, authenticate: "Authenticate | None" = None) -> LazyInterface:
        """The HTTP API as an ASGI application, to be served, or mounted in another one.

        `authenticate` identifies the user of a request (`request -> Actor | None`, or a coroutine
        function); it defaults to the one that the application was made with. Without one, the
        tokens of the settings identify users; without tokens every request is refused, unless the
        settings have `local_staff`. The ASGI application is made at the first request, when all job
        types have been declared. Needs the packages of `horae[web]`.
        """
        chosen = authenticate or self._authenticate
        _check_authenticate(chosen)

        def make() -> Interface:
            with web_packages_required():
                from horae.api.application import http_interface
                from horae.api.services import Services

            services = Services(
                settings=self.settings,
                components=self.components,
                jobs=self.aio.jobs,
                sync_jobs=self.jobs,
                schedules=self.schedules,
                deployments=self.deployments,
                queues=self.queues,
                limits=self.limits,
                begun=time.monotonic(),
                custom_authenticate=chosen,
            )
            return http_interface(services)

        def may_listen(host: str) -> None:
            from horae.api.security.exposure import check_exposure

            check_exposure(host, self.settings, chosen)

        interface = LazyInterface(make, may_listen)
        self._interfaces.append(interface)
        return interface

    def forecasting(
        self,
        *,
        start: datetime | None = None,
        days: int = 30,
        durations: Mapping[str, timedelta] | None = None,
        default_duration: timedelta = timedelta(seconds=1),
        with_database: bool = True,
    ) -> "Forecasting":
        """Forecast the declared schedules: `horae.forecasting(days=30).forecast()`.

        The period begins at `start`, by default now. Runs take as long as `durations` say by the
        name of the schedule, else the mean of those that succeeded, else `default_duration`. The
        database is read if there is one, and nothing is written. Raises `InvalidRequest`, and
        `SchemaMismatch` for a database of another version.
        """
        from horae.client.forecasting import (
            NOTHING_DEPLOYED,
            Forecasting,
            ForecastOptions,
            read_deployed,
        )
        from horae.storage.engine import missing_file

        deployed = NOTHING_DEPLOYED
        if with_database and missing_file(self.settings.database) is None:
            with closing(self._database()) as database:
                deployed = read_deployed(database, self.module)
        options = ForecastOptions(
            start=start or datetime.now(UTC),  # noqa: TID251 - the period of a question begins now
            days=days,
            durations=durations or {},
            default_duration=default_duration,
        )
        return Forecasting(self.module, self.declared, self.registry, deployed, options)

    @contextmanager
    def acting_as(self, actor: str) -> Generator[None]:
        """Name `actor` in the audit log for changes made within the block, instead of this process.

        The audit log (`GET /api/audit/`) has every change; starting jobs is not one. Raises
        `InvalidRequest`.
        """
        from horae.client.changes import PYTHON, Caller, attributed_to

        with attributed_to(Caller(foreign_id("actor", actor), PYTHON)):
            yield

    def migrate(self) -> bool:
        """Create the tables or bring them up to date, as `horae migrate up` does. Idempotent.

        Returns whether anything has changed.
        Raises `SchemaMismatch` for a database that a newer version has migrated, `DatabaseBusy` and
        `Unavailable`.
        """
        from horae.storage.migrations import runner as migrations

        with closing(self._database()) as database:
            return migrations.upgrade(database)

    def open(self) -> None:
        """Open the database now, instead of at its first use.

        A new SQLite file gets its tables; any other database must have them, or `SchemaMismatch` is
        raised. Call this before the first `start` within a transaction of yours on a new SQLite
        file, because creating the tables would wait for the lock that this transaction holds.
        """
        _ = self.components

    def close(self) -> None:
        """Send pending notifications and close connections; a later use opens them again."""
        with self.opening:
            for interface in self._interfaces:
                interface.close()
            for name in ("schedules", "deployments", "queues", "limits", "aio"):
                vars(self).pop(name, None)
            self.opened.close()

    def _database(self) -> "Database":
        from horae.adapters import opened_database

        return opened_database(self.settings)


class AsyncHorae:
    """The clients for async code."""

    def __init__(self, horae: Horae) -> None:
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


def _calling_module() -> tuple[str, str]:
    """Return the module that made the application, by its name in `sys.modules` and by that under
    which others import it.
    """
    # collections.namedtuple and logging find their callers in the same way.
    frame = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    while frame.f_code.co_name == "__init__" and isinstance(frame.f_locals.get("self"), Horae):
        assert frame.f_back is not None  # somebody has made the object of the subclass
        frame = frame.f_back
    name: str = frame.f_globals.get("__name__", "app")
    if name != "__main__":
        return name, name
    # `python -m shop.app` knows the name by which other programs import the module; without it
    # both would deploy its schedules, and each schedule would run twice.
    spec = frame.f_globals.get("__spec__")
    return name, Path(frame.f_code.co_filename).stem if spec is None else spec.name


def _check_authenticate(given: object) -> None:
    if given is not None and not callable(given):
        raise ConfigurationError(
            f"authenticate is {quoted(given)}, expected a function of the request"
        )
