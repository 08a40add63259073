"""Check jobs and their attempts: leases only grow, attempts do not overlap, and ended jobs have not changed since."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby, islice, pairwise
from typing import Any, Final

from sqlalchemy import Connection

from horae.client.invariants.finding import TOLERANCE, Findings, Invariant, shown
from horae.domain.jobs.job import ENDED, UNCOUNTED, AttemptOutcome, JobState
from horae.storage.operations import invariants

SLACK: Final = timedelta(seconds=TOLERANCE)
IN_ONE_TRANSACTION: Final = timedelta(seconds=30)
"""How far apart the moments of two statements in one transaction may be: on SQLite each reads the clock, and on a busy
machine the process may have to wait for a processor between them."""
CANCELS_AT_ONCE: Final = 500
"""Cancels of the audit log that are compared with their jobs by one statement."""


def check(connection: Connection, findings: Findings, since: datetime, now: datetime) -> None:
    """Check all jobs that have not ended before a moment."""
    rows = invariants.stream(connection, invariants.JOBS, since=since)
    for _, grouped in groupby(rows, key=lambda row: row.id):
        check_job(list(grouped), findings, now)
    for row in invariants.stream(connection, invariants.ORPHANED_ATTEMPTS):
        findings.add(Invariant.ATTEMPTS, f"job {row.job_id} has {row.number} attempts, but no row", job=row.job_id)
    for row in invariants.stream(connection, invariants.IMPOSSIBLE_JOBS):
        ended = "has no end" if row.finished_at is None else f"ended at {shown(row.finished_at)}"
        held = "no node" if row.node_id is None else f"node {row.node_id}"
        message = f"job {row.id} is {row.state}, {ended} and is held by {held}, or has values that contradict that"
        findings.add(Invariant.ENDED_JOBS, message, job=row.id)
    for row in invariants.stream(connection, invariants.DOUBLE_KEYS):
        findings.add(
            Invariant.RUNS, f"{row.number} jobs of type {row.type} with the key {row.unique_key!r} have not ended"
        )
    _check_keys(connection, findings, since)
    _check_cancels(connection, findings, since)


def _check_keys(connection: Connection, findings: Findings, since: datetime) -> None:
    """Check that no job was created while another one had its key and had not ended."""
    rows = invariants.stream(connection, invariants.KEYED, since=since)
    for (kind, key), grouped in groupby(rows, key=lambda row: (row.type, row.unique_key)):
        for before, after in pairwise(grouped):
            # One that waited for the commit of the other one's end was created by the clock a little before that.
            if before.finished_at is not None and after.created_at < before.finished_at - IN_ONE_TRANSACTION:
                message = f"job {after.id} ({kind}) was created while job {before.id} had its key {key!r}"
                findings.add(Invariant.RUNS, message, job=after.id)


def attempts_of(rows: Sequence[Any]) -> list[Any]:
    """Return the rows of a job that have an attempt; a job without any is one row."""
    return [row for row in rows if row.its_lease is not None]


def check_job(rows: Sequence[Any], findings: Findings, now: datetime) -> None:
    """Check one job, of which there is a row for each attempt."""
    job, attempts = rows[0], attempts_of(rows)
    findings.checked["jobs"] += 1
    findings.checked["attempts"] += len(attempts)
    for problem in _leases(job, attempts):
        findings.add(Invariant.ATTEMPTS, f"job {job.id} ({job.type}): {problem}", job=job.id)
    for problem in (*_begin(job), *_results(job, attempts), *_ends(job, attempts, now)):
        findings.add(Invariant.ENDED_JOBS, f"job {job.id} ({job.type}): {problem}", job=job.id)


def _leases(job: Any, attempts: Sequence[Any]) -> Iterator[str]:
    if attempts and attempts[-1].its_lease > job.lease:
        yield f"its lease is {job.lease}, but an attempt has lease {attempts[-1].its_lease}"
    if max((each.its_number for each in attempts), default=0) > job.max_attempts:
        yield f"attempt {attempts[-1].its_number} is recorded, at most {job.max_attempts} are allowed"
    for each in attempts:
        if each.its_end < each.its_start:
            yield f"the attempt with lease {each.its_lease} ended before it began"
    for before, after in pairwise(attempts):
        if after.its_start < before.its_end:
            yield (
                f"the attempt with lease {after.its_lease} began at {shown(after.its_start)}, before that with lease "
                f"{before.its_lease} had ended: it was not fenced"
            )
        yield from _numbers(before, after)


def _numbers(before: Any, after: Any) -> Iterator[str]:
    """Yield what contradicts that each attempt that counts has the next number."""
    counts = before.its_outcome not in UNCOUNTED
    if after.its_number < before.its_number + counts:
        yield f"attempt {after.its_number} follows attempt {before.its_number}"
    if not counts and after.its_number > before.its_number:
        uncounted = f"attempt {before.its_number}, which was {before.its_outcome} and does not count"
        yield f"attempt {after.its_number} follows {uncounted}"


def _begin(job: Any) -> Iterator[str]:
    """Yield what contradicts that no job begins after it has expired; one that is to run again has no expiry."""
    if job.expires_at is not None and job.started_at is not None and job.started_at > job.expires_at + SLACK:
        yield f"it was claimed at {shown(job.started_at)}, although it had expired at {shown(job.expires_at)}"


def _results(job: Any, attempts: Sequence[Any]) -> Iterator[str]:
    """Yield what contradicts that a job finishes once and for all."""
    finished = [each for each in attempts if each.its_outcome == AttemptOutcome.FINISHED]
    if len(finished) > 1:
        yield f"it finished {len(finished)} times"
    if finished and attempts[-1].its_lease > finished[0].its_lease:
        yield "it was tried again after it had finished"
    if job.state != JobState.FINISHED and finished:
        yield f"it is {job.state}, although an attempt finished"
    if job.state == JobState.FINISHED and job.lease not in {each.its_lease for each in finished}:
        yield f"it is finished, but no attempt with its lease {job.lease} finished"


def _ends(job: Any, attempts: Sequence[Any], now: datetime) -> Iterator[str]:
    """Yield what contradicts that a job has not changed since it ended."""
    if job.state not in ENDED or job.finished_at is None:
        return
    if abs(job.updated_at - job.finished_at) > SLACK:
        yield f"it ended at {shown(job.finished_at)}, but was last changed at {shown(job.updated_at)}"
    if job.finished_at > now + SLACK:
        yield f"it ended at {shown(job.finished_at)}, which is in the future"
    moments = [job.created_at, job.started_at or job.created_at, job.finished_at]
    if sorted(moments) != moments:
        yield f"it was created, started and ended at {', '.join(map(shown, moments))}, in the wrong order"
    last = attempts[-1] if attempts and attempts[-1].its_outcome == AttemptOutcome.FINISHED else None
    if last is not None and abs(last.its_end - job.finished_at) > IN_ONE_TRANSACTION:
        yield f"it ended at {shown(job.finished_at)}, but its last attempt at {shown(last.its_end)}"


def _check_cancels(connection: Connection, findings: Findings, since: datetime) -> None:
    """Compare the confirmed cancels of the audit log with the jobs that are still there."""
    targets = (row.target for row in invariants.stream(connection, invariants.CANCELS, since=since))
    ids = (int(target) for target in targets if target.isdecimal())
    for batch in _batches(ids):
        for row in connection.execute(invariants.STATES, {"ids": batch}):
            if row.state != JobState.CANCELLED:
                message = f"job {row.id} is {row.state}, although its cancel was confirmed"
                findings.add(Invariant.ENDED_JOBS, message, job=row.id)


def _batches(ids: Iterable[int]) -> Iterator[list[int]]:
    source = iter(ids)
    while batch := list(islice(source, CANCELS_AT_ONCE)):
        yield batch
