"""One body that runs, and the interface of the executors that run it."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Protocol, TypeAlias

from horae.domain.cluster.liveness import Isolation
from horae.domain.jobs import limits
from horae.domain.jobs.job import Claim
from horae.domain.jobs.limits import Limit
from horae.errors import JobCancelled, JobStopped
from horae.runtime.bodies.finished_run import FinishedRun
from horae.types.context import JobContext
from horae.types.job_type import JobType

START_UP: Final = timedelta(seconds=60)
"""How long a child process may take to start and import the application before its time limits
begin to count.
"""


@dataclass(slots=True, eq=False)
class Run:
    """A claim whose body has begun. Times are on the monotonic clock, in seconds.

    `warned`: its soft time limit was signalled; `forced`: it was stopped by force, or that was
    tried; `killed`: force worked; `failed`: its job is failed, or is about to be, although its body
    still runs; `waiting`: its body has not begun, because its child process is still being set up.
    """

    claim: Claim
    job_type: JobType[Any]
    context: JobContext[Any]
    executor: "Executor"
    # Simulations replace the clock
    began: float = field(default_factory=lambda: time.monotonic())  # noqa: PLW0108
    warned: bool = False
    forced: bool = False
    killed: bool = False
    failed: bool = False
    waiting: bool = False
    handle: Any = None
    """The executor's own reference to it."""

    def begin(self, within: timedelta = timedelta(0)) -> None:
        """Count time limits from now, or from the end of this time unless the body begins
        before.
        """
        self.began = time.monotonic() + within.total_seconds()

    def stop(self, order: BaseException) -> None:
        """Order the body to stop."""
        self.executor.stop(self, order)

    def kill(self) -> bool:
        """Stop it by force; return False if that is impossible."""
        return self.executor.kill(self)

    def force(self) -> None:
        """Stop it by force if possible, and note that it was tried."""
        self.forced, self.killed = True, self.kill()

    @property
    def soft_limit(self) -> timedelta | None:
        """How long it may run, by its schedule or else by its job type."""
        runtime = self.claim.max_runtime
        return self.job_type.time_limits.soft if runtime is None else timedelta(seconds=runtime)

    @property
    def soft_at(self) -> float:
        """When the body is ordered to stop."""
        limit = self.soft_limit
        return float("inf") if limit is None else self.began + limit.total_seconds()

    @property
    def hard_at(self) -> float:
        """When it is stopped by force: the soft limit plus the grace time of its job type."""
        return self.soft_at + self.job_type.time_limits.grace.total_seconds()

    @property
    def passed(self) -> Limit:
        """The limit that is exceeded at `hard_at`."""
        return limits.HARD if self.claim.max_runtime is None else limits.OF_SCHEDULE

    @property
    def ordered_to_end(self) -> bool:
        """Whether it has been ordered to end for good."""
        return isinstance(self.context.order, JobStopped)

    @property
    def may_be_cancelled(self) -> bool:
        """Whether a cancel request would change anything: by ordering it to end, or then by using
        force.
        """
        return not self.ordered_to_end or (
            isinstance(self.context.order, JobCancelled) and not self.forced
        )


Done: TypeAlias = Callable[[Run, FinishedRun], None]


def stop_runs(
    runs: Iterable[Run], order: Callable[[], BaseException], level: Isolation = Isolation.ALL
) -> Sequence[Run]:
    """Order bodies to stop, and return those: all, or after a loss of contact those that others may
    soon run again.
    """
    stopped = [run for run in runs if level is Isolation.ALL or _may_be_repeated(run, level)]
    for run in stopped:
        run.stop(order())
    return stopped


def _may_be_repeated(run: Run, level: Isolation) -> bool:
    return level is Isolation.RETRYABLE and run.claim.attempt < run.claim.max_attempts


class Executor(Protocol):
    """A place where bodies run."""

    def start(self, run: Run, done: Done) -> None:
        """Start the body; `done` is called once, on the node's loop, when it has really stopped."""
        ...

    def stop(self, run: Run, order: BaseException) -> None:
        """Order the body to stop."""
        ...

    def kill(self, run: Run) -> bool:
        """Stop it by force; return False if that is impossible, so that its slot stays occupied."""
        ...

    def close(self) -> None:
        """Release idle threads and processes; bodies that ignore every order run until the process
        ends.
        """
        ...
