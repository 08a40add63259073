"""Check jobs: leases only grow, attempts do not overlap, and ended jobs have not changed since."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby, islice, pairwise
from typing import Any, Final

from horae.client.audit.finding import SLACK, Audit, Invariant, show
from horae.domain.jobs import ENDED, FAILED_OUTCOMES, UNCOUNTED, AttemptOutcome, JobState
from horae.storage.operations import invariants

IN_ONE_TRANSACTION: Final = timedelta(seconds=30)
"""Longest time between the moments of two statements in one transaction: on SQLite each reads the
clock, and on a busy machine the process may have to wait for a processor between them.
"""
_RUNS_AGAIN: Final = frozenset(AttemptOutcome) - {AttemptOutcome.FINISHED, AttemptOutcome.CANCELLED}
_LAST_OUTCOMES: Final = {
    JobState.PENDING: _RUNS_AGAIN,
    JobState.FAILED: _RUNS_AGAIN,
    JobState.CANCELLED: _RUNS_AGAIN | {AttemptOutcome.CANCELLED},
}
"""The outcomes that the last attempt may have in each state; a finished job is checked with its
result.

A job may also fail or be cancelled later, while it waits for its next attempt.
"""
_ENDING: Final = {
    JobState.FINISHED: frozenset({AttemptOutcome.FINISHED}),
    JobState.FAILED: FAILED_OUTCOMES,
    JobState.CANCELLED: frozenset({AttemptOutcome.CANCELLED}),
}
"""Outcomes of the last attempt that show that the job ended with it."""


def check(audit: Audit) -> None:
    """Check all jobs that have not ended before a moment."""
    rows = audit.stream(invariants.JOBS, since=audit.since)
    for _, grouped in groupby(rows, key=lambda row: row.id):
        check_job(list(grouped), audit)
    for row in audit.stream(invariants.ORPHANED_ATTEMPTS):
        audit.add(
            Invariant.ATTEMPTS,
            f"job {row.job_id} has {row.number} attempts, but no row",
            job=row.job_id,
        )
    for row in audit.stream(invariants.IMPOSSIBLE_JOBS):
        ended = "has no end" if row.finished_at is None else f"ended at {show(row.finished_at)}"
        held = "no node" if row.node_id is None else f"node {row.node_id}"
        audit.add(
            Invariant.ENDED_JOBS,
            f"job {row.id} is {row.state}, {ended} and is held by {held}, or has values that"
            " contradict that",
            job=row.id,
        )
    for row in audit.stream(invariants.DOUBLE_KEYS):
        audit.add(
            Invariant.RUNS,
            f"{row.number} jobs of type {row.type} with the key {row.unique_key!r} have not ended",
        )


def check_retries(audit: Audit) -> None:
    """Check that each job was retried at most once, after it had failed or was cancelled."""
    rows = audit.stream(invariants.RETRIES)
    for repeated, grouped in groupby(rows, key=lambda row: row.retry_of):
        retries = list(grouped)
        for row in retries[1:]:
            audit.add(
                Invariant.RUNS,
                f"job {row.id} retries job {repeated}, which job {retries[0].id} retries already",
                job=row.id,
            )
        for row in retries:
            if row.its_state is not None and row.its_state not in {
                JobState.FAILED,
                JobState.CANCELLED,
            }:
                audit.add(
                    Invariant.RUNS,
                    f"job {row.id} retries job {repeated}, which is {row.its_state}",
                    job=row.id,
                )
            elif row.its_end is not None and row.created_at < row.its_end - IN_ONE_TRANSACTION:
                audit.add(
                    Invariant.RUNS,
                    f"job {row.id} retries job {repeated}, but was created before that had ended",
                    job=row.id,
                )


def check_tags(audit: Audit) -> None:
    """Check that a search by a tag finds the jobs that have it, and no others."""
    rows = audit.stream(invariants.TAGS)
    for job_id, grouped in groupby(rows, key=lambda row: row.id):
        found = list(grouped)
        stored = found[0].tags  # any program that may start jobs can write this
        given = (
            {tag for tag in stored if isinstance(tag, str)}
            if isinstance(stored, list)
            else set[str]()
        )
        indexed = {row.tag for row in found if row.tag is not None}
        if given != indexed:
            audit.add(
                Invariant.TAGS,
                f"job {job_id} has the tags {sorted(given)}, but a search finds it by"
                f" {sorted(indexed)}",
                job=job_id,
            )
    for row in audit.stream(invariants.STRAY_TAGS):
        audit.add(
            Invariant.TAGS,
            f"a search by the tag {row.tag!r} finds job {row.job_id}, which has no tags or is gone",
            job=row.job_id,
        )


def check_keys(audit: Audit) -> None:
    """Check that no job was created while another one had its key and had not ended."""
    rows = audit.stream(invariants.KEYED, since=audit.since)
    for (kind, key), grouped in groupby(rows, key=lambda row: (row.type, row.unique_key)):
        for before, after in pairwise(grouped):
            # A job that waited for the other one's end to be committed has a `created_at` slightly
            # before that end.
            if (
                before.finished_at is not None
                and after.created_at < before.finished_at - IN_ONE_TRANSACTION
            ):
                audit.add(
                    Invariant.RUNS,
                    f"job {after.id} ({kind}) was created while job {before.id} had its key"
                    f" {key!r}",
                    job=after.id,
                )


def attempts_of(rows: Sequence[Any]) -> list[Any]:
    """Return the rows of a job that have an attempt; a job without any is one row."""
    return [row for row in rows if row.its_lease is not None]


def check_job(rows: Sequence[Any], audit: Audit) -> None:
    """Check one job, given one row for each of its attempts."""
    job, attempts = rows[0], attempts_of(rows)
    audit.checked["jobs"] += 1
    audit.checked["attempts"] += len(attempts)
    for problem in (
        *_check_leases(job, attempts),
        *_check_count(job, attempts),
        *_check_last_attempt(job, attempts),
    ):
        audit.add(Invariant.ATTEMPTS, f"job {job.id} ({job.type}): {problem}", job=job.id)
    for problem in (*_check_results(job, attempts), *_check_ends(job, attempts, audit.now)):
        audit.add(Invariant.ENDED_JOBS, f"job {job.id} ({job.type}): {problem}", job=job.id)


def _check_leases(job: Any, attempts: Sequence[Any]) -> Iterator[str]:
    if attempts and attempts[-1].its_lease > job.lease:
        yield f"its lease is {job.lease}, but an attempt has lease {attempts[-1].its_lease}"
    if max((each.its_number for each in attempts), default=0) > job.max_attempts:
        yield (
            f"attempt {attempts[-1].its_number} is recorded, at most {job.max_attempts} are allowed"
        )
    for each in attempts:
        if each.its_end < each.its_start:
            yield f"the attempt with lease {each.its_lease} ended before it began"
    if attempts and attempts[0].its_start < job.created_at - IN_ONE_TRANSACTION:
        first = attempts[0].its_start
        yield (
            f"its first attempt began at {show(first)}, but it was created at"
            f" {show(job.created_at)}"
        )
    for before, after in pairwise(attempts):
        if after.its_start < before.its_end:
            yield (
                f"the attempt with lease {after.its_lease} began at {show(after.its_start)},"
                f" before that with lease {before.its_lease} had ended: it was not fenced"
            )
        counts = before.its_outcome not in UNCOUNTED
        if after.its_number != before.its_number + counts:
            uncounted = "" if counts else f", which was {before.its_outcome} and does not count"
            yield f"attempt {after.its_number} follows attempt {before.its_number}{uncounted}"


def _check_count(job: Any, attempts: Sequence[Any]) -> Iterator[str]:
    """Yield what contradicts that all attempts are kept and that the job counts each of them."""
    if attempts and attempts[0].its_number != 1:
        yield f"the first attempt that is recorded has the number {attempts[0].its_number}"
    last = attempts[-1] if attempts else None
    used = 0 if last is None else last.its_number - (last.its_outcome in UNCOUNTED)
    if job.state == JobState.STARTED:
        possible = {used + 1}
    elif job.state == JobState.PENDING:
        possible = {used}
    elif last is not None and last.its_lease == job.lease:
        # An interrupted attempt counts if the job ended with it.
        possible = {used, used + (last.its_outcome == AttemptOutcome.INTERRUPTED)}
    elif job.state == JobState.FAILED and not job.stopped:
        possible = {used}
    else:
        # A job may have been claimed and have ended before its body began, so that no attempt is
        # recorded.
        possible = {used, used + 1}
    if job.attempt not in possible:
        yield (
            f"it is {job.state} and counts {job.attempt} attempts, but {used} that count are"
            " recorded"
        )


def _check_last_attempt(job: Any, attempts: Sequence[Any]) -> Iterator[str]:
    """Check that the last attempt led to the job's state, and that no earlier one should have ended
    it.
    """
    for each in attempts:
        if each.its_lease < job.lease and each.its_outcome == AttemptOutcome.CANCELLED:
            yield (
                f"the attempt with lease {each.its_lease} was cancelled, but the job was started"
                " again"
            )
    last = attempts[-1] if attempts else None
    if last is None or last.its_lease != job.lease:
        return
    if job.state == JobState.STARTED:
        yield f"it is started with lease {job.lease}, but its attempt has ended"
        return
    allowed = _LAST_OUTCOMES.get(job.state)
    if (
        allowed is not None
        and last.its_outcome not in allowed
        and last.its_outcome != AttemptOutcome.FINISHED
    ):
        yield f"it is {job.state}, but its last attempt was {last.its_outcome}"
    if job.started_at is None or abs(job.started_at - last.its_start) > IN_ONE_TRANSACTION:
        began = "has not begun" if job.started_at is None else f"began at {show(job.started_at)}"
        yield f"it {began}, but its last attempt began at {show(last.its_start)}"
    if job.state == JobState.PENDING and last.its_end > job.updated_at + IN_ONE_TRANSACTION:
        yield (
            f"it was last changed at {show(job.updated_at)}, before its last attempt ended at"
            f" {show(last.its_end)}"
        )


def _check_results(job: Any, attempts: Sequence[Any]) -> Iterator[str]:
    """Yield what contradicts that a job begins before it expires, and finishes once and for all.

    A job that is to run again has no expiry.
    """
    if (
        job.expires_at is not None
        and job.started_at is not None
        and job.started_at > job.expires_at + SLACK
    ):
        yield (
            f"it was claimed at {show(job.started_at)}, although it had expired at"
            f" {show(job.expires_at)}"
        )
    finished = [each for each in attempts if each.its_outcome == AttemptOutcome.FINISHED]
    if len(finished) > 1:
        yield f"it finished {len(finished)} times"
    if finished and attempts[-1].its_lease > finished[0].its_lease:
        yield "it was tried again after it had finished"
    if job.state != JobState.FINISHED and finished:
        yield f"it is {job.state}, although an attempt finished"
    if job.state == JobState.FINISHED and job.lease not in {each.its_lease for each in finished}:
        yield f"it is finished, but no attempt with its lease {job.lease} finished"


def _check_ends(job: Any, attempts: Sequence[Any], now: datetime) -> Iterator[str]:
    """Yield what contradicts that a job has not changed since it ended."""
    if job.state not in ENDED or job.finished_at is None:
        return
    if abs(job.updated_at - job.finished_at) > SLACK:
        yield (
            f"it ended at {show(job.finished_at)}, but was last changed at {show(job.updated_at)}"
        )
    if job.finished_at > now + SLACK:
        yield f"it ended at {show(job.finished_at)}, which is in the future"
    moments = [job.created_at, job.started_at or job.created_at, job.finished_at]
    if sorted(moments) != moments:
        yield (
            f"it was created, started and ended at {', '.join(map(show, moments))}, in the wrong"
            " order"
        )
    last = attempts[-1] if attempts and attempts[-1].its_lease == job.lease else None
    if last is None:
        return
    apart = job.finished_at - last.its_end
    if apart < -IN_ONE_TRANSACTION or (
        last.its_outcome in _ENDING[job.state] and apart > IN_ONE_TRANSACTION
    ):
        yield f"it ended at {show(job.finished_at)}, but its last attempt at {show(last.its_end)}"


def check_cancels(audit: Audit) -> None:
    """Compare the confirmed cancels of the audit log with the jobs that are still there."""
    targets = (row.target for row in audit.stream(invariants.CANCELS, since=audit.since))
    ids = (int(target) for target in targets if target.isdecimal())
    while batch := list(islice(ids, 500)):
        for row in audit.connection.execute(invariants.STATES, {"ids": batch}):
            if row.state != JobState.CANCELLED:
                audit.add(
                    Invariant.ENDED_JOBS,
                    f"job {row.id} is {row.state}, although its cancel was confirmed",
                    job=row.id,
                )
