"""Why a job has not started, or what has become of it: one reason, the one that decides first.

The order in which reasons decide is that of the claim: a job that waits for other jobs is not asked
whether its queue is paused. What is put aside first is named first, so whoever removes the reason
learns of the next one.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from horae.domain.jobs.groups import GroupId
from horae.domain.jobs.job import JobId, JobState, NodeId

MOST_COUNTED: Final = 10_000
"""Maximum number of jobs that are counted before a job; "at least" is said about more."""


class WaitReason(StrEnum):
    """What a pending job waits for, or what another job does."""

    JOBS = "jobs"
    """Other jobs, or the members of a group, must end first."""
    PLANNED = "planned"
    """Its start is planned for later."""
    RETRY = "retry"
    """It failed or was put off, and its next attempt is due later."""
    EXPIRED = "expired"
    """It had not begun by its time, so a node is about to fail it."""
    EVERYTHING_PAUSED = "everything_paused"
    QUEUE_PAUSED = "queue_paused"
    LIMITS_ELSEWHERE = "limits_elsewhere"
    """It has limits by key, which hold only on Horae's nodes, and a backend runs its queue."""
    LIMIT = "limit"
    """A limit by key is reached."""
    QUEUE_LIMIT = "queue_limit"
    """Its queue runs as many jobs as it may."""
    SENT = "sent"
    """A backend, such as Celery, was asked to run it."""
    UNSENT = "unsent"
    """A backend is to run it, and was not asked yet."""
    NO_NODE = "no_node"
    """No node runs that executes jobs."""
    UNKNOWN_TYPE = "unknown_type"
    """No node that runs knows its type."""
    UNSERVED_QUEUE = "unserved_queue"
    """No node that runs and knows its type serves its queue."""
    UNFILED = "unfiled"
    """No node has looked at its limits yet."""
    SLOT = "slot"
    """Others come first, or no slot is free."""
    NEXT = "next"
    """A node with a free slot takes it with its next claim."""
    GONE = "gone"
    """It was deleted meanwhile."""
    RUNNING = "running"
    STOPPING = "stopping"
    """It was told to stop, and its body has not stopped yet."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateReason:
    """What decides first about a job that has not started, or what has become of it."""

    reason: WaitReason
    """What decides first."""
    text: str
    """The reason in one sentence."""
    until: datetime | None = None
    """When the reason ends by itself."""
    since: datetime | None = None
    """When the reason began, such as a pause or the run itself."""
    note: str | None = None
    """The note of a pause."""
    ahead: int | None = None
    """How many jobs are claimed before it."""
    ahead_is_least: bool = False
    """There may be more of these than were counted."""
    awaited: tuple[JobId, ...] = ()
    """The first few of the jobs that it waits for."""
    group_id: GroupId | None = None
    """The group whose members it waits for."""
    of_values: tuple[str, ...] = ()
    """The parts of the text that may repeat parameters, which some readers do not see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFor(StateReason):
    """What a pending job waits for, and what an estimate of its start needs."""

    bucket_id: int | None = None
    """The limit, for one key, that holds it back."""
    every: float | None = None
    """The seconds between two starts that the rate of the limit allows."""
    counts_from: datetime | None = None
    """Since when it counts against the time limit of pending jobs; None if that does not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Why(StateReason):
    """Why a job has not started, or what has become of it."""

    job_id: JobId
    state: JobState
    by: str | None = None
    """Who has paused the queue, or cancelled the job."""
    starts_at: datetime | None = None
    """An estimate of the start; None without ground for one."""
    reckoned: str | None = None
    """What the estimate follows from."""
    fails_at: datetime | None = None
    """When the job fails if it has not begun."""
    holders: tuple[JobId, ...] = ()
    """The first few of the jobs that run under the limit that holds it back."""
    node: NodeId | None = None
    """The node that runs it."""


def ahead_text(count: int, *, is_least: bool) -> str:
    """Return how many jobs come first, as in "at least 10,000 jobs come before it"."""
    if count == 1 and not is_least:
        return "1 job comes before it"
    return f"{'at least ' if is_least else ''}{count:,} jobs come before it"
