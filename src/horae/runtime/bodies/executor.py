"""The interface of the executors that run bodies."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final, Protocol, TypeAlias

from horae.domain.cluster import Isolation
from horae.runtime.bodies.finished_run import FinishedRun
from horae.types import Attempt, StopsBodies

START_UP: Final = timedelta(seconds=60)
"""How long a child process may take to start and import the application; only then do its time
limits begin to count.
"""


Done: TypeAlias = Callable[[Attempt, FinishedRun], None]


def stop_attempts(
    attempts: Iterable[Attempt],
    order: Callable[[], BaseException],
    level: Isolation = Isolation.ALL,
) -> Sequence[Attempt]:
    """Order bodies to stop and return them: all, or those whose jobs other nodes may soon run again
    after a loss of contact.
    """
    stopped = [
        attempt
        for attempt in attempts
        if level is Isolation.ALL
        or (level is Isolation.RETRYABLE and attempt.claim.attempt < attempt.claim.max_attempts)
    ]
    for attempt in stopped:
        attempt.stop(order())
    return stopped


class Executor(StopsBodies, Protocol):
    """A place where bodies run."""

    def start(self, attempt: Attempt, done: Done) -> None:
        """Start the body; `done` is called once, on the node's loop, when it has really stopped."""
        ...

    def close(self) -> None:
        """Release idle threads and processes; bodies that ignore every order run until the process
        ends.
        """
        ...
