"""A job: its states, the table of transitions between them, and how an outcome settles an attempt.

A job in a final state never changes. Every transition is a compare-and-set on the stored state and,
once a node holds the job, on its lease; `storage/jobs/tables.py` repeats the invariants as CHECKs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from random import Random
from typing import Any, Final, Generic, NamedTuple, NewType, TypeAlias, assert_never

from typing_extensions import TypeVar

from horae.domain.backoff import Backoff, retry_delay
from horae.domain.jobs.stored_texts import DIED_TEXT, quarantine_text
from horae.domain.jobs.time_limit import code_of

R_co = TypeVar("R_co", covariant=True, default=Any)
JobId = NewType("JobId", int)
NodeId = NewType("NodeId", str)

MAX_CRASHES: Final = 3
"""Crashes after which a job is not tried again, because it may be what causes them."""


class JobState(StrEnum):
    """The state of a job."""

    PENDING = "pending"
    STARTED = "started"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


class WaitsFor(StrEnum):
    """What holds a pending job back."""

    JOBS = "jobs"
    LIMIT = "limit"


class JobEvent(StrEnum):
    """An event in the life of a job; `NEXT_STATE` has the state that it leads to."""

    CLAIM = "claim"
    SUCCEED = "succeed"
    FAIL = "fail"
    CANCEL = "cancel"
    RETRY = "retry"
    SNOOZE = "snooze"
    INTERRUPT = "interrupt"
    RESCUE = "rescue"
    HAND_BACK = "hand_back"
    EXPIRE = "expire"


class LeftOut(Enum):
    """A type with one value, which no value of a job can be mistaken for."""

    LEFT_OUT = "left out of a list; read the job by its id"


LEFT_OUT: Final = LeftOut.LEFT_OUT
"""What lists show in place of long values; read the job by its id to get these."""

ENDED: Final = frozenset({JobState.FINISHED, JobState.FAILED, JobState.CANCELLED})
ACTIVE: Final = frozenset({JobState.PENDING, JobState.STARTED})

NEXT_STATE: Final[Mapping[tuple[JobState, JobEvent], JobState]] = {
    (JobState.PENDING, JobEvent.CLAIM): JobState.STARTED,
    (JobState.PENDING, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.PENDING, JobEvent.EXPIRE): JobState.FAILED,
    (JobState.STARTED, JobEvent.SUCCEED): JobState.FINISHED,
    (JobState.STARTED, JobEvent.FAIL): JobState.FAILED,
    (JobState.STARTED, JobEvent.EXPIRE): JobState.FAILED,
    (JobState.STARTED, JobEvent.CANCEL): JobState.CANCELLED,
    (JobState.STARTED, JobEvent.RETRY): JobState.PENDING,
    (JobState.STARTED, JobEvent.SNOOZE): JobState.PENDING,
    (JobState.STARTED, JobEvent.INTERRUPT): JobState.PENDING,
    (JobState.STARTED, JobEvent.RESCUE): JobState.PENDING,
    (JobState.STARTED, JobEvent.HAND_BACK): JobState.PENDING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Generic[R_co]):
    """One run of a job type, as it was stored when it was read.

    `Job[int]`: `wait` returns an int. `result` is the JSON value that is stored for it.

    `meta` belongs to the caller; Horae does not interpret it. `max_runtime` (seconds) and
    `run_reason` come from the schedule of a scheduled job; `retry_of` is the job that this one
    repeats. `retry_reason` tells the owner why the job is pending again; its next attempt is due at
    `run_at`. `waits_for` is what holds a pending job back, even when it is due. `expires_at` is
    when the job fails if it has not begun.
    """

    id: JobId
    type: str
    queue: str
    priority: int
    state: JobState
    label: str | None
    progress_percentage: int
    owner: str | None
    params: Any
    result: Any
    error: str | None
    human_readable_error: str | None
    attempt: int
    max_attempts: int
    lease: int
    node_id: NodeId | None
    unique_key: str | None
    run_at: datetime
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    cancelled_by: str | None
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    schedule_id: int | None = None
    nominal_time: datetime | None = None
    deployment_id: int | None = None
    max_runtime: float | None = None
    run_reason: str | None = None
    retry_of: JobId | None = None
    retry_reason: str | None = None
    waits_for: WaitsFor | None = None
    tags: tuple[str, ...] = ()
    group_id: int | None = None
    expires_at: datetime | None = None

    @property
    def ended(self) -> bool:
        """Return whether the state is final."""
        return self.state in ENDED

    @property
    def error_code(self) -> str | None:
        """Return the limit that the job exceeded, such as "expired"; None if no limit ended it."""
        return code_of(self.error)

    @property
    def is_whole(self) -> bool:
        """Return whether all values are here; lists leave out long ones."""
        return not any(value is LEFT_OUT for value in (self.params, self.result, self.meta))

    @property
    def occupied(self) -> bool:
        """Whether the job counts against `max_count`: it is active, or its body still runs."""
        return not self.ended or self.node_id is not None


class Claim(NamedTuple):
    """A job handed to a node, with the lease that every later write must carry.

    `params`, `backoff` and `meta` are JSON text. `schedule_id`, `nominal_time` and `max_runtime`
    (seconds) are set for runs of a schedule, `lane_id` for jobs that are claimed through a lane,
    `group_id` for members of a group.
    """

    id: JobId
    type: str
    queue: str
    priority: int
    owner: str | None
    params: str | None
    attempt: int
    max_attempts: int
    lease: int
    backoff: str | None
    meta: str
    schedule_id: int | None = None
    nominal_time: datetime | None = None
    max_runtime: float | None = None
    lane_id: int | None = None
    group_id: int | None = None


class AttemptOutcome(StrEnum):
    """How one attempt ended, as stored in `job_attempts`."""

    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    SNOOZED = "snoozed"
    INTERRUPTED = "interrupted"


UNCOUNTED: Final = frozenset({AttemptOutcome.SNOOZED, AttemptOutcome.INTERRUPTED})
"""Attempts that do not count against `max_attempts`: the next one has the same number."""
FAILED_OUTCOMES: Final = frozenset(
    {AttemptOutcome.FAILED, AttemptOutcome.TIMED_OUT, AttemptOutcome.CRASHED}
)
"""Attempts whose body has failed, by itself or by force."""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The body returned; `result` is JSON text, or None for nothing."""

    result: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The body raised.

    `final`: no other attempt follows, even if some are left; `after`: seconds until the next
    attempt, in place of the back-off.
    """

    error: str
    human_readable_error: str = ""
    traceback: str | None = None
    timed_out: bool = False
    final: bool = False
    after: float | None = None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The body stopped because the job was cancelled; `by` is who cancelled it."""

    by: str | None = None


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process that ran the body is gone; `crashes` is the number of crashes of the job with
    this one.
    """

    error: str
    crashes: int = 1


@dataclass(frozen=True, slots=True)
class Snoozed:
    """The body asked to be run again after so many seconds, without counting this attempt."""

    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class StoppedEarly:
    """The node stopped the body, for a reason that lies in the node.

    `again`: it is safe to run the job again, after `delay` seconds and without counting this
    attempt; else it fails with these texts.
    """

    reason: str
    again: bool
    human_readable_error: str = ""
    delay: float = 0.0


Outcome: TypeAlias = Succeeded | Failed | Cancelled | Crashed | Snoozed | StoppedEarly


class Settlement(NamedTuple):
    """How a claim is settled: one row of a settling batch."""

    id: JobId
    lease: int
    state: JobState
    outcome: AttemptOutcome
    delay: float = 0.0
    """Seconds until a retry may start."""
    result: str | None = None
    error: str | None = None
    human_readable_error: str | None = None
    traceback: str | None = None
    progress: int | None = None
    label: str | None = None
    cancelled_by: str | None = None
    took: float | None = None
    """Seconds that the body ran by the monotonic clock of its process; given only where it matters,
    for the statistics of a schedule or after the wall clock was set.
    """
    hook_owed: str | None = None
    reason: str | None = None
    """Why the job is pending again."""
    group_id: int | None = None
    """The group of a member that has finished."""
    meta: str | None = None
    """The new `meta` of the job as JSON text; None leaves it."""
    next_meta: str | None = None
    """What the run of a schedule leaves for the `meta` of the next run, if this ends it."""


def states_before(event: JobEvent) -> list[JobState]:
    """Return the states in which `event` can happen; statements skip rows in other states."""
    return [state for state, each in NEXT_STATE if each is event]


def state_after(event: JobEvent) -> JobState:
    """Return the one state that `event` leads to, wherever it happens."""
    (state,) = {after for (_, each), after in NEXT_STATE.items() if each is event}
    return state


_FINISHED: Final = state_after(JobEvent.SUCCEED)  # computed once, not for each job


def finished(claim: Claim, result: str | None = None) -> Settlement:
    """Settle a claim whose body has returned; `result` is JSON text."""
    return Settlement(
        claim.id,
        claim.lease,
        _FINISHED,
        AttemptOutcome.FINISHED,
        result=result,
        group_id=claim.group_id,
    )


def decide(claim: Claim, outcome: Outcome, backoff: Backoff, rng: Random) -> Settlement:
    """Settle a claim after `outcome`: end the job, or retry it after a delay from `backoff`."""
    match outcome:
        case Succeeded(result):
            return finished(claim, result)
        case Cancelled(by):
            return Settlement(
                claim.id,
                claim.lease,
                state_after(JobEvent.CANCEL),
                AttemptOutcome.CANCELLED,
                cancelled_by=by,
            )
        case Failed():
            kind = AttemptOutcome.TIMED_OUT if outcome.timed_out else AttemptOutcome.FAILED
            delay = (
                retry_delay(claim.attempt, backoff, rng)
                if outcome.after is None
                else timedelta(seconds=outcome.after)
            )
            return _fail_or_retry(claim, outcome, kind, JobEvent.RETRY, delay)
        case Crashed(error, crashes):
            if crashes >= MAX_CRASHES:
                error = quarantine_text(error, crashes)
                claim = claim._replace(max_attempts=claim.attempt)
            failure = Failed(error, DIED_TEXT)
            delay = retry_delay(claim.attempt, backoff, rng)
            return _fail_or_retry(claim, failure, AttemptOutcome.CRASHED, JobEvent.RESCUE, delay)
        case StoppedEarly(again=False):
            failure = Failed(outcome.reason, outcome.human_readable_error, final=True)
            return _fail_or_retry(
                claim, failure, AttemptOutcome.INTERRUPTED, JobEvent.RETRY, timedelta(0)
            )
        case Snoozed() | StoppedEarly():  # as if this attempt had not been made
            snoozed = isinstance(outcome, Snoozed)
            return Settlement(
                claim.id,
                claim.lease,
                state_after(JobEvent.SNOOZE if snoozed else JobEvent.INTERRUPT),
                AttemptOutcome.SNOOZED if snoozed else AttemptOutcome.INTERRUPTED,
                outcome.delay,
                reason=outcome.reason,
            )
        case _:
            assert_never(outcome)


def _fail_or_retry(
    claim: Claim, failure: Failed, kind: AttemptOutcome, retry: JobEvent, delay: timedelta
) -> Settlement:
    """Settle a failed attempt; `retry` is the event of another attempt, if there is one left."""
    retried = claim.attempt < claim.max_attempts and not failure.final
    return Settlement(
        claim.id,
        claim.lease,
        state_after(retry if retried else JobEvent.FAIL),
        kind,
        delay.total_seconds() if retried else 0.0,
        error=failure.error,
        human_readable_error=failure.human_readable_error,
        traceback=failure.traceback,
        reason=(failure.human_readable_error or failure.error) if retried else None,
    )
