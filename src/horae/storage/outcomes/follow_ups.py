"""Report the ends of jobs to waiting groups and jobs, in the transaction that ends those jobs.

All ends of jobs lead here: a settlement, a cancel, a time limit, a rescue. A group counts the ends
of its members in its own row. A transaction locks the row before it reads it, so exactly one of
them counts the last member, and releases `then`. A job that waits for other jobs is also locked
before its other dependencies are read.

Locks are taken in one order: ended jobs, then groups by id, then waiting jobs by id. `jobs.awaited`
keeps its value if an end was not reported here, for example by a node of an older version, or in a
body's transaction that reads a snapshot; then `report_late` does it.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from horae.domain.jobs import (
    Advanced,
    DependentStep,
    Group,
    GroupId,
    JobId,
    JobState,
    OnDependencyFailure,
    advance,
    after_dependencies,
    end_if_complete,
)
from horae.storage.jobs.groups import group_from, read_members
from horae.storage.outcomes.follow_up_statements import (
    CANCEL_GROUP,
    CANCEL_MEMBERS,
    CANCEL_WAITING,
    COUNT_FINISHED,
    END_DEPENDENCIES,
    FAIL_WAITING,
    LOCK_GROUPS,
    LOCK_WAITING,
    MARK_REPORTED,
    OPEN_MEMBERS,
    RELEASE,
    REPORT_LATER,
    STILL_WAITING,
    UNREPORTED,
    WRITE_GROUPS,
)

MOST_LEVELS: Final = 100
"""Maximum length of a chain of waiting jobs that one transaction ends; then `report_late`."""


class EndedJob(NamedTuple):
    """A job that has ended and that others wait for."""

    id: JobId
    state: JobState
    group_id: int | None


class EndedWaiting(NamedTuple):
    """A pending job that was cancelled or failed because of a job or group that it waited for."""

    id: JobId
    type: str


@dataclass(slots=True)
class FollowUps:
    """What followed from the ends of jobs.

    `released`: jobs that may be claimed now; `ended`: waiting jobs that were cancelled or failed;
    `cancelled`: groups whose members are to be cancelled (`cancel_members`), because their first
    member did not finish.
    """

    released: list[JobId] = field(default_factory=list[JobId])
    ended: list[EndedWaiting] = field(default_factory=list[EndedWaiting])
    cancelled: list[GroupId] = field(default_factory=list[GroupId])

    def add(self, other: "FollowUps") -> None:
        """Add the follow-ups of other jobs."""
        self.released.extend(other.released)
        self.ended.extend(other.ended)
        self.cancelled.extend(other.cancelled)


class CancelledMember(NamedTuple):
    """A member that was cancelled with its group; `running`: a node still runs its body."""

    id: JobId
    type: str
    running: bool


def report(
    connection: Connection,
    ended: Sequence[EndedJob],
    finished: Mapping[int, int] = MappingProxyType({}),
) -> FollowUps:
    """Report jobs that this transaction has ended, and whose `awaited` it has set to `REPORTED`.

    `finished`: the number of further finished members of each group, for which only the group
    waits.
    """
    if not ended:
        return _count_finished(connection, finished) if finished else FollowUps()
    ends = {group_id: Counter({JobState.FINISHED: number}) for group_id, number in finished.items()}
    first: dict[int, JobId] = {}
    for job in ended:
        if job.group_id is not None:
            ends.setdefault(job.group_id, Counter())[job.state] += 1
            if job.state is not JobState.FINISHED:
                first.setdefault(job.group_id, job.id)
    advanced: list[Advanced] = []
    if ends:
        rows = connection.execute(LOCK_GROUPS, {"ids": ends}).all()
        causes = {group_id: f"the end of job {job_id}" for group_id, job_id in first.items()}
        advanced = [
            advance(_group_from(row), ends[row.id], row.now, causes.get(row.id)) for row in rows
        ]
        _write(connection, advanced)
    return _follow(connection, ended, advanced)


def report_ids(connection: Connection, job_ids: Collection[JobId]) -> FollowUps:
    """Report these jobs if they have ended and are still `awaited`."""
    if not job_ids:
        return FollowUps()
    rows = connection.execute(MARK_REPORTED, {"ids": job_ids}).all()
    return report(connection, ended_jobs(rows))


def report_late(connection: Connection, limit: int) -> FollowUps:
    """Report ends that were not reported in their transaction; others may be doing the same."""
    found = connection.scalars(UNREPORTED, {"limit": limit}).all()
    return report_ids(connection, [JobId(id_) for id_ in found])


def ended_jobs(rows: Iterable[Any]) -> list[EndedJob]:
    """Return rows with `id`, `state` and `group_id` as ended jobs."""
    return [EndedJob(JobId(row.id), JobState(row.state), row.group_id) for row in rows]


def end_inserting(connection: Connection, group_id: GroupId) -> FollowUps:
    """Note that a group's starter has inserted all members; `then` may run if all have ended."""
    [row] = connection.execute(LOCK_GROUPS, {"ids": [group_id]}).all()
    group = replace(_group_from(row), inserting_at=None)
    advanced = end_if_complete(group, row.now, was_ended=group.ended_at is not None)
    _write(connection, [advanced], inserted=True)
    return _follow(connection, (), [advanced])


