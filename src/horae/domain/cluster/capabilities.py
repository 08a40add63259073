"""Which jobs a node can run, by its roles, the queues that it serves and the job types that it knows."""

from dataclasses import dataclass

from horae.domain.cluster.roles import Role
from horae.domain.jobs.bulk import BULK_TYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a node has registered. `queues`: the queues that it serves, None for all."""

    roles: list[str]
    queues: list[str] | None
    types: list[str]

    @property
    def is_worker(self) -> bool:
        """Whether it runs jobs at all."""
        return Role.WORKER in self.roles

    @property
    def is_scheduler(self) -> bool:
        """Whether it fires schedules."""
        return Role.SCHEDULER in self.roles

    def serves(self, queue: str) -> bool:
        """Whether it runs jobs of this queue."""
        return self.is_worker and (self.queues is None or queue in self.queues)

    def knows(self, job_type: str) -> bool:
        """Whether it has this job type; every node has those of Horae's own, without registering them."""
        return job_type == BULK_TYPE or job_type in self.types

    def can_run(self, job_type: str, queue: str) -> bool:
        """Whether it can run a job of this type in this queue."""
        return self.serves(queue) and self.knows(job_type)
