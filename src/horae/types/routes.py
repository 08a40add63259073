"""Which of an application's jobs a backend runs, and to which queue of the backend they go."""

from collections.abc import Mapping
from typing import TypeAlias

from horae.domain.jobs import OWN_BACKEND, BackendAddress, SentScope
from horae.types.registry import Registry

Destination: TypeAlias = tuple[str, str]
"""The name of a backend, and one of its queues."""


class Routes:
    """The jobs that backends run: by their type, or else by their queue."""

    def __init__(self, registry: Registry, queue_backends: Mapping[str, str]) -> None:
        usual = {name: backend.usual_destination for name, backend in registry.backends.items()}

        def destination(address: BackendAddress) -> Destination:
            return address.backend, address.destination or usual.get(address.backend, "")

        self._types = {
            kind.type: destination(kind.address) for kind in registry if kind.address is not None
        }
        self._queues = {
            queue: destination(BackendAddress.parse(text))
            for queue, text in queue_backends.items()
            if text != OWN_BACKEND
        }

    def __bool__(self) -> bool:
        """Return whether a backend runs some jobs."""
        return bool(self._types or self._queues)

    @property
    def scope(self) -> SentScope:
        """All jobs that backends run."""
        return SentScope(self._types, self._queues)

    @property
    def destinations(self) -> set[Destination]:
        """Each backend with each of its queues that receives messages."""
        return {*self._types.values(), *self._queues.values()}

    @property
    def backends(self) -> set[str]:
        """The names of the backends that run some of the jobs."""
        return {backend for backend, _ in self.destinations}

    def find(self, job_type: str, queue: str) -> Destination | None:
        """Return where messages about a job go; None for a job that Horae's nodes run."""
        return self._types.get(job_type) or self._queues.get(queue)

    def scope_of(self, destination: Destination) -> SentScope:
        """Return the jobs whose messages go to one destination."""
        types = [name for name, its in self._types.items() if its == destination]
        queues = [name for name, its in self._queues.items() if its == destination]
        return SentScope(types, queues, other_types=self._types)
