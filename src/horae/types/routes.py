"""Which of an application's jobs another system runs, such as Celery, and which queue of that
system they go to.
"""

from collections.abc import Mapping
from typing import TypeAlias

from horae.domain.jobs.backend import OWN_BACKEND, BackendAddress
from horae.storage.jobs.dispatching import SentScope
from horae.types.registry import Registry

Place: TypeAlias = tuple[str, str]
"""A system, and one of its queues."""


class Routes:
    """The jobs that other systems run: by their type, or else by their queue."""

    def __init__(self, registry: Registry, queue_backends: Mapping[str, str]) -> None:
        types = {kind.type: kind.address for kind in registry if kind.address is not None}
        queues = {
            queue: BackendAddress.parse(text)
            for queue, text in queue_backends.items()
            if text != OWN_BACKEND
        }
        self._types = {name: _place(registry, address) for name, address in types.items()}
        self._queues = {name: _place(registry, address) for name, address in queues.items()}
        self.systems = {address.system for address in (*types.values(), *queues.values())}
        """The systems that run some of the jobs."""

    def __bool__(self) -> bool:
        """Return whether another system runs some jobs."""
        return bool(self._types or self._queues)

    @property
    def scope(self) -> SentScope:
        """All jobs that another system runs."""
        return SentScope(self._types, self._queues)

    @property
    def places(self) -> set[Place]:
        """Each system with one of its queues."""
        return {*self._types.values(), *self._queues.values()}

    def place_of(self, job_type: str, queue: str) -> Place | None:
        """Return the system that runs a job and its queue there; None for a job that Horae's nodes
        run.
        """
        return self._types.get(job_type) or self._queues.get(queue)

    def scope_of(self, place: Place) -> SentScope:
        """Return the jobs that go to one queue of a system."""
        types = [name for name, its in self._types.items() if its == place]
        queues = [name for name, its in self._queues.items() if its == place]
        return SentScope(types, queues, other_types=self._types)


def _place(registry: Registry, address: BackendAddress) -> Place:
    backend = registry.backends.get(address.system)
    return address.system, address.destination or (
        "" if backend is None else backend.usual_destination
    )
