"""Another system that runs jobs, such as Celery, as Horae uses it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from horae.domain.jobs.job import JobId


class Message(NamedTuple):
    """A message about a job; `time_limit`: after how many seconds its process may be killed, None
    for no limit.
    """

    job_id: JobId
    time_limit: float | None


class Backend(Protocol):
    """A system whose workers run jobs: they receive a message about each, and claim the job by its
    id.
    """

    @property
    def usual_destination(self) -> str:
        """The queue of that system to which messages go unless a backend names another one."""
        ...

    def check(self) -> None:
        """Raise `ConfigurationError` if it cannot be used as it is configured.

        Connects to nothing.
        """
        ...

    def send(self, destination: str, messages: Sequence[Message]) -> None:
        """Send the messages; raise an error if it is not certain that all were sent."""
        ...

    def waiting(self, destination: str) -> int:
        """Return how many messages wait in a queue of that system; raise an error if it does not
        answer.
        """
        ...
