"""Why a job has not started, or what has become of it, in full.

The storage decides on the reason; what explains it further is added here: who paused, which jobs
hold a limit, an estimate of the start, and when the job fails if it has not begun.
"""

from dataclasses import fields
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from horae.domain.jobs import Job, JobState, StateReason, WaitingFor, WaitReason, Why, stored_text
from horae.guarded_log import guarded_log
from horae.live import LiveStore
from horae.quoting import quoted
from horae.sentences import Sentence, SentenceCode, rounded
from horae.storage.engine import LATEST, Database, read_clock
from horae.storage.jobs import waiting_reason
from horae.storage.operations import change_log
from horae.storage.queues import everything
from horae.types import Registry

log = guarded_log("horae.jobs")

_EARLIER: Final = timedelta(seconds=everything.EARLIER)


def explain(database: Database, registry: Registry, live: LiveStore, job: Job) -> Why:
    """Return why a job has not started, or what has become of it; `job` has its live report."""
    if job.state is JobState.PENDING:
        return database.autocommit(_explain_pending, registry, job)
    if job.ended and job.node_id is None:
        return _ended(job)
    stopping = job.ended
    with log.guard("cannot read whether job %d is told to stop: %s", job.id):
        stopping = stopping or job.id in live.cancel_requests([job.id])
    return _running(job, stopping=stopping)


def _explain_pending(connection: Connection, registry: Registry, job: Job) -> Why:
    """Return why a pending job has not started, and when it is likely to."""
    waiting = waiting_reason.read_waiting(connection, job)
    now = read_clock(connection)
    starts_at, reckoned = _estimate(connection, job, waiting, now)
    # When it fails if it has not begun, as far as this program can know.
    ends = [] if job.expires_at is None else [job.expires_at]
    kind = registry.find(job.type)
    limit = None if kind is None else kind.time_limits.pending
    counts = job.owner is not None and job.attempt == 0
    if limit is not None and counts and waiting.counts_from is not None:
        ends.append(_later(waiting.counts_from, limit))
    return Why(
        job_id=job.id,
        state=job.state,
        by=_who_paused(connection, job, waiting),
        starts_at=starts_at,
        reckoned=reckoned,
        fails_at=min(ends, default=None),
        holders=waiting_reason.holders(connection, waiting, job.queue),
        **{each.name: getattr(waiting, each.name) for each in fields(StateReason)},
    )


def _who_paused(connection: Connection, job: Job, waiting: WaitingFor) -> str | None:
    if waiting.since is None:
        return None
    if waiting.reason is WaitReason.EVERYTHING_PAUSED:
        pause = everything.read_pause(connection)
        return None if pause is None else pause.by
    last = change_log.last_of(connection, "queue.pause", [job.queue]).get(job.queue)
    return last.actor if last is not None and last.at > waiting.since - _EARLIER else None


def _estimate(
    connection: Connection, job: Job, waiting: WaitingFor, now: datetime
) -> tuple[datetime | None, str | None]:
    """Return when the job is likely to start, and what that follows from."""
    ahead = waiting.ahead or 0
    match waiting.reason:
        case WaitReason.PLANNED | WaitReason.RETRY:
            return job.run_at, Sentence(
                "the planned time; later if no slot is free then", SentenceCode.RECKONED_BY_PLAN
            )
        case WaitReason.NEXT:
            return now, Sentence("a slot is free", SentenceCode.RECKONED_BY_FREE_SLOT)
        case WaitReason.LIMIT if waiting.until is not None and waiting.every is not None:
            after = timedelta(seconds=min(ahead * waiting.every, timedelta.max.total_seconds() - 1))
            reckoned = Sentence("the rate of the limit", SentenceCode.RECKONED_BY_LIMIT)
            return _later(waiting.until, after), reckoned
        case _:
            pace = waiting_reason.pace(connection, job, waiting)
            if pace is None:
                return None, None
            least = "at least; " if waiting.ahead_is_least else ""
            after = timedelta(seconds=(ahead + 1) / pace)
            return _later(now, after), Sentence(
                f"{least}{rounded(pace * 60)} such jobs ended a minute lately",
                SentenceCode.RECKONED_BY_PACE,
                per_minute=pace * 60,
                at_least=waiting.ahead_is_least,
            )


def _later(moment: datetime, after: timedelta) -> datetime:
    """Return the moment after this one, or the latest one that there is."""
    return moment + after if after < LATEST - moment else LATEST


def _running(job: Job, *, stopping: bool) -> Why:
    """Return where a job runs, and since when."""
    progress = f"{job.progress_percentage}%"
    if job.label:
        progress = f"{progress}, {quoted(job.label)}"
    if job.state is JobState.CANCELLED:
        by = "" if job.cancelled_by is None else f" by {quoted(job.cancelled_by)}"
        text = Sentence(
            f"It was cancelled{by}, and its body has not stopped yet.",
            SentenceCode.JOB_CANCELLED_STOPPING,
            by=job.cancelled_by,
        )
    elif job.ended:
        text = Sentence(
            f"It has {job.state.value}, and its body has not stopped yet.",
            SentenceCode.JOB_ENDED_STOPPING,
            state=job.state.value,
        )
    elif stopping:
        text = Sentence(
            f"It is being cancelled: its body was told to stop, at {progress}.",
            SentenceCode.JOB_STOPPING,
            percentage=job.progress_percentage,
            label=job.label,
        )
    else:
        text = Sentence(
            f"It runs, at {progress}.",
            SentenceCode.JOB_RUNS,
            percentage=job.progress_percentage,
            label=job.label,
        )
    return Why(
        job_id=job.id,
        state=job.state,
        reason=WaitReason.STOPPING if stopping else WaitReason.RUNNING,
        text=text,
        since=job.finished_at if job.ended else job.started_at,
        by=job.cancelled_by,
        node=job.node_id,
    )


def _ended(job: Job) -> Why:
    """Return how a job ended."""
    shown: tuple[str, ...] = ()
    match job.state:
        case JobState.FINISHED:
            text = Sentence("It finished.", SentenceCode.JOB_FINISHED)
        case JobState.CANCELLED:
            by = "" if job.cancelled_by is None else f" by {quoted(job.cancelled_by)}"
            text = Sentence(
                f"It was cancelled{by}.", SentenceCode.JOB_CANCELLED, by=job.cancelled_by
            )
        case _:
            reason = stored_text(job.human_readable_error)
            text = Sentence(
                f"It failed: {reason}" if reason else "It failed.",
                SentenceCode.JOB_FAILED,
                why=reason,
            )
            shown = (f": {reason}",) if reason and job.error_code is None else ()
    return Why(
        job_id=job.id,
        state=job.state,
        reason=WaitReason.ENDED,
        text=text,
        since=job.finished_at,
        by=job.cancelled_by,
        of_values=shown,
    )
