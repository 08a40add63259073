"""A backend: workers outside of Horae's nodes, such as Celery's, that run jobs."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from horae.domain.jobs import JobId


class Message(NamedTuple):
    """A message about a job; `time_limit`: seconds until its process may be killed, if any."""

    job_id: JobId
    time_limit: float | None


class Backend(Protocol):
    """Carries messages about jobs to workers, each of which claims the job by its id."""

    @property
    def usual_destination(self) -> str:
        """The queue of the backend that receives messages unless an address names another one."""
        ...

    def check(self) -> None:
        """Raise `ConfigurationError` if it cannot be used as it is configured.

        Connects to nothing.
        """
        ...

    def send(self, destination: str, messages: Sequence[Message]) -> None:
        """Send the messages; raise an error if it is not certain that all were sent."""
        ...

    def depth(self, destination: str) -> int:
        """Return how many messages wait in a queue; raise an error if it does not answer."""
        ...
