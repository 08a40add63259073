"""One attempt at a job, as its node writes it; its body sees the `JobContext` made of it."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from sqlalchemy import Connection

from horae.domain.jobs import AttemptOutcome, Claim, Progress, TimeLimit
from horae.errors import JobCancelled, JobStopped

if TYPE_CHECKING:  # the ORM is a third of the time of `import horae`
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    from sqlalchemy.orm import Session

T = TypeVar("T")
Report = Callable[[int, str | None], None]

TOLERANCE: Final = 0.1
"""Seconds by which the clocks may differ before a body's duration is reported separately."""


@dataclass(frozen=True, slots=True)
class BodyEnd:
    """How an attempt ended, for `@horae.around`.

    `outcome`: None if it does not count, because another node owns the job or the body could not
    begin. `error`: what the body raised. `retry_in`: seconds until the next attempt; None if there
    is none. `error_text`, `traceback`: what is stored about the error, without secrets. `meta`:
    what integrations add to the `meta` of the job for its next attempt, as values of JSON.
    """

    outcome: AttemptOutcome | None
    error: BaseException | None = None
    retry_in: float | None = None
    error_text: str | None = None
    traceback: str | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any])


class Loan:
    """A slot that a waiting body has lent; `returned` is done when the body has a slot again."""

    def __init__(self) -> None:
        self.returned: Future[None] = Future()


class LendsSlots(Protocol):
    """A node's slots, as seen by a body that waits for another job."""

    def lend(self) -> Loan:
        """Free the slot of the body, on the event loop of the node. Raises `WaitRefused`."""
        ...

    def take_back(self, loan: Loan, *, at_once: bool = False) -> None:
        """Give the body a slot when one is free, or at once; call this on the node's event loop."""
        ...

    def call(self, function: Callable[[], T], /) -> T:
        """Call a function on the event loop of the node, from the thread of the body."""
        ...


class StopsBodies(Protocol):
    """What an attempt needs of the executor that runs its body."""

    def stop(self, attempt: "Attempt", order: BaseException) -> None:
        """Order the body to stop."""
        ...

    def kill(self, attempt: "Attempt") -> bool:
        """Stop it by force; return False if that is impossible and the body keeps its slot."""
        ...


