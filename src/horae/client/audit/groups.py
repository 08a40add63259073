"""Check groups and dependencies: `then` runs once, after all members; no job waits in vain."""

from collections.abc import Iterator
from typing import Any

from horae.client.audit.finding import SLACK, Audit, Invariant, show
from horae.domain.jobs import JobState, WaitsFor
from horae.storage.engine import EARLIEST, LATEST
from horae.storage.operations import group_invariants, invariants


def check(audit: Audit) -> None:
    """Check all groups."""
    last_deletion = audit.connection.execute(invariants.LAST_DELETION).scalar_one()
    kept_since = max(audit.now - audit.keep, last_deletion or EARLIEST)
    for row in audit.stream(group_invariants.GROUPS):
        audit.checked["groups"] += 1
        problems = [*_check_counts(row), *_check_then(row)]
        if not problems and not audit.unevenly_kept and row.created_at > kept_since:
            problems += _find_deleted(audit, row)
        for problem in problems:
            audit.add(Invariant.GROUPS, f"group {row.id}: {problem}", job=row.then_id)
    for row in audit.stream(group_invariants.STRAY_MEMBERS):
        wrong = (
            "which does not exist" if row.found is None else "which does not look for members there"
        )
        audit.add(
            Invariant.GROUPS,
            f"{row.number} jobs, such as job {row.first}, are members of group {row.group_id},"
            f" {wrong}",
            job=row.first,
        )


def check_dependencies(audit: Audit) -> None:
    """Check all jobs that wait for others, or waited for them."""
    for row in audit.stream(group_invariants.WAIT_FOR_NOTHING):
        audit.add(
            Invariant.GROUPS,
            f"job {row.id} waits for other jobs, but all of them have ended",
            job=row.id,
        )
    for row in audit.stream(group_invariants.DEPENDENCIES):
        if (problem := _check_dependency(row)) is not None:
            audit.add(Invariant.GROUPS, f"job {row.job_id} {problem}", job=row.job_id)
    for row in audit.stream(group_invariants.UNREPORTED):
        audit.add(
            Invariant.GROUPS,
            f"job {row.job_id} waits for job {row.after_id}, whose end it will never learn",
            job=row.job_id,
        )


def _check_dependency(row: Any) -> str | None:
    awaited = f"job {row.after_id}, for which it waits"
    if row.after_id >= row.job_id:
        return (
            f"waits for job {row.after_id}, which was created after it, so both may wait for ever"
        )
    if not row.ended:
        return (
            f"{'may begin' if row.began is None else 'has begun'}, although {awaited}, has not"
            " ended"
        )
    if row.its_end is None:
        return f"takes {awaited}, for ended, but it has not"
    if row.began is not None and row.began < row.its_end - SLACK:
        return f"began at {show(row.began)}, before {awaited}, ended at {show(row.its_end)}"
    return None


def _check_counts(group: Any) -> Iterator[str]:
    """Yield what contradicts that a group has counted the ends of its members."""
    left = group.total - group.finished - group.failed - group.cancelled
    if group.kept > group.total:
        yield f"it counts {group.total} members, but there are {group.kept}"
    elif left != group.open:
        yield f"it counts {left} members that have not ended, but there are {group.open}"
    for name in ("finished", "failed", "cancelled"):
        counted, kept = getattr(group, name), getattr(group, f"kept_{name}")
        if kept > counted:
            yield f"it counts {counted} members that are {name}, but there are {kept}"
    if left == 0 and group.inserting_at is None and group.ended_at is None:
        yield "all of its members have ended, but it has not"


def _check_then(group: Any) -> Iterator[str]:
    """Yield what contradicts that the job after a group runs once all members have ended."""
    if group.then_state is None:
        return
    waits = group.then_state == JobState.PENDING and group.then_waits_for == WaitsFor.JOBS
    if group.ended_at is not None and waits:
        yield f"all of its members have ended, but job {group.then_id} still waits for them"
    if (
        group.ended_at is None
        and not waits
        and group.then_state not in (JobState.CANCELLED, JobState.FAILED)
    ):
        yield f"job {group.then_id} is {group.then_state} before all members have ended"
    if group.cancelled_at is not None and group.then_started_at is not None:
        yield f"it was cancelled, but job {group.then_id} has begun"
    elif (
        group.then_started_at is not None
        and group.then_started_at < (group.ended_at or LATEST) - SLACK
    ):
        end = "has not ended" if group.ended_at is None else f"ended at {show(group.ended_at)}"
        yield f"it {end}, but job {group.then_id} began at {show(group.then_started_at)}"


def _find_deleted(audit: Audit, group: Any) -> Iterator[str]:
    """Yield members that were deleted although older jobs are kept: a clean-up starts with the
    oldest.
    """
    then_is_gone = group.then_id is not None and group.then_state is None
    if group.kept == group.total and not then_is_gone:
        return
    older = {"before": group.created_at, "group_id": group.id}
    if audit.connection.execute(group_invariants.OLDER_JOB, older).first() is None:
        return
    if group.kept < group.total:
        yield (
            f"it has counted {group.total} members, of which {group.kept} are left, but older jobs"
            " are kept"
        )
    if then_is_gone:
        yield f"job {group.then_id}, which was to run after it, is gone, but older jobs are kept"
