"""Check groups and dependencies: `then` runs once, after the last member, and no job waits for nothing."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection

from horae.client.invariants.finding import Findings, Invariant
from horae.domain.jobs.job import JobState, WaitsFor
from horae.storage.operations import group_invariants, invariants


def check(connection: Connection, findings: Findings) -> None:
    """Check all groups, and all jobs that wait for others."""
    for row in invariants.stream(connection, group_invariants.GROUPS):
        findings.checked["groups"] += 1
        for problem in _problems(row):
            findings.add(Invariant.GROUPS, f"group {row.id}: {problem}", job=row.then_id)
    for row in invariants.stream(connection, group_invariants.WAIT_FOR_NOTHING):
        findings.add(Invariant.GROUPS, f"job {row.id} waits for other jobs, but all of them have ended", job=row.id)
    for row in invariants.stream(connection, group_invariants.BEGAN_EARLY):
        message = f"job {row.id} has begun, although job {row.after_id}, for which it waits, has not ended"
        findings.add(Invariant.GROUPS, message, job=row.id)
    for row in invariants.stream(connection, group_invariants.UNREPORTED):
        message = f"job {row.job_id} waits for job {row.after_id}, whose end it will never learn"
        findings.add(Invariant.GROUPS, message, job=row.job_id)


def _problems(group: Any) -> Iterator[str]:
    left = group.total - group.finished - group.failed - group.cancelled
    if left != group.open:
        yield f"it counts {left} members that have not ended, but there are {group.open}"
    if left == 0 and group.inserting_at is None and group.ended_at is None:
        yield "all of its members have ended, but it has not"
    if group.then_state is None:
        return
    waits = group.then_state == JobState.PENDING and group.then_waits_for == WaitsFor.JOBS
    if group.ended_at is not None and waits:
        yield f"all of its members have ended, but job {group.then_id} still waits for them"
    if group.ended_at is None and not waits and group.then_state not in (JobState.CANCELLED, JobState.FAILED):
        yield f"job {group.then_id} is {group.then_state} before all members have ended"
    if group.cancelled_at is not None and group.then_started_at is not None:
        yield f"it was cancelled, but job {group.then_id} has begun"
