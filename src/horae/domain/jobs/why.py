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
class WaitingFor:
    """What a pending job waits for.

    `text`: one sentence. `until`: when the reason ends by itself, if that is known. `since`: when a
    pause began. `ahead`: how many jobs are claimed before it, None if its place is unknown; with
    `ahead_is_least` there may be more. `bucket_id`: the limit, for one key, that holds it back;
    `every`: the seconds between two starts that its rate allows. `awaited`: the first few of the
    jobs that must end first; `group_id`: the group whose members must end. `counts_from`: since
    when it counts against the time limit of pending jobs; None if that does not run. `of_values`:
    the parts of the text that may repeat parameters, which some readers do not see.
    """

    reason: WaitReason
    text: str
    until: datetime | None = None
    since: datetime | None = None
    note: str | None = None
    ahead: int | None = None
    ahead_is_least: bool = False
    bucket_id: int | None = None
    every: float | None = None
    awaited: tuple[JobId, ...] = ()
    group_id: GroupId | None = None
    counts_from: datetime | None = None
    of_values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why a job has not started, or what has become of it.

    `reason`: what decides first; `text` says it in one sentence. `until`: when the reason ends by
    itself; `since`: when it began, such as a pause or the run itself. `note`, `by`: of a pause.
    `ahead`: how many jobs are claimed before it; with `ahead_is_least` there may be more.
    `starts_at`: an estimate of the start, and `reckoned`, what it follows from; both None without
    ground for one. `fails_at`: when the job fails if it has not begun. `awaited`: the first few of
    the jobs that it waits for; `group_id`: the group whose members it waits for. `holders`: the
    first few of the jobs that run under the limit that holds it back. `node`: the one that runs it.
    `of_values`: the parts of the text that may repeat parameters, which some readers do not see.
    """

    job_id: JobId
    state: JobState
    reason: WaitReason
    text: str
    until: datetime | None = None
    since: datetime | None = None
    note: str | None = None
    by: str | None = None
    ahead: int | None = None
    ahead_is_least: bool = False
    starts_at: datetime | None = None
    reckoned: str | None = None
    fails_at: datetime | None = None
    awaited: tuple[JobId, ...] = ()
    group_id: GroupId | None = None
    holders: tuple[JobId, ...] = ()
    node: NodeId | None = None
    of_values: tuple[str, ...] = ()


def ahead_text(count: int, *, is_least: bool) -> str:
    """Return how many jobs come first, as in "at least 10,000 jobs come before it"."""
    if count == 1 and not is_least:
        return "1 job comes before it"
    return f"{'at least ' if is_least else ''}{count:,} jobs come before it"
