"""What a node consists of, as `app.py` chooses it, and the options of one node."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypedDict

from horae.domain.cluster.liveness import Limits
from horae.errors import ConfigurationError
from horae.live.store import LiveStore
from horae.runtime.timing import Timing
from horae.storage.engine.database import Database
from horae.types.application_hooks import ApplicationHooks
from horae.types.registry import Registry
from horae.wakeup.channel import WakeupChannel


@dataclass(frozen=True, slots=True)
class Components:
    """The adapters of one application on one database."""

    database: Database
    registry: Registry
    live: LiveStore
    wakeup: WakeupChannel
    hooks: ApplicationHooks = field(default_factory=ApplicationHooks)


class NodeKeywords(TypedDict, total=False):
    """The options of one node as keyword arguments; see `NodeOptions`."""

    worker: bool
    scheduler: bool
    concurrency: int
    queues: tuple[str, ...] | None
    name: str | None
    grace: timedelta
    keep: timedelta
    liveness: Limits
    timing: Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """How one node behaves.

    `worker`, `scheduler`: whether it runs jobs, whether it fires schedules; `concurrency`: jobs that run at a time;
    `queues`: the ones it serves, None for all; `grace`: how long jobs may run on after a shutdown is ordered; `keep`:
    how long ended jobs are kept; `liveness`: when nodes are declared dead, the same for all nodes of a database;
    `timing`: how often its services act.

    Raises `ConfigurationError`.
    """

    worker: bool = True
    scheduler: bool = True
    concurrency: int = 10
    queues: tuple[str, ...] | None = None
    name: str | None = None
    grace: timedelta = timedelta(seconds=30)
    keep: timedelta = timedelta(days=30)
    liveness: Limits = field(default_factory=Limits)
    timing: Timing = field(default_factory=Timing)

    def __post_init__(self) -> None:
        """Check the values."""
        if self.concurrency < 1:
            raise ConfigurationError(f"concurrency: {self.concurrency} is not allowed; expected 1 or more")
        if self.queues is not None and not self.queues:
            raise ConfigurationError("queues: an empty list serves nothing; leave it out to serve every queue")
        if self.grace < timedelta(0):
            raise ConfigurationError(f"grace: {self.grace} is not allowed; expected zero or more")
        if self.keep <= timedelta(0):
            raise ConfigurationError(f"keep: {self.keep} is not allowed; expected more than zero")
