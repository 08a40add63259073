"""What a node consists of, as `app.py` chooses it, and the options of one node."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypedDict

from horae.domain.cluster import LivenessLimits, NodeRole, parse_roles
from horae.domain.jobs import KeepLogs
from horae.domain.sizes import parse_size
from horae.errors import ConfigurationError, InvalidRequest
from horae.live import LiveStore
from horae.runtime.timing import Timing
from horae.storage.engine import Database, ReadReplica, Reads
from horae.types import ApplicationHooks, Registry
from horae.wakeup import WakeupChannel


@dataclass(frozen=True, slots=True)
class Components:
    """The adapters of one application on one database."""

    database: Database
    registry: Registry
    live: LiveStore
    wakeup: WakeupChannel
    hooks: ApplicationHooks = field(default_factory=ApplicationHooks)
    keep_logs: KeepLogs | None = field(default_factory=KeepLogs)
    """Which log lines are kept of jobs whose type does not say; None keeps nothing."""
    replica: ReadReplica | None = None
    """The source from which the HTTP API reads lists, if it is not the database."""

    @property
    def reads(self) -> Reads:
        """The source of lists: the replica, if the settings name one."""
        return self.replica or self.database


class NodeKeywords(TypedDict, total=False):
    """The options of one node as keyword arguments; see `NodeOptions`.

    `roles`: names of roles, in place of `worker`, `scheduler` and `web`.
    """

    roles: Iterable[str]
    worker: bool
    scheduler: bool
    web: bool
    concurrency: int
    processes: int | None
    spare_children: int
    max_jobs_per_child: int | None
    max_child_memory: int | str | None
    queues: tuple[str, ...] | None
    backend_worker: bool
    name: str | None
    grace: timedelta
    keep: timedelta
    keep_logs_for: timedelta | None
    journal_dir: Path | None
    liveness: LivenessLimits
    timing: Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """How one node behaves. Raises `ConfigurationError`."""

    worker: bool = True
    """Whether it runs jobs."""
    scheduler: bool = True
    """Whether it fires schedules."""
    web: bool = False
    """Whether its process also serves HTTP, which is only shown."""
    concurrency: int = 10
    """Jobs that run at a time."""
    processes: int | None = None
    """Jobs that run in child processes at a time, apart from `concurrency`; None counts them with
    it.
    """
    spare_children: int = 1
    """Child processes that are kept ready for jobs to come."""
    max_jobs_per_child: int | None = None
    """Bodies after which a child process is replaced."""
    max_child_memory: int | str | None = None
    """Memory above which a child process is replaced after a body: bytes, or such as "500MB"."""
    queues: tuple[str, ...] | None = None
    """The queues it serves; None for all."""
    backend_worker: bool = False
    """It is the main process of a backend's worker: `concurrency` tells that worker's slots, and
    `queues` the backends that it serves.
    """
    name: str | None = None
    grace: timedelta = timedelta(seconds=30)
    """How long jobs may run on after a shutdown is ordered."""
    keep: timedelta = timedelta(days=30)
    """How long ended jobs are kept."""
    keep_logs_for: timedelta | None = None
    """How long log lines are kept; None for as long as their job."""
    journal_dir: Path | None = None
    """Where it keeps its journal of begun bodies; None for the usual place."""
    liveness: LivenessLimits = field(default_factory=LivenessLimits)
    """When nodes are declared dead; the same for all nodes of a database."""
    timing: Timing = field(default_factory=Timing)
    """How often its services act."""

    def __post_init__(self) -> None:
        """Check the values."""
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigurationError(
                    f"{name}: {value} is not allowed; expected {least} or more"
                )
        _ = self.child_memory
        if self.queues is not None and not self.queues:
            raise ConfigurationError(
                "queues: an empty list serves nothing; leave it out to serve every queue"
            )
        if self.grace < timedelta(0):
            raise ConfigurationError(f"grace: {self.grace} is not allowed; expected zero or more")
        if self.keep <= timedelta(0):
            raise ConfigurationError(f"keep: {self.keep} is not allowed; expected more than zero")

    @property
    def child_memory(self) -> int | None:
        """`max_child_memory` in bytes. Raises `ConfigurationError`."""
        if self.max_child_memory is None:
            return None
        try:
            size = parse_size("max_child_memory", self.max_child_memory)
        except InvalidRequest as error:
            raise ConfigurationError(str(error)) from error
        if size < LEAST_MEMORY:
            raise ConfigurationError(
                f"max_child_memory: {self.max_child_memory} is not allowed; expected 1MB or more"
            )
        return size

    @property
    def work(self) -> str:
        """What the node does, for the log."""
        if not (self.worker or self.backend_worker):
            return "fires schedules and runs no jobs"
        beside = "" if self.processes is None else f", and {self.processes} in child processes"
        return f"runs up to {self.concurrency} jobs at a time{beside}"


def options_from(default_roles: Iterable[str], given: NodeKeywords) -> NodeOptions:
    """Return the options of a node that has `default_roles` unless `given` names others.

    Raises `ConfigurationError`.
    """
    options: dict[str, Any] = dict(given)
    named = options.pop("roles", None)
    try:
        roles = parse_roles(default_roles if named is None else named)
    except InvalidRequest as error:
        raise ConfigurationError(str(error)) from error
    # That this process serves HTTP is known only if the caller names the role: by default it need
    # not.
    kept = {
        "worker": NodeRole.WORKER in roles,
        "scheduler": NodeRole.SCHEDULER in roles,
        "web": named is not None and NodeRole.WEB in roles,
    }
    options = {**kept, **options}
    if not {"worker", "scheduler"} & given.keys() and not (
        options["worker"] or options["scheduler"]
    ):
        raise ConfigurationError(
            "roles: a node needs the role worker or scheduler; to serve HTTP alone, use `horae run"
            " --roles web`"
        )
    return NodeOptions(**options)


_LEAST: Final = {"concurrency": 1, "processes": 1, "spare_children": 0, "max_jobs_per_child": 1}
"""The least values of some options."""
LEAST_MEMORY: Final = 1_000_000
"""Bytes; a smaller `max_child_memory` is a slip of the unit."""