class Attempt:
    """A claim whose body runs. Times are on the monotonic clock, in seconds."""

    # Most attempts keep these defaults, so the class holds them: setting them for each job would
    # take longer than making the object.
    params: Any = None
    """The checked parameters, once they are loaded."""
    previous: Any = None
    """The results of the jobs before it, if its type takes them."""
    next_meta: str | None = None
    """What integrations leave for the `meta` of the next run of its schedule, as JSON text."""
    ended: BodyEnd | None = None
    """How the attempt ended, once it has; only `@horae.around` can still read it."""
    log_book: Any = None
    """The log book that keeps its lines, if they are kept."""
    log_lines: Any = None
    """Its log lines, from the first one on."""
    is_surrounded = False
    """Whether `@horae.around` surrounds the body."""
    body_is_called = False
    """Whether the body itself was called; only set if it is surrounded."""
    releases = False
    """Whether jobs may be claimed once the body's transaction is committed."""
    loan: Loan | None = None
    """The slot that the body has lent while it waits."""
    warned = False
    """Whether the soft time limit was signalled."""
    forced = False
    """Whether force was used or tried to stop it."""
    killed = False
    """Whether force worked."""
    failed = False
    """Whether the job is failed, or is about to be, although the body still runs."""
    waiting = False
    """Whether the body has not begun because its child process is still being set up."""
    handle: Any = None
    """The executor's own reference to it."""
    order: BaseException | None = None
    """The order to stop, if one was given."""
    told = False
    """Whether the timeout was raised in the body."""
    connection: Connection | None = None
    """The connection of the body's transaction on Horae's database."""
    session: "Session | None" = None
    """The session of that transaction, once there is one."""
    async_connection: "AsyncConnection | None" = None
    """The connection of a coroutine body's transaction on Horae's database."""
    async_session: "AsyncSession | None" = None
    """The session of that transaction, once there is one."""
    commit_began: float | None = None
    """When its transaction began to end the job and to commit; None if that is given up."""
    batch: "Batch | None" = None
    """The batch whose body runs for its job and for others."""
    _body_began: tuple[float, float] | None = None
    _before_end: "Sequence[Callable[[Connection], object]]" = ()

    def __init__(
        self,
        claim: Claim,
        job_type: Any,
        report: Report,
        executor: StopsBodies | None = None,
        slots: LendsSlots | None = None,
    ) -> None:
        """`report` takes the progress of the body, in percent, and its label.

        `job_type` is None in a child process that has not imported it yet.
        """
        self.claim = claim
        self.job_type = job_type
        self.executor = executor
        self.slots = slots
        self.began = time.monotonic()
        """When it was claimed, or once its body may begin, when its time limits began to count."""
        self._report = report

    @cached_property
    def progress(self) -> Progress:
        """The progress that the body reports."""
        return Progress(100, on_change=self._report, checkpoint=self.check)

    @property
    def label(self) -> str | None:
        """The last label that the body set."""
        return self.progress.label if "progress" in self.__dict__ else None

    def count_limits(self, within: timedelta = timedelta(0)) -> None:
        """Count time limits from the end of this time, or from the start of the body if earlier."""
        self.began = time.monotonic() + within.total_seconds()

    def begin(self, log_book: Any = None) -> None:
        """Record that the body begins now, and where its log lines are kept."""
        self.log_book = log_book
        self._body_began = (time.monotonic(), time.time())

    @property
    def has_begun(self) -> bool:
        """Whether the executor has begun with the body."""
        return self._body_began is not None

    @property
    def took(self) -> float | None:
        """Seconds since the body began; None if the stored moments are accurate enough."""
        if self._body_began is None:
            return None
        took = time.monotonic() - self._body_began[0]
        if self.claim.schedule_id is not None:
            return took
        # For so short a body it is not worth reading the wall clock again to detect that it was
        # set.
        if took <= TOLERANCE or abs(took - (time.time() - self._body_began[1])) <= TOLERANCE:
            return None
        return took

    def check(self) -> None:
        """Raise the order to stop; raise a timeout only once, so that the body may clean up.

        The body of a batch goes on for the other jobs: it is stopped once all of them are to stop.
        """
        if self.order is not None and not self.told:
            if self.batch is not None and self.batch.run is not self:
                self.batch.run.check()
                return
            self.told = isinstance(self.order, Exception)
            raise self.order

    def check_end(self) -> None:
        """Raise if the result of a returned body must be discarded; a timeout keeps it."""
        if self.order is not None and not isinstance(self.order, Exception):
            raise self.order

    def take_order(self, order: BaseException, *, told: bool = False) -> None:
        """Make `check` raise `order`; with `told` the body was informed already.

        A cancel replaces a timeout.
        """
        if self.order is None or isinstance(self.order, Exception):
            self.order, self.told = order, told and isinstance(order, Exception)

    def stop(self, order: BaseException) -> None:
        """Order the body to stop."""
        if self.executor is not None:
            self.executor.stop(self, order)

    def kill(self) -> bool:
        """Stop the body by force; return False if that is impossible."""
        return self.executor is not None and self.executor.kill(self)

    def force(self) -> None:
        """Stop the body by force if possible, and note that it was tried."""
        self.forced, self.killed = True, self.kill()

    @property
    def soft_limit(self) -> timedelta | None:
        """How long it may run, by its schedule or else by its job type."""
        runtime = self.claim.max_runtime
        if runtime is not None:
            return timedelta(seconds=runtime)
        limit: timedelta | None = self.job_type.time_limits.soft
        return limit

    @property
    def soft_at(self) -> float:
        """The moment at which the body is ordered to stop."""
        limit = self.soft_limit
        return float("inf") if limit is None else self.began + limit.total_seconds()

    @property
    def hard_at(self) -> float:
        """The moment at which it is stopped by force: the soft limit plus the grace of its type."""
        grace: timedelta = self.job_type.time_limits.grace
        return self.soft_at + grace.total_seconds()

    @property
    def passed(self) -> TimeLimit:
        """The limit that is exceeded at `hard_at`."""
        return TimeLimit.HARD if self.claim.max_runtime is None else TimeLimit.OF_SCHEDULE

    @property
    def ordered_to_end(self) -> bool:
        """Whether it has been ordered to end for good."""
        return isinstance(self.order, JobStopped)

    @property
    def may_be_cancelled(self) -> bool:
        """Whether a cancel request would change anything: order the body to stop, or use force."""
        return not self.ordered_to_end or (isinstance(self.order, JobCancelled) and not self.forced)

    @property
    def has_transaction(self) -> bool:
        """Whether the body runs in a transaction on Horae's database that only success commits."""
        return self.connection is not None or self.async_connection is not None

    @property
    def any_connection(self) -> Connection | None:
        """The connection of the body's transaction, of either kind; None if there is none."""
        if self.async_connection is None:
            return self.connection
        return self.async_connection.sync_connection

    def before_end(self, call: Callable[[Connection], object]) -> None:
        """Register a call to make in the job's transaction, just before the job ends."""
        self._before_end = [*self._before_end, call]

    def run_before_end(self, connection: Connection) -> None:
        """Make these calls."""
        for call in self._before_end:
            call(connection)


class Batch:
    """Attempts at several jobs of one type, whose body is called once with all of them.

    Each job has its own lease, progress, orders and end. An executor runs `run`, an attempt that
    stands for all of them and has the claim of the first. It is ordered to stop once all of them
    have an order: until then the body works for the others.
    """

    def __init__(self, members: Sequence[Attempt], executor: StopsBodies | None = None) -> None:
        """`executor` runs the body; it may be set later, in `run`."""
        first = members[0]
        self.members = members
        self.left = len(members)
        """How many of its jobs have not ended."""
        self.called = members
        """The jobs with which the body is called; others could not begin."""
        # The body of a batch has no progress of its own.
        self.run = Attempt(
            first.claim, first.job_type, lambda _percentage, _label: None, executor, first.slots
        )
        self.run.batch = self
        for member in members:
            # The body has one slot, so no job may lend it by itself.
            member.batch, member.executor, member.slots = self, self, None

    def end_one(self) -> bool:
        """Record that one of its jobs has ended; return whether it was the last."""
        self.left -= 1
        return self.left == 0

    def stop(self, attempt: Attempt, order: BaseException) -> None:
        """Order one of the jobs to stop, and the body if it was the last one without an order."""
        attempt.take_order(order)
        orders = [member.order for member in self.called]
        if None in orders:
            return
        # A job that is only out of time may still end well, if the body returns in its grace.
        common = next((each for each in orders if isinstance(each, Exception)), order)
        before = self.run.order
        if before is None or (isinstance(before, Exception) and not isinstance(common, Exception)):
            self.run.stop(common)

    def kill(self, attempt: Attempt) -> bool:
        """Return False: a body that runs for other jobs as well is not stopped by force."""
        if attempt is self.called[-1] and self.run.order is not None:
            self.run.kill()  # a coroutine is cancelled again
        return False


if TYPE_CHECKING:
    _conforms: type[StopsBodies] = Batch