def cancel_group(
    connection: Connection, group_id: GroupId, by: str | None
) -> tuple[Group, FollowUps] | None:
    """Cancel an open group with its `then`; None if it has ended or was cancelled before.

    Its members are to be cancelled by `cancel_members`.
    """
    row = connection.execute(CANCEL_GROUP, {"group_id": group_id, "by": by}).one_or_none()
    if row is None:
        return None
    group = group_from(row)
    assert group.cancelled_at is not None
    advanced = end_if_complete(group, group.cancelled_at, cancels=True)
    _write(connection, [advanced])
    return advanced.group, _follow(connection, (), [advanced])


def cancel_members(
    connection: Connection, group_id: GroupId, by: str | None, *, after: JobId, limit: int
) -> tuple[list[CancelledMember], FollowUps, JobId | None]:
    """Cancel a batch of the members that have not ended, after this id.

    The last value is where the next batch begins, None if this was the last one.
    """
    found = [
        row.id for row in read_members(connection, OPEN_MEMBERS, group_id, after=after, limit=limit)
    ]
    if not found:
        return [], FollowUps(), None
    values = {"ids": found, "by": by}
    rows = connection.execute(CANCEL_MEMBERS, values).all()
    members = [CancelledMember(JobId(row.id), row.type, row.node_id is not None) for row in rows]
    return (
        members,
        report(connection, ended_jobs(rows)),
        JobId(found[-1]) if len(found) == limit else None,
    )


def resolve(
    connection: Connection,
    job_id: JobId,
    states: Collection[JobState],
    on_failure: OnDependencyFailure,
) -> None:
    """Decide about a new job that waits for jobs in these states; some may have ended before."""
    step = after_dependencies(states, on_failure)
    if step is not DependentStep.WAIT:
        _apply(connection, {job_id: (step, "a job that it was to wait for")}, FollowUps())


def _count_finished(connection: Connection, finished: Mapping[int, int]) -> FollowUps:
    """Count finished members by one statement, which is enough until the last one of a group."""
    if len(finished) > 1:
        # All transactions lock groups in the same order, so that they cannot deadlock.
        connection.execute(LOCK_GROUPS, {"ids": finished})
    batch = json.dumps(
        [{"id": group_id, "finished": number} for group_id, number in finished.items()]
    )
    rows = connection.execute(COUNT_FINISHED, {"batch": batch}).all()
    complete = [
        group.id for group in map(group_from, rows) if group.is_complete and group.ended_at is None
    ]
    if not complete:
        return FollowUps()
    locked = connection.execute(LOCK_GROUPS, {"ids": complete}).all()
    advanced = [advance(_group_from(row), {}, row.now) for row in locked]
    _write(connection, advanced)
    return _follow(connection, (), advanced)


