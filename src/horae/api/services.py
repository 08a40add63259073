"""What the endpoints work with, made from what `app.py` has chosen."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

from horae.api.problems import code_of
from horae.api.security.actor import Actor, Authenticate
from horae.api.views.jobs import JobViews
from horae.handler.async_jobs import AsyncJobs
from horae.handler.audit import Audit
from horae.handler.queues import Queues
from horae.runtime.parts import Parts
from horae.settings import Settings
from horae.types.registry import Registry

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Services:
    """One application, as seen by its HTTP interface. `authenticate` says who asks."""

    settings: Settings
    parts: Parts
    jobs: AsyncJobs
    authenticate: Authenticate

    @property
    def registry(self) -> Registry:
        """The job types."""
        return self.parts.registry

    @cached_property
    def queues(self) -> Queues:
        """Pause and resume queues."""
        return Queues(self.parts.database, self.parts.wakeup)

    @cached_property
    def views(self) -> JobViews:
        """Makes what responses say of jobs."""
        return JobViews(self.parts.database, self.parts.registry)

    @cached_property
    def audit(self) -> Audit:
        """Who changed what."""
        return Audit(self.parts.database)

    async def on_thread(self, call: Callable[[], T]) -> T:
        """Run what may wait for the database on one of its threads."""
        return await self.parts.database.in_thread(call)

    @asynccontextmanager
    async def audited(self, actor: Actor, action: str, target: str, note: str | None = None) -> AsyncGenerator[None]:
        """Write down what is done in the block, and what came of it."""
        record = partial(self.audit.record, actor.id, action, target)
        try:
            yield
        except Exception as error:
            await self.on_thread(partial(record, code_of(error), note))
            raise
        await self.on_thread(partial(record, "done", note))
