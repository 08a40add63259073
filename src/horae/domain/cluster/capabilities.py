"""Which jobs a node can run, by its roles, the queues that it serves and its job types."""

from dataclasses import dataclass
from typing import Any, Final

from horae.domain.cluster.roles import NodeRole
from horae.domain.jobs import BULK_QUEUE, BULK_TYPE, CELERY, OWN_BACKEND

CELERY_WORKER: Final = f"{CELERY} worker"
"""The role of a Celery worker's main process; its slots are those of the worker's pool."""
INLINE: Final = "inline"
"""The role of a program that runs jobs of its own (`sync=True`), and nobody else's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a node has registered. `queues`: the queues that it serves, None for all.

    A worker of a backend has in their place the backends that it serves, as queues name them:
    `celery`, `celery:export`.
    """

    roles: list[str]
    queues: list[str] | None
    types: list[str]

    def __post_init__(self) -> None:
        """Raise ValueError for values that no node has registered."""
        for name in ("roles", "queues", "types"):
            given: Any = getattr(self, name)
            values = [] if given is None and name == "queues" else given
            if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
                raise ValueError(f"{name} is no list of texts")

    @property
    def is_worker(self) -> bool:
        """Whether the node runs any jobs."""
        return NodeRole.WORKER in self.roles

    @property
    def is_backend_worker(self) -> bool:
        """Whether it is the main process of a backend's worker, whose processes run jobs."""
        return CELERY_WORKER in self.roles

    @property
    def is_caller(self) -> bool:
        """Whether it is a program that runs only its own jobs: without one it has ended, not
        died.
        """
        return self.roles == [INLINE]

    @property
    def is_scheduler(self) -> bool:
        """Whether it fires schedules."""
        return NodeRole.SCHEDULER in self.roles

    def serves(self, queue: str) -> bool:
        """Whether it runs jobs of this queue; every worker also runs Horae's own jobs."""
        return self.is_worker and (self.queues is None or queue in (*self.queues, BULK_QUEUE))

    def knows(self, job_type: str) -> bool:
        """Whether it has this job type; every node also has Horae's own types."""
        return job_type == BULK_TYPE or job_type in self.types

    def can_run(self, job_type: str, queue: str) -> bool:
        """Whether it can run a job of this type in this queue."""
        return self.serves(queue) and self.knows(job_type)

    def runs_for(self, backend: str | None, job_type: str) -> bool:
        """Whether jobs of this type run here that are sent to a backend; None: to the one that
        their type names.
        """
        served = backend in (None, OWN_BACKEND) or backend in (self.queues or ())
        return self.is_backend_worker and served and self.knows(job_type)