def _group_from(row: Any) -> Group:
    return group_from(row, "now")


def _write(connection: Connection, advanced: Sequence[Advanced], *, inserted: bool = False) -> None:
    batch = [
        {
            "id": each.group.id,
            "finished": each.group.finished,
            "failed": each.group.failed,
            "cancelled": each.group.cancelled,
            "cancels": each.cancels,
            "by": each.group.cancelled_by,
            "inserted": inserted,
            "ends": each.ends,
        }
        for each in advanced
    ]
    connection.execute(WRITE_GROUPS, {"batch": json.dumps(batch)})


def _follow(
    connection: Connection, ended: Sequence[EndedJob], advanced: Sequence[Advanced]
) -> FollowUps:
    """Release or end the jobs that wait for these jobs and groups, directly or indirectly."""
    result = FollowUps(cancelled=[each.group.id for each in advanced if each.cancels])
    thens = {
        each.group.then_id: each
        for each in advanced
        if each.group.then_id is not None and each.then is not DependentStep.WAIT
    }
    failed = any(job.state is not JobState.FINISHED for job in ended) or bool(result.cancelled)
    causes = [job.id for job in ended] + list(thens)
    waiting = connection.execute(
        LOCK_WAITING,
        {"ids": causes, "thens": thens, "levels": MOST_LEVELS if failed else 1},
    ).all()
    if not waiting:
        return result
    steps: dict[JobId, tuple[DependentStep, str]] = {
        then: (each.then, each.group.cancelled_by or "") for then, each in thens.items()
    }
    states = {job.id: job.state for job in ended}
    for _ in range(MOST_LEVELS):
        steps |= _dependents(connection, states)
        states = _apply(connection, steps, result)
        if not states:
            return result
        steps = {}
    connection.execute(REPORT_LATER, {"ids": states})
    return result


def _dependents(
    connection: Connection, ended: Mapping[JobId, JobState]
) -> dict[JobId, tuple[DependentStep, str]]:
    """Return how the jobs that wait for these continue, and why."""
    if not ended:
        return {}
    rows = connection.execute(END_DEPENDENCIES, {"ids": ended}).all()
    if not rows:
        return {}
    ids = {"ids": [row.job_id for row in rows]}
    still_waiting = set(connection.scalars(STILL_WAITING, ids))
    steps: dict[JobId, tuple[DependentStep, str]] = {}
    for row in sorted(rows, key=lambda row: (row.job_id, row.after_id)):
        states = [ended[row.after_id], *([JobState.PENDING] if row.job_id in still_waiting else [])]
        step = after_dependencies(states, OnDependencyFailure(row.on_failure))
        before = steps.get(JobId(row.job_id))
        if before is None or before[0] in (DependentStep.WAIT, DependentStep.RELEASE):
            steps[JobId(row.job_id)] = step, f"the end of job {row.after_id}"
    return steps


def _apply(
    connection: Connection, steps: Mapping[JobId, tuple[DependentStep, str]], result: FollowUps
) -> dict[JobId, JobState]:
    """Release, cancel or fail waiting jobs; return the ended ones that others wait for."""
    released = [job_id for job_id, (step, _) in steps.items() if step is DependentStep.RELEASE]
    if released:
        found = connection.scalars(RELEASE, {"ids": released})
        result.released.extend(JobId(id_) for id_ in found)
    awaited: dict[JobId, JobState] = {}
    for statement, wanted in (
        (CANCEL_WAITING, DependentStep.CANCEL),
        (FAIL_WAITING, DependentStep.FAIL),
    ):
        batch = [
            {"id": job_id, "reason": why} for job_id, (step, why) in steps.items() if step is wanted
        ]
        if not batch:
            continue
        rows = connection.execute(statement, {"batch": json.dumps(batch)}).all()
        result.ended.extend(EndedWaiting(JobId(row.id), row.type) for row in rows)
        awaited |= {JobId(row.id): JobState(row.state) for row in rows if row.awaited is not None}
    return awaited
