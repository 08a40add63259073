"""The services of the endpoints, made from the adapters that `app.py` picked."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from horae.api.cached_value import CachedValue
from horae.api.metrics import Metrics, MetricsLimits
from horae.api.overview import take_overview
from horae.api.problems import status_of
from horae.api.security.actor import Actor, Authenticate
from horae.api.security.authentication import BuiltIn
from horae.api.security.channel import current_channel
from horae.api.stream import (
    EventsTiming,
    Hub,
    JobSource,
    ScheduleSource,
    Source,
    StreamLimit,
)
from horae.api.views.jobs import JobViews
from horae.client.changes import DONE, ChangeRequest, on_request
from horae.client.jobs import AsyncJobs, Jobs
from horae.client.operations import ChangeLog, Limits, Overview, Queues
from horae.client.schedules import Deployments, Schedules
from horae.errors import DatabaseBusy
from horae.runtime.components import Components
from horae.settings import Settings
from horae.storage.engine import Reads, Use
from horae.types import Registry

P = ParamSpec("P")
T = TypeVar("T")

DASHBOARD: Final = Path(__file__).parent / "static"
"""The folder with the built files of the dashboard."""


@dataclass(frozen=True, kw_only=True)
class Services:
    """One application, as its HTTP API sees it.

    `sync_jobs`, `schedules`, `deployments`, `queues` and `limits` block, so call them on a thread.
    `custom_authenticate` is the application's own way to identify the user of a request.
    `dashboard`: the folder with its built files.
    """

    settings: Settings
    components: Components
    jobs: AsyncJobs
    sync_jobs: Jobs
    schedules: Schedules
    deployments: Deployments
    queues: Queues
    limits: Limits
    begun: float
    """When this was made, on the monotonic clock: metrics count jobs from then on."""
    custom_authenticate: Authenticate | None = None
    events_timing: EventsTiming = field(default_factory=EventsTiming)
    metrics_limits: MetricsLimits = field(default_factory=MetricsLimits)
    dashboard: Path = DASHBOARD

    @cached_property
    def authenticate(self) -> Authenticate:
        """Return what identifies the user of a request; raises `ConfigurationError`."""
        return self.custom_authenticate or BuiltIn(self.settings, self.components.database)

    def entrance(self) -> str:
        """Return the path for a browser, relative to where this is served: the page or a login
        link.
        """
        built_in = self.authenticate
        return built_in.link.make() if isinstance(built_in, BuiltIn) and built_in.is_by_link else ""

    @property
    def has_authentication(self) -> bool:
        """Whether users are identified by more than being on this machine."""
        return self.custom_authenticate is not None or bool(self.settings.tokens)

    @property
    def registry(self) -> Registry:
        """The job types."""
        return self.components.registry

    @cached_property
    def views(self) -> JobViews:
        """Makes the response views of jobs."""
        return JobViews(self.components.database, self.components.registry)

    @cached_property
    def audit(self) -> ChangeLog:
        """The audit log."""
        return ChangeLog(self.components.database)

    @cached_property
    def hub(self) -> Hub:
        """Publishes changes to event streams."""
        components, timing = self.components, self.events_timing

        def sources() -> list[Source]:
            return [
                JobSource(components, self.sync_jobs, self.views, timing.jobs),
                ScheduleSource(components.database, timing.schedules),
            ]

        return Hub(sources, components.wakeup, components.live, timing.hub)

    @cached_property
    def stream_limit(self) -> StreamLimit:
        """Limits the number of event streams."""
        return StreamLimit(self.settings.max_streams, self.settings.max_streams_each)

    @cached_property
    def metrics(self) -> Metrics:
        """Metrics for Prometheus."""
        return Metrics(self.components, self.metrics_limits, self.begun)

    @cached_property
    def overview(self) -> CachedValue[Overview]:
        """The cached overview of the whole system."""
        take = partial(take_overview, self.components, self.settings)
        # Each open dashboard asks for it, which takes several queries.
        return CachedValue(take, 2.0)

    @property
    def listed_jobs(self) -> Jobs:
        """The client for lists of jobs, and for their counts."""
        return self.sync_jobs.listing_from(self.reads)

    @property
    def listed_schedules(self) -> Schedules:
        """The client for lists of schedules and their runs."""
        return self.schedules.listing_from(self.reads)

    @property
    def reads(self) -> Reads:
        """The source of lists: the replica, if the settings name one."""
        return self.components.reads

    async def on_thread(self, read: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Run a database read on a thread."""
        return await self.components.database.in_thread(partial(read, *args, **options))

    async def change(
        self,
        actor: Actor,
        action: str,
        target: str,
        call: Callable[[], T],
        note: str | None = None,
    ) -> T:
        """Run a database change, which may wait for locks, on a separate pool of threads, and
        record it in the audit log.
        """
        async with self.record_change(actor, action, target, note):
            return await self.components.database.in_thread(call, Use.CHANGE)

    @asynccontextmanager
    async def record_change(
        self, actor: Actor, action: str, target: str, note: str | None = None
    ) -> AsyncGenerator[None]:
        """Record the block's change in the audit log, in its transaction, or the error that
        prevented it.
        """
        asked = ChangeRequest(actor.id, action, target, note, current_channel())
        try:
            with on_request(asked):
                yield
        except DatabaseBusy as error:
            asked.written = None
            # A reader thread does not wait for the lock again.
            await self.on_thread(self.audit.log, asked, status_of(error)[1])
            raise
        except Exception as error:  # recorded whatever it is, and raised again
            asked.written = None  # the entry was rolled back with the transaction
            await self._settle(asked, status_of(error)[1])
            raise
        await self._settle(asked, DONE)

    async def _settle(self, asked: ChangeRequest, outcome: str) -> None:
        if asked.written is None:
            settle = partial(self.audit.settle, asked, outcome)
            with suppress(DatabaseBusy):  # raised if too many changes are waiting
                await self.components.database.in_thread(settle, Use.CHANGE)
                return
        await self.on_thread(self.audit.log, asked, outcome)
