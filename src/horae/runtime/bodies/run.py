"""One body under way, and what an executor must be able to do with it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Protocol, TypeAlias

from horae.domain.jobs import limits
from horae.domain.jobs.job import Claim
from horae.domain.jobs.limits import Limit
from horae.errors import JobCancelled, JobStopped
from horae.runtime.bodies.runner import BodyResult
from horae.types.context import JobContext
from horae.types.job_type import JobType

START_UP: Final = timedelta(seconds=60)
"""How long a child process may take to start and to import the application before that counts against a limit."""


@dataclass(slots=True, eq=False)
class Run:
    """A claim whose body has begun. Times are on the monotonic clock, in seconds.

    `warned`: told that its time is over; `forced`: ended by force, or tried to; `killed`: where that could be done;
    `failed`: its job is failed, or is about to be, though its body goes on.
    """

    claim: Claim
    job_type: JobType[Any]
    context: JobContext[Any]
    executor: "Executor"
    began: float = field(default_factory=time.monotonic)
    warned: bool = False
    forced: bool = False
    killed: bool = False
    failed: bool = False
    handle: Any = None
    """What its executor knows it by."""

    def begin_within(self, start_up: timedelta) -> None:
        """Its body has yet to begin, and is taken to have begun when this time is over."""
        self.began = time.monotonic() + start_up.total_seconds()

    def has_begun(self) -> None:
        """Its body begins now."""
        self.began = time.monotonic()

    def stop(self, order: BaseException) -> None:
        """Tell the body to stop."""
        self.executor.stop(self, order)

    def kill(self) -> bool:
        """Stop it by force; False where that cannot be done."""
        return self.executor.kill(self)

    def force(self) -> None:
        """Stop it by force where that can be done, and note that it was tried."""
        self.forced, self.killed = True, self.kill()

    @property
    def soft_limit(self) -> timedelta | None:
        """How long it may run: what its schedule says, else its type."""
        runtime = self.claim.max_runtime
        return self.job_type.limits.soft if runtime is None else timedelta(seconds=runtime)

    @property
    def soft_at(self) -> float:
        """When the body is to be told that its time is over."""
        limit = self.soft_limit
        return float("inf") if limit is None else self.began + limit.total_seconds()

    @property
    def hard_at(self) -> float:
        """When it is to be stopped by force."""
        return self.soft_at + self.job_type.limits.grace.total_seconds()

    @property
    def passed(self) -> Limit:
        """The limit that it has passed at `hard_at`."""
        return limits.HARD if self.claim.max_runtime is None else limits.OF_SCHEDULE

    @property
    def ordered_to_end(self) -> bool:
        """Whether it has been told to end for good."""
        return isinstance(self.context.order, JobStopped)

    @property
    def may_be_cancelled(self) -> bool:
        """Whether a cancel would tell it something new: that it is to end, or after that by force."""
        return not self.ordered_to_end or (isinstance(self.context.order, JobCancelled) and not self.forced)


Done: TypeAlias = Callable[[Run, BodyResult], None]


class Executor(Protocol):
    """A place where bodies run."""

    def start(self, run: Run, done: Done) -> None:
        """Begin; `done` is called once, on the node's loop, when the body has really stopped."""
        ...

    def stop(self, run: Run, order: BaseException) -> None:
        """Tell the body to stop, the way this place can."""
        ...

    def kill(self, run: Run) -> bool:
        """Stop it by force; False where that cannot be done, so that its slot stays occupied."""
        ...

    def close(self) -> None:
        """Release what is idle; bodies that ignore every order are left to the end of the process."""
        ...
